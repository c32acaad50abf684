"""What a slash command asks of the conversation."""

from __future__ import annotations

from lmx.conversation.effects import Effect
from lmx.conversation.messages.base import Message


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
