"""Neighbouring deltas become one event: a message or a repaint for each would keep the person's keys waiting (RND-5)."""

from __future__ import annotations

from collections.abc import Sequence

from lmx_core import events


def merged(arrived: Sequence[events.Event]) -> list[events.Event]:
    """The same events with neighbouring deltas joined; order is kept (RND-5)."""
    made: list[events.Event] = []
    pieces: list[str] = []
    for event in arrived:
        last = made[-1] if made else None
        if isinstance(event, events.TextDelta | events.ThinkingDelta | events.ToolDelta) and _continues(last, event):
            pieces.append(event.text)
            continue
        if isinstance(event, events.ToolCallDelta) and isinstance(last, events.ToolCallDelta) and last.id == event.id:
            made[-1] = event
            continue
        _close(made, pieces)
        made.append(event)
    _close(made, pieces)
    return made


def _continues(last: events.Event | None, event: events.Event) -> bool:
    if type(last) is not type(event):
        return False
    key = "call_id" if isinstance(event, events.ToolDelta) else "id"
    return bool(getattr(last, key) == getattr(event, key))


def _close(made: list[events.Event], pieces: list[str]) -> None:
    """Puts the collected pieces into the delta they continue."""
    if not pieces:
        return
    match made[-1]:
        case events.TextDelta(id=id, text=text):
            made[-1] = events.TextDelta(id=id, text=text + "".join(pieces))
        case events.ThinkingDelta(id=id, text=text):
            made[-1] = events.ThinkingDelta(id=id, text=text + "".join(pieces))
        case events.ToolDelta(call_id=call_id, name=name, text=text):
            made[-1] = events.ToolDelta(call_id=call_id, name=name, text=text + "".join(pieces))
    pieces.clear()
