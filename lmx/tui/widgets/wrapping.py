"""Where the rows of a draft break and which cell each of its characters stands in (CMP-3, CMP-4). Pure."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lmx.tui.view.width import TAB, cells
from lmx.tui.widgets.buffer import clusters

Label = Callable[[str], str | None]
"""What is drawn for a character that is a chip, or None."""


class Cell(msgspec.Struct, frozen=True):
    """One cluster of the draft: where it is in the text, its column, how many cells it takes, and what is drawn."""

    start: int
    end: int
    column: int
    width: int
    shown: str
    chip: bool = False


class VisualRow(msgspec.Struct, frozen=True):
    """`start` to `end` of the text; `hard` says that a newline (or the end) follows and the caret may stand at `end`."""

    start: int
    end: int
    cells: tuple[Cell, ...]
    hard: bool

    def column(self, caret: int) -> int:
        """The cell in which the caret stands."""
        for cell in self.cells:
            if caret <= cell.start:
                return cell.column
        return self.cells[-1].column + self.cells[-1].width if self.cells else 0

    def place(self, column: int) -> int:
        """The caret nearest to a cell of this row."""
        for cell in self.cells:
            if column < cell.column + max(cell.width, 1):
                return cell.start
        if self.hard or not self.cells:
            return self.end
        return self.cells[-1].start


def rows(text: str, width: int, label: Label) -> list[VisualRow]:
    """The visual rows of a draft, at least one. Words wrap whole where they fit; a chip never wraps."""
    width = max(width, 1)
    made: list[VisualRow] = []
    start = 0
    for line in text.split("\n"):
        made.extend(_line(text, start, start + len(line), width, label))
        start += len(line) + 1
    return made


def row_of(made: list[VisualRow], caret: int) -> int:
    """Which row the caret stands in."""
    for number, row in enumerate(made):
        if caret < row.end or (caret == row.end and row.hard):
            return number
    return len(made) - 1


def _line(text: str, start: int, end: int, width: int, label: Label) -> list[VisualRow]:
    made: list[VisualRow] = []
    row: list[Cell] = []
    column = 0
    for first, last, size in clusters(text[start:end]):
        cell = _cell(text, start + first, start + last, size, column, width, label)
        while row and column + cell.width > width:
            kept, moved = _break(row, cell)
            made.append(VisualRow(kept[0].start, kept[-1].end, tuple(kept), hard=False))
            row, column = [], 0
            for other in moved:
                row.append(_moved(other, column))
                column += other.width
            cell = _cell(text, start + first, start + last, size, column, width, label)
        row.append(cell)
        column += cell.width
    row_start = row[0].start if row else (made[-1].end if made else start)
    made.append(VisualRow(row_start, end, tuple(row), hard=True))
    if column >= width and row:  # the caret after a full row stands at the start of the next
        made[-1] = VisualRow(row_start, end, tuple(row), hard=False)
        made.append(VisualRow(end, end, (), hard=True))
    return made


def _cell(text: str, start: int, end: int, size: int, column: int, width: int, label: Label) -> Cell:
    char = text[start:end]
    if (chip := label(char)) is not None:
        shown = chip if cells(chip) <= width else chip[:width]
        return Cell(start, end, column, cells(shown), shown, chip=True)
    if char == "\t":
        gap = min(TAB - column % TAB, max(width - column, 1))
        return Cell(start, end, column, gap, " " * gap)
    return Cell(start, end, column, size, char)


def _moved(cell: Cell, column: int) -> Cell:
    return Cell(cell.start, cell.end, column, cell.width, cell.shown, cell.chip)


def _break(row: list[Cell], following: Cell) -> tuple[list[Cell], list[Cell]]:
    """What stays on a full row and what moves on before `following`: the last word, unless it is the whole row."""
    for place in range(len(row), 0, -1):
        before, after = row[place - 1], row[place] if place < len(row) else following
        if before.chip or after.chip or before.shown.isspace() or (after is following and after.shown.isspace()):
            return row[:place], row[place:]
    return row, []
