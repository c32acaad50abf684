"""When the model goes round in circles (GU-1 to GU-4).

The session keeps the `Record` of what was called and answered, whichever guard reads it, and asks the guard once for every
wave that has settled. A guard is any object with `decide(view)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from lmx_core.calls import Outcome, digest
from lmx_core.messages import Messages

WINDOW = 8
"""How many of the last calls a guard sees."""
MAX_REPEATS = 3
"""The same round this many times running is no progress."""
IN_PROGRESS = frozenset({"running", "pending", "queued", "in_progress"})


class Continue(msgspec.Struct, frozen=True):
    pass


class Stop(msgspec.Struct, frozen=True):
    """End the prompt: `reason` becomes the stop reason, `message` the `error` entry."""

    reason: str
    message: str


class Seen(msgspec.Struct, frozen=True):
    """A call and its answer. Two are equal when name, arguments, output and error are."""

    name: str
    arguments: str
    output: str
    error: bool


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a guard may look at. `repeats`: how often the last round has come running; `last_wave` is its fingerprint."""

    recent_calls: tuple[Seen, ...]
    repeats: int
    last_wave: str | None
    turns_taken: int
    max_turns: int
    messages: Messages


@runtime_checkable
class Guard(Protocol):
    """Looks once per settled wave, after its results are written, and may stop the prompt (GU-1)."""

    def decide(self, view: View) -> Continue | Stop: ...


class StandardGuard:
    """The shipped rule, in its order (GU-2)."""

    def decide(self, view: View) -> Continue | Stop:
        if view.repeats >= MAX_REPEATS:
            return Stop("no_progress", view.messages.stuck(view.repeats))
        if len(view.recent_calls) == WINDOW and _repeated(view.recent_calls) * 2 >= WINDOW:
            return Stop("no_progress", view.messages.cycling(WINDOW))
        if view.turns_taken >= view.max_turns:
            return Stop("max_turns", view.messages.turn_budget_spent(view.turns_taken))
        return Continue()


def _repeated(calls: Sequence[Seen]) -> int:
    return len(calls) - len(set(calls))


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What was called since the person's prompt."""

    recent_calls: tuple[Seen, ...] = ()
    repeats: int = 0
    last_wave: str | None = None

    def settled(self, wave: Sequence[Outcome]) -> Record:
        """The record after `wave`. Work that is still in progress joins nothing: waiting is not going in circles."""
        seen = [_seen(outcome) for outcome in wave if not in_progress(outcome)]
        if not seen:
            return Record(recent_calls=self.recent_calls)
        fingerprint = digest(sorted(digest(call) for call in seen))
        return Record(
            recent_calls=(*self.recent_calls, *seen)[-WINDOW:],
            repeats=self.repeats + 1 if fingerprint == self.last_wave else 1,
            last_wave=fingerprint,
        )

    def view(self, *, turns_taken: int, max_turns: int, messages: Messages) -> View:
        return View(
            recent_calls=self.recent_calls,
            repeats=self.repeats,
            last_wave=self.last_wave,
            turns_taken=turns_taken,
            max_turns=max_turns,
            messages=messages,
        )


def in_progress(outcome: Outcome) -> bool:
    """Whether a result says that its work goes on (GU-3)."""
    if outcome.result is None:
        return False
    content, metadata = outcome.result.structured_content, outcome.result.metadata or {}
    status = content.get("status") if isinstance(content, dict) else None
    return (isinstance(status, str) and status in IN_PROGRESS) or metadata.get("in_progress") is True


def _seen(outcome: Outcome) -> Seen:
    return Seen(outcome.call.name, digest(outcome.arguments), digest(outcome.text), outcome.error)
