"""The pager: whole outputs and whole evidence, line by line (PGR-1, PGR-2, PGR-3, APR-2).

It draws the rows in sight from a list of lines, so that two megabytes open at once; a text widget would lay them all out first.
An output whose call still runs grows under the reader: at its end the newest line stays in sight, elsewhere nothing moves.
"""

from __future__ import annotations

from typing import Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from lmx import words
from lmx.sanitize import one_line
from lmx.tui.outputs import Output, Outputs
from lmx.tui.screens.paper import Paper
from lmx.tui.view.theme import Theme
from lmx.tui.view.width import cut, fit

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "enter": 1}
_PAGES = {"pageup": -1, "b": -1, "pagedown": 1, "space": 1}
_TOP, _END = frozenset({"home", "g", "ctrl+home"}), frozenset({"end", "G", "ctrl+end"})
_OTHERS = {"left_square_bracket": 1, "left": 1, "right_square_bracket": -1, "right": -1}
_CLOSE = frozenset({"q", "escape", "ctrl+o", "ctrl+c"})
_FOUND = Style(reverse=True)


class Desk(Protocol):
    """What the pager asks of the screen under it."""

    def pager_closes(self) -> None: ...
    def pager_copies(self, text: str) -> None: ...
    def pager_edits(self, text: str) -> None: ...
    def flashing(self) -> str: ...


class Pages(Widget, can_focus=True, inherit_bindings=False):
    """The text of one output at a time, held by its id: the output read stays the same one when another becomes the newest."""

    def __init__(self, theme: Theme, outputs: Outputs, desk: Desk):
        super().__init__()
        self.palette, self._outputs, self._desk = theme, outputs, desk
        self._id, self._output = outputs.newest_first()[0]
        self._follow, self._top, self._wrapped = self._output.open, 0, True
        self._paper: Paper | None = None
        self._typing: str | None = None
        self._sought, self._said = "", ""

    # --- where it stands -----------------------------------------------------------------------------------------------

    def _place(self) -> tuple[int, int, Output]:
        """Which of how many the output is, the newest 0; one that made room for newer ones stays until it is left."""
        kept = self._outputs.newest_first()
        for number, (id, output) in enumerate(kept):
            if id == self._id:
                self._output = output
                return number, len(kept), output
        return len(kept) - 1, len(kept), self._output

    def _sheet(self) -> Paper:
        output, width = self._place()[2], self.size.width
        paper = self._paper
        if paper is None or (paper.output, paper.width, paper.wrapped) != (output, width, self._wrapped):
            paper = self._paper = Paper(output, width, wrapped=self._wrapped)
        return paper

    def _page(self) -> int:
        return max(self.size.height - 2, 1)

    def _first(self) -> int:
        """The row at the top."""
        if self._follow:
            self._top = max(self._sheet().count() - self._page(), 0)
        return self._top

    def _scroll(self, rows: int) -> None:
        wanted, paper = max(self._first() + rows, 0), self._sheet()
        at_end = paper.row(wanted + self._page()) is None
        self._top = max(min(wanted, paper.count() - self._page()), 0) if at_end else wanted
        self._follow = at_end and rows >= 0

    def _turn_to(self, step: int) -> None:
        number, total, _ = self._place()
        wanted = min(max(number + step, 0), total - 1)
        self._id, self._output = self._outputs.newest_first()[wanted]
        self._top, self._follow = 0, self._output.open

    # --- keys ----------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self._said = ""
        if self._typing is not None:
            self._type(event)
        else:
            self._command(event.key)
        self.refresh()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self._typing is not None:
            self._typing += one_line(event.text)
            self.refresh()

    def _command(self, key: str) -> None:
        if key in _CLOSE:
            self._desk.pager_closes()
        elif key in _STEPS:
            self._scroll(_STEPS[key])
        elif key in _PAGES:
            self._scroll(_PAGES[key] * max(self.size.height - 4, 1))
        elif key in _TOP:
            self._top, self._follow = 0, False
        elif key in _END:
            self._scroll(self._sheet().count())
        elif key in _OTHERS:
            self._turn_to(_OTHERS[key])
        elif key == "w":
            self._wrapped, self._top, self._follow = not self._wrapped, 0, False
        elif key in ("slash", "/"):
            self._typing = ""
        elif key in ("n", "N"):
            self._seek(back=key == "N")
        elif key == "y":
            self._desk.pager_copies(self._output.text)
        elif key == "e":
            self._desk.pager_edits(self._output.text)

    def _type(self, event: events.Key) -> None:
        typed = self._typing or ""
        if event.key in ("escape", "ctrl+c"):
            self._typing = None
        elif event.key == "enter":
            self._typing, self._sought = None, typed or self._sought
            self._seek(anew=True)
        elif event.key == "backspace":
            self._typing = typed[:-1]
        elif event.key == "ctrl+u":
            self._typing = ""
        elif event.is_printable and event.character:
            self._typing = typed + event.character

    def _seek(self, *, back: bool = False, anew: bool = False) -> None:
        """To the next row with what is sought; `anew` may be the one at the top."""
        first = self._first()
        found = (
            self._sheet().find(self._sought, first if back or anew else first + 1, back=back) if self._sought else None
        )
        if found is None:
            self._said = words.PAGER_NOT_FOUND.format(text=self._sought) if self._sought else words.PAGER_NO_SEARCH
        else:
            self._top, self._follow = found, False

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(-3)
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(3)
        self.refresh()

    # --- drawing -------------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if y == 0:
            number, total, output = self._place()
            told = words.PAGER_TITLE.format(title=output.title, number=number + 1, total=total)
            told = words.joined((cut(told, width - 2), words.PAGER_RUNNING if output.open else ""))
            return Strip([Segment(fit(" " + cut(told, width - 2), width), self.palette.style("heading"))], width)
        if y == height - 1:
            if self._typing is not None:
                return Strip([Segment(fit("/" + self._typing[-max(width - 2, 1) :], width))], width)
            said = self._said or self._desk.flashing() or words.PAGER_KEYS
            return Strip([Segment(fit(" " + cut(said, width - 1), width), self.palette.style("muted"))], width)
        return self._line(self._sheet().row(self._first() + y - 1) or "", width)

    def _line(self, row: str, width: int) -> Strip:
        """A row, with what is sought marked where a row has all of it."""
        place = row.casefold().find(self._sought.casefold()) if self._sought and row.isascii() else -1
        if place < 0 or place >= width:
            return Strip([Segment(fit(row, width))], width)
        row, end = fit(row, width), place + len(self._sought)
        return Strip([Segment(row[:place]), Segment(row[place:end], _FOUND), Segment(row[end:])], width)


class Pager(Screen[None], inherit_bindings=False):
    """A screen of its own over the conversation. Nothing typed in it reaches the composer or answers a card."""

    def __init__(self, theme: Theme, outputs: Outputs, desk: Desk):
        super().__init__()
        self.pages = Pages(theme, outputs, desk)

    def compose(self) -> ComposeResult:
        yield self.pages

    def on_mount(self) -> None:
        self.pages.focus()
