"""What can happen to a conversation beside the session's own events (`lmx_core.events`): keys, lines, answers of the bridge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from lmx.changes import Change, Changes, Patch
from lmx.conversation.draft import Draft
from lmx.conversation.effects import Effect
from lmx.conversation.panels.context import Filled
from lmx.conversation.panels.first_run import Access
from lmx.conversation.panels.picker import Stored
from lmx.conversation.picker import Index
from lmx.conversation.unsent.kept import Kept
from lmx_core import Entry


class Message(msgspec.Struct, frozen=True):
    """The base of all messages."""


# --- keys -------------------------------------------------------------------------------------------------------------


class Edited(Message, frozen=True):
    """The composer's content changed by typing, deleting or pasting."""

    draft: Draft


class Submit(Message, frozen=True):
    """Enter."""


class Complete(Message, frozen=True):
    """Tab."""


class Escape(Message, frozen=True):
    """Esc. `selection`: text of the transcript is selected, which is closed before a draft is touched (CMP-8)."""

    selection: bool = False


class Interrupt(Message, frozen=True):
    """Ctrl-C."""


class Older(Message, frozen=True):
    """Up on the first visual line, or Alt-Up (`direct`: never the menu)."""

    direct: bool = False


class Newer(Message, frozen=True):
    direct: bool = False


class AnswerKey(Message, frozen=True):
    """Alt-A (`allow`) or Alt-R (`deny`)."""

    verdict: str


class ChooseHunks(Message, frozen=True):
    """Alt-H: choose among the changes of the oldest call that waits."""


class TakeBack(Message, frozen=True):
    """Alt-Z or /unsteer."""


class SelectQueued(Message, frozen=True):
    """Alt-1 to Alt-9."""

    number: int


class ReviseQueued(Message, frozen=True):
    """Alt-E: the selected queued draft comes into the composer."""


class DropQueued(Message, frozen=True):
    """Alt-U: the selected queued draft is put aside."""


class NextMode(Message, frozen=True):
    """Shift-Tab."""


class SearchHistory(Message, frozen=True):
    """Ctrl-R: open the panel, or one older in it."""


class PanelKey(Message, frozen=True):
    """A key while a panel is shown, by its name; `text` is what it types, empty for others."""

    key: str
    text: str = ""


class PanelEdited(Message, frozen=True):
    """What stands in the panel's field now. `typed`: what was typed or pasted to make it so, empty for other changes."""

    draft: Draft
    typed: str = ""


class PanelPainted(Message, frozen=True):
    """The panel of this id is on the screen since now."""

    id: str


class HelpAsked(Message, frozen=True):
    """F1."""


class EditorAsked(Message, frozen=True):
    """Ctrl-G."""


class EditedOutside(Message, frozen=True, kw_only=True):
    """The editor is closed. `before` is the draft that went out; `text` what came back, None when nothing did; `why` not."""

    before: Draft
    text: str | None = None
    why: str = ""


class Focused(Message, frozen=True):
    """The terminal got or lost the focus."""

    focused: bool


# --- commands ---------------------------------------------------------------------------------------------------------


class Compacting(Message, frozen=True):
    """`/compact` begins, or is over."""

    begins: bool


class Retrying(Message, frozen=True):
    """`/retry` asks again, or (`begins` false) there was nothing to ask."""

    begins: bool


class Say(Message, frozen=True, kw_only=True):
    """A command's answer, as a transcript row (LAY-8). `text` may come from outside; it is sanitised here."""

    text: str
    tone: str = "plain"


class Decide(Message, frozen=True, kw_only=True):
    """/approve and /deny. `which`: a call id, `all`, or empty for the oldest."""

    verdict: str
    which: str = ""
    reason: str = ""
    began: int | None = None
    focused: bool = True


class Performed(Message, frozen=True):
    """A command is done; `ok` False where it could not be performed."""

    ok: bool = True


class Travels(Message, frozen=True):
    """Something the model is to read with the person's next message (EVT-5)."""

    text: str


class ShellBegan(Message, frozen=True):
    """The person's own command runs (CMP-37)."""

    id: str
    command: str


class ShellSaid(Message, frozen=True):
    id: str
    text: str


class ShellEnded(Message, frozen=True, kw_only=True):
    """`ending`: exited (then `exit_status`), output_limit, failed (then `reason`) or stopped."""

    id: str
    command: str
    output: str
    ending: str
    exit_status: int | None = None
    reason: str = ""


class CancelAsked(Message, frozen=True):
    """/cancel."""


class QuitAsked(Message, frozen=True):
    """/quit."""


class Wanted(Message, frozen=True):
    """A command asks the surface for this, in its turn among the other effects."""

    effect: Effect


class PromptAsked(Message, frozen=True):
    """A command has something to say to the model."""

    text: str


class Labelled(Message, frozen=True):
    """/name: what the session is called on this screen; empty: its own name, None: only say it."""

    name: str | None


class QueueAsked(Message, frozen=True, kw_only=True):
    """/queue: list what waits, or put it aside."""

    clear: bool


# --- what the bridge tells --------------------------------------------------------------------------------------------


class Starting(Message, frozen=True):
    """A session is being prepared or switched to; `text` for the boot line."""

    text: str


class Opened(Message, frozen=True, kw_only=True):
    """Another session is shown from here on; its stored entries follow in slices, then `Ready`.

    `sandbox` says in words what holds commands in; empty: nothing does.
    """

    session_id: str
    name: str
    model: str
    mode: str
    sandbox: str = ""


class Earlier(Message, frozen=True):
    """Stored entries, in order."""

    entries: Sequence[Entry]


class Ready(Message, frozen=True, kw_only=True):
    """The session takes prompts. `busy`: it works on one already; `pending`: its parked calls, `{call_id, kind, payload}`."""

    pending: Sequence[dict[str, Any]] = ()
    busy: bool = False
    window: int | None = None


class StartFailed(Message, frozen=True):
    """No session. `sentence` says why; `keep`: the session that was shown stays (C9-3)."""

    sentence: str
    keep: bool = False


class NoModel(Message, frozen=True, kw_only=True):
    """No session, because no model can be reached: the ways to one. `why` says it in a sentence.

    `where` names the file in which a key is saved, empty where none can be; `model` is the one the person named, if they did.
    """

    ways: tuple[Access, ...]
    why: str
    where: str = ""
    model: str | None = None


class Unlocked(Message, frozen=True):
    """The way to a model was taken by a session that runs already."""


class FirstPrompt(Message, frozen=True):
    """`--prompt TEXT`: as if typed (C1-26)."""

    text: str


class Loaded(Message, frozen=True):
    """The sent lines of earlier sittings, oldest first."""

    history: tuple[Draft, ...]


class Restored(Message, frozen=True):
    """What the last sitting of the session that is being opened left behind (CMP-11, CMP-43)."""

    kept: Kept


class Rejected(Message, frozen=True):
    """The session did not take a prompt; `draft` goes back to the person."""

    draft: Draft
    sentence: str


class Revoked(Message, frozen=True):
    """Whether the waiting message could be taken back."""

    ok: bool


class AnswerLost(Message, frozen=True):
    """A parked call was already decided (APR-11)."""

    call_id: str


class AnswerRefused(Message, frozen=True):
    """The engine did not take an answer to a question, which waits on; `sentence` says why."""

    call_id: str
    sentence: str


class ModeChanged(Message, frozen=True):
    mode: str


class Offered(Message, frozen=True):
    """Rows for a menu: (what is taken, what is shown beside it)."""

    kind: str
    rows: tuple[tuple[str, str], ...]


class Listed(Message, frozen=True):
    """The files that the `@` menu offers."""

    index: Index


class Before(Message, frozen=True):
    """What a file holds that a parked call would change; None: it cannot be read, or there is none."""

    call_id: str
    text: str | None


class ProposalRead(Message, frozen=True):
    """What the files hold that a call would change; None for what cannot be read."""

    id: str
    texts: dict[str, str | None]


class TextEdited(Message, frozen=True):
    """A file's text as the person's editor left it."""

    id: str
    path: str
    text: str


class ChangesRead(Message, frozen=True):
    """What has changed in the work tree."""

    changes: Changes


class PatchRead(Message, frozen=True):
    """The difference of one file."""

    change: Change
    patch: Patch


class FindAsked(Message, frozen=True):
    """/find."""

    text: str


class FoundText(Message, frozen=True):
    """What came of a step to the next place: here, wrapped (round an end), nowhere."""

    outcome: str


class ContextRead(Message, frozen=True):
    """What fills the model's window."""

    filled: Filled


class SummaryProposed(Message, frozen=True):
    """A summary waits for the person's word."""

    text: str


class SummarySettled(Message, frozen=True):
    """It waits no longer."""


class SessionsListed(Message, frozen=True):
    """Stored sessions for the picker of /resume, newest activity first."""

    sessions: tuple[Stored, ...]
    all_of_them: bool


class SessionsFound(Message, frozen=True):
    """What a search in them found; `notice` says what may be missing."""

    query: str
    all_of_them: bool
    sessions: tuple[Stored, ...]
    notice: str = ""


class Painted(Message, frozen=True):
    """These cards have been on the screen since now."""

    call_ids: tuple[str, ...]


class Ticked(Message, frozen=True):
    """Time goes on while something counts down."""


class OutOfSight(Message, frozen=True):
    """Not a row of these cards is on the screen any more: the person has scrolled away from them."""

    call_ids: tuple[str, ...]


class Notice(Message, frozen=True):
    """Something about the set-up that the person should know; lines after the first say what to do about it (LAY-6)."""

    sentence: str
    tone: str = "notice"


class ThemeAsked(Message, frozen=True):
    """`/theme`."""

    name: str


class Woke(Message, frozen=True):
    """What `Wake` asked for: time has passed."""


class ShowNotices(Message, frozen=True):
    """`/notices`: all of them again, as rows that stay."""


class Trouble(Message, frozen=True):
    """Something the screen did for the person failed (GEN-4): one transcript row."""

    sentence: str
