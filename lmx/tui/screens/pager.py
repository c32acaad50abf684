"""The pager: whole outputs and whole evidence, line by line (PGR-1, PGR-2, APR-2).

It draws the rows in sight from a list of lines, so that two megabytes open at once; a text widget would lay them all out first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from lmx import words
from lmx.tui.view.theme import Theme
from lmx.tui.view.width import cut, fit, without_tabs, wrap

Output = tuple[str, str]
"""Title and text."""

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "enter": 1}
_PAGES = {"pageup": -1, "b": -1, "pagedown": 1, "space": 1}
_ENDS = {"home": "top", "g": "top", "ctrl+home": "top", "end": "end", "G": "end", "ctrl+end": "end"}
_OTHERS = {"left_square_bracket": 1, "left": 1, "right_square_bracket": -1, "right": -1}
_CLOSE = frozenset({"q", "escape", "ctrl+o", "ctrl+c"})


class Pages(Widget, can_focus=True, inherit_bindings=False):
    """The text of one output at a time; `number` 0 is the newest."""

    def __init__(self, theme: Theme, outputs: Sequence[Output], close: Callable[[], None]):
        super().__init__()
        self.palette, self._outputs, self._close = theme, outputs, close
        self._number = self._top = 0
        self._wrapped = True
        self._lines: list[str] = []
        self._laid_out: tuple[int, int, bool] | None = None

    def _rows(self) -> list[str]:
        wanted = (self._number, self.size.width, self._wrapped)
        if wanted != self._laid_out:
            self._laid_out, self._lines = wanted, []
            for line in self._outputs[self._number][1].rstrip("\n").split("\n"):
                plain = without_tabs(line)
                width = self.size.width
                spans = wrap(plain, width, width) if self._wrapped else [(0, len(plain))]
                self._lines.extend(plain[start:end] for start, end in spans)
        return self._lines

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        key, page = event.key, max(self.size.height - 4, 1)
        if key in _CLOSE:
            self._close()
        elif key in _STEPS:
            self._scroll(_STEPS[key])
        elif key in _PAGES:
            self._scroll(_PAGES[key] * page)
        elif key in _ENDS:
            self._scroll(-len(self._rows()) if _ENDS[key] == "top" else len(self._rows()))
        elif key in _OTHERS:
            self._number = min(max(self._number + _OTHERS[key], 0), len(self._outputs) - 1)
            self._top = 0
        elif key == "w":
            self._wrapped = not self._wrapped
            self._top = 0
        self.refresh()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-3)
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(3)
        self.refresh()

    def _scroll(self, rows: int) -> None:
        most = max(len(self._rows()) - max(self.size.height - 2, 1), 0)
        self._top = min(max(self._top + rows, 0), most)

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if y == 0:
            title, _ = self._outputs[self._number]
            told = words.PAGER_TITLE.format(title=title, number=self._number + 1, total=len(self._outputs))
            return Strip([Segment(fit(" " + cut(told, width - 2), width), self.palette.style("heading"))], width)
        if y == height - 1:
            return Strip([Segment(fit(" " + words.PAGER_KEYS, width), self.palette.style("muted"))], width)
        rows = self._rows()
        number = self._top + y - 1
        return Strip([Segment(fit(rows[number] if number < len(rows) else "", width))], width)


class Pager(Screen[None], inherit_bindings=False):
    """A screen of its own over the conversation. Nothing typed in it reaches the composer or answers a card."""

    def __init__(self, theme: Theme, outputs: Sequence[Output]):
        super().__init__()
        self._pages = Pages(theme, outputs, self._leave)

    def compose(self) -> ComposeResult:
        yield self._pages

    def on_mount(self) -> None:
        self._pages.focus()

    def _leave(self) -> None:
        self.dismiss(None)
