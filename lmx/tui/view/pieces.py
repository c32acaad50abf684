"""What a block is drawn from: pieces, each one logical line, which wraps to rows when it comes into view (RND-1, RND-2).

A row is a strip of exactly the width of the view, and what of it a copy takes (SEL-2). Pieces are cheap to make and wrap
lazily, so that a block of ten megabytes costs what is seen of it. Very long lines are several pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from lmx.tui.view.theme import PLAIN
from lmx.tui.view.width import TAB, Span, cells, chop, fit, without_tabs, wrap

Run = tuple[int, Style]
"""A style, and the index in the text where it ends."""

MAX_PIECE = 8_192
"""Characters of one piece; a longer line goes on in the next."""
_NARROW = 8
"""Cells the text of a row has at least before its gutter is cut."""


class Piece:
    """One logical line.

    `text` is without newlines. `runs` cover it, in order; what they do not cover has `base`. `gutter` stands before the first
    row and `hanging` before the others; neither is copied, `lead` is copied in place of the gutter. `joined` is None when the
    piece begins a line; otherwise it goes on with the piece before, and `joined` is what a copy puts between them. `fill` is
    the style of the rest of the row. `code` breaks at the edge instead of at blanks. `drawn` text (a rule) is not copied.
    """

    __slots__ = (
        "_rows",
        "base",
        "code",
        "drawn",
        "fill",
        "gutter",
        "gutter_style",
        "hanging",
        "joined",
        "lead",
        "runs",
        "source",
        "text",
    )

    def __init__(
        self,
        text: str,
        runs: Sequence[Run] = (),
        *,
        base: Style = PLAIN,
        gutter: str = "",
        gutter_style: Style = PLAIN,
        hanging: str | None = None,
        lead: str = "",
        fill: Style | None = None,
        joined: str | None = None,
        code: bool = False,
        drawn: bool = False,
    ):
        self.source = text if "\t" in text else None
        self.text = without_tabs(text)
        self.runs = runs
        self.base = base
        self.gutter, self.gutter_style = gutter, gutter_style
        self.hanging = " " * cells(gutter) if hanging is None else hanging
        self.lead = lead
        self.fill = fill
        self.joined = joined
        self.code, self.drawn = code, drawn
        self._rows: tuple[int, list[Span]] | None = None

    def rows(self, width: int) -> list[Span]:
        """The spans of the rows at `width`. Kept until another width is asked for."""
        if self._rows is None or self._rows[0] != width:
            first = width - cells(_fitting(self.gutter, width))
            rest = width - cells(_fitting(self.hanging, width))
            self._rows = (width, (chop if self.code else wrap)(self.text, first, rest))
        return self._rows[1]

    def height(self, width: int) -> int:
        """Rows at `width`, exact when it was wrapped or is short, else estimated (RND-2)."""
        if self._rows is not None and self._rows[0] == width:
            return len(self._rows[1])
        room = max(width - len(self.gutter), 1)
        if len(self.text) * 2 <= room or (len(self.text) <= room and self.text.isascii()):
            return 1
        size = len(self.text) if self.text.isascii() else len(self.text) * 3 // 2
        return -(-size // room)

    def styled(self) -> Sequence[Run]:
        """The runs; for code they are found when it is first drawn."""
        return self.runs

    def before(self, row: int, width: int) -> str:
        """The gutter of a row, as far as it fits."""
        return _fitting(self.hanging if row else self.gutter, width)

    def strip(self, row: int, width: int) -> Strip:
        """Row `row` at `width`, exactly `width` cells."""
        start, end = self.rows(width)[row]
        before = self.before(row, width)
        segments = [Segment(before, self.gutter_style)] if before else []
        used = cells(before)
        for text, style in slices(self.text, self.styled(), self.base, start, end):
            segments.append(Segment(text, style))
            used += cells(text)
        if used < width:
            segments.append(Segment(" " * (width - used), self.fill))
        strip = Strip(segments, used if used > width else width)
        return strip if used <= width else _narrowed(segments, width)

    def copied(self, start: int, end: int) -> str:
        """The characters of the text from `start` to `end` as they came, tabs included."""
        if self.source is None:
            return self.text[start:end]
        out: list[str] = []
        index = column = 0
        for char in self.source:
            size = TAB - column % TAB if char == "\t" else 1
            if start < index + size and index < end:
                out.append(char)
            index += size
            column += size if char == "\t" else cells(char)
        return "".join(out)


def _fitting(gutter: str, width: int) -> str:
    """A gutter that leaves room for text."""
    room = max(width - _NARROW, width // 2)
    return gutter if cells(gutter) <= room else fit(gutter, room)


def _narrowed(segments: list[Segment], width: int) -> Strip:
    """Rows in which a character is wider than the view."""
    text = "".join(segment.text for segment in segments)
    return Strip([Segment(fit(text, width), segments[-1].style)], width)


def slices(text: str, runs: Sequence[Run], base: Style, start: int, end: int) -> Iterator[tuple[str, Style]]:
    """The parts of `text[start:end]` that look alike."""
    position = start
    for stop, style in runs:
        if stop <= position:
            continue
        if position >= end:
            return
        yield text[position : min(stop, end)], style
        position = min(stop, end)
    if position < end:
        yield text[position:end], base


def split(piece: Piece) -> Iterator[Piece]:
    """The piece, or several when its text is longer than `MAX_PIECE`, cut at a blank where there is one near the end."""
    text, runs, joined, gutter = piece.text, piece.runs, piece.joined, piece.gutter
    if len(text) <= MAX_PIECE:
        yield piece
        return
    position = 0
    while position < len(text):
        end = len(text)
        if end - position > MAX_PIECE:
            end = position + MAX_PIECE
            blank = text.rfind(" ", end - 256, end)
            end = blank if blank > position else end
        part = Piece(
            text[position:end],
            [(stop - position, style) for stop, style in runs if stop > position],
            base=piece.base,
            gutter=gutter,
            gutter_style=piece.gutter_style,
            hanging=piece.hanging,
            lead=piece.lead if position == 0 else "",
            fill=piece.fill,
            joined=joined,
            code=piece.code,
            drawn=piece.drawn,
        )
        yield part
        gap = " " if end < len(text) and text[end] == " " and not piece.code else ""
        position, joined, gutter = end + len(gap), gap, piece.hanging
