"""Events out of bytes cut anywhere: for every cut the same events as for none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.providers.wire import sse
from lmx_core.providers.wire.sse import Events, EventTooLong

STREAM = (
    '\ufeff: a comment\n\nevent: x\r\ndata: {"a": "ü\u2028🎉"}\r\n\r\ndata:no space\r\rid: 7\ndata: two\ndata: lines\n\n'
    "data\n\nretry: 5\n\ndata: [DONE]\n\n"
).encode()
EVENTS = ['{"a": "ü\u2028🎉"}'.encode(), b"no space", b"two\nlines", b"", b"[DONE]"]


def read(*blocks: bytes) -> list[bytes]:
    events = Events()
    return [data for block in blocks for data in events.feed(block)]


def test_every_kind_of_line_end_comment_and_field() -> None:
    assert read(STREAM) == EVENTS


@pytest.mark.parametrize("stream", (STREAM, STREAM.replace(b"\r", b"").replace(b"\n", b"\r\n")))
def test_a_cut_at_any_byte_changes_nothing(stream: bytes) -> None:
    whole = read(stream)
    for at in range(len(stream) + 1):
        assert read(stream[:at], stream[at:]) == whole, at
    assert read(*[stream[n : n + 1] for n in range(len(stream))]) == whole


@given(st.lists(st.integers(0, len(STREAM)), max_size=12), st.booleans())
def test_any_cuts_change_nothing(cuts: list[int], crlf: bool) -> None:
    stream = STREAM.replace(b"\r", b"").replace(b"\n", b"\r\n") if crlf else STREAM
    plain = read(stream)
    edges = [0, *sorted(cuts), len(stream)]
    assert read(*[stream[a:b] for a, b in pairwise(edges)]) == plain


def test_what_is_left_at_the_end_is_given_once() -> None:
    events = Events()
    assert events.feed(b"data: last") == []
    assert events.close() == [b"last"] and events.close() == []


def test_a_long_event_in_small_pieces_is_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear: a megabyte in pieces of sixteen bytes, and a line that never ends is refused."""
    line = b"data: " + b"x" * 1_000_000 + b"\n\n"
    assert read(*[line[n : n + 16] for n in range(0, len(line), 16)]) == [line[6:-2]]
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 1_000)
    with pytest.raises(EventTooLong):
        read(*[b"x" * 100] * 12)
