"""Cells: how wide text is, where it wraps, where a cell falls. The one width function of the program (WID-1).

It is Rich's, because Textual lays out with it: a second opinion (`wcwidth`) would put the cursor beside the text. Everything
here is linear in the text.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size, split_graphemes

Span = tuple[int, int]
"""Start and end of one row in a text; the blanks at which it was wrapped lie between the rows."""

TAB = 4
_NOT_BLANK = re.compile("[^ ]")


def cells(text: str) -> int:
    """The number of cells `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, width: int) -> str:
    """Exactly `width` cells: cut, or filled with blanks. A character that would be cut in two becomes a blank."""
    if text.isascii():
        return text[:width].ljust(width)
    return set_cell_size(text.strip("\u200d"), width)  # a joiner at an end would take a blank to itself


def cut(text: str, width: int) -> str:
    """At most `width` cells; what is cut off leaves `…`."""
    if cells(text) <= width:
        return text
    return fit(text, width - 1).rstrip(" ") + "…" if width > 0 else ""


def without_tabs(text: str) -> str:
    """Tabs as blanks up to the next multiple of four cells (CMP-3)."""
    if "\t" not in text:
        return text
    if text.isascii():
        return text.expandtabs(TAB)
    parts: list[str] = []
    column = 0
    for piece in text.split("\t"):
        column += cells(piece)
        gap = TAB - column % TAB
        parts.append(piece + " " * gap)
        column += gap
    return "".join(parts)[:-gap]


def wrap(text: str, first: int, rest: int) -> list[Span]:
    """Rows of at most `first` cells for the first and `rest` for the others, broken at blanks, or inside a word that is wider
    than a row. Wide characters (CJK) may be broken apart anywhere. Never empty; a width below 1 counts as 1."""
    first, rest = max(first, 1), max(rest, 1)
    if len(text) <= first and (text.isascii() or cell_len(text) <= first):
        return [(0, len(text))]
    return _wrap_ascii(text, first, rest) if text.isascii() else _wrap_clusters(text, first, rest)


def chop(text: str, first: int, rest: int) -> list[Span]:
    """Rows broken at the width, wherever that is: for code."""
    first, rest = max(first, 1), max(rest, 1)
    if len(text) <= first and (text.isascii() or cell_len(text) <= first):
        return [(0, len(text))]
    if text.isascii():
        return [(0, first), *((start, min(start + rest, len(text))) for start in range(first, len(text), rest))]
    rows: list[Span] = []
    start = column = 0
    width = first
    for begin, _, size in split_graphemes(text)[0]:
        if column + size > width and begin > start:
            rows.append((start, begin))
            start, column, width = begin, 0, rest
        column += size
    return [*rows, (start, len(text))]


def index_at(text: str, cell: int) -> int:
    """The index of the character that covers `cell`, or the length of the text when it ends before."""
    if text.isascii():
        return min(max(cell, 0), len(text))
    column = 0
    for start, _, size in split_graphemes(text)[0]:
        column += size
        if column > cell:
            return start
    return len(text)


def _wrap_ascii(text: str, first: int, rest: int) -> list[Span]:
    rows: list[Span] = []
    position, end, width = 0, len(text), first
    while end - position > width:
        limit = position + width
        at = limit if text[limit] == " " else text.rfind(" ", position, limit)
        if at <= position or text[position:at].isspace():
            rows.append((position, limit))
            position = limit
        else:
            rows.append((position, position + len(text[position:at].rstrip(" "))))
            found = _NOT_BLANK.search(text, at)
            if found is None:
                return rows
            position = found.start()
        width = rest
    return [*rows, (position, end)]


def _wrap_clusters(text: str, first: int, rest: int) -> list[Span]:
    spans = split_graphemes(text)[0]
    rows: list[Span] = []
    index, width = 0, first
    while True:
        begin, column = index, 0
        before, after = begin, begin  # the newest place where the row may end, and where the next would begin
        while index < len(spans):
            start, end, size = spans[index]
            if index > begin and text[start:end] == " ":
                before = index
                while index < len(spans) and text[spans[index][0] : spans[index][1]] == " ":
                    column, index = column + 1, index + 1
                after = index
                continue
            if column + size > width and index > begin:
                break
            column, index = column + size, index + 1
            if size == 2:
                before = after = index
        start = spans[begin][0]
        if index == len(spans) and (column <= width or before == begin):
            return [*rows, (start, len(text))]
        if before > begin:
            rows.append((start, spans[before - 1][1]))
            index = after
        else:
            rows.append((start, spans[index][0]))
        if index == len(spans):
            return rows  # blanks beyond the edge
        width = rest
