"""How the face of a panel becomes rows of cells (PNL-3, LAY-25). Pure: a face, its room and a theme decide everything.

The frame has its title above and the keys below. Without room for a frame they are rows of their own, and go when rows are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.strip import Strip

from lmx import words
from lmx.conversation.draft import Draft
from lmx.conversation.panels.base import Face, Field, Line
from lmx.rows import Row
from lmx.tui.view.render import row_pieces
from lmx.tui.view.theme import Theme
from lmx.tui.view.width import cells, cut, fit
from lmx.tui.widgets.wrapping import VisualRow, row_of, rows

SECRET_DOTS = 48
"""More of a secret is not told, not even by its length (FIR-2)."""

BESIDE_FROM = 58
"""Cells inside the frame from which a diagram stands to the right (QST-4), and what is left to the lines then, at least."""
LINES_CELLS = 24

_BOLD = Style(bold=True)


class Room(msgspec.Struct, frozen=True):
    """Cells across, rows, and whether there is a frame."""

    width: int
    height: int
    border: bool

    @property
    def inner(self) -> int:
        return max(self.width - (4 if self.border else 0), 1)


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """`caret` counts from the panel's corner. `top`: the first of the lines' rows in sight; `above` and `below` are not."""

    strips: tuple[Strip, ...]
    caret: Offset | None = None
    top: int = 0
    above: int = 0
    below: int = 0


class _Row(msgspec.Struct, frozen=True):
    """A row of the panel's inside; the cell of the caret, if it is in here."""

    strip: Strip
    marked: bool = False
    caret: int | None = None


def height(face: Face, room: Room, theme: Theme) -> int:
    """Rows that it takes to draw all of it."""
    inside = (*face.head, *face.foot)
    return len(_body(face, room.inner, theme)) + sum(len(_rows(line, room.inner, theme)) for line in inside) + 2


def draw(face: Face, room: Room, theme: Theme, *, top: int = 0, held: bool = False) -> Drawn:
    """The face in its room. `top`: the first of the lines' rows that was in sight; `held`: it stays so, whatever is marked."""
    title, hints = (True, True) if room.border else (room.height >= 5, room.height >= 3)
    free = max(room.height - title - hints, 1)
    head = [row for line in face.head for row in _rows(line, room.inner, theme)]
    foot = [row for line in face.foot for row in _rows(line, room.inner, theme)]
    body = _body(face, room.inner, theme)
    writes = any(row.caret is not None for row in foot)  # what is written in is needed more than what is read
    foot = _kept(foot, free - (0 if writes and free == 1 else min(len(body), 1)))
    head = _kept(head, free - len(foot) - min(len(body), 3))
    size = max(free - len(head) - len(foot), 0)
    first = _first(body, size, top, held)
    shown = body[first : first + size]
    inside = [*head, *shown, *[_Row(Strip.blank(room.inner))] * (size - len(shown)), *foot]
    above, below = first, max(len(body) - first - size, 0)
    return _framed(face, room, theme, inside, (first, above, below), title=title, hints=hints)


def _framed(
    face: Face,
    room: Room,
    theme: Theme,
    inside: Sequence[_Row],
    scrolled: tuple[int, int, int],
    *,
    title: bool,
    hints: bool,
) -> Drawn:
    top, above, below = scrolled
    more = words.panel_more(above, below)
    strips: list[Strip] = []
    if title:
        strips.append(_title(face.title, more, room, theme))
    start = len(strips)
    side = theme.style("rule")
    for row in inside:
        edged = [Segment("│ ", side), *row.strip, Segment(" │", side)] if room.border else row.strip
        strips.append(Strip(edged))
    if hints:
        strips.append(_hints(face.hints, room, theme))
    caret = next(
        (
            Offset(row.caret + (2 if room.border else 0), start + y)
            for y, row in enumerate(inside)
            if row.caret is not None
        ),
        None,
    )
    fitted = tuple(strip.adjust_cell_length(room.width) for strip in strips[: room.height])
    return Drawn(strips=fitted, caret=caret, top=top, above=above, below=below)


def _kept(rows: list[_Row], most: int) -> list[_Row]:
    """As many as there is room for, with the caret among them."""
    most = max(most, 0)
    place = next((y for y, row in enumerate(rows) if row.caret is not None), 0)
    first = max(0, min(place - most + 1, len(rows) - most))
    return rows[first : first + most]


def _first(body: Sequence[_Row], size: int, top: int, held: bool) -> int:
    """Which row of the lines is the first in sight: the marked ones are, and else as little moves as can be."""
    marked = [y for y, row in enumerate(body) if row.marked or row.caret is not None]
    if marked and not held:
        caret = next((y for y in marked if body[y].caret is not None), None)
        first, last = (caret, caret) if caret is not None else (marked[0], marked[-1])
        top = min(max(top, last - size + 1), first)
    return max(0, min(top, len(body) - size))


# --- lines ---------------------------------------------------------------------------------------------------------------


def _body(face: Face, inner: int, theme: Theme) -> list[_Row]:
    wide = max((cells(line) for row in face.beside for line in row.text.split("\n")), default=0)
    left = inner - wide - 3
    if not wide or inner < BESIDE_FROM or left < LINES_CELLS:
        made = [row for line in face.lines for row in _rows(line, inner, theme)]
        return made + [row for line in face.beside for row in _rows(line, inner, theme)]
    lines = [row for line in face.lines for row in _rows(line, left, theme)]
    beside = [row.strip for line in face.beside for row in _rows(line, wide, theme)]
    bar = Segment(" │ ", theme.style("rule"))
    made = []
    for y in range(max(len(lines), len(beside))):
        row = lines[y] if y < len(lines) else _Row(Strip.blank(left))
        right = beside[y] if y < len(beside) else Strip.blank(wide)
        made.append(_Row(Strip([*row.strip, bar, *right], inner), row.marked, row.caret))
    return made


def _rows(line: Row, width: int, theme: Theme) -> list[_Row]:
    if isinstance(line, Line) and line.field is not None:
        return _written(line, line.field, width, theme)
    marked = isinstance(line, Line) and line.marked
    made = [piece.strip(y, width) for piece in row_pieces(line, theme) for y in range(len(piece.rows(width)))]
    return [_Row(strip.apply_style(_BOLD) if marked else strip, marked) for strip in made]


def _written(line: Line, field: Field, width: int, theme: Theme) -> list[_Row]:
    """A field: what is written in it, with the caret, or what it is for while it is empty."""
    gutter = line.gutter if cells(line.gutter) <= width // 2 else cut(line.gutter, width // 2)
    indent, room = cells(gutter), max(width - cells(gutter), 1)
    draft = _dots(field.draft) if field.secret else field.draft
    made = rows(draft.text, room, draft.label)
    at = row_of(made, draft.caret)
    first = max(0, min(at, len(made) - field.rows) if at < len(made) - field.rows else len(made) - field.rows)
    shown = made[first : first + field.rows]
    style = theme.style(line.tone)
    out = []
    for y, row in enumerate(shown):
        before = Segment(gutter if y == 0 else " " * indent, style)
        caret = draft.caret if first + y == at else None
        hint = line.text if not draft.text and y == 0 else ""
        segments, column = _cells(row, caret, draft, hint, room, theme)
        strip = Strip([before, *segments]).adjust_cell_length(width)
        out.append(_Row(strip, True, None if column is None else min(indent + column, width)))
    return out


def _cells(
    row: VisualRow, caret: int | None, draft: Draft, hint: str, room: int, theme: Theme
) -> tuple[list[Segment], int | None]:
    if hint:
        text = fit(cut(hint, room), room)
        return [Segment(text[:1], Style(reverse=True)), Segment(text[1:], theme.style("muted"))], 0
    chip, caret_style = theme.style("notice"), Style(reverse=True)
    segments = [
        Segment(c.shown, (chip if c.chip else Style()) + (caret_style if caret == c.start else Style()))
        for c in row.cells
    ]
    used = sum(cell.width for cell in row.cells)
    column = row.column(caret) if caret is not None else None
    if caret is not None and caret == row.end and used < room:
        segments.append(Segment(" ", caret_style))
        used += 1
    return [*segments, Segment(" " * max(room - used, 0))], column


def _dots(draft: Draft) -> Draft:
    count = min(len(draft.expanded()), SECRET_DOTS)
    return Draft(text="•" * count, caret=count)


# --- frame ---------------------------------------------------------------------------------------------------------------


def _title(text: str, more: str, room: Room, theme: Theme) -> Strip:
    title = theme.style("question") + _BOLD
    if not room.border:
        told = cut(text, max(room.width - cells(more) - 1, 1))
        gap = room.width - cells(told) - cells(more)
        return Strip([Segment(told, title), Segment(" " * max(gap, 0)), Segment(more, theme.style("muted"))])
    rule = theme.style("rule")
    right = f" {more} ─╮" if more else "╮"
    label = f" {cut(text, max(room.width - cells(right) - 6, 1))} "
    line = "─" * max(room.width - 2 - cells(label) - cells(right), 0)
    return Strip([Segment("╭─", rule), Segment(label, title), Segment(line + right, rule)])


def _hints(hints: Iterable[str], room: Room, theme: Theme) -> Strip:
    """The keys, as many as fit; the first one in any case."""
    kept = list(hints)
    most = room.width - (6 if room.border else 0)
    while len(kept) > 1 and cells(words.joined(kept)) > most:
        kept.pop()
    text = cut(words.joined(kept), max(most, 1))
    if not room.border:
        return Strip([Segment(fit(text, room.width), theme.style("muted"))])
    rule = theme.style("rule")
    label = f" {text} " if text else ""
    line = "─" * max(room.width - 3 - cells(label), 0)
    return Strip([Segment("╰─", rule), Segment(label, theme.style("muted")), Segment(line + "╯", rule)])
