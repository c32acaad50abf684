"""The transcript as one widget (RND-1): it draws the rows in sight line by line and owns no other widget.

A widget a message, as Textual's own examples have it, takes seconds to add one to three thousand. It is no `ScrollView` either:
a scroll offset counts rows from the top, which are estimates here (see `flow`), so it scrolls by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

from rich.style import Style
from textual import events
from textual.app import RenderResult
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from lmx.conversation.blocks import Block
from lmx.tui.view.finding import find
from lmx.tui.view.flow import Flow, Place
from lmx.tui.view.pieces import Piece
from lmx.tui.view.selection import Selection, mark_at, selected_columns, selected_text
from lmx.tui.view.theme import DARK, Theme

PAINT_INTERVAL = 1 / 30
"""Seconds between two paints, at least (RND-5)."""
MAX_STRIPS = 20_000
WHEEL_ROWS = 3
DRAG_INTERVAL = 0.05
"""Seconds between two rows while a drag is beyond an edge."""


class TranscriptView(Widget):
    """See the module. Blocks are added and replaced by key; the paint that shows them follows within 33 ms.

    `follow` tells whether the newest row stays in sight (SCR-1), `rows_below` how many rows lie below. `Moved` is sent when
    either changes, `Selected` when a drag ends.
    """

    ALLOW_SELECT = False  # Textual's selection is of screen cells; ours is of text
    can_focus = False

    DEFAULT_CSS = "TranscriptView { width: 1fr; height: 1fr; background: transparent; }"

    class Moved(Message):
        """The view follows or not, and how many rows are below it."""

        def __init__(self, follow: bool, rows_below: int):
            super().__init__()
            self.follow, self.rows_below = follow, rows_below

    class Selected(Message):
        """A drag has ended; `text` is what it selected."""

        def __init__(self, text: str):
            super().__init__()
            self.text = text

    class Followed(Message):
        """A link was clicked; `address` is where it goes."""

        def __init__(self, address: str):
            super().__init__()
            self.address = address

    def __init__(self, theme: Theme = DARK, *, id: str | None = None, classes: str | None = None):
        super().__init__(id=id, classes=classes)
        self.flow = Flow(theme)
        self.paints = 0
        self._rows: list[Place] | None = None
        self._strips: OrderedDict[tuple[Piece, int, int], Strip] = OrderedDict()
        self._painted_at = 0.0
        self._paint_due: asyncio.TimerHandle | None = None
        self._told = (True, 0)
        self._selection: Selection | None = None
        self._dragging = False
        self._drag_row = 0
        self._drag_column = 0
        self._drag_timer: asyncio.TimerHandle | None = None
        self._last_found: tuple[int, int, int] | None = None

    # Blocks

    def append(self, block: Block) -> None:
        self.flow.append(block)
        self._changed()

    def replace(self, block: Block) -> None:
        """Puts `block` in the place of the one with its key."""
        if not self.flow.replace(block) and self._selection is not None:
            self._selection.dropped.add(block.key)
        self._changed()

    def remove_block(self, key: str) -> None:
        self.flow.remove(key)
        self._changed()

    def clear(self) -> None:
        self.flow.clear()
        self._selection = None
        self._strips.clear()
        self._changed()

    @property
    def transcript_theme(self) -> Theme:
        return self.flow.theme

    def set_theme(self, theme: Theme) -> None:
        """Draws in other colours; blocks are laid out again as they come into sight (THM-13)."""
        self.flow.set_theme(theme)
        self._strips.clear()
        self._changed()

    # Scrolling

    @property
    def follow(self) -> bool:
        return self.flow.following

    @property
    def rows_below(self) -> int:
        return self._told[1]

    @property
    def top(self) -> tuple[str, int, int] | None:
        """What the first row shows: the key of its block, the numbers of its piece and row."""
        rows = self._visible()
        return (self.flow.entries[rows[0].block].block.key, rows[0].piece, rows[0].row) if rows else None

    def shows(self, key: str) -> bool:
        """Is a row of this block in sight?"""
        number = self.flow.number_of(key)
        return any(place.block == number for place in self._visible())

    def scroll_rows(self, rows: int) -> None:
        """Down for positive, up for negative numbers."""
        self.flow.scroll(rows)
        self._changed(now=True)

    def page(self, direction: int) -> None:
        """A screenful less two rows, down for 1 and up for -1."""
        self.scroll_rows(direction * max(self.flow.height - 2, 1))

    def to_top(self) -> None:
        self.flow.to_top()
        self._changed(now=True)

    def to_bottom(self) -> None:
        self.flow.to_bottom()
        self._changed(now=True)

    # Finding

    def find(self, text: str, *, back: bool, anew: bool) -> str:
        """Marks the next place of it and says `here`, `wrapped` (round an end) or `nowhere`. `anew`: from what is in sight."""
        rows = self._visible()
        if not rows:
            return "nowhere"
        origin = (rows[-1].block, rows[-1].piece + 1, 0) if anew else self._last_found or (0, -1, 0)
        found = find(self.flow, text, origin, back=back)
        if found is None:
            self.clear_selection()
            return "nowhere"
        self._last_found = found[:3]
        anchor, head = found.marks(self.flow)
        self._selection = Selection(anchor)
        self._selection.head = head
        self.flow.show(*found[:3])
        self._changed(now=True)
        return "wrapped" if found.wrapped else "here"

    # Selecting

    def selected_text(self) -> str:
        """What is selected, as a copy takes it (SEL-2); empty when nothing is."""
        return selected_text(self.flow, self._selection) if self._selection is not None else ""

    @property
    def has_selection(self) -> bool:
        return self._selection is not None and not self._selection.empty

    def clear_selection(self) -> None:
        self._selection = None
        self._changed(now=True)

    # Drawing

    def render(self) -> RenderResult:
        return ""

    def render_line(self, y: int) -> Strip:
        rows = self._visible()
        if y >= len(rows):
            return Strip.blank(self.flow.width)
        place = rows[y]
        strip = self._strip(self.flow.piece(place), place.row)
        if self._selection is None:
            return strip
        columns = selected_columns(self.flow, self._selection, place)
        return strip if columns is None else self._highlighted(strip, *columns)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of `crop`, past the cache of styled lines: this widget has no border and no padding, and its rows are
        cached by what they show, which stays when they scroll."""
        strips = [self.render_line(y) for y in crop.line_range]
        if crop.column_span == (0, self.flow.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return container.height

    def _strip(self, piece: Piece, row: int) -> Strip:
        key = (piece, row, self.flow.width)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = piece.strip(row, self.flow.width)
            if len(self._strips) > MAX_STRIPS:
                self._strips.popitem(last=False)
        else:
            self._strips.move_to_end(key)
        return strip

    def _highlighted(self, strip: Strip, first: int, last: int) -> Strip:
        style: Style = self.flow.theme.style("selection")
        middle = Strip(
            [segment._replace(style=(segment.style or Style()) + style) for segment in strip.crop(first, last)]
        )
        return Strip.join([strip.crop(0, first), middle, strip.crop(last)])

    def _visible(self) -> list[Place]:
        if self._rows is None:
            self._rows = self.flow.rows()
        return self._rows

    def _changed(self, now: bool = False) -> None:
        """Asks for a paint: at once, or when the last one is long enough ago."""
        self._rows = None
        if not self.is_mounted or (self._paint_due is not None and not now):
            return
        wait = 0.0 if now else max(PAINT_INTERVAL - (time.monotonic() - self._painted_at), 0.0)
        if now:
            self._cancel_paint()
            self._paint()
        else:
            self._paint_due = asyncio.get_running_loop().call_later(wait, self._paint)

    def _cancel_paint(self) -> None:
        if self._paint_due is not None:
            self._paint_due.cancel()
            self._paint_due = None

    def _paint(self) -> None:
        self._paint_due = None
        self._painted_at = time.monotonic()
        self.paints += 1
        self._rows = None
        rows = self._visible()
        told = (self.flow.following, self.flow.rows_below(rows))
        if told != self._told:
            self._told = told
            self.post_message(self.Moved(*told))
        self.refresh()

    # Events

    def on_mount(self) -> None:
        self._changed()

    def on_unmount(self) -> None:
        self._cancel_paint()
        self._stop_drag_timer()

    def on_resize(self, event: events.Resize) -> None:
        self.flow.resize(event.size.width, event.size.height)
        self._changed(now=True)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-WHEEL_ROWS)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        rows = self._visible()
        if event.button != 1 or not rows:
            return
        place = rows[min(max(event.y, 0), len(rows) - 1)]
        self._selection = Selection(mark_at(self.flow, place, event.x))
        self._dragging = True
        self.capture_mouse()
        self._changed(now=True)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            self._drag_row, self._drag_column = event.y, event.x
            self._drag()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if not self._dragging:
            return
        self._dragging = False
        self._stop_drag_timer()
        self.release_mouse()
        if self._selection is not None and self._selection.empty:
            self._selection = None
            if address := self._link_at(event.x, event.y):
                self.post_message(self.Followed(address))
        elif text := self.selected_text():
            self.post_message(self.Selected(text))
        self._changed(now=True)

    def _link_at(self, x: int, y: int) -> str:
        """The destination of the link under the pointer, empty where there is none."""
        if not (0 <= y < self.size.height and 0 <= x < self.size.width):
            return ""
        for segment in self.render_line(y):
            x -= segment.cell_length
            if x < 0:
                return (segment.style.link or "") if segment.style is not None else ""
        return ""

    def _drag(self) -> None:
        """The selection up to where the mouse is; beyond an edge the view scrolls, again and again."""
        self._stop_drag_timer()
        if not self._dragging or self._selection is None:
            return
        beyond = min(self._drag_row, 0) or max(self._drag_row - self.flow.height + 1, 0)
        if beyond:
            self.flow.scroll(max(min(beyond, WHEEL_ROWS), -WHEEL_ROWS))
            self._rows = None
            self._drag_timer = asyncio.get_running_loop().call_later(DRAG_INTERVAL, self._drag)
        rows = self._visible()
        if rows:
            place = rows[min(max(self._drag_row, 0), len(rows) - 1)]
            self._selection.head = mark_at(self.flow, place, self._drag_column)
        self._changed(now=True)

    def _stop_drag_timer(self) -> None:
        if self._drag_timer is not None:
            self._drag_timer.cancel()
            self._drag_timer = None
