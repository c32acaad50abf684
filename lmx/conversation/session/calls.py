"""Tool calls on their way through the transcript: announced, running, parked, done (tui.md 6.1-6.3).

A call has one block from its announcement on, and everything about it is drawn there: parallel calls keep the order in which
they were announced, whichever ends first (RCP-6). Calls that only look at things share one `Explored` block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.blocks import Block
from lmx.conversation.state import Call, Explored, Item
from lmx.conversation.step import Step
from lmx.rows import Row
from lmx.sanitize import last_states, visible
from lmx_core import ToolCall

ENDINGS = {"ok": "done", "denied": "denied", "cancelled": "cancelled", "unknown": "lost"}
"""How an outcome (RE-6) is told; what is not named failed."""

TAIL_LINES = 4
TAIL_LINE_CHARACTERS = 2_000


def new_wave(step: Step, calls: list[dict[str, Any]]) -> None:
    """The calls of a new answer. Ids may repeat from one answer to the next, so the wave before is forgotten."""
    step.set(wave={}, settled=frozenset())
    for call in calls:
        announce(step, ToolCall(id=call["id"], name=call["name"], arguments=call.get("arguments") or {}))


def announce(step: Step, call: ToolCall) -> None:
    """Tells a call once, however often it is delivered (EVT-3)."""
    if call.id in step.state.wave:
        return
    what = step.receipts.explored(call)
    made = _block(step, call) if what is None else _grouped(step, call, visible(what))
    step.set(wave={**step.state.wave, call.id: made})
    turn = step.state.turn
    if turn is not None:
        step.set(turn=replace(turn, calls=turn.calls + 1))


def _block(step: Step, call: ToolCall) -> Call:
    made = Call(call=call, key=step.key("tool"))
    step.append(Block(key=made.key, kind="tool", rows=step.receipts.call(call, made.state), open=True))
    return made


def _grouped(step: Step, call: ToolCall, what: str) -> Call:
    item = Item(call_id=call.id, text=what)
    key = step.state.open_group
    if key is None:
        group = Explored(key=step.key("tool"), items=(item,))
        step.append(_explored(group), keeps_group=True)
        step.set(open_group=group.key)
    else:
        before = step.state.explored[key]
        group = replace(before, items=(*before.items, item), revision=before.revision + 1)
        step.replace(_explored(group))
    step.set(explored={**step.state.explored, group.key: group})
    return Call(call=call, key=group.key, item=len(group.items) - 1)


def change(step: Step, call_id: str, **changes: Any) -> None:
    """Changes a call of the wave and draws it again."""
    call = step.state.wave.get(call_id)
    if call is None:
        return
    call = replace(call, revision=call.revision + 1, **changes)
    step.set(wave={**step.state.wave, call_id: call})
    if call.item is None:
        step.replace(_open_block(step, call))


def _open_block(step: Step, call: Call) -> Block:
    rows = step.receipts.call(call.call, call.state)
    if call.tail is not None:
        rows += step.receipts.live(call.call, visible(last_states(call.tail)), call.hidden)
    return Block(key=call.key, kind="tool", rows=rows, revision=call.revision, open=not call.over)


def mark_running(step: Step) -> None:
    """Which calls run, as far as it can be seen: none beside one that is parked, then the first with a block of its own, and
    those that only look after all others. That is the engine's order (DI-1); live output proves it wrong where it differs.
    """
    open_calls = [call for call in step.state.wave.values() if not call.over and call.state != "parked"]
    nobody = any(call.state == "parked" for call in step.state.wave.values())
    first = next((call for call in open_calls if call.item is None), None)
    for call in open_calls:
        turn = call is first or (first is None and call.item is not None)
        state = "running" if (turn and not nobody) or call.tail is not None else "waiting"
        if state != call.state:
            change(step, call.call.id, state=state)
    for group in list(step.state.explored.values()):
        active = any(call.key == group.key and call.state == "running" for call in step.state.wave.values())
        if active != group.active:
            _put_group(step, replace(group, active=active))


def _put_group(step: Step, group: Explored) -> None:
    group = replace(group, revision=group.revision + 1)
    step.set(explored={**step.state.explored, group.key: group})
    step.replace(_explored(group))


def output(step: Step, call_id: str, text: str) -> None:
    """Live output: the newest lines are kept, however much comes (PRF-12)."""
    call = step.state.wave.get(call_id)
    if call is None or call.over or call.item is not None or not text:
        return
    lines = ((call.tail or "") + text).split("\n")
    tail = "\n".join(line[-TAIL_LINE_CHARACTERS:] for line in lines[-TAIL_LINES:])
    hidden = call.hidden + max(0, len(lines) - TAIL_LINES)
    change(step, call_id, tail=tail, hidden=hidden, state="running")
    step.do(fx.Streamed(id=call_id, title=step.receipts.title(call.call), text=text))


def result(step: Step, payload: Mapping[str, Any]) -> None:
    """A `tool_result` entry: the call is told if it was not yet, and its result drawn under it."""
    call = ToolCall(id=payload["call_id"], name=payload["name"], arguments=payload.get("arguments") or {})
    announce(step, call)
    told = step.state.wave[call.id]
    if not payload.get("hook_rewritten"):
        call = told.call
    state = ENDINGS.get(payload.get("outcome") or ("error" if payload.get("error") else "ok"), "failed")
    rows = step.receipts.failed(call, payload) if state != "done" else step.receipts.result(call, payload)
    if told.item is None:
        heading = step.receipts.call(call, "failed" if _exit_failed(payload) else state, payload)
        told = replace(told, call=call, state=state, revision=told.revision + 1)
        step.replace(Block(key=told.key, kind="tool", rows=heading + rows, revision=told.revision))
    else:
        told = replace(told, state=state)
        _explored_result(step, told, payload, rows if state != "done" else ())
    step.set(wave={**step.state.wave, call.id: told})
    _keep(step, call, payload)


def _exit_failed(payload: Mapping[str, Any]) -> bool:
    """A command that ran and exited with a status other than 0: a result for the model, a failure to the eye (BA-2)."""
    content = payload.get("structured_content")
    return isinstance(content, dict) and bool(content.get("exit_status"))


def _keep(step: Step, call: ToolCall, payload: Mapping[str, Any]) -> None:
    text = visible(last_states(str(payload.get("output") or "")))
    if text.strip():
        step.do(fx.Keep(id=call.id, title=step.receipts.title(call), text=text))


def _explored_result(step: Step, call: Call, payload: Mapping[str, Any], failed: tuple[Row, ...]) -> None:
    group = step.state.explored.get(call.key)
    if group is None or call.item is None:
        return
    found = visible(step.receipts.found(call.call, payload)) if not failed else ""
    items = list(group.items)
    items[call.item] = replace(items[call.item], done=True, result=found, failed=failed)
    group = replace(group, items=tuple(items), revision=group.revision + 1)
    step.replace(_explored(group))
    groups = {**step.state.explored, group.key: group}
    if group.closed and all(item.done for item in items):
        del groups[group.key]
    step.set(explored=groups)


def _explored(group: Explored) -> Block:
    """The rows of a group; the same thing looked at several times in a row is one line with `×N`."""
    busy = not all(item.done for item in group.items)
    failed = any(item.failed for item in group.items)
    verb = words.EXPLORED if not busy else words.EXPLORING if group.active else words.EXPLORE
    heading = Row(
        kind="heading",
        text=verb,
        gutter="• " if busy else "✗ " if failed else "✓ ",
        tone="plain" if busy else "error" if failed else "ok",
    )
    rows = [heading]
    place = 0
    while place < len(group.items):
        item = group.items[place]
        same = place + 1
        while same < len(group.items) and group.items[same].text == item.text and not group.items[same - 1].failed:
            same += 1
        last = group.items[same - 1]
        times = f" ×{same - place}" if same - place > 1 else ""
        text = words.spaced(item.text, last.result) + times
        rows.append(Row(kind="detail", text=text, gutter="  └ ", tone="muted", call_id=last.call_id))
        rows.extend(last.failed)
        place = same
    return Block(key=group.key, kind="tool", rows=tuple(rows), revision=group.revision, open=busy)


def lose(step: Step) -> None:
    """The turn is over or was never ended: what has no result by now is told so. A late one still replaces it."""
    for call in list(step.state.wave.values()):
        if call.over:
            continue
        if call.item is not None:
            missing = (Row(kind="output", text=words.LOST_CALL, gutter="    ", tone="warn", call_id=call.call.id),)
            _explored_result(step, replace(call, state="lost"), {}, missing)
        else:
            lost = Row(kind="detail", text=words.LOST_CALL, gutter="  └ ", tone="warn", call_id=call.call.id)
            rows = (*step.receipts.call(call.call, "lost"), lost)
            step.replace(Block(key=call.key, kind="tool", rows=rows, revision=call.revision + 1))
        gone = replace(call, state="lost", revision=call.revision + 1, tail=None)
        step.set(wave={**step.state.wave, call.call.id: gone})
