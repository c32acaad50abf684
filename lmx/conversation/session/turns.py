"""A turn from its prompt to the rule under it: what was spent, how it ended, and what the person can do next.

Everything in the summary comes from entries, so that a resumed transcript draws the very same rule (GEN-6); a stop watch of the
screen's own (the obvious other way) would know nothing after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.blocks import Block
from lmx.conversation.panels import question
from lmx.conversation.session import answers, calls, cards, phases
from lmx.conversation.state import Totals, Turn, Window
from lmx.conversation.step import Step
from lmx.conversation.unsent import followups, notes, queue
from lmx.sanitize import visible
from lmx_core import Usage
from lmx_core.events import ContextPosition, Finished, ProviderRetry, SteerDropped, TurnError

NOTIFY_AFTER_MS = 15_000
"""A turn this long calls the person back when it ends (NTF-1)."""

CONTEXT_WORTH_TELLING = 0.5
"""Below this the position is only in the status line."""


def begin(step: Step, at: int | None = None) -> None:
    """A prompt is on its way (`at` None) or recorded at this time. Begins a turn unless one is running."""
    turn = step.state.turn
    if turn is None:
        step.set(turns=step.state.turns + 1)
        step.set(hint="")
        turn = Turn(number=step.state.turns, since=step.now)
    if at is not None:
        turn = replace(turn, began=turn.began or at, last=at)
    step.set(turn=turn)


def touch(step: Step, at: int) -> None:
    """An entry was written at this time."""
    turn = step.state.turn
    if turn is not None and turn.began is not None:
        step.set(turn=replace(turn, last=at))


def counted(step: Step) -> None:
    """A request of the session's, a turn's or another."""
    settle(step)
    totals = step.state.totals
    step.set(totals=replace(totals, requests=totals.requests + 1, open=True))


def turned_away(step: Step) -> None:
    """The newest request was refused before any work: there is no usage to wait for, and nothing was paid."""
    step.set(totals=replace(step.state.totals, open=False))
    if (turn := step.state.turn) is not None:
        step.set(turn=replace(turn, turned_away=turn.turned_away + 1))


def settle(step: Step) -> None:
    """No request is on its way any more: usage that has not come will not come, and nobody knows what was paid (GEN-7)."""
    if step.state.totals.open:
        paid(step, None)


def requested(step: Step) -> None:
    counted(step)
    if step.state.turn is not None:
        step.set(turn=replace(step.state.turn, requests=step.state.turn.requests + 1))
        phases.enter(step, "waiting")


def spent(step: Step, usage: Mapping[str, Any] | None) -> None:
    """What an answer cost, and how full the window is after it."""
    paid(step, usage)
    turn = step.state.turn
    if usage is None:
        if turn is not None:
            step.set(turn=replace(turn, measured=False))
        return
    read, written = _number(usage, "cache_read_tokens"), _number(usage, "cache_write_tokens")
    fed, out = _fed(usage), _number(usage, "output_tokens")
    step.set(window=Window(tokens=fed + out or None, size=step.state.window.size))
    if turn is not None:
        before = turn.usage
        sums = (before[0] + fed, before[1] + read, before[2] + written, before[3] + out)
        step.set(turn=replace(turn, usage=sums, answered=True))


def paid(step: Step, usage: Mapping[str, Any] | None) -> None:
    """Adds a request to the session's sums. Missing numbers make a sum incomplete, never smaller (GEN-7)."""
    totals = step.state.totals
    if usage is None:
        step.set(totals=replace(totals, complete=False, cost=None, open=False))
        return
    tokens = totals.tokens + _fed(usage) + _number(usage, "output_tokens")
    price = usage.get("cost_usd")
    known = totals.cost is not None and isinstance(price, int | float)
    cost = Usage(cost_usd=totals.cost).add(Usage(cost_usd=price)).cost_usd if known else None
    step.set(totals=Totals(requests=totals.requests, tokens=tokens, complete=totals.complete, cost=cost))


def compacted(step: Step, usage: Mapping[str, Any] | None) -> None:
    """The conversation is shorter: how full its window is will be known when the next answer was measured (EVT-15)."""
    if usage is not None:
        paid(step, usage)
    step.set(window=Window(tokens=None, size=step.state.window.size))


def _fed(usage: Mapping[str, Any]) -> int:
    """Everything the model read, caches included."""
    fed = _number(usage, "input_tokens")
    if usage.get("input_includes_cached") is False:
        fed += _number(usage, "cache_read_tokens") + _number(usage, "cache_write_tokens")
    return fed


def _number(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) else 0


def position(step: Step, event: ContextPosition) -> None:
    """The engine's word on how full the window is; what is unknown stays so until it was measured."""
    unknown = not event.measured and step.state.window.tokens is None
    step.set(window=Window(tokens=None if unknown else event.tokens or None, size=event.window))


def failed(step: Step, event: TurnError) -> None:
    """Held until the turn ends; the `error` entry that tells the same comes in between and is drawn instead."""
    if step.state.turn is not None:
        step.set(turn=replace(step.state.turn, failure=(event.category, event.reason)))


def error_entry(step: Step, payload: Mapping[str, Any]) -> None:
    if payload.get("retrying"):
        return
    reason = visible(str(payload.get("reason") or words.UNKNOWN_ERROR))
    category = payload.get("category")
    if isinstance(category, str) or payload.get("code"):
        step.note(words.failure(str(category or "other"), reason), tone="error", kind="error")
    else:
        step.note(reason, tone="warn")
    if step.state.turn is not None:
        step.set(turn=replace(step.state.turn, told=True))


def retrying(step: Step, event: ProviderRetry) -> None:
    kind = words.RETRY_KINDS.get(event.category, words.RETRY_KINDS["other"])
    text = words.RETRYING.format(kind=kind, attempt=event.attempt, max=event.max)
    if event.after_output:
        text = words.joined((text, words.PARTIAL_KEPT))
    answers.close(step)
    phases.enter(step, "retrying", text, until=step.now + event.delay_ms)


def cancelled(step: Step) -> None:
    if step.state.turn is not None:
        step.set(turn=replace(step.state.turn, cancelled=True))


def finished(step: Step, event: Finished) -> None:
    """The engine is idle again: the turn is closed, told, and what could not be delivered comes back (CMP-33)."""
    turn = step.state.turn
    settle(step)
    long = turn is not None and step.now - turn.since >= NOTIFY_AFTER_MS
    if turn is not None:
        sentence = words.stopped(event.stop_reason, event.detail)
        if event.stop_reason == "cancelled":
            turn = replace(turn, cancelled=True)
        if sentence is not None and (not turn.told or event.stop_reason in words.GOVERNED):
            step.note(visible(sentence), tone="warn")
        step.set(turn=turn)
        close(step)
    if long and turn is not None:
        step.do(fx.Notify(words.FINISHED.format(time=words.duration(step.now - turn.since))))
    if event.stop_reason not in queue.WENT_WELL:
        queue.pause(step)
    elif turn is not None and step.suggest is not None:
        step.set(hint=followups.shown(step.suggest(turn.signals)))
    take_undelivered(step)


def take_undelivered(step: Step) -> None:
    """No turn is left for the waiting message: the engine must not keep it for the next prompt."""
    steer = step.state.steer
    if steer is not None and not steer.undelivered:
        step.set(steer=replace(steer, undelivered=True))
        step.do(fx.Revoke(steer.text))


def close(step: Step) -> None:
    """Ends the turn on the screen: open blocks are closed, then the rule with the summary."""
    turn = step.state.turn
    answers.close(step)
    calls.lose(step)
    cards.withdraw(step)
    question.withdraw(step)
    step.close_group()
    step.set(turn=None, phase=None, sending=None, quit_asked=False)
    if turn is None or turn.began is None:
        return
    if turn.failure is not None and not turn.told:
        category, reason = turn.failure
        step.note(words.failure(category, visible(reason)), tone="error", kind="error")
    step.append(Block(key=step.key("rule"), kind="rule", text=_summary(step, turn), tone="muted"))


def _summary(step: Step, turn: Turn) -> str:
    summary = words.turn_summary(
        ms=max(0, (turn.last or 0) - (turn.began or 0)),
        requests=turn.requests,
        usage=turn.usage if turn.measured and (turn.answered or turn.requests == turn.turned_away > 0) else None,
        calls=turn.calls,
    )
    window = step.state.window
    full = window.tokens is not None and window.size and window.tokens / window.size >= CONTEXT_WORTH_TELLING
    told = words.context_segment(window.tokens, window.size) if full else ""
    return words.joined((words.CANCELLED if turn.cancelled else "", summary, told))


def steer_dropped(step: Step, event: SteerDropped) -> None:
    """The engine did not deliver the waiting message: back to the person."""
    steer = step.state.steer
    if notes.read(event.text) is not None:
        step.do(fx.SteerTurn(event.text))  # it goes with the message after this one
    elif steer is not None and (steer.text == event.text or steer.masked):
        undelivered(step)


def undelivered(step: Step) -> None:
    steer = step.state.steer
    if steer is None:
        return
    step.set(steer=None)
    step.do(fx.Remove(steer.key))
    back = step.give_back(steer.draft)
    queue.pause(step)  # it was to go before what is queued (CMP-44)
    step.flash(words.STEER_UNDELIVERED if back else words.STEER_STASHED)
