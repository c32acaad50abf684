"""The one widget that draws every panel, in the composer's place (tui.md 5.2). What a key means the panel itself decides.

It keeps the edit buffer of the field that is written in, as the composer does, and how far the lines are scrolled.
"""

from __future__ import annotations

from typing import Protocol

from textual import events
from textual.geometry import Offset
from textual.strip import Strip
from textual.widget import Widget

from lmx import words
from lmx.conversation import draft as drafts
from lmx.conversation.draft import Draft
from lmx.conversation.panels.base import Face, Field, Panel
from lmx.conversation.state import State
from lmx.sanitize import one_line
from lmx.tui import keymap
from lmx.tui.view.theme import Theme
from lmx.tui.widgets.buffer import Buffer
from lmx.tui.widgets.composer import Orders
from lmx.tui.widgets.faces import Drawn, Room, draw, height

OWN = frozenset("enter escape tab shift+tab up down space".split())
"""Keys that mean the same in every panel, whatever they are bound to elsewhere."""

ELSEWHERE = frozenset("interrupt page_up page_down top bottom pager suspend repaint approve deny".split())
"""What these actions do they do while a panel is shown, too: the transcript above it scrolls on (PNL-2)."""

SCROLLING = {"scroll_up": -3, "scroll_down": 3}


class PanelOrders(Orders, Protocol):
    """Whom the panel tells."""

    def panel_key(self, key: str, text: str) -> None: ...

    def panel_edited(self, draft: Draft, typed: str) -> None: ...


class PanelView(Widget, can_focus=True, inherit_bindings=False):
    """The panel that is shown. `paints` counts how often it was drawn."""

    def __init__(self, theme: Theme, orders: PanelOrders, *, id: str):
        super().__init__(id=id)
        self.palette, self._orders = theme, orders
        self.paints = 0
        self._buffer = Buffer()
        self._secret = False
        self._panel: Panel | None = None
        self._state = State()
        self._face = Face(title="")
        self._shown: tuple[Face, Room] | None = None
        self._border = True
        self._top = 0
        self._drawn: Drawn | None = None

    def wear(self, theme: Theme) -> None:
        """Draws itself in another theme."""
        self.palette = theme
        self._draw()

    def show(self, state: State, *, border: bool) -> None:
        """The panel as it is now; one that has not changed is not drawn again."""
        panel = state.panel
        if panel is None:
            if self._panel is not None:
                self._panel, self._buffer, self._secret = None, Buffer(), False
            return
        if self._panel is None or panel.id != self._panel.id:
            self._top, self._shown = 0, None
        self._panel, self._state, self._border = panel, state, border
        room = self._room
        face = panel.face(state, room.inner)
        if (face, room) != self._shown:
            self._draw()

    def rows_wanted(self, state: State, width: int, *, border: bool) -> int:
        """How many rows it takes to draw its highest tab, frame included."""
        panel = state.panel
        if panel is None:
            return 0
        room = Room(width, 0, border)
        return max(height(face, room, self.palette) for face in panel.faces(state, room.inner))

    def _draw(self, top: int | None = None) -> None:
        """Draws anew; `top` is where a person scrolled to, which the marked row then does not pull back."""
        if self._panel is None:
            return
        room = self._room
        self._face = self._panel.face(self._state, room.inner)
        self._shown = self._face, room
        field = self._field
        if self._secret and (field is None or not field.secret):
            self._buffer = Buffer()  # what was cut out of a key must not be put into a field that shows it
        self._secret = field is not None and field.secret
        if field is not None and field.draft != self._buffer.draft:
            self._buffer.load(field.draft)
        self._drawn = draw(self._face, room, self.palette, top=self._top if top is None else top, held=top is not None)
        self._top = self._drawn.top
        self.refresh()

    @property
    def _room(self) -> Room:
        return Room(self.size.width, self.size.height, self._border and self.size.height >= 3)

    @property
    def _field(self) -> Field | None:
        lines = (*self._face.head, *self._face.lines, *self._face.foot)
        return next((line.field for line in lines if line.field is not None), None)

    # --- keys -------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        action = self._orders.action_of(event.key)
        text = keymap.types(event.character)
        field = self._field
        if action in ELSEWHERE:
            self._orders.act(action)
        elif action in SCROLLING:
            self._scroll(action)
        elif field is not None and action in keymap.EDITING:
            getattr(self._buffer, action)()
            self._edited("")
        elif field is not None and action == "delete_or_quit":
            self._buffer.delete_right()
            self._edited("")
        elif field is not None and action == "newline" and field.rows > 1:
            self._type("\n")
        elif field is not None and not action and text and event.key not in OWN - {"space"}:
            self._type(drafts.plain(text))
        else:
            self._orders.panel_key(event.key if event.key in OWN or not action else action, text)

    def on_paste(self, event: events.Paste) -> None:
        """A paste goes into a field and nowhere else (CMP-20)."""
        event.stop()
        event.prevent_default()
        field = self._field
        size = getattr(event, "size", None) or len(event.text.encode("utf-8", "replace"))
        if size > drafts.PASTE_LIMIT_BYTES:
            self._orders.flash(words.PASTE_TOO_LARGE)
        elif field is None:
            self._orders.panel_key("paste", event.text)
        elif field.rows == 1:
            self._type(drafts.plain(one_line(event.text.strip())))
        elif event.text:
            text = drafts.plain(event.text)
            self._buffer.put(drafts.pasted(self._buffer.draft, text))
            self._edited(text)

    def _type(self, text: str) -> None:
        if text:
            self._buffer.insert(text)
            self._edited(text)

    def _edited(self, typed: str) -> None:
        """The reducer may not take it: then its next state brings back what stood there."""
        self._orders.panel_edited(self._buffer.draft, typed)
        field = self._field
        if field is not None and field.draft != self._buffer.draft:
            self._buffer.load(field.draft)

    # --- scrolling --------------------------------------------------------------------------------------------------

    def _scroll(self, action: str) -> None:
        """Lines that do not fit are scrolled here; where all of them are in sight, the transcript is."""
        if self._drawn is not None and self._drawn.above + self._drawn.below:
            self._draw(self._top + SCROLLING[action])
        else:
            self._orders.act(action)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll("scroll_up")

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll("scroll_down")

    # --- drawing ----------------------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def render_line(self, y: int) -> Strip:
        if y == 0:
            self.paints += 1
        strips = self._drawn.strips if self._drawn is not None else ()
        return strips[y] if y < len(strips) else Strip.blank(self.size.width)

    def caret_offset(self) -> Offset:
        """Where the caret stands on the screen, for the terminal's own cursor (CMP-2); without a field the first row."""
        caret = self._drawn.caret if self._drawn is not None else None
        return self.region.offset + (caret or Offset(0, 0))
