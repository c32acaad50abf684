"""What is kept of a background command's output: bounded, read piece by piece, counted to the byte."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.background.capture import Capture

CUT = re.compile(r"\n\[\.\.\. ([\d,]+) bytes cut from the middle \.\.\.\]\n")


def lines(first: int, last: int) -> str:
    return "".join(f"{number:06d}\n" for number in range(first, last))


def test_bg_4_both_ends_are_kept_and_what_is_between_is_counted():
    """BG-4: 1,000,000 bytes, half at each end, with the exact number of those left out."""
    capture, whole = Capture(), lines(0, 500_000)
    for start in range(0, len(whole), 65_536):
        capture.feed(whole[start : start + 65_536].encode())
    text = capture.text()
    head, cut, tail = CUT.split(text)
    assert head == whole[:500_000] and tail == whole[-500_000:]
    assert int(cut.replace(",", "")) == len(whole) - 1_000_000
    assert capture.received == capture.total == len(whole)


def test_bg_4_endless_output_fills_no_memory():
    capture = Capture(1_000)
    for _ in range(10_000):
        capture.feed(b"all work and no play\n")
    assert len(capture._head) + len(capture._tail) <= 500 + 2 * 500 and capture.total == 210_000


@pytest.mark.parametrize("count", [10, 60, 100, 10_000])
def test_what_is_shrunk_keeps_its_ends_and_its_count(count):
    capture, whole = Capture(1_000), lines(0, count)
    for line in whole.splitlines(keepends=True):
        capture.feed(line.encode())
    capture.end()
    capture.shrink(100)
    if len(whole) <= 100:
        assert capture.text() == whole
        return
    head, cut, tail = CUT.split(capture.text())
    assert (head, tail) == (whole[:50], whole[-50:]) and int(cut.replace(",", "")) == len(whole) - 100
    assert capture.kept == 100 and capture.total == len(whole)


def test_a_reader_gets_what_is_new_and_nothing_twice():
    capture = Capture(1_000)
    capture.feed(b"one\ntwo\n")
    assert capture.text() == "one\ntwo\n"
    seen = capture.total
    capture.feed(b"three\n")
    assert capture.text(seen) == "three\n" and capture.text(capture.total) == ""


def test_what_was_dropped_before_it_was_read_is_said():
    capture = Capture(100)
    capture.feed(lines(0, 8).encode())
    seen = capture.total
    capture.feed(lines(8, 1_000).encode())
    head, cut, tail = CUT.split(capture.text(seen))
    assert (head, tail) == ("", lines(0, 1_000)[-50:])
    assert int(cut.replace(",", "")) == 7 * 992 - 50


def test_a_progress_bar_is_shown_as_it_stands_and_counted_once_it_is_finished():
    capture = Capture()
    for step in range(2_000):
        capture.feed(f"\rstep {step}".encode())
    assert capture.text() == "step 1999" and capture.total == 0
    capture.feed(b"\n")
    assert capture.text() == "step 1999\n" and capture.received > 10_000


def test_a_prompt_without_its_newline_is_seen():
    capture = Capture()
    capture.feed(b"ready\nname? ")
    assert capture.text() == "ready\nname? " and capture.text(capture.total) == "name? "
    capture.end()
    assert capture.text() == "ready\nname? "


@given(
    st.integers(4, 40),
    st.lists(st.one_of(st.just(None), st.text(alphabet="ab\n€", max_size=30)), max_size=30),
    st.integers(2, 60),
)
def test_whatever_is_fed_and_read_the_counts_add_up(limit, feeds, most):
    """What is given and what is said to be cut is together all that came, at every reading; None stands for one."""
    capture, whole, seen = Capture(limit), "", 0
    for fed in [*feeds, None]:
        if fed is not None:
            capture.feed(fed.encode())
            whole += fed
            continue
        finished = whole[: whole.rfind("\n") + 1].encode()
        assert capture.total == len(finished)
        text, new = capture.text(seen, most).removesuffix(whole[whole.rfind("\n") + 1 :]), finished[seen:]
        if (found := CUT.search(text)) is None:
            assert text.encode() == new
        else:
            head, tail = text[: found.start()].encode(), text[found.end() :].encode()
            assert new.startswith(head) and new.endswith(tail)
            assert len(head) + int(found[1].replace(",", "")) + len(tail) == len(new)
        assert len(text.encode()) <= most + 60
        seen = capture.total
