"""Pipe tables: columns as wide as their content, the widest squeezed first, a list of `key: value` where none fit (RND-6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy

from rich.style import Style

from lmx.tui.view.inline import inline
from lmx.tui.view.pieces import Piece, Run, slices
from lmx.tui.view.theme import PLAIN, Theme
from lmx.tui.view.width import Span, cells, wrap

MAX_COLUMNS = 60
MEASURED_ROWS = 100
"""Rows that decide the widths of the columns; later rows take them as they are, so that a long table costs no more a row."""
LIST_BELOW = 40
_GAP = " │ "
_MIN_CELL = 3
_DELIMITER = re.compile(r"\s{0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")

Cell = tuple[str, list[Run]]


def columns_of(line: str) -> list[str] | None:
    """The cells of a row, or None when it is none."""
    if "|" not in line:
        return None
    body = line.strip()
    body = body.removeprefix("|")
    if body.endswith("|") and not body.endswith("\\|"):
        body = body[:-1]
    if body.count("|") >= MAX_COLUMNS * 2:
        return None
    found = [cell.strip().replace("\\|", "|") for cell in _BAR.split(body)]
    return found if len(found) <= MAX_COLUMNS else None


def is_delimiter(line: str, columns: int) -> bool:
    """Is `line` the row of dashes under a heading of so many columns?"""
    if len(line) > MAX_COLUMNS * 200 or _DELIMITER.fullmatch(line) is None:
        return False
    found = columns_of(line) or [line]
    return len(found) == columns


def alignments(line: str) -> list[str]:
    """`l`, `c` or `r` for each column, from the row of dashes."""
    marks = columns_of(line) or [line.strip()]
    return ["c" if m[:1] == m[-1:] == ":" else "r" if m[-1:] == ":" else "l" for m in marks]


class Table:
    """A table while it is read: the heading, the alignments, the rows that were not drawn yet."""

    def __init__(self, heading: Sequence[str], marks: Sequence[str], width: int, theme: Theme):
        self.heading, self.marks, self.width, self.theme = list(heading), list(marks), width, theme
        self.rows: list[list[str]] = []
        self._settled: list[int] | None = None
        self._headed = False

    def copy(self) -> Table:
        twin = copy(self)
        twin.rows = [*self.rows]
        return twin

    def add(self, cells: Sequence[str]) -> None:
        columns = len(self.heading)
        self.rows.append([*cells[:columns], *[""] * (columns - len(cells))])

    def take(self) -> Iterator[Piece]:
        """The rows so far as they are drawn, the heading before the first; they are done with, the widths stay."""
        if self._settled is None:
            self._settled = self.widths()
        rows, self.rows = self.rows, []
        if self._settled is None:
            yield from self._list(rows)
            return
        if not self._headed:
            self._headed = True
            bold = Style(bold=True)
            yield from self._row([inline(cell, self.theme, bold) for cell in self.heading], self._settled)
            line = "─┼─".join("─" * width for width in self._settled)
            yield Piece(line, base=self.theme.style("rule"), drawn=True, joined="")
        for row in rows:
            yield from self._row([inline(cell, self.theme, PLAIN) for cell in row], self._settled)

    def widths(self) -> list[int] | None:
        """Cells of each column; None when the table must be a list."""
        room = self.width - len(_GAP) * (len(self.heading) - 1)
        if self.width < LIST_BELOW or room < _MIN_CELL * len(self.heading):
            return None
        measured = [self.heading, *self.rows[:MEASURED_ROWS]]
        widths = [
            max(max(cells(inline(row[n], self.theme, PLAIN)[0]) for row in measured), 1)
            for n in range(len(self.heading))
        ]
        over = sum(widths) - room
        while over > 0:
            widest = max(range(len(widths)), key=widths.__getitem__)
            next_widest = max((w for w in widths if w < widths[widest]), default=_MIN_CELL)
            cutting = min(over, max(widths[widest] - max(next_widest, _MIN_CELL), 1))
            widths[widest] -= cutting
            over -= cutting
        return widths

    def _row(self, row: Sequence[Cell], widths: Sequence[int]) -> Iterator[Piece]:
        spans = [wrap(text, width, width) for (text, _), width in zip(row, widths, strict=True)]
        for number in range(max(map(len, spans))):
            yield self._line(row, widths, [found[number] if number < len(found) else (0, 0) for found in spans])

    def _line(self, row: Sequence[Cell], widths: Sequence[int], spans: Sequence[Span]) -> Piece:
        text, runs = "", []
        rule = self.theme.style("rule")
        for column, ((content, content_runs), width, (start, end)) in enumerate(zip(row, widths, spans, strict=True)):
            if column:
                text += _GAP
                runs.append((len(text), rule))
            free = max(width - cells(content[start:end]), 0)
            mark = self.marks[column] if column < len(self.marks) else "l"
            left = free if mark == "r" else free // 2 if mark == "c" else 0
            if left:
                text += " " * left
                runs.append((len(text), PLAIN))
            for part, style in slices(content, content_runs, PLAIN, start, end):
                text += part
                runs.append((len(text), style))
            if free > left and column < len(row) - 1:
                text += " " * (free - left)
                runs.append((len(text), PLAIN))
        return Piece(text, runs)

    def _list(self, rows: Sequence[Sequence[str]]) -> Iterator[Piece]:
        """Each row as lines of `key: value`, with a blank line between the rows."""
        for row in rows or [[""] * len(self.heading)]:
            if self._headed:
                yield Piece("")
            self._headed = True
            for key, value in zip(self.heading, row, strict=True):
                text, runs = inline(key, self.theme, Style(bold=True))
                value_text, value_runs = inline(value, self.theme, PLAIN)
                start = len(text) + 2
                runs = [*runs, (start, PLAIN), *((stop + start, style) for stop, style in value_runs)]
                yield Piece(f"{text}: {value_text}", runs, hanging="  ")
