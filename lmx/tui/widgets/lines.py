"""Widgets of a few fixed rows: header, rails, live row, status line. Each is drawn from text it already holds (STA-1).

They hold finished strips and refresh only when these change, so the spinner repaints its own row and nothing else (STA-2). Text
is put into segments, never into markup, whatever is in it (SAF-4).
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lmx import words
from lmx.tui.view.theme import Theme
from lmx.tui.view.width import cells, cut, fit

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Lines(Widget, inherit_bindings=False):
    """Rows of strips. `put` shows new ones."""

    can_focus = False

    def __init__(self, theme: Theme, *, id: str):
        super().__init__(id=id)
        self.palette = theme
        self._strips: list[Strip] = []

    def put(self, strips: Sequence[Strip]) -> None:
        """Shows these rows, if they differ from those on the screen."""
        if list(strips) != self._strips:
            self._strips = list(strips)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)

    def style(self, slot: str) -> Style:
        return self.palette.style(slot)


def strip(width: int, *pieces: tuple[str, Style]) -> Strip:
    """One row of exactly `width` cells."""
    segments: list[Segment] = []
    left = width
    for text, style in pieces:
        shown = text if cells(text) <= left else cut(text, left)
        if shown:
            segments.append(Segment(shown, style))
            left -= cells(shown)
    if left > 0:
        segments.append(Segment(" " * left))
    return Strip(segments, width)


def widest(forms: Sequence[Sequence[str]], width: int) -> str:
    """The first form that fits, its parts joined; the last one in any case."""
    shown = [words.joined(form) for form in forms]
    return next((text for text in shown if cells(text) <= width), shown[-1])


class Header(Lines):
    def show(self, forms: Sequence[Sequence[str]]) -> None:
        """The fullest form that fits."""
        width = self.size.width
        self.put([strip(width, (" " + widest(forms, width - 2), self.style("muted")))])


class Rail(Lines):
    """A rule in the accent colour; the lower one may carry a pill, which takes the person to the newest row."""

    class Clicked(Message):
        """The pill was clicked."""

    def show(self, pill: str = "") -> None:
        width = self.size.width
        if not pill or cells(pill) + 4 > width:
            self.put([strip(width, ("─" * width, self.style("accent")))])
            return
        label = f" {pill} "
        left = (width - cells(label)) // 2
        rule = self.style("accent")
        self.put([strip(width, ("─" * left, rule), (label, self.style("notice")), ("─" * width, rule))])

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked())


class LiveRow(Lines):
    """What the turn is doing, with a spinner that says that it does."""

    frame = 0

    def show(self, text: str) -> None:
        width = self.size.width
        glyph = SPINNER[self.frame % len(SPINNER)]
        self.put([strip(width, (f"{glyph} ", self.style("activity")), (text, self.style("muted")))])


class StatusLine(Lines):
    def show(self, parts: Sequence[str], *, flashing: bool) -> None:
        """As many segments as fit, dropped from the right (tui.md 7.1). A flash stands first, in a voice of its own."""
        width = self.size.width
        kept = list(parts)
        while len(kept) > 1 and cells(words.joined(kept)) > width - 2:
            kept.pop()
        text = words.joined(kept)
        if not flashing:
            self.put([strip(width, (" " + text, Style()))])
            return
        flash, rest = kept[0], words.joined(kept[1:])
        gap = " · " if rest else ""
        self.put([strip(width, (" " + flash, self.style("notice")), (gap + rest, Style()))])


class TooSmall(Lines):
    """What stands on a terminal smaller than the smallest screen (LAY-22)."""

    def show(self, width: int, height: int) -> None:
        rows = [fit(words.too_small(width, height), width)] if width and height else []
        self.put([Strip([Segment(row)], width) for row in rows])
