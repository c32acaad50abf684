"""The lines that fit into an answer, out of bytes cut anywhere."""

from __future__ import annotations

import hashlib
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from lmx_core.edits import window as module
from lmx_core.edits.window import Window


def read(data: bytes, first: int = 1, count: int = 2_000, limit: int = 60_000, step: int = 65_536) -> Window:
    window = Window(first, count, limit)
    for at in range(0, len(data), step):
        window.feed(data[at : at + step])
        if not window.wants_more:
            return window
    window.end()
    return window


pieces = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", "ü🎉".encode(), b"\xff"]), max_size=30).map(
    b"".join
)


@given(pieces, st.integers(1, 6), st.integers(1, 5), st.integers(0, 30), st.integers(1, 9))
def test_rd_1_the_window_is_that_of_the_whole_text(data: bytes, first: int, count: int, limit: int, step: int) -> None:
    """RD-1: numbers and lines are the file's own, whatever pieces it comes in; the position to go on from loses nothing."""
    lines = data.decode("utf-8", "replace").split("\n")
    whole = [line.removesuffix("\r") for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    window = read(data, first, count, limit, step)
    assert window.total == len(whole)
    shown = window.lines
    assert shown == whole[first - 1 :][: len(shown)] and len(shown) <= count
    assert bool(shown) == (first <= len(whole))
    if window.next is None:
        assert first - 1 + len(shown) >= len(whole)
    else:
        assert window.next == first + len(shown) <= len(whole)
        assert (
            len(shown) == count
            or sum(len(f"{n}\t{line}\n".encode()) for n, line in enumerate(whole[first - 1 :][: len(shown) + 1], first))
            > limit
        )
    complete = first == 1 and window.next is None
    assert window.sha256 == (hashlib.sha256(data).hexdigest() if complete else None)


def test_rd_1_a_long_line_is_cut_and_marked() -> None:
    """RD-1: at 2,000 bytes, not in the middle of a character; such a file has not been read completely."""
    window = read(b"short\n" + "ü".encode() * 5_000 + b"\nend\n", step=7)
    assert window.lines[0] == "short" and window.lines[2] == "end" and window.cut_lines == 1
    assert window.lines[1] == "ü" * 1_000 + " [... line cut, it has 10,000 bytes]"
    assert window.next is None and window.sha256 is None
    assert read(b"x" * 2_000).cut_lines == 0 and read(b"x" * 2_000 + b"\r\n").cut_lines == 0


def test_rd_1_the_first_line_is_always_shown() -> None:
    assert read(b"x" * 100 + b"\ny\n", limit=10).lines == ["x" * 100]


def test_rd_1_lines_are_counted_past_the_window_up_to_a_limit(monkeypatch) -> None:  # type: ignore[no-untyped-def]  # pytest's own
    """RD-1: beyond it the total is unknown, and there is still a line to go on from."""
    data = b"line\n" * 1_000
    window = read(data, count=3, step=100)
    assert (window.total, window.next) == (1_000, 4)
    monkeypatch.setattr(module, "SCAN_BYTES", 500)
    window = read(data, count=3, step=100)
    assert (window.total, window.next, window.sha256) == (None, 4, None)


def test_rd_1_a_huge_line_costs_no_memory() -> None:
    window = Window(1, 10, 60_000)
    block = b"x" * 65_536
    tracemalloc.start()
    for _ in range(500):
        window.feed(block)
    window.end()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000 and "32,768,000 bytes" in window.lines[0]


def test_rd_2_line_ends_bom_and_odd_bytes_are_noted() -> None:
    """RD-2, case C02 d: CR is hidden and counted, undecodable bytes are counted, a real U+FFFD is none."""
    window = read(b"\xef\xbb\xbfa\r\nb\nc\xff\n\xef\xbf\xbd\n", step=1)
    assert window.lines == ["a", "b", "c\ufffd", "\ufffd"] and (window.crlf, window.damaged) == (1, 1)
