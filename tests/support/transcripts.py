"""Entries for tests: a builder of sound transcripts, and Hypothesis strategies for arbitrary ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from lmx_core.entry import TYPES, Entry, make
from lmx_core.ids import UlidFactory

T0 = 1_764_500_000_000


class Conversation:
    """Builds a linked transcript: `add(type, **payload)` and short forms for what a session writes."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._ids = UlidFactory()

    def add(self, type: str, **payload: Any) -> Entry:
        at = T0 + 1_000 * len(self.entries)
        entry = make(
            id=self._ids.new(at),
            seq=len(self.entries),
            type=type,
            payload=payload,
            at_ms=at,
            parent_id=self.entries[-1].id if self.entries else None,
        )
        self.entries.append(entry)
        return entry

    def user(self, text: str, **more: Any) -> Entry:
        return self.add("user", text=text, **more)

    def answer(self, text: str = "", *calls: str, **more: Any) -> Entry:
        content = [{"type": "text", "text": text}] if text else []
        tool_calls = [{"id": id, "name": "bash", "arguments": {"command": "ls"}} for id in calls]
        return self.add("assistant", content=content, **({"tool_calls": tool_calls} if calls else {}), **more)

    def result(self, call_id: str, output: str = "done", outcome: str = "ok") -> Entry:
        return self.add(
            "tool_result", call_id=call_id, name="bash", output=output, outcome=outcome, error=outcome != "ok"
        )


def text() -> st.SearchStrategy[str]:
    """Any text that UTF-8 holds, newlines, NULs and other planes included."""
    return st.text(st.characters(exclude_categories=["Cs"]))


def json_values() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text()
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text(), inner, max_size=4), max_leaves=12
    )


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    objects = st.dictionaries(text(), json_values(), max_size=4)
    return make(
        id=draw(st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=26, max_size=26)),
        seq=draw(st.integers(0, 2**40)),
        type=draw(st.sampled_from(sorted(TYPES))),
        payload=draw(objects),
        at_ms=draw(st.integers(0, 253_402_300_799_999)),
        parent_id=draw(st.none() | text()),
        usage=draw(st.none() | objects),
        meta=draw(objects),
    )
