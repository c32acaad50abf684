"""Hunks: what a change consists of, and what is left of it after a choice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.edits.hunks import TOLD_LINES, Chosen, FileEdit, Hunk, carry, choose, described, hunks, told
from lmx_core.edits.text import EncodingConflict, Text

BEFORE = b"one\ntwo\nthree\nfour\nfive\n"
AFTER = b"ONE\ntwo\nthree\nfour\nfive\nsix\n"


def edit(before: bytes | None, after: bytes | None, path: str = "f", move_to: str | None = None) -> FileEdit:
    return FileEdit(path=path, before=before, after=after, move_to=move_to)


def test_hunks_are_numbered_over_all_files():
    files = [
        edit(BEFORE, AFTER),
        edit(None, b"new\n", "n"),
        edit(b"x\n", b"y\n", "m", "moved"),
        edit(b"gone\n", None, "d"),
    ]
    assert hunks(files) == [
        Hunk(number=1, path="f", kind="lines", line=1, removed="one\n", added="ONE\n"),
        Hunk(number=2, path="f", kind="lines", line=6, added="six\n"),
        Hunk(number=3, path="n", kind="create", added="new\n"),
        Hunk(number=4, path="m", kind="move", added="moved"),
        Hunk(number=5, path="m", kind="lines", line=1, removed="x\n", added="y\n"),
        Hunk(number=6, path="d", kind="delete", removed="gone\n"),
    ]
    assert [(hunk["number"], hunk["kind"]) for hunk in described(files)][:2] == [(1, "lines"), (2, "lines")]
    large = described([edit(b"a\n", b"x" * 30_000)])
    assert large == [{"number": 1, "path": "f", "kind": "lines", "line": 1}]


@pytest.mark.parametrize(
    ("accepted", "after"),
    (
        ({1, 2}, AFTER),
        ({1}, b"ONE\ntwo\nthree\nfour\nfive\n"),
        ({2}, b"one\ntwo\nthree\nfour\nfive\nsix\n"),
        (set(), None),
    ),
)
def test_some_are_taken_and_the_others_are_not(accepted, after):
    chosen = choose([edit(BEFORE, AFTER)], accepted)
    assert [file.after for file in chosen.files] == ([] if after is None else [after])
    assert (set(chosen.accepted), set(chosen.refused)) == (accepted, {1, 2} - accepted)


def test_whole_files_are_taken_or_left():
    files = [edit(None, b"new\n", "n"), edit(b"gone\n", None, "d"), edit(b"x\n", b"y\n", "m", "moved")]
    assert [(file.path, file.after, file.move_to) for file in choose(files, {1, 3}).files] == [
        ("n", b"new\n", None),
        ("m", b"x\n", "moved"),
    ]
    assert [(file.path, file.after, file.move_to) for file in choose(files, {2, 4}).files] == [
        ("d", None, None),
        ("m", b"y\n", None),
    ]


def test_what_is_left_keeps_line_ends_and_bytes_that_are_not_utf_8():
    before = b"\xef\xbb\xbfone\r\ntwo\nthr\xe9e\r\nfour"
    after = b"\xef\xbb\xbfONE\r\ntwo\nthr\xe9e\r\nFOUR"
    assert choose([edit(before, after)], {2}).files[0].after == before.replace(b"four", b"FOUR")
    assert [hunk.added for hunk in hunks([edit(before, after)])] == ["ONE\n", "FOUR"]


def test_a_text_of_the_persons_own():
    """One hunk as proposed, one taken back, one changed, and a place of their own."""
    before = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    proposed = b"1\nTWO\n3\nFOUR\n5\nSIX\n7\n8\n9\n"
    chosen = carry([edit(before, proposed)], {"f": "1\nTWO\n3\n4\n5\nsix!\n7\n8\nnine\n"})
    assert (chosen.accepted, chosen.refused, chosen.edited, chosen.elsewhere) == ((1,), (2,), (3,), 1)
    assert [file.after for file in chosen.files] == [b"1\nTWO\n3\n4\n5\nsix!\n7\n8\nnine\n"]
    assert chosen.record() == {"accepted": [1], "refused": [2], "edited": [3], "elsewhere": 1}
    said = told([edit(before, proposed)], chosen)
    assert said.startswith("Of the 3 hunks of this call, number 1 was accepted.")
    assert "Hunk 2 (f, line 4) was refused; nothing was changed there. It would have been:\n-4\n+FOUR" in said
    assert "number 3 was changed, and the person changed 1 more places" in said
    assert "f, line 6 of the text you proposed, has instead:\n-SIX\n+six!" in said and "\n-9\n+nine" in said


def test_the_text_of_a_new_a_deleted_and_an_untouched_file():
    files = [edit(None, b"new\n", "n"), edit(b"gone\n", None, "d"), edit(b"x\n", b"y\n", "k")]
    chosen = carry(files, {"n": "newer\n", "d": "stays\n"})
    assert [(file.path, file.after) for file in chosen.files] == [("n", b"newer\n"), ("d", b"stays\n"), ("k", b"y\n")]
    assert chosen.accepted == (3,) and chosen.edited == (1, 2)
    assert carry([edit(b"x\n", b"y\n")], {"f": "x\n"}).files == ()


def test_a_persons_text_keeps_the_bytes_of_the_lines_they_left():
    before, after = b"a\r\nb\nc\xe9\r\nd\r\n", b"A\r\nb\nc\xe9\r\nd\r\n"
    assert carry([edit(before, after)], {"f": "A\nb\nc\ufffd\nD\n"}).files[0].after == b"A\r\nb\nc\xe9\r\nD\r\n"
    with pytest.raises(EncodingConflict):
        carry([edit(before, after)], {"f": "A\nb\nc\ufffd!\nd\n"})


def test_what_the_model_is_told_is_bounded():
    files = [edit(b"a\n", b"".join(b"%d\n" % n for n in range(100)))]
    said = told(files, Chosen(files=(), refused=(1,)))
    assert f"[... {101 - TOLD_LINES} more lines]" in said and len(said.splitlines()) < TOLD_LINES + 5


LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"\xff"]), max_size=10)
FILES = st.builds(
    lambda lines, newline, ended: newline.join(lines) + (newline if ended and lines else b""),
    LINES,
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)


@given(FILES | st.none(), FILES | st.none(), st.sampled_from([None, "to"]), st.data())
def test_any_choice_is_between_before_and_after(before, after, move_to, data):
    """All is the change, none is no change, and whoever takes the rest of a choice afterwards gets the whole change."""
    if before is None or after is None:
        move_to = None
    file = edit(before, after, move_to=move_to)
    numbers = [hunk.number for hunk in hunks([file])]
    assert bool(numbers) == file.changes
    everything, nothing = choose([file], set(numbers)), choose([file], set())
    assert everything.files == ((file,) if file.changes else ()) and nothing.files == ()
    some = data.draw(st.sets(st.sampled_from(numbers))) if numbers else set()
    chosen = choose([file], some)
    assert chosen.accepted == tuple(n for n in numbers if n in some)
    assert sorted((*chosen.accepted, *chosen.refused)) == numbers
    if before is not None and after is not None and chosen.files:
        (left,) = chosen.files
        assert left.after is not None and len(hunks([left])) == len(some)
        rest = edit(left.after, after)
        assert len(hunks([rest])) <= len(numbers)
        assert {hunk.line for hunk in hunks([left])} <= {hunk.line for hunk in hunks([file])}


@given(FILES, FILES)
def test_a_persons_text_as_proposed_is_the_proposal(before, after):
    file = edit(before, after)
    chosen = carry([file], {"f": Text(after).shown})
    assert chosen.files == ((file,) if file.changes else ()) and not chosen.refused and not chosen.edited
