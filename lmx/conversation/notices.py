"""The box of notices about the set-up, which closes by itself (LAY-6, LAY-7).

They are rows in the transcript and not an overlay, so that they cover nothing, and they go away again, because they are no part
of the conversation. What a person could miss in five seconds, `/notices` says again.
"""

from __future__ import annotations

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.blocks import Block
from lmx.conversation.state import Box
from lmx.conversation.step import Step
from lmx.rows import Row
from lmx.sanitize import visible

SHOWN_MS = 5_000
MOST = 12
REMEMBERED = 200
_MARKS = {"warn": "⚠ ", "error": "✗ ", "notice": "• "}


def add(step: Step, sentence: str, tone: str = "notice") -> None:
    """A notice; lines after its first are the remedy. One that is in the box already only keeps it open."""
    item = (visible(sentence), tone)
    said = tuple(one for one in step.state.notices if one != item)
    step.set(notices=(*said, item)[-REMEMBERED:])
    box = step.state.box
    items = (item,) if box is None else (*(one for one in box.items if one != item), item)[-MOST:]
    if box is not None:
        step.do(fx.Remove(box.key))
    key = step.key("notices")
    step.append(Block(key=key, kind="notices", rows=_rows(items), tone="notice"), keeps_group=True)
    step.set(box=Box(key=key, items=items))
    _wait(step)


def woke(step: Step) -> None:
    """Time has passed: the box closes when it is due, but not while a panel keeps the person from reading."""
    box = step.state.box
    if box is None or box.until is None or step.state.panel is not None:
        return
    if step.now >= box.until:
        close(step)
    else:
        step.do(fx.Wake(box.until - step.now))


def panel_closed(step: Step) -> None:
    """The person can read again: the time starts anew."""
    if step.state.box is not None:
        _wait(step)


def close(step: Step) -> bool:
    """Takes the box away, if there is one."""
    box = step.state.box
    if box is None:
        return False
    step.set(box=None)
    step.do(fx.Remove(box.key))
    return True


def again(step: Step) -> None:
    """`/notices`: every notice of the sitting, as ordinary rows."""
    close(step)
    said = step.state.notices
    step.note("\n".join(_MARKS[tone] + text for text, tone in said) if said else words.NO_NOTICES, tone="notice")


def _wait(step: Step) -> None:
    box = step.state.box
    if box is not None:
        until = None if step.state.accessible else step.now + SHOWN_MS
        step.set(box=Box(key=box.key, items=box.items, until=until))
        if until is not None:
            step.do(fx.Wake(SHOWN_MS))


def _rows(items: tuple[tuple[str, str], ...]) -> tuple[Row, ...]:
    rows = []
    for text, tone in items:
        finding, *remedy = text.split("\n")
        rows.append(Row(kind="detail", text=finding, gutter=f"│ {_MARKS[tone]}", tone=tone))
        rows += [Row(kind="detail", text=line, gutter="│ ↳ ", tone="muted") for line in remedy]
    return tuple(rows)
