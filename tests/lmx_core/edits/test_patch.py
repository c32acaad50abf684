"""Reading the patch format: what it means, what is forgiven, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.edits.patch import Hunk, PatchError, Section, argument, parse, paths

HUNK = Hunk(number=1, line=3, lines=((" ", "a"), ("-", "b"), ("+", "c")))
BODY = "*** Update File: f\n@@\n a\n-b\n+c\n"


def updated(text: str) -> tuple[Hunk, ...]:
    (section,) = parse(f"*** Begin Patch\n*** Update File: f\n{text}*** End Patch")
    return section.hunks


def test_ap_1_the_four_kinds_of_section():
    """AP-1: add, delete, update and move, in their order; a hunk's lines by their signs."""
    text = (
        "*** Begin Patch\n*** Add File: new/a.txt\n+one\n+\n+ two\n*** Delete File: old.txt\n"
        "*** Update File: m.py\n*** Move to: n.py\n@@ class A\n@@ def f(self):\n a\n-b\n+c\n*** End of File\n"
        "@@\n+z\n*** End Patch\n"
    )
    assert parse(text) == [
        Section(kind="add", path="new/a.txt", line=2, content="one\n\n two\n"),
        Section(kind="delete", path="old.txt", line=6),
        Section(
            kind="update",
            path="m.py",
            line=7,
            move_to="n.py",
            hunks=(
                Hunk(number=1, line=9, lines=HUNK.lines, anchors=("class A", "def f(self):"), at_end=True),
                Hunk(number=2, line=15, lines=(("+", "z"),)),
            ),
        ),
    ]


@pytest.mark.parametrize(
    "text",
    (
        f"*** Begin Patch\n{BODY}*** End Patch\n",
        f"\n\n  *** Begin Patch  \n{BODY}   *** End Patch\n\n",
        f"*** Begin Patch\n{BODY}*** End Patch".replace("\n", "\r\n"),
        f"\n{BODY}",
        f"<<'EOF'\n{BODY}EOF",
        f"<<EOF\n{BODY}EOF\n",
        f"apply_patch <<'PATCH'\n*** Begin Patch\n{BODY}*** End Patch\nPATCH\n",
        f"*** Begin Patch\n{BODY.replace('@@', '@@ -1,2 +1,2 @@')}*** End Patch",
        f"*** Begin Patch\n{BODY}\n\n*** End Patch",
        f"*** Begin Patch\n{BODY.replace('File: f', 'File:   f  ')}*** End Patch",
    ),
)
def test_ap_1_what_can_mean_one_thing_only_is_forgiven(text):
    """AP-1: a heredoc around it, a missing envelope, unified hunk headers, CR LF, blanks around the marks."""
    (section,) = parse(text)
    assert (section.path, section.hunks[0].lines, section.hunks[0].anchors) == ("f", HUNK.lines, ())


def test_ap_1_a_blank_line_is_a_blank_line_of_context():
    assert updated("@@\n a\n\n-b\n")[0].lines == ((" ", "a"), (" ", ""), ("-", "b"))


def test_the_free_text_of_a_unified_header_is_a_hint():
    assert [(hunk.hint, hunk.anchors) for hunk in updated("@@ -1 +1 @@ def f():\n-b\n")] == [("def f():", ())]


def test_a_hunk_may_say_how_the_file_ends():
    """Case C03: the final newline comes or goes only where the patch says so."""
    said = [
        updated(f"@@\n{lines}")[0].final_newline
        for lines in (
            "-b\n+b\n",
            "-b\n\\ No newline at end of file\n+b\n",
            "-b\n+b\n\\ No newline at end of file\n",
            "-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        )
    ]
    assert said == [None, True, False, False]
    (added,) = parse("*** Add File: f\n+a\n+b\n\\ No newline at end of file\n")
    assert added.content == "a\nb"
    (empty,) = parse("*** Add File: f\n")
    assert empty.content == ""


@pytest.mark.parametrize(
    ("text", "say"),
    (
        ("", "is empty"),
        ("*** Begin Patch\n*** End Patch", "is empty"),
        (f"*** Begin Patch\n{BODY}", "cut off"),
        (f"<<'EOF'\n{BODY}", "cut off"),
        (f"*** Begin Patch\n{BODY}*** End Patch\n{BODY}", "Line 8 of the patch comes after"),
        ("*** Begin Patch\nhello\n*** End Patch", "Line 2 of the patch: a section begins with"),
        ("*** Begin Patch\n*** Change File: f\n*** End Patch", "Line 2"),
        ("*** Begin Patch\n*** Add File: f\n+a\nb\n*** End Patch", "Line 4 of the patch: every line of an added file"),
        (
            "*** Begin Patch\n*** Add File: f\n+a\n\n+b\n*** End Patch",
            "Line 4 of the patch: every line of an added file",
        ),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", "updates f and says no change"),
        ("*** Begin Patch\n*** Update File: f\n@@\n*** End Patch", "has no lines"),
        (
            "*** Begin Patch\n*** Update File: f\n@@\nx = 1\n*** End Patch",
            "Line 4 of the patch: a line of a hunk begins with",
        ),
        ("*** Begin Patch\n*** Update File: f\n*** Move to:\n@@\n-a\n*** End Patch", "names no path to move to"),
        ("*** Begin Patch\n*** Update File:\n@@\n-a\n*** End Patch", "names no path"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\n*** End of File\n-b\n*** End Patch", "ends with"),
    ),
)
def test_ap_1_what_could_mean_two_things_is_refused_by_its_line(text, say):
    with pytest.raises(PatchError, match=say.replace("*", r"\*")):
        parse(text)


def test_a_line_of_context_that_reads_like_a_mark_is_context():
    """A patch of a text about patches: what follows a sign is never a mark."""
    marks = (" *** End Patch", "+*** Add File: x", "-*** Begin Patch", " *** End of File", "+@@")
    (hunk,) = updated("@@\n" + "".join(f"{line}\n" for line in marks))
    assert [sign + text for sign, text in hunk.lines] == list(marks)


def test_the_patch_comes_as_input_or_as_patch():
    """TOOL-5: `input`, also called `patch`."""
    assert argument({"input": BODY}) == argument({"patch": BODY}) == argument({"input": BODY, "patch": BODY}) == BODY
    for given_ in ({}, {"input": "  "}, {"input": BODY, "patch": "other"}, {"input": 3}):
        with pytest.raises(PatchError):
            argument(given_)


def test_every_path_a_patch_touches_is_named():
    """HP-11: what rules are compared with is what the tool would read."""
    text = (
        "*** Begin Patch\n*** Add File: a\n+x\n*** Update File:b\n*** Move to: ../c\n*** Delete File: d\n*** End Patch"
    )
    assert paths({"patch": text}) == ["a", "b", "../c", "d"]
    assert paths({"input": "no patch"}) == []


LINES = st.text(st.sampled_from("+- @*\\ab \t"), max_size=12)


@given(
    st.lists(
        LINES | st.sampled_from(["*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Update File: b", "@@"])
    )
)
def test_any_text_is_a_patch_or_a_sentence(lines):
    try:
        assert parse("\n".join(lines))
    except PatchError as error:
        assert str(error)
