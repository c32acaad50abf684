"""A file's bytes around an edit: none of them changes, whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.edits.text import Edit, EncodingConflict, Text, lines_of

any_file = st.one_of(
    st.binary(max_size=80),
    st.lists(
        st.sampled_from([b"a", b"\r\n", b"\n", b"\r", "ü".encode(), b"\xe9", b"\xef\xbb\xbf", b" "]), max_size=40
    ).map(b"".join),
)


@given(any_file, st.data())
def test_ed_2_bytes_outside_the_edit_are_never_touched(data: bytes, draws: st.DataObject) -> None:
    """ED-2, cases C01 and C02: what stands before and after it is the same, byte for byte."""
    file = Text(data)
    start = draws.draw(st.integers(0, len(file.text)))
    end = draws.draw(st.integers(start, len(file.text)))
    after = file.apply([Edit(start, end, "NEW")])
    head, _, tail = after.partition(b"NEW")
    assert data.startswith(head) and data.endswith(tail)
    assert Text(head).text == file.text[:start] and Text(b"." + tail).text[1:] == file.text[end:]


@given(any_file)
def test_ed_2_no_edit_is_no_change(data: bytes) -> None:
    """ED-2: and an edit that puts back what is there is none either, in a file of one kind of line end or of two."""
    file = Text(data)
    assert file.apply([]) == data
    if not file.bad_bytes:
        assert file.apply([Edit(0, len(file.text), file.text)]) == data or "\r" in file.text


@pytest.mark.parametrize(
    ("data", "old", "new", "after"),
    (
        (b"one\r\ntwo\nthree\r\nfour\r\n", "three\nfour", "three\nmid\nfour", b"one\r\ntwo\nthree\r\nmid\r\nfour\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "b1\nb2", b"a\r\nb1\r\nb2\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "b1\r\nb2", b"a\r\nb1\r\nb2\r\nc\r\n"),
        (b"a\nb\r\nc\r\nd\r\n", "a\nb\nc", "a\nX\nc", b"a\nX\r\nc\r\nd\r\n"),
        (b"a\nb\nc\r\n", "b\nc", "b\nnew\nc", b"a\nb\nnew\nc\r\n"),
        (b"a\r\nb\n", "b", "b\nc", b"a\r\nb\r\nc\n"),
        (b"a\nb", "b", "c", b"a\nc"),
        (b"\xef\xbb\xbfx\r\n", "x", "y\nz", b"\xef\xbb\xbfy\r\nz\r\n"),
        (b"caf\xe9 x \xd6\n", "x", "y", b"caf\xe9 y \xd6\n"),
        (
            "größe\n\udce9".encode("utf-8", "surrogateescape"),
            "größe",
            "Größe",
            "Größe\n\udce9".encode("utf-8", "surrogateescape"),
        ),
    ),
)
def test_ed_2_line_ends_bom_and_odd_bytes(data: bytes, old: str, new: str, after: bytes) -> None:
    """ED-2, case C01: new lines take the predominant end, a line that is repeated unchanged keeps its own."""
    file = Text(data)
    start = file.text.index(old)
    assert file.apply([Edit(start, start + len(old), new)]) == after


def test_ed_2_several_edits_of_one_file() -> None:
    file = Text(b"a\r\nb\r\na\r\n")
    assert file.apply([Edit(0, 1, "x\ny"), Edit(4, 5, "")]) == b"x\r\ny\r\nb\r\n\r\n"


@pytest.mark.parametrize("new", ("ü", "\ufffd"))
def test_a_file_is_never_made_one_of_two_encodings(new: str) -> None:
    """Case C02 c: refused, and U+FFFD is never written over bytes it stands for."""
    with pytest.raises(EncodingConflict):
        Text(b"x \xe9\xd6\n").apply([Edit(0, 1, new)])


def test_views() -> None:
    file = Text(b"\xef\xbb\xbfa\r\nb\xff\rc\n")
    assert file.text == "a\nb\udcff\rc\n" and file.shown == "a\nb\ufffd\rc\n" and file.bad_bytes == 1
    assert (Text(b"a\r\nb\n").newline, Text(b"a\nb\r\n").newline, Text(b"a").newline) == ("\r\n", "\n", "\n")
    assert lines_of("a\u2028b\x0c\n\nc") == ["a\u2028b\x0c\n", "\n", "c"] and lines_of("") == []
