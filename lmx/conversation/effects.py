"""What the reducer wants done, as data and in order (GEN-1). The screen carries it out; a linear interface could as well."""

from __future__ import annotations

from typing import Any

import msgspec

from lmx.changes import Change
from lmx.conversation.blocks import Block
from lmx.conversation.draft import Draft


class Effect(msgspec.Struct, frozen=True):
    """The base of all effects."""


class Append(Effect, frozen=True):
    """Put a new block at the end of the transcript."""

    block: Block


class Replace(Effect, frozen=True):
    """Draw a newer revision of a block where it stands."""

    block: Block


class Remove(Effect, frozen=True):
    key: str


class Clear(Effect, frozen=True):
    """Empty the transcript: another session is shown."""


class SetDraft(Effect, frozen=True):
    """Put this into the composer. What was there has been kept by the reducer."""

    draft: Draft


class EditOutside(Effect, frozen=True):
    """Open the draft in the person's editor; answered by `EditedOutside`."""

    draft: Draft


class ClearSelection(Effect, frozen=True):
    pass


class Flash(Effect, frozen=True):
    """A short word in the status line, gone after `ms` (LAY-8)."""

    text: str
    ms: int = 3_000


class Dress(Effect, frozen=True):
    """Wear the theme of this name; empty: say which one is worn."""

    name: str


class Wake(Effect, frozen=True):
    """Tell the reducer `Woke` once so many milliseconds have passed."""

    ms: int


class Notify(Effect, frozen=True):
    """Call the person back to the terminal; holds no text of a model or a file (NTF-3)."""

    text: str


class Prompt(Effect, frozen=True):
    """Send it as a new prompt. Answered by `Rejected` if the session does not take it."""

    draft: Draft
    text: str


class SteerTurn(Effect, frozen=True):
    """Send it to the running turn."""

    text: str


class Revoke(Effect, frozen=True):
    """Take the waiting message back by its exact text. Answered by `Revoked`."""

    text: str


class CancelTurn(Effect, frozen=True):
    pass


class Resolve(Effect, frozen=True, kw_only=True):
    """Answer a parked call: `verdict` allow or deny. `mode`: switch to it first. `AnswerLost` says that it came too late.

    `rule`: remember it first, for `scope` (`session` or `project`) and, if `for_ms` is set, for as long. `hunks` or `text`:
    only these hunks of it, or these texts by path, are allowed.
    """

    call_id: str
    verdict: str
    reason: str | None = None
    mode: str | None = None
    rule: str | None = None
    scope: str = "project"
    for_ms: int | None = None
    hunks: tuple[int, ...] | None = None
    text: dict[str, str] | None = None


class AnswerQuestion(Effect, frozen=True):
    """Answer what a tool asked: `{"answers": […]}` or `{"status": …}`. Comes back as `AnswerRefused` or `AnswerLost`."""

    call_id: str
    value: dict[str, Any]


class CycleMode(Effect, frozen=True):
    """To the next permission mode; answered by `ModeChanged`."""


class Run(Effect, frozen=True, kw_only=True):
    """Perform a command. `began` and `focused` say when and how its line was typed (APR-4)."""

    command: str
    argument: str = ""
    began: int | None = None
    focused: bool = True


class Need(Effect, frozen=True):
    """A menu wants what only others know (`models`, `sessions`, `files`); answered by `Offered`."""

    kind: str


class ReadBefore(Effect, frozen=True):
    """A card wants the file a call would change, to show the real difference; answered by `Before`."""

    call_id: str
    path: str


class UseProvider(Effect, frozen=True, kw_only=True):
    """Start on this model, with a key that is saved first where one was typed; `key_alone`: without the model."""

    provider: str
    model: str
    key: str = ""
    key_alone: bool = False

    def __repr__(self) -> str:
        return f"UseProvider(provider={self.provider!r})"


class ReadProposal(Effect, frozen=True):
    """A panel wants the files a call would change; answered by `ProposalRead`."""

    id: str
    paths: tuple[str, ...]


class EditText(Effect, frozen=True):
    """The text of a file goes to the person's editor for a panel; answered by `TextEdited`, if the editor left one."""

    id: str
    path: str
    text: str


class Remember(Effect, frozen=True):
    """Write a line to the history on disk (CMP-21): a sent one, or a draft that is in danger (CMP-10)."""

    text: str


class Keep(Effect, frozen=True, kw_only=True):
    """Keep a whole text for the pager (PGR-1)."""

    id: str
    title: str
    text: str


class Streamed(Effect, frozen=True, kw_only=True):
    """More of what a running call writes, raw, for the pager (PGR-3)."""

    id: str
    title: str
    text: str


class Restart(Effect, frozen=True):
    """Take the dead session up again from its transcript (LAY-12)."""


class Watch(Effect, frozen=True):
    """Tell the reducer with `Painted` once these cards have really been drawn."""

    call_ids: tuple[str, ...]


class WatchPanel(Effect, frozen=True):
    """Tell the reducer with `PanelPainted` once this panel has really been drawn."""

    id: str


class ReadChanges(Effect, frozen=True):
    """Look again at what has changed in the work tree; answered by `ChangesRead`."""


class ReadPatch(Effect, frozen=True):
    """Read the difference of one file; answered by `PatchRead`."""

    change: Change


class MarkPiece(Effect, frozen=True):
    """Leave a piece of the conversation out, shorten or keep it, or (None) neither; answered by `ContextRead`."""

    id: str
    kind: str | None


class UndoCompaction(Effect, frozen=True):
    """Take the newest summary or clear back; answered by `ContextRead`."""


class AnswerSummary(Effect, frozen=True):
    """The text that is to stand for the earlier conversation; None: nothing is cut."""

    text: str | None


class ListSessions(Effect, frozen=True):
    """List the stored sessions, of every directory or of this one; answered by `SessionsListed`."""

    all_of_them: bool


class SearchSessions(Effect, frozen=True):
    """Search them; answered by `SessionsFound`, or by nothing when another search was asked for since."""

    query: str
    all_of_them: bool


class Quit(Effect, frozen=True):
    pass


# --- what a command asks of the surface; one that cannot do it says so --------------------------------------------------------


class Copy(Effect, frozen=True):
    """Put it on the clipboard and say how that went."""

    text: str


class Read(Effect, frozen=True):
    """Show it in the person's own pager."""

    text: str


class Find(Effect, frozen=True, kw_only=True):
    """Go to the next place in the transcript where this stands, `anew`: from what is in sight; answered by `FoundText`."""

    text: str
    back: bool
    anew: bool = False


class Tint(Effect, frozen=True):
    """Give the screen this accent; empty: its theme's own, None: only say which there is."""

    colour: str | None


class Mouse(Effect, frozen=True):
    """Take the mouse, give it to the terminal, or (None) only say who has it."""

    on: bool | None


class TellTerminal(Effect, frozen=True):
    """Say, as a row, what is known of the terminal."""
