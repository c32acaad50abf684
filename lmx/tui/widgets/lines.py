"""Widgets of a few fixed rows: header, rails, live row, status line. Each is drawn from text it already holds (STA-1).

They refresh only when what they show changes, so the spinner repaints its own row and nothing else (STA-2). Text is put into
segments, never into markup, whatever is in it (SAF-4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lmx import words
from lmx.conversation.frame import Queued
from lmx.tui.view.theme import Theme
from lmx.tui.view.width import cells, cut, fit, wrap

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Lines(Widget, inherit_bindings=False):
    """Rows made from what was last shown, at whatever width the widget has by then. Subclasses say how, in `draw`."""

    can_focus = False

    def __init__(self, theme: Theme, *, id: str):
        super().__init__(id=id)
        self.palette = theme
        self._shown: Any = None
        self._drawn: tuple[int, list[Strip]] | None = None

    def put(self, shown: Any) -> None:
        """Shows this, if it differs from what is on the screen."""
        if shown != self._shown:
            self._shown, self._drawn = shown, None
            self.refresh()

    def wear(self, theme: Theme) -> None:
        """Draws what it shows in another theme."""
        self.palette, self._drawn = theme, None
        self.refresh()

    def draw(self, shown: Any, width: int) -> list[Strip]:
        raise LookupError(type(self).__name__)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._drawn is None or self._drawn[0] != width:
            self._drawn = width, [] if self._shown is None else self.draw(self._shown, width)
        strips = self._drawn[1]
        return strips[y] if y < len(strips) else Strip.blank(width)

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
        self.put(forms)

    def draw(self, shown: Sequence[Sequence[str]], width: int) -> list[Strip]:
        return [strip(width, (" " + widest(shown, width - 2), self.style("muted")))]


class Rail(Lines):
    """A rule in the accent colour; the lower one may carry a pill, which takes the person to the newest row."""

    class Clicked(Message):
        """The pill was clicked."""

    def show(self, pill: str = "") -> None:
        self.put(pill)

    def draw(self, shown: str, width: int) -> list[Strip]:
        if not shown or cells(shown) + 4 > width:
            return [strip(width, ("─" * width, self.style("accent")))]
        label = f" {shown} "
        left = (width - cells(label)) // 2
        right = width - left - cells(label)
        rule = self.style("accent")
        return [strip(width, ("─" * left, rule), (label, self.style("notice")), ("─" * right, rule))]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked())


class LiveRow(Lines):
    """What the turn is doing, with a spinner that says that it does."""

    frame = 0

    def show(self, text: str) -> None:
        self.put((SPINNER[self.frame % len(SPINNER)], text))

    def draw(self, shown: tuple[str, str], width: int) -> list[Strip]:
        return [strip(width, (f"{shown[0]} ", self.style("activity")), (shown[1], self.style("muted")))]


class QueueRows(Lines):
    """What waits for the end of the turn, a row each; `▸` marks the one that the keys act on."""

    def show(self, rows: Sequence[Queued]) -> None:
        self.put(tuple(rows))

    def draw(self, shown: tuple[Queued, ...], width: int) -> list[Strip]:
        return [self._row(row, width) for row in shown]

    def _row(self, row: Queued, width: int) -> Strip:
        mark = " ▸ " if row.selected else "   "
        beside = row.beside if cells(row.beside) <= width // 2 else ""
        text = fit(cut(row.text, width - cells(beside) - 7), max(width - cells(beside) - 6, 0))
        chosen = Style(bold=True) if row.selected else Style()
        return strip(
            width,
            (f" {row.number}{mark}", self.style("notice")),
            (text, chosen),
            (f" {beside}", self.style("muted")),
        )


class StatusLine(Lines):
    def show(self, parts: Sequence[str], *, flashing: bool) -> None:
        """As many segments as fit, dropped from the right (tui.md 7.1). A flash stands first, in a voice of its own."""
        self.put((tuple(parts), flashing))

    def draw(self, shown: tuple[tuple[str, ...], bool], width: int) -> list[Strip]:
        kept, flashing = list(shown[0]), shown[1]
        while len(kept) > 1 and cells(words.joined(kept)) > width - 2:
            kept.pop()
        if not flashing:
            return [strip(width, (" " + words.joined(kept), Style()))]
        rest = words.joined(kept[1:])
        return [strip(width, (" " + kept[0], self.style("notice")), (f" · {rest}" if rest else "", Style()))]


class TooSmall(Lines, can_focus=True):
    """What stands on a terminal smaller than the smallest screen; of all keys only the interrupt is heard (LAY-22)."""

    class Pressed(Message):
        """A key; the screen hears the one that interrupts."""

        def __init__(self, key: str):
            super().__init__()
            self.key = key

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Pressed(event.key))

    def show(self, width: int, height: int) -> None:
        self.put((width, height))

    def draw(self, shown: tuple[int, int], width: int) -> list[Strip]:
        text = words.too_small(*shown)
        return [Strip([Segment(fit(text[start:end], width))], width) for start, end in wrap(text, width, width)]
