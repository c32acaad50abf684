"""Entries become blocks, whether they arrive live or are read from a transcript (GEN-6).

There is one function for both, and what is drawn is decided by entries wherever an entry says it: a second code path for
resumed sessions is how screens come to show a conversation that never was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation import notices, tasks
from lmx.conversation.blocks import Block
from lmx.conversation.messages import Opened
from lmx.conversation.panels import frame as panels
from lmx.conversation.panels import question
from lmx.conversation.session import answers, calls, cards, checks, phases, turns
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.conversation.unsent import followups, notes
from lmx.rows import Row
from lmx.sanitize import one_line, visible
from lmx_core import Entry, ToolCall

ECHO_LINES = 8
"""Lines of a sent message that are echoed; the transcript holds all (CMP-16)."""


def fold(step: Step, entry: Entry, *, live: bool) -> None:
    """Draws one entry. Entries already seen are ignored, so a snapshot and the events around it may overlap (EVT-4)."""
    if entry.seq <= step.state.seq:
        return
    step.set(seq=entry.seq)
    step.live = live
    at = _time(entry)
    handle = _BY_TYPE.get(entry.type)
    if entry.type == "user":
        _user(step, entry, at)
    elif handle is not None:
        handle(step, entry)
        if not _is_of_a_summary(entry):
            turns.touch(step, at)


def _time(entry: Entry) -> int:
    return int(datetime.fromisoformat(entry.at).timestamp() * 1_000)


def _is_of_a_summary(entry: Entry) -> bool:
    """A summary may be asked for between two turns, and then it is no part of the time of either."""
    return entry.payload.get("kind") == "compaction" or "trigger" in entry.payload


def opened(step: Step, message: Opened) -> None:
    """Another session is shown from here on: the screen is cleared, what belongs to the person stays."""
    panels.leave_session(step)
    fresh = State(
        life="starting",
        session_id=message.session_id,
        name=one_line(message.name),
        model=one_line(message.model),
        mode=message.mode,
        sandbox=message.sandbox,
        notes=step.state.notes if message.session_id == step.state.session_id else (),
        keys=step.state.keys,
        **{name: getattr(step.state, name) for name in _OF_THE_PERSON},
    )
    step.state = fresh
    step.do(fx.Clear())
    notices.add(step, words.mode_sentence(message.mode, message.sandbox))


_OF_THE_PERSON = (
    "draft began began_focused focused held held_key stash queue performing kept history browsing menu menu_closed edited_at "
    "armed escaped told panel waiting_panels panel_painted notices accessible"
).split()


def resumed(step: Step, entries: Sequence[Entry]) -> None:
    """A slice of the stored transcript."""
    for entry in entries:
        fold(step, entry, live=False)


def settled(step: Step, pending: Sequence[dict[str, Any]], *, busy: bool) -> None:
    """The whole transcript is drawn. A turn that is not running any more is closed; parked calls get their cards (EVT-4)."""
    if not busy:
        turns.settle(step)
        if step.state.turn is not None:
            turns.close(step)
        return
    turns.begin(step)
    for parked in pending:
        if parked.get("kind") == "approval":
            _parked(step, parked["call_id"], parked.get("payload") or {})
        else:
            question.asks(step, parked["call_id"], parked.get("kind") or "", parked.get("payload") or {})
    calls.mark_running(step)
    phases.refresh(step)


def _user(step: Step, entry: Entry, at: int) -> None:
    payload = entry.payload
    joins = bool(payload.get("steer") or payload.get("stop_hook"))
    if not step.live and not joins and step.state.turn is not None:
        turns.close(step)
    _delivered(step, str(payload.get("text") or ""), joins=joins)
    turns.begin(step, at)
    if joins and (said := notes.read(str(payload.get("text") or ""))) is not None:
        if not notes.delivered(step, str(payload.get("text"))):
            notes.draw(step, entry.id, said)
        return
    if payload.get("stop_hook"):
        text = visible(str(payload.get("text") or ""))
        step.append(Block(key=entry.id, kind="note", text=words.harness_voice(text), tone="muted"))
        return
    text = _echo(visible(str(payload.get("text") or "")))
    step.append(Block(key=entry.id, kind="user", text=text, rows=_attached(payload), tone="you"))


def _attached(payload: dict[str, Any]) -> tuple[Row, ...]:
    """What the prompt brought along, and what was left out and why (CMP-38)."""
    listed = payload.get("attachments")
    return tuple(
        Row(
            kind="detail",
            text=one_line(words.attachment(item), "evidence"),
            gutter="  └ ",
            tone="warn" if item.get("kind") in ("error", "elided") or item.get("cut") else "muted",
        )
        for item in (listed if isinstance(listed, list) else ())
        if isinstance(item, dict)
    )


def _delivered(step: Step, text: str, *, joins: bool) -> None:
    """The person's words are on record: what stood for them on the screen goes."""
    steer = step.state.steer
    if joins or step.state.sending is None:
        if steer is not None and (steer.text == text or steer.masked):
            step.set(steer=None)
            step.do(fx.Remove(steer.key))
        return
    step.set(sending=None)


def _echo(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= ECHO_LINES:
        return text
    return "\n".join(lines[:ECHO_LINES]) + f"\n{words.more_of_message(len(lines) - ECHO_LINES)}"


def _assistant(step: Step, entry: Entry) -> None:
    answers.entry(step, entry.id, entry.payload)
    turns.spent(step, entry.usage)
    if entry.payload.get("tool_calls"):
        calls.new_wave(step, entry.payload["tool_calls"])
        calls.mark_running(step)
        phases.refresh(step)


def _tool_result(step: Step, entry: Entry) -> None:
    cards.decided(step, entry.payload["call_id"], "over")
    calls.result(step, entry.payload)
    if (turn := step.state.turn) is not None:
        step.set(turn=replace(turn, signals=followups.counted(turn.signals, entry.payload)))
    calls.mark_running(step)
    phases.refresh(step)


def _session(step: Step, entry: Entry) -> None:
    model = entry.payload.get("model")
    if not isinstance(model, str):
        return
    shown, before = one_line(model), step.state.model_on_record
    if before is not None and before != shown:
        if step.state.turn is not None and not step.live:
            turns.close(step)  # a model is changed between turns
        step.note(words.MODEL_NOW.format(model=shown), tone="muted")
    step.set(model_on_record=shown, model=shown)


def _request(step: Step, entry: Entry) -> None:
    if entry.payload.get("unbilled") is True:
        turns.turned_away(step)
    if entry.payload.get("kind", "turn") != "turn":
        turns.counted(step)
        return
    _asked_again(step, entry)
    turns.requested(step)
    note = entry.payload.get("retry")
    if isinstance(note, dict) and isinstance(previous := note.get("previous_model"), str):
        names = one_line(previous), one_line(str(entry.payload.get("model")))
        step.note(words.fell_back(*names, str(note.get("category"))), tone="notice")


def _asked_again(step: Step, entry: Entry) -> None:
    """After a turn that failed, a request without a message before it is `/retry`: a turn of its own."""
    turn = step.state.turn
    if turn is not None and turn.told and not step.live:
        turns.close(step)
    if step.state.turn is None or step.state.turn.began is None:
        turns.begin(step, _time(entry))


def _compaction(step: Step, entry: Entry) -> None:
    """A row where the earlier conversation left the requests: with a summary in its place, or cleared."""
    cut = entry.payload.get("entries")
    number = cut if isinstance(cut, int) else 0
    _between_turns(step, entry)
    turns.compacted(step, entry.usage)
    cleared = entry.payload.get("summary") is None
    step.note(words.cleared(number) if cleared else words.compacted(number), tone="muted")


def _between_turns(step: Step, entry: Entry) -> None:
    """What a person asked for between two turns ends the one before it, in a stored transcript too (GEN-6)."""
    if not step.live and step.state.turn is not None and entry.payload.get("trigger") in ("request", "clear"):
        turns.close(step)


def _approval(step: Step, entry: Entry) -> None:
    payload = entry.payload
    if payload.get("kind") == "question":
        if payload.get("status") != "pending":
            question.over(step, payload["call_id"])
        elif step.live:
            question.asks(step, payload["call_id"], "question", payload.get("detail") or {})
        return
    if payload.get("kind") != "approval":
        return
    if payload.get("status") == "pending":
        if step.live:
            _parked(step, payload["call_id"], payload.get("detail") or {})
    else:
        cards.decided(step, payload["call_id"], payload.get("status") or "")


def _parked(step: Step, call_id: str, detail: dict[str, Any]) -> None:
    """Draws the card of a call that the wave knows; what the hook rewrote comes with the detail or the event."""
    told = step.state.wave.get(call_id)
    name = detail.get("name") or (told.call.name if told else None)
    if not isinstance(name, str):
        return
    arguments = detail.get("arguments")
    if not isinstance(arguments, dict):
        arguments = told.call.arguments if told else {}
    cards.show(step, ToolCall(id=call_id, name=name, arguments=arguments), _details(detail))


def approval_event(step: Step, call: dict[str, Any]) -> None:
    """`tool_approval`: the same as the pending entry; whichever comes first draws."""
    _parked(step, call["id"], call)


def _details(detail: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in detail.items() if key not in ("id", "name", "arguments", "call_id")}


def _error(step: Step, entry: Entry) -> None:
    if unbilled := entry.payload.get("unbilled") is True:
        turns.turned_away(step)
    if "trigger" not in entry.payload:
        turns.error_entry(step, entry.payload)
        return
    _between_turns(step, entry)
    if not unbilled:
        turns.paid(step, entry.usage)
    if not entry.payload.get("retrying"):
        reason = visible(str(entry.payload.get("reason") or words.UNKNOWN_ERROR))
        step.note(f"{words.COMPACT_FAILED.format(reason=reason)}\n{words.COMPACT_NEXT}", tone="warn")


def _cancelled(step: Step, entry: Entry) -> None:
    if "trigger" in entry.payload:
        _between_turns(step, entry)
    else:
        turns.cancelled(step)


def _document(step: Step, entry: Entry) -> None:
    """The plan, or a check after edits; each leaves the other's alone."""
    tasks.fold(step, entry)
    checks.told(step, entry)


_BY_TYPE: dict[str, Callable[[Step, Entry], None]] = {
    "session": _session,
    "assistant": _assistant,
    "tool_result": _tool_result,
    "request": _request,
    "approval": _approval,
    "error": _error,
    "cancelled": _cancelled,
    "compaction": _compaction,
    "extension_state": _document,
}
