"""How a panel is drawn: at every size, to the cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.conversation.draft import Draft, of
from lmx.conversation.panels import base
from lmx.conversation.panels.base import Face, Field, Line
from lmx.rows import Row
from lmx.tui.view.theme import DARK, MONO
from lmx.tui.view.width import cells
from lmx.tui.widgets.faces import Room, draw, height

TEXT = st.text("ab 日e\u0301👨‍👩‍👧", max_size=60)
LINES = st.lists(
    st.builds(base.option, TEXT, chosen=st.booleans(), before=st.sampled_from(["", "1  ", "[x] "])), max_size=6
).map(tuple)
FIELDS = st.builds(
    lambda text, rows, secret: (
        Line(kind="detail", text="for it", gutter="field: ", field=Field(draft=of(text), rows=rows, secret=secret)),
    ),
    TEXT, st.integers(1, 5), st.booleans(),
)  # fmt: skip
FACES = st.builds(
    Face, title=TEXT, head=LINES, lines=LINES, foot=LINES | FIELDS, hints=st.lists(TEXT, max_size=3).map(tuple),
    beside=st.just(()) | st.just((Row(kind="output", text="┌──┐\n│日│\n└──┘"),)),
)  # fmt: skip


def shown(face: Face, width: int, rows: int, *, border: bool = True, **more) -> list[str]:
    drawn = draw(face, Room(width, rows, border), MONO, **more)
    return ["".join(segment.text for segment in strip).rstrip() for strip in drawn.strips]


@given(FACES, st.integers(1, 130), st.integers(1, 40), st.booleans(), st.integers(-3, 50), st.booleans())
def test_lay_23_lay_24_every_size_is_filled_exactly(face, width, rows, border, top, held):
    """LAY-23, LAY-24: nothing raises, every row has the width of the room, the caret is in it."""
    border = border and width >= 20 and rows >= 3
    drawn = draw(face, Room(width, rows, border), DARK, top=top, held=held)
    assert len(drawn.strips) == rows
    for strip in drawn.strips:
        assert sum(cells(segment.text) for segment in strip) == width == strip.cell_length
    if drawn.caret is not None:
        assert 0 <= drawn.caret.x <= width and 0 <= drawn.caret.y < rows


@given(FACES, st.integers(30, 130), st.booleans())
def test_pnl_2_it_takes_the_rows_that_it_says(face, width, border):
    """PNL-2, LAY-25: in as many rows as it asks for, nothing is out of sight."""
    room = Room(width, 0, border)
    drawn = draw(face, Room(width, max(height(face, room, DARK), 5), border), DARK)
    assert (drawn.above, drawn.below) == (0, 0)


MANY = Face(
    title="pick one",
    head=(base.words("what now?"),),
    lines=tuple(base.option(f"choice {n}", chosen=n == 30, before=f"{n}  ") for n in range(40)),
    foot=(base.words("Submit"),),
    hints=("Enter takes it", "Esc back"),
)


@pytest.mark.parametrize("rows", (4, 5, 6, 8, 12, 20))
@pytest.mark.parametrize("border", (True, False))
def test_lay_25_what_does_not_fit_scrolls_inside(rows, border):
    """LAY-25: the marked row, the confirm row and the keys stay in sight."""
    text = shown(MANY, 40, rows, border=border)
    assert any("› 30  choice 30" in row for row in text)
    assert any("Submit" in row for row in text) and "Enter takes it" in text[-1]


def test_lay_25_the_smallest_room_shows_the_marked_row():
    assert shown(MANY, 20, 1, border=False) == ["› 30  choice 30"]
    assert shown(MANY, 20, 2, border=False)[0] in ("› 30  choice 30", "Submit")


def test_lay_25_how_much_is_out_of_sight_is_told_and_can_be_scrolled_to():
    assert "↑24 ↓9" in shown(MANY, 60, 11)[0].replace(" · ", " ")
    text = shown(MANY, 60, 11, top=0, held=True)
    assert "  0  choice 0" in text[2] and "↓33" in text[0]


def test_pnl_3_the_frame_is_round_with_a_title_and_the_keys_in_its_lower_edge():
    """PNL-3: and what there is no room for goes from the right."""
    text = shown(MANY, 40, 8)
    assert text[0].startswith("╭─ pick one ─") and text[0].endswith("─╮")
    assert text[-1] == "╰─ Enter takes it · Esc back ──────────╯"
    assert shown(MANY, 24, 8)[-1] == "╰─ Enter takes it ─────╯"


def test_pnl_4_the_marked_row_is_told_without_colour():
    """PNL-4: by a glyph, and in mono by an attribute too."""
    drawn = draw(MANY, Room(40, 50, True), MONO)
    bold = [
        y
        for y, strip in enumerate(drawn.strips[2:42])
        if any(s.style and s.style.bold and "choice" in s.text for s in strip)
    ]
    assert bold == [30]
    assert [y for y, row in enumerate(shown(MANY, 40, 50)[2:42]) if "›" in row] == [30]


def test_cmp_20_a_secret_is_dots_however_long_it_is():
    """CMP-20, FIR-2: at most 48, and none of its letters."""
    field = Line(kind="detail", text="", gutter="key: ", field=Field(draft=of("sk-hidden" * 30), secret=True))
    text = "\n".join(shown(Face(title="key", foot=(field,)), 80, 5))
    assert text.count("•") == 48 and "sk" not in text and "hidden" not in text


def test_cmp_2_the_caret_is_where_it_is_written():
    """CMP-2: after wide characters, and in the middle of what is written."""
    field = Line(kind="detail", text="", gutter="say: ", field=Field(draft=Draft(text="日本ab", caret=3)))
    drawn = draw(Face(title="x", foot=(field,)), Room(40, 5, True), DARK)
    assert drawn.caret == (2 + 5 + 5, 3)


def test_a_field_grows_to_its_rows_and_then_scrolls():
    field = Line(kind="detail", text="", gutter="> ", field=Field(draft=of("\n".join("abcdefgh")), rows=3))
    rows = shown(Face(title="x", lines=(field,)), 40, 20)
    assert [row.strip("│ ") for row in rows[1:4]] == ["> f", "g", "h"] and rows[4].strip("│ ") == ""


def test_qst_4_what_stands_beside_the_lines_goes_under_them_where_it_is_narrow():
    """QST-4: to the right from 58 cells inside the frame."""
    face = Face(title="x", lines=(base.option("one", chosen=True),), beside=(Row(kind="output", text="┌──┐\n└──┘"),))
    wide, narrow = shown(face, 62, 6), shown(face, 61, 6)
    assert "one" in wide[1] and "┌──┐" in wide[1] and "└──┘" in wide[2]
    assert "one" in narrow[1] and "┌──┐" in narrow[2]
