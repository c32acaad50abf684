"""The composer: where the person writes. It edits; what a line means is the reducer's business (GEN-1).

Keys that edit change the buffer here, and the reducer is told what stands there now. Every other key is handed to the screen as
the name of an action. Textual's TextArea would edit code points, bind a dozen keys of its own, and draw a big paste in full.
"""

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
from lmx.tui import keymap
from lmx.tui.view.theme import Theme
from lmx.tui.view.width import cells, cut
from lmx.tui.widgets.buffer import Buffer
from lmx.tui.widgets.burst import Burst
from lmx.tui.widgets.wrapping import VisualRow, row_of, rows


class Orders(Protocol):
    """Whom the composer tells, at once and not through a message queue: what was typed must be known before what comes next."""

    def draft_changed(self, draft: Draft) -> None: ...

    def action_of(self, key: str) -> str:
        """What a key is bound to; empty where it is bound to nothing."""

    def takes_bursts(self) -> bool:
        """Whether characters that come too fast to be typed are a paste."""

    def pasted_nothing(self) -> None:
        """An empty paste, which some terminals send for a picture (CMP-19)."""

    def dropped(self, text: str) -> None:
        """A paste that looks like the path of a picture."""

    def copied(self, text: str) -> None:
        """This was cut or selected, and is to be on the clipboard."""

    def act(self, action: str) -> None:
        """A key that does not edit the text: the name of its action in `keymap`."""

    def flash(self, sentence: str) -> None: ...


class Composer(Widget, can_focus=True, inherit_bindings=False):
    """A bordered editor that grows with its content. `draft` is what stands in it."""

    def __init__(self, theme: Theme, orders: Orders, *, id: str):
        super().__init__(id=id)
        self.palette, self._orders = theme, orders
        self.menu_open = False
        self.border_shown = True
        self.title = self.label = self.placeholder = ""
        self._buffer = Buffer()
        self._goal: int | None = None
        self._top = 0
        self._dragging = False
        self._burst = Burst()
        self._rows: list[VisualRow] = []
        self._rows_for: tuple[str, tuple[str, ...], int] | None = None

    def wear(self, theme: Theme) -> None:
        """Draws itself in another theme."""
        self.palette = theme
        self.refresh()

    @property
    def draft(self) -> Draft:
        return self._buffer.draft

    def load(self, draft: Draft) -> None:
        """Puts a draft into the composer, as the reducer asked."""
        if draft != self._buffer.draft:
            self._buffer.load(draft)
            self._goal = None
            self.refresh()

    def dress(self, *, title: str, label: str, placeholder: str, border: bool) -> None:
        """The words around the text, and whether there is room for a border."""
        dressed = (title, label, placeholder, border)
        if dressed != (self.title, self.label, self.placeholder, self.border_shown):
            self.title, self.label, self.placeholder, self.border_shown = dressed
            self.refresh()

    def rows_wanted(self, width: int, *, border: bool) -> int:
        """How many rows the text takes on a screen of this width (LAY-3)."""
        return len(self._wrapped(self._text_width(width, border)))

    def means(self, key: str) -> bool:
        """Whether the key does something else than type."""
        return bool(self._orders.action_of(key))

    # --- keys -------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        action = self._orders.action_of(event.key)
        if action in ("submit", "complete") and self._in_a_burst(event):
            self._insert("\n" if action == "submit" else "\t")
        elif not action:
            if text := keymap.types(event.character):
                self._burst.typed(event.time)
                self._insert(drafts.plain(text))
        elif action in keymap.EDITING:
            getattr(self._buffer, action)()
            self._edited()
        elif action == "cut":
            if text := self._buffer.cut():
                self._orders.copied(text)
                self._edited()
        elif action in ("up", "down"):
            self._vertical(action)
        elif action == "newline" or (action == "submit" and self._after_backslash()):
            self._insert("\n")
        elif action == "delete_or_quit" and self.draft.text:
            self._buffer.delete_right()
            self._edited()
        else:
            self._orders.act(action)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        size = getattr(event, "size", None) or len(event.text.encode("utf-8", "replace"))
        if size > drafts.PASTE_LIMIT_BYTES:
            self._orders.flash(words.PASTE_TOO_LARGE)
            return
        if removed := getattr(event, "removed", 0):
            self._orders.flash(words.pasted_controls(removed))
        if not event.text and not removed:
            self._orders.pasted_nothing()
        elif drafts.may_be_picture(event.text):
            self._orders.dropped(event.text)
        else:
            self.paste(event.text)

    def paste(self, text: str) -> None:
        """Puts a clean text in, as a chip where it is long."""
        if text:
            self._buffer.paste(drafts.plain(text))
            self._edited()

    def insert(self, text: str) -> None:
        """Puts a text in as if it were typed."""
        self._insert(drafts.plain(text))

    def _in_a_burst(self, event: events.Key) -> bool:
        """Enter and Tab are text in what a terminal pastes without saying so; a command's line is none of that (CMP-18)."""
        text = self._buffer.text
        command = text.startswith("/") and "\n" not in text
        if command or not self._orders.takes_bursts() or not self._burst.holds(event.time):
            return False
        self._burst.newline(event.time)
        return True

    def _insert(self, text: str) -> None:
        if text:
            self._buffer.insert(text)
            self._edited()

    def _after_backslash(self) -> bool:
        """`\\` then Enter is a new line: the backslash is taken out first."""
        caret = self._buffer.caret
        if caret == 0 or self._buffer.text[caret - 1] != "\\":
            return False
        self._buffer.delete_left()
        return True

    def _edited(self) -> None:
        self._goal = None
        self.refresh()
        self._orders.draft_changed(self.draft)

    def _vertical(self, action: str) -> None:
        """Up and down by visual row; at the first and last row the reducer decides (menu, history)."""
        made = self._wrapped(self._text_width(self.size.width, self.border_shown))
        row = row_of(made, self._buffer.caret)
        target = row - 1 if action == "up" else row + 1
        if self.menu_open or not 0 <= target < len(made):
            self._orders.act(action)
            return
        goal = self._goal if self._goal is not None else made[row].column(self._buffer.caret)
        self._buffer.to(made[target].place(goal))
        self._edited()
        self._goal = goal

    def to_end(self) -> None:
        """Down on the last line of the live draft."""
        self._buffer.end()
        self._edited()

    # --- the mouse --------------------------------------------------------------------------------------------------

    @property
    def has_selection(self) -> bool:
        return self._buffer.selection is not None

    def clear_selection(self) -> None:
        self._buffer.deselect()
        self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        self.capture_mouse()
        self._buffer.to(self._place_at(event), select=event.shift)
        self._dragging = True
        self._edited()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            self._buffer.to(self._place_at(event), select=True)
            self.refresh()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragging:
            self._dragging = False
            self.release_mouse()
            self._selected()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if event.chain == 2:
            self._buffer.select_word(self._place_at(event))
        elif event.chain == 3:
            self._buffer.select_line(self._place_at(event))
        else:
            return
        self._selected()

    def _selected(self) -> None:
        """The mouse has let go: as in the transcript, what it selected is copied."""
        self._edited()
        if text := self._buffer.selected:
            self._orders.copied(text)

    def _place_at(self, event: events.MouseEvent) -> int:
        """The caret nearest to the pointer, which may be dragged out of the box."""
        border = self.border_shown and self.size.height >= 3
        made = self._wrapped(self._text_width(self.size.width, border))
        row = made[min(max(self._top + event.y - (1 if border else 0), 0), len(made) - 1)]
        return row.place(max(event.x - 2, 0))

    # --- drawing ----------------------------------------------------------------------------------------------------

    def _text_width(self, width: int, border: bool) -> int:
        return max(1, width - (4 if border else 2))

    def _wrapped(self, width: int) -> list[VisualRow]:
        wanted = (self._buffer.text, self.draft.pastes, width)
        if wanted != self._rows_for:
            self._rows_for, self._rows = wanted, rows(self._buffer.text, width, self.draft.label)
        return self._rows

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        border = self.border_shown and height >= 3
        if border and y == 0:
            return self._edge(width, "╭", self.title, "╮", right=False)
        if border and y == height - 1:
            return self._edge(width, "╰", self.label, "╯", right=True)
        inner = self._text_width(width, border)
        made = self._wrapped(inner)
        caret_row = row_of(made, self._buffer.caret)
        visible = height - (2 if border else 0)
        self._top = min(max(self._top, caret_row - visible + 1), caret_row, max(0, len(made) - visible))
        number = self._top + y - (1 if border else 0)
        side = self.palette.style("rule")
        left = [Segment("│ ", side)] if border else [Segment("> ", self.palette.style("you"))]
        right = [Segment(" │", side)] if border else []
        return Strip([*left, *self._row(made, number, caret_row, inner), *right], width)

    def _row(self, made: list[VisualRow], number: int, caret_row: int, width: int) -> list[Segment]:
        if number >= len(made):
            return [Segment(" " * width)]
        row = made[number]
        caret = self._buffer.caret if number == caret_row and self.has_focus else None
        if not self._buffer.text and self.placeholder and number == 0:
            return self._invitation(caret is not None, width)
        first, last = self._buffer.selection or (0, 0)
        segments = [Segment(c.shown, self._style(c.chip, caret == c.start, first <= c.start < last)) for c in row.cells]
        used = sum(cell.width for cell in row.cells)
        if caret is not None and caret == row.end and used < width:
            segments.append(Segment(" ", Style(reverse=True)))
            used += 1
        return [*segments, Segment(" " * (width - used))]

    def _invitation(self, caret: bool, width: int) -> list[Segment]:
        """What an empty composer says, with the caret on its first letter."""
        hint, style = cut(self.placeholder, width), self.palette.style("muted")
        first = Segment(hint[:1], self._style(False, caret) if caret else style)
        return [first, Segment(hint[1:], style), Segment(" " * (width - cells(hint)))]

    def _style(self, chip: bool, caret: bool, selected: bool = False) -> Style:
        style = self.palette.style("notice") if chip else Style()
        if selected:  # the caret inside a selection is what stands out of it
            return style + Style(underline=True) if caret else style + Style(reverse=True)
        return style + Style(reverse=True) if caret else style

    def _edge(self, width: int, start: str, text: str, end: str, *, right: bool) -> Strip:
        """A border row with its words set into it."""
        style = self.palette.style("question" if self.title else "rule")
        label = f" {cut(text, width - 6)} " if text and width > 8 else ""
        fill = width - 2 - cells(label) - (1 if label else 0)
        line = "─" * max(fill, 0)
        told = Segment(label, self.palette.style("question" if self.title and not right else "muted"))
        inside = [Segment(line, style), told, Segment("─" if label else "", style)]
        if not right:
            inside.reverse()
        return Strip([Segment(start, style), *inside, Segment(end, style)], width)

    def caret_offset(self) -> Offset:
        """Where the caret stands on the screen, for the terminal's own cursor (CMP-2)."""
        border = self.border_shown and self.size.height >= 3
        made = self._wrapped(self._text_width(self.size.width, border))
        row = row_of(made, self._buffer.caret)
        x = made[row].column(self._buffer.caret) + 2
        y = row - self._top + (1 if border else 0)
        return self.region.offset + Offset(x, y)
