"""Cells and wrapping: rows fit, nothing is lost, and the time is linear."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cost import cost

from lmx.tui.view.width import cells, chop, cut, fit, index_at, without_tabs, wrap

clusters = st.sampled_from(["a", "b", "c", " ", "  ", "漢", "字", "é", "e\u0301", "👩‍👩‍👧", "❤️", "─", "xyz"])
texts = st.lists(clusters, max_size=40).map("".join)


@pytest.mark.parametrize(
    ("text", "size"),
    [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("👩‍👩‍👧‍👦", 2), ("🇩🇪", 2), ("❤️", 2), ("\u200d", 0), ("─", 1)],
)
def test_wid_1_cells_are_what_textual_lays_out_with(text: str, size: int) -> None:
    """WID-1: one width function, equal to the one of Rich and Textual."""
    from rich.cells import cell_len
    from rich.segment import Segment
    from textual.strip import Strip

    assert cells(text) == cell_len(text) == Strip([Segment(text)]).cell_length == size


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("the quick brown fox", 9, ["the quick", "brown fox"]),
        ("the quick  brown", 9, ["the quick", "brown"]),
        ("supercalifragilistic", 8, ["supercal", "ifragili", "stic"]),
        ("a supercalifragilistic", 8, ["a", "supercal", "ifragili", "stic"]),
        ("漢字漢字 ab", 5, ["漢字", "漢字", "ab"]),
        ("漢字 漢字", 4, ["漢字", "漢字"]),
        ("", 5, [""]),
        ("     ", 2, ["  ", "  ", " "]),
        ("ab   ", 3, ["ab"]),
        ("é é é", 3, ["é é", "é"]),
    ],
)
def test_rows(text: str, width: int, rows: list[str]) -> None:
    assert [text[a:b] for a, b in wrap(text, width, width)] == rows


@given(texts, st.integers(1, 12), st.integers(1, 12))
def test_lay_24_rows_fit_and_nothing_is_lost(text: str, first: int, rest: int) -> None:
    """LAY-24, WID-1: each row fits in its cells (or is one character that is wider), and only blanks lie between rows."""
    for rows in (wrap(text, first, rest), chop(text, first, rest)):
        assert rows[0][0] == 0
        for number, (start, end) in enumerate(rows):
            row = text[start:end]
            assert cells(row) <= (rest if number else first) or cells(row) == 2
        between = [text[a[1] : b[0]] for a, b in pairwise(rows)]
        assert all(not gap.strip(" ") for gap in between)
        assert not text[rows[-1][1] :].strip(" ")
    assert "".join(text[a:b] for a, b in chop(text, first, rest)) == text


@given(texts, st.integers(0, 20))
def test_fitting_cutting_and_finding(text: str, width: int) -> None:
    assert cells(fit(text, width)) == width
    assert cells(cut(text, width)) <= width
    index = index_at(text, width)
    assert 0 <= index <= len(text)
    assert cells(text[:index]) <= width or index == 0


@pytest.mark.parametrize(
    ("text", "shown"), [("\ta", "    a"), ("ab\tc", "ab  c"), ("漢\tx", "漢  x"), ("é\té\t", "é   é   ")]
)
def test_cmp_3_tabs_are_shown_as_blanks(text: str, shown: str) -> None:
    """CMP-3: up to the next multiple of four cells."""
    assert without_tabs(text) == shown


@pytest.mark.parametrize("unit", ["a", "a ", " ", "漢", "e\u0301", "e" + "\u0301" * 8])
def test_saf_7_wrapping_is_linear(unit: str) -> None:
    """SAF-7: a long text is no square of a short one."""
    text = unit * (200_000 // len(unit))
    spent = cost(lambda: (wrap(text, 80, 80), chop(text, 80, 80)))
    assert spent < 300
