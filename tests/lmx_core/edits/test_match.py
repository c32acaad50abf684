"""Where an edit goes: the ladder, rung by rung, and that no rung ever chooses between two places."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.cost import cost

from lmx_core.edits import match
from lmx_core.edits.match import Ambiguous, Found, NotFound, find

CODE = """\
class A:
    def run(self):
        if self.ready:
            return 1

        return 2

class B:
    def stop(self):
        return 2
"""


def edited(text: str, old: str, new: str, *, replace_all: bool = False) -> tuple[str, str]:
    """The text after the edit, and the rule that found the place."""
    found = find(text, old, new, replace_all=replace_all)
    assert isinstance(found, Found), found
    for place in reversed(found.places):
        text = text[: place.start] + place.new + text[place.end :]
    return text, found.rule


READY, ONE = "        if self.ready:\n", "            return 1\n"


@pytest.mark.parametrize(
    ("old", "new", "rule", "was", "now"),
    (
        ("return 1", "return 3", match.EXACT, "return 1", "return 3"),
        (f"3\t{READY}4\t{ONE}", "x\n", match.NUMBERED, READY + ONE, "x\n"),
        (" 12\treturn 1", "12\treturn 3", match.NUMBERED, "return 1", "return 3"),
        (
            "        if self.ready:\t\n            return 1  \n",
            "        pass\n",
            match.TRAILING,
            READY + ONE,
            "        pass\n",
        ),
        ("    if self.ready: \n        return 1", "    pass", match.INDENTED, READY + ONE[:-1], "        pass"),
        ("if self.ready:  \n            return 1", "pass", match.INDENTED, READY + ONE[:-1], "        pass"),
        ("if self.ready:\n    return 1\n", "if x:\n    return 1\n", match.INDENTED, READY, "        if x:\n"),
        ("return 1\n", "if x:\n    return 1\n", match.EXACT, "return 1\n", "if x:\n    return 1\n"),
        ("class   A:", "class C:", match.SPACED, "class A:", "class C:"),
        ("ready:   return", "ready: x", match.SPACED, "ready:\n            return", "ready: x"),
        ("def  run( self ):", "x", None, "", ""),
    ),
)
def test_ed_1_each_rung_finds_its_one_place(old: str, new: str, rule: str | None, was: str, now: str) -> None:
    """ED-1: exact, without numbers, ignoring trailing whitespace, indentation, runs of whitespace; nothing else is forgiven."""
    if rule is None:
        assert isinstance(find(CODE, old, new), NotFound)
        return
    assert CODE.count(was) == 1
    assert edited(CODE, old, new) == (CODE.replace(was, now), rule)


@pytest.mark.parametrize(
    ("old", "rule", "lines"),
    (
        ("return 2", match.EXACT, (6, 10)),
        ("9\treturn 2", match.NUMBERED, (6, 10)),
        ("        return 2 \n", match.TRAILING, (6, 10)),
        ("return 2\t\n", match.INDENTED, (6, 10)),
        ("return   2", match.SPACED, (6, 10)),
    ),
)
def test_ed_1_two_places_are_refused_on_every_rung(old: str, rule: str, lines: tuple[int, ...]) -> None:
    """ED-1: with the count; a looser rung never gets to choose."""
    assert find(CODE, old, "x") == Ambiguous(2, lines, rule)


def test_ed_1_overlapping_places_are_two() -> None:
    assert find("aaa", "aa", "b") == Ambiguous(2, (1, 1), match.EXACT)
    assert edited("aaa", "aa", "b", replace_all=True) == ("ba", match.EXACT)


def test_ed_1_replace_all_uses_only_the_first_two_rungs() -> None:
    assert edited(CODE, "return 2", "pass", replace_all=True)[0] == CODE.replace("return 2", "pass")
    assert edited(CODE, "1\treturn 2", "1\tpass", replace_all=True) == (
        CODE.replace("return 2", "pass"),
        match.NUMBERED,
    )
    for old in ("        return 2 \n", "return   2", "return 2\t\n"):
        assert isinstance(find(CODE, old, "pass", replace_all=True), NotFound)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    (
        (
            "\tif a:\n\t\tb()\n",
            "if a:\n    b()\n",
            "if a:\n    c()\nelse:\n    d()\n",
            "\tif a:\n\t\tc()\n\telse:\n\t\td()\n",
        ),
        ("a:\n  b\n", "    a:\n      b\n", "    a:\n      c\n  e\n", "a:\n  c\ne\n"),
        ("    x\n\n    y\n", "x\n\ny\n", "x\n\nz\n", "    x\n\n    z\n"),
    ),
)
def test_ed_1_new_text_is_indented_by_the_difference(text: str, old: str, new: str, after: str) -> None:
    assert edited(text, old, new) == (after, match.INDENTED)


def test_ed_1_a_repeated_line_is_left_as_the_file_has_it() -> None:
    """ED-1: what the quoted and the new text share is not changed, trailing blanks and odd indentation included."""
    assert edited("a  \n\tb\t\nc\n", "a\n\tb\nc\n", "a\n\tb\nd\n") == ("a  \n\tb\t\nd\n", match.TRAILING)
    assert edited("a:\n    b:\n        c\n", "a:\n b:\n c\n", "a:\n b:\n d\n") == (
        "a:\n    b:\n        d\n",
        match.INDENTED,
    )


def test_the_end_of_the_file_stays_as_it_is() -> None:
    """Case C03: a final newline in the quoted text does not add one to a file that has none."""
    assert edited("a\n  b", "a\nb\n", "a\nc\n") == ("a\n  c", match.INDENTED)
    assert edited("a\nb  ", "a\nb\n", "a\nc\n")[0] == "a\nc"


words = st.text(alphabet="ab \t\n1", min_size=1, max_size=12)


@given(words, words, words, words)
@example("1\t", "a", "b", "")
def test_ed_1_an_exact_place_is_replaced_and_nothing_else(head: str, old: str, tail: str, new: str) -> None:
    """ED-1: what stands once is replaced there; what stands more often is refused with the true count."""
    text = head + old + tail
    count = sum(text.startswith(old, n) for n in range(len(text)))
    found = find(text, old, new)
    if count == 1:
        assert edited(text, old, new) == (text.replace(old, new), match.EXACT)
    else:
        assert isinstance(found, Ambiguous) and found.count == count
    assert edited(text, old, new, replace_all=True)[0] == text.replace(old, new)


@given(st.text(alphabet="ab \t\n", max_size=40), words, words)
def test_ed_1_a_loose_match_differs_only_in_whitespace(text: str, old: str, new: str) -> None:
    """ED-1: whatever the rung, the place holds the quoted text but for whitespace (and line numbers)."""
    found = find(text, old, new)
    if isinstance(found, Found) and found.rule != match.NUMBERED:
        (place,) = found.places
        assert text[place.start : place.end].split() == old.split()
        assert place.new.split() == new.split()


def test_ed_3_the_closest_region_is_shown_only_if_it_is_like_the_quoted_text() -> None:
    """ED-3: similarity of at least 0.6, at most 24 lines, with the file's line numbers."""
    found = find(CODE, "        if self.reddy:\n            return 11\n", "x")
    assert found == NotFound(("        if self.ready:", "            return 1"), 3)
    assert find(CODE, "something else entirely, really", "x") == NotFound()
    assert find("", "x", "y") == NotFound() and find("a", "b\n" * 3, "y") == NotFound()
    long = "".join(f"line number {n} here\n" for n in range(60))
    found = find(long, long.replace("number 3 ", "numbre 3 "), "x")
    assert isinstance(found, NotFound) and len(found.closest) == 24 and found.line == 1


def test_ed_3_a_large_file_is_searched_at_its_best_anchors() -> None:
    """ED-3: the closest region of 200,000 lines is found in bounded time."""
    lines = [f"    value_{n} = compute({n})\n" for n in range(200_000)]
    lines[123_456] = "    the_special_one = compute(other_thing, again)\n"
    text = "".join(lines)
    old = "    the_special_one = compute(other_thing,again )\n    value_x = 1\n"
    found = find(text, old, "x")
    assert isinstance(found, NotFound) and found.line == 123_457
    spent = cost(lambda: find(text, old, "x"))
    assert spent < 1_000


def test_ed_1_a_file_full_of_the_same_line_is_searched_in_bounded_time() -> None:
    text = "}\n\n" * 50_000 + "  special\n" + "}\n\n" * 50_000
    old = "}\n\n" * 500 + "special\n" + "}\n\n" * 500
    assert edited(text, old, "x\n")[1] == match.INDENTED
    spent = cost(lambda: edited(text, old, "x\n"))
    assert spent < 1_000
