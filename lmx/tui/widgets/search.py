"""The history search: a panel in the composer's place (CMP-22). What is typed into it is the query, and nothing is sent."""

from __future__ import annotations

from typing import Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Offset
from textual.strip import Strip
from textual.widget import Widget

from lmx import words
from lmx.conversation import draft as drafts
from lmx.conversation.draft import Draft
from lmx.conversation.state import Search
from lmx.sanitize import one_line
from lmx.tui import keymap
from lmx.tui.view.theme import Theme
from lmx.tui.view.width import cells, cut, fit
from lmx.tui.widgets.buffer import Buffer
from lmx.tui.widgets.composer import EDITING, Orders

ROWS = 8
_LABEL = f"│ {words.SEARCH_PROMPT} "


class SearchOrders(Orders, Protocol):
    """Whom the panel tells."""

    def query_changed(self, query: str) -> None: ...


class SearchPanel(Widget, can_focus=True, inherit_bindings=False):
    """The newest matches, the selected one marked, and the query under them."""

    def __init__(self, theme: Theme, orders: SearchOrders, *, id: str):
        super().__init__(id=id)
        self.palette, self._orders = theme, orders
        self._query = Buffer()
        self._search = Search()
        self._history: tuple[Draft, ...] = ()

    def show(self, search: Search, history: tuple[Draft, ...]) -> None:
        if search.query != self._query.text:
            self._query.load(drafts.of(search.query))
        self._search, self._history = search, history
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        action = keymap.ACTIONS.get(event.key)
        if action is None:
            if text := keymap.types(event.character):
                self._query.insert(text)
                self._orders.query_changed(self._query.text)
        elif action in EDITING:
            getattr(self._query, action)()
            self._orders.query_changed(self._query.text)
        else:
            self._orders.act(action)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._query.insert(one_line(event.text))
        self._orders.query_changed(self._query.text)

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        rule = self.palette.style("rule")
        if y in (0, height - 1) and height >= 3:
            return self._edge(width, top=y == 0)
        if y == height - 2 or height < 3:
            label = _LABEL
            query = fit(self._query.text + "▏", max(width - cells(label) - 2, 0))
            return Strip([Segment(label, self.palette.style("accent")), Segment(query), Segment(" │", rule)], width)
        return self._found(y - 1, height - 3, width)

    def caret_offset(self) -> Offset:
        """Where the caret stands on the screen, for the terminal's own cursor (CMP-2)."""
        row = self.size.height - 2 if self.size.height >= 3 else 0
        return self.region.offset + Offset(cells(_LABEL + self._query.text[: self._query.caret]), row)

    def _found(self, y: int, rows: int, width: int) -> Strip:
        first = max(0, min(self._search.selected - rows // 2, len(self._search.found) - rows))
        number = first + y
        side = self.palette.style("rule")
        if number >= len(self._search.found):
            return Strip([Segment("│", side), Segment(" " * (width - 2)), Segment("│", side)], width)
        chosen = number == self._search.selected
        draft = self._history[self._search.found[number]]
        text = one_line("".join(draft.label(char) or char for char in draft.text))
        style = Style(bold=True) if chosen else self.palette.style("muted")
        inner = fit(("› " if chosen else "  ") + cut(text, width - 6), width - 3)
        return Strip([Segment("│ ", side), Segment(inner, style), Segment("│", side)], width)

    def _edge(self, width: int, *, top: bool) -> Strip:
        style = self.palette.style("rule")
        left, right = ("╭", "╮") if top else ("╰", "╯")
        text = words.SEARCH_TITLE.format(count=words.count(len(self._search.found))) if top else words.SEARCH_KEYS
        label = f" {cut(text, width - 6)} "
        line = "─" * max(width - 3 - cells(label), 0)
        return Strip([Segment(f"{left}─{label}{line}{right}", style)], width)
