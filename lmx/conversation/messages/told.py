"""What the bridge and the surface tell: the session's life, answers to what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmx.changes import Change, Changes, Patch
from lmx.conversation.draft import Draft
from lmx.conversation.messages.base import Message
from lmx.conversation.panels.context import Filled
from lmx.conversation.panels.first_run import Access
from lmx.conversation.panels.picker import Stored
from lmx.conversation.picker import Index
from lmx.conversation.unsent.kept import Kept
from lmx_core import Entry


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
