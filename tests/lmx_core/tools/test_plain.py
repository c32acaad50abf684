"""Terminal output as plain text, the same wherever the pipe cuts it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.tools.plain import MAX_LINE_CHARS, MAX_SEQUENCE_CHARS, Plain


def plain(*pieces: bytes) -> str:
    filter_ = Plain()
    return "".join([*map(filter_.feed, pieces), filter_.end()])


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain\n", "plain\n"),
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        (b"\x1bP1$r0m\x1b\\x\x1b_apc\x1b\\y", "xy"),
        (b"\x1b(B\x1b=\x1b7\x1bMx", "x"),
        (b"\xc2\x9b31mx", "x"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"\rstep 1\rstep 2\rstep 3\n", "step 3\n"),
        (b"working 99%\rdone\nnext\r", "done\nnext"),
        (b"50%\r\x1b[2K100%\r\n", "100%\n"),
        (b"a\0b\n", "a\\x00b\n"),
        (b"bell\x07 del\x7f", "bell del\\x7f"),
        (b"B\x08Bo\x08old", "Bold"),
        (b"|\x08/\x08-\x08\x08done", "done"),
        (b"\xf0", "\ufffd"),
        (b"caf\xe9 \xd6\n", "caf\ufffd \ufffd\n"),
        (b"tab\tkept\n\n", "tab\tkept\n\n"),
        (b"\x1b[31m\x1b[0m", ""),
    ],
)
def test_ba_1_what_is_left_is_text(raw, text):
    """BA-1, C07: and the same when it comes byte by byte."""
    assert plain(raw) == text
    assert plain(*(raw[i : i + 1] for i in range(len(raw)))) == text


def test_c07_a_character_over_two_pieces():
    assert plain(b"\xe2\x82", b"\xac") == "€"


FRAGMENTS = st.sampled_from(
    r"\x1b[31m|\x1b]0;t\x07|\x1b]8;;u\x1b\\|\x1bPq\x1b\\|\x1b(B|\x1b|\r|\n|\r\n|\b|\0|ab|\xe2\x82\xac|\xff|[|]|;|m|\x07|\\|\xc2\x9b|1".split(
        "|"
    )
).map(lambda escaped: escaped.encode().decode("unicode_escape").encode("latin-1"))


@given(fragments=st.lists(FRAGMENTS, max_size=30), cuts=st.lists(st.integers(0, 100), max_size=6))
def test_ba_1_every_cut_gives_the_same_text(fragments, cuts):
    raw = b"".join(fragments)
    edges = sorted({0, len(raw), *(min(cut, len(raw)) for cut in cuts)})
    assert plain(*(raw[a:b] for a, b in pairwise(edges))) == plain(raw)


@given(raw=st.binary(max_size=300))
def test_c07_any_bytes_give_harmless_text(raw):
    text = plain(raw)
    text.encode("utf-8")
    assert not any(ord(char) < 32 and char not in "\n\t" for char in text)
    assert not any(127 <= ord(char) < 160 for char in text)


def test_a_sequence_that_never_ends_does_not_swallow_the_rest():
    text = plain(b"before\n\x1b]0;", b"x" * (MAX_SEQUENCE_CHARS * 2), b"\nafter\n")
    assert text.startswith("before\n") and text.endswith("after\n")


def test_a_line_without_end_is_passed_on_in_parts():
    filter_ = Plain()
    got = filter_.feed(b"x" * (MAX_LINE_CHARS + 1))
    assert len(got) == MAX_LINE_CHARS + 1


def test_c07_a_progress_bar_of_many_states_holds_one():
    filter_ = Plain()
    got = "".join(filter_.feed(b"\rstep %d" % i) for i in range(20_000))
    assert got == "" and len(filter_._line) < 20
    assert filter_.end() == "step 19999"
