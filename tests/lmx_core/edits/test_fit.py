"""Where a hunk goes, and which bytes it changes."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lmx_core.edits import fit as fitting
from lmx_core.edits.patch import PatchError, parse
from lmx_core.edits.text import EncodingConflict


def fit(data: bytes, hunks: str) -> fitting.Fitted:
    (section,) = parse(f"*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch")
    return fitting.fit("f", data, section.hunks)


def refused(data: bytes, hunks: str) -> str:
    with pytest.raises(PatchError) as caught:
        fit(data, hunks)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "hunks", "after"),
    (
        (b"a\r\nb\r\nc\r\n", "@@\n a\n-b\n+b1\n+b2\n c\n", b"a\r\nb1\r\nb2\r\nc\r\n"),
        (b"one\r\ntwo\nthree\r\nfour\r\n", "@@\n three\n+mid\n four\n", b"one\r\ntwo\nthree\r\nmid\r\nfour\r\n"),
        (b"\xef\xbb\xbfa\nb\n", "@@\n-a\n+A\n", b"\xef\xbb\xbfA\nb\n"),
        (b"x = 1;\n// caf\xe9 \xd6\xd0\n", "@@\n-x = 1;\n+x = 2;\n", b"x = 2;\n// caf\xe9 \xd6\xd0\n"),
        ("x = 1;\n// caf\ufffd\n".encode(), "@@\n-x = 1;\n+x = 2;\n // caf\ufffd\n", "x = 2;\n// caf\ufffd\n".encode()),
        (b"x = 1;\n// caf\xe9\n", "@@\n-x = 1;\n+x = 2;\n // caf\ufffd\n", b"x = 2;\n// caf\xe9\n"),
        (b"a\x0cb\xe2\x80\xa8c\nd\n", "@@\n-d\n+e\n", b"a\x0cb\xe2\x80\xa8c\ne\n"),
        (b"", "@@\n+x\n+y\n", b"x\ny\n"),
        (b"a\nb\n", "@@\n a\n-b\n", b"a\n"),
        (b"a\nb\n", "@@\n-a\n-b\n", b""),
    ),
)
def test_ap_2_only_the_named_lines_change(data, hunks, after):
    """AP-2, cases C01 and C02: line ends, BOM, bytes that are not UTF-8, and lines the hunk only quotes."""
    assert fit(data, hunks).data == after


@pytest.mark.parametrize(
    ("data", "hunks", "after"),
    (
        (b"alpha\nbeta", "@@\n-alpha\n+ALPHA\n", b"ALPHA\nbeta"),
        (b"alpha\nbeta", "@@\n-beta\n+BETA\n", b"alpha\nBETA"),
        (b"alpha\nbeta\n", "@@\n-beta\n+BETA\n", b"alpha\nBETA\n"),
        (b"alpha\nbeta\n\n", "@@\n-alpha\n+ALPHA\n", b"ALPHA\nbeta\n\n"),
        (b"alpha\nbeta", "@@\n beta\n+gamma\n", b"alpha\nbeta\ngamma"),
        (b"alpha\r\nbeta", "@@\n beta\n+gamma\n", b"alpha\r\nbeta\r\ngamma"),
        (b"alpha\nbeta", "@@\n alpha\n-beta\n", b"alpha"),
        (b"alpha\r\nbeta", "@@\n alpha\n-beta\n", b"alpha"),
        (b"alpha\nbeta", "@@\n+x\n", b"alpha\nbeta\nx"),
        (b"alpha\nbeta", "@@\n-beta\n\\ No newline at end of file\n+beta\n", b"alpha\nbeta\n"),
        (b"alpha\nbeta\n", "@@\n-beta\n+beta\n\\ No newline at end of file\n", b"alpha\nbeta"),
        (b"alpha\nbeta", "@@\n-beta\n+beta\n+\n", b"alpha\nbeta\n"),
        (b"alpha\nbeta", "@@\n-alpha\n+ALPHA\n beta\n\\ No newline at end of file\n", b"ALPHA\nbeta"),
    ),
)
def test_ap_2_the_end_of_the_file_stays_as_it_is_unless_the_patch_says_so(data, hunks, after):
    """AP-2, case C03."""
    assert fit(data, hunks).data == after


def test_case_c03_there_and_back_three_times_changes_nothing():
    for data in (b"alpha\nbeta", b"alpha\nbeta\n", b"alpha\nbeta\n\n"):
        now = data
        for _ in range(3):
            now = fit(now, "@@\n-alpha\n+ALPHA\n").data
            assert now == data.replace(b"alpha", b"ALPHA")
            now = fit(now, "@@\n-ALPHA\n+alpha\n").data
        assert now == data


@pytest.mark.parametrize(
    ("data", "hunks", "after", "rule"),
    (
        ("a  \nb\n", "@@\n a\n-b\n+c\n", "a  \nc\n", "ignoring whitespace at line ends"),
        ("    x = 1\n    y = 2\n", "@@\n x = 1\n+if z:\n+    z = 3\n y = 2\n", None, "ignoring indentation"),
        ("say \u201chi\u201d \u2014 now\nb\n", '@@\n say "hi" - now\n-b\n+c\n', None, "typographic"),
    ),
)
def test_ap_2_looser_comparisons_are_said_and_keep_the_files_own_context(data, hunks, after, rule):
    """AP-2, case C04 c: each rung of the ladder is told; what is added is indented as the place is."""
    fitted = fit(data.encode(), hunks)
    expected = {
        "ignoring indentation": "    x = 1\n    if z:\n        z = 3\n    y = 2\n",
        "typographic": "say \u201chi\u201d \u2014 now\nc\n",
    }.get(rule, after)
    assert fitted.data.decode() == expected
    (note,) = fitted.notes
    assert "Hunk 1 of f was found at line 1" in note and rule in note


def test_ap_2_an_exact_place_is_taken_before_a_loose_one():
    assert fit(b"  a\nb\na\nb\n", "@@\n a\n-b\n+c\n").data == b"  a\nb\na\nc\n"


METHODS = b"class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n"
BODY = "     def f(self):\n-        return 1\n+        return 2\n"


def test_case_c04_several_places_are_refused_and_an_anchor_chooses():
    """AP-2, case C04 a and b: candidates by their lines; below an anchor the first place is meant."""
    said = refused(METHODS, f"@@\n{BODY}")
    assert "fits in 2 places, at the lines 2, 7" in said and "@@" in said
    assert fit(METHODS, f"@@ class B:\n{BODY}").data == METHODS[:-2] + b"2\n"
    assert fit(METHODS, f"@@ class A:\n{BODY}").data == METHODS.replace(b"return 1", b"return 2", 1)
    chained = "@@ class B:\n@@     def f(self):\n-        return 1\n+        return 2\n"
    assert fit(METHODS, chained).data == METHODS[:-2] + b"2\n"
    unified = "@@ -7,2 +7,2 @@ class B:\n" + BODY
    assert fit(METHODS, unified).data == METHODS[:-2] + b"2\n"


def test_an_anchor_in_several_places_chooses_none():
    said = refused(METHODS, "@@     def f(self):\n-        return 1\n+        return 2\n")
    assert "fits in 2 places, at the lines 3, 8" in said


def test_ap_2_hunks_are_looked_for_below_one_another():
    """AP-2: the first hunk makes the second one's place the only one left."""
    two = f"@@ class A:\n{BODY}@@\n" + BODY.replace("return 2", "return 3")
    assert fit(METHODS, two).data == METHODS.replace(b"return 1", b"return 2", 1)[:-2] + b"3\n"
    said = refused(b"a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A\n")
    assert "Hunk 2 of f" in said and "line 1" in said and "order of the file" in said


def test_an_anchor_that_the_hunk_before_stands_under_still_holds():
    data = b"class B:\n    a = 1\n    b = 2\n"
    hunks = "@@ class B:\n-    a = 1\n+    a = 9\n@@ class B:\n-    b = 2\n+    b = 9\n"
    assert fit(data, hunks).data == b"class B:\n    a = 9\n    b = 9\n"


def test_ap_2_end_of_file_anchors_at_the_end():
    """AP-2: of several places the last one is meant; where the end does not fit, any one place."""
    assert fit(b"x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n").data == b"x\ny\nz\n"
    assert fit(b"x\ny\n", "@@\n-x\n+z\n*** End of File\n").data == b"z\ny\n"
    assert fit(b"a\n", "@@ a\n+z\n*** End of File\n").data == b"a\nz\n"
    assert fit(b"b\n\nb\n", "@@\n-b\n \n*** End of File\n").data == b"b\n\n"
    assert "not in the file" in refused(b"a\nb\n", "@@\n-a\n+A\n\\ No newline at end of file\n")


def test_ap_2_a_blank_line_at_the_end_of_a_hunk_may_be_the_patchs_own():
    assert fit(b"a\nb\nc\n", "@@\n a\n-b\n+B\n \n@@\n-c\n+C\n").data == b"a\nB\nC\n"


def test_lines_without_a_place_go_below_their_anchor_or_to_the_end():
    assert fit(b"a\nb\n", "@@ a\n+x\n").data == b"a\nx\nb\n"
    assert fit(b"a\nb\n", "@@\n+x\n").data == b"a\nb\nx\n"
    assert fit(b"a\nb\n", "@@\n+x\n@@\n-a\n+A\n@@\n-b\n+B\n").data == b"A\nB\nx\n"


@pytest.mark.parametrize(
    ("before", "hunks"),
    (
        (b"a\nb\nc\n", "@@\n a\n-b\n+B\n c\n"),
        (b"a\nc\n", "@@\n a\n+b\n c\n"),
        (b"a\n", "@@\n a\n+b\n"),
        (b"b\n", "@@\n+a\n b\n"),
        (b"a\nc\n", "@@ a\n+b\n"),
        (b"a\n", "@@\n+b\n"),
    ),
)
def test_case_c04_the_same_patch_a_second_time_says_so(before, hunks):
    """Case C04 e."""
    once = fit(before, hunks).data
    assert "already" in refused(once, hunks)


def test_ap_2_a_failure_quotes_what_is_expected_and_what_comes_closest():
    """AP-2, case C04 c: at most eight expected lines, and the first line that differs, both texts."""
    lines = [f"value_{n} = compute({n})" for n in range(20)]
    hunk = "@@\n" + "".join(f" {line}\n" for line in [*lines[:2], "value_2 = compute(22)", *lines[3:]]) + "+x\n"
    said = refused("".join(f"{line}\n" for line in lines).encode(), hunk)
    assert "value_7 = compute(7)\n[... 12 more]" in said and "value_8 = compute(8)\n[" not in said
    assert (
        "the first that differs is 3. The patch has\nvalue_2 = compute(22)\nand the file\nvalue_2 = compute(2)" in said
    )
    assert "Nothing in the file is like it" in refused(b"aaa\n", "@@\n-zzz\n+y\n")
    assert "names the line 'class C' after @@, which is not in the file" in refused(METHODS, f"@@ class C\n{BODY}")


def test_case_c02_letters_do_not_go_into_a_file_of_another_encoding():
    with pytest.raises(EncodingConflict):
        fit(b"x\n// caf\xe9 \xd6\xd0\n", "@@\n-x\n+\xfc\n")


LINE = st.sampled_from(["a", "b", "  a", "c", "", "d "])
FILE = st.lists(LINE, max_size=8)


@given(FILE, FILE, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_a_patch_of_the_whole_file_makes_the_other_file(old, new, ended, newline):
    """The hunk that quotes everything has one place; the end stays as it was."""
    assume(old and new and old != new and any(line for line in old) and new[-1] and old[-1])
    assume(len(old) > 1 or ended)  # else nothing says which line ends the file has
    before = newline.join(old) + (newline if ended else "")
    hunk = "@@\n" + "".join(f"-{line}\n" for line in old) + "".join(f"+{line}\n" for line in new)
    try:
        after = fit(before.encode(), hunk).data.decode()
    except PatchError as error:
        assert "already" in str(error)
        return
    assert after == newline.join(new) + (newline if ended else "")


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=1, max_size=6), st.binary(max_size=30))
def test_what_a_hunk_does_not_name_keeps_its_bytes(tail, head):
    """Any bytes before the place, whatever they are, come out as they went in."""
    marked = "\n<<unique>>\n"
    rest = "".join(line.replace("\n", "").replace("\r", "") + "\n" for line in tail)
    assume("<<unique>>" not in rest and b"<<unique>>" not in head)
    data = head + marked.encode() + rest.encode()
    out = fit(data, "@@\n-<<unique>>\n+changed\n").data
    newline = b"\r\n" if out.count(b"changed\r\n") else b"\n"
    assert out == head + b"\nchanged" + newline + rest.encode() or (head + b"\n").count(b"\r\n")


def test_a_large_file_takes_little_time():
    lines = [f"line {n}" for n in range(100_000)]
    hunks = "".join(f"@@\n line {n}\n-line {n + 1}\n+changed\n" for n in range(0, 90_000, 3_000))
    begun = time.process_time()
    fit("".join(f"{line}\n" for line in lines).encode(), hunks)
    assert time.process_time() - begun < 3
