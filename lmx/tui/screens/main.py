"""The one screen of a conversation: its regions, how high they are, and what stands in them.

`draw` brings everything around the transcript up to date with the state. Each region compares what it shows with what it should
show, so that a delta repaints the transcript and nothing else.
"""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from lmx import words
from lmx.conversation import frame, tasks
from lmx.conversation.state import State
from lmx.tui.layout import Plan, plan
from lmx.tui.view.theme import Theme
from lmx.tui.view.transcript import TranscriptView
from lmx.tui.widgets.composer import Composer
from lmx.tui.widgets.lines import Header, LiveRow, QueueRows, Rail, StatusLine, TooSmall
from lmx.tui.widgets.menu import MenuOverlay
from lmx.tui.widgets.panel import PanelOrders, PanelView
from lmx.tui.widgets.tasks import TaskPanel


class MainScreen(Screen[None], inherit_bindings=False):
    """Header, rail, transcript, live row, rail, composer or panel, status line; the menu lies over them."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    MainScreen { layout: vertical; overflow: hidden hidden; layers: base above; background: transparent; }
    MainScreen > Lines, MainScreen > Composer, MainScreen > PanelView {
        width: 100%; height: 1; background: transparent;
    }
    MainScreen > MenuOverlay { layer: above; dock: bottom; display: none; }
    MainScreen > PanelView, MainScreen > TooSmall { display: none; }
    MainScreen > TooSmall { height: 1fr; }
    """

    def __init__(self, theme: Theme, orders: PanelOrders, *, version: str, where: str):
        super().__init__()
        self._version, self._where = version, where
        self.header = Header(theme, id="header")
        self.upper = Rail(theme, id="upper")
        self.transcript = TranscriptView(theme, id="transcript")
        self.live = LiveRow(theme, id="live")
        self.lower = Rail(theme, id="lower")
        self.tasks = TaskPanel(theme, id="tasks")
        self.queue = QueueRows(theme, id="queue")
        self.composer = Composer(theme, orders, id="composer")
        self.panel = PanelView(theme, orders, id="panel")
        self.status = StatusLine(theme, id="status")
        self.menu = MenuOverlay(theme, id="menu")
        self.small = TooSmall(theme, id="small")
        self._plan: Plan | None = None

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.upper
        yield self.transcript
        yield self.live
        yield self.lower
        yield self.tasks
        yield self.queue
        yield self.composer
        yield self.panel
        yield self.status
        yield self.menu
        yield self.small

    def typed(self, event: events.Key | events.Paste, state: State) -> None:
        """A key or a paste, for the part that takes keys in this state."""
        if isinstance(event, events.Key) and self._plan is not None and self._plan.too_small:
            self._typed_blindly(event, state)
            return
        part = self.composer if state.panel is None else self.panel
        if isinstance(event, events.Key):
            part.on_key(event)
        else:
            part.on_paste(event)

    def _typed_blindly(self, event: events.Key, state: State) -> None:
        """On a terminal that is too small for a moment letters still go into the draft; of other keys the sentence decides."""
        if state.panel is None and event.is_printable and not self.composer.means(event.key):
            self.composer.on_key(event)
        else:
            self.small.on_key(event)

    def dress_in(self, theme: Theme) -> None:
        """Another theme, from the next frame on; what is out of sight is drawn in it when it is scrolled to (THM-13)."""
        bars = (self.header, self.upper, self.live, self.lower, self.tasks, self.queue, self.status, self.small)
        for part in (*bars, self.composer, self.panel, self.menu):
            part.wear(theme)
        self.transcript.set_theme(theme)

    # --- drawing ----------------------------------------------------------------------------------------------------

    def draw(self, state: State, now: int, flash: str) -> None:
        """Everything but the transcript, as the state has it."""
        made = self._lay_out(state)
        if made.too_small:
            self._focus(self.small)
            self.small.show(*self.size)
            return
        self._focus(self.composer if state.panel is None else self.panel)
        title, label = frame.composer_labels(state)
        self.composer.menu_open = state.menu is not None
        self.composer.dress(title=title, label=label, placeholder=frame.placeholder(state), border=made.border)
        self.panel.show(state, border=made.border)
        self.header.show(frame.header(state, version=self._version, where=self._where))
        self.upper.show()
        self.draw_pill()
        self.draw_activity(state, now)
        if made.tasks:
            self.tasks.show(tasks.panel(state.tasks, made.tasks, self.size.width))
        self.queue.show(frame.queue(state, made.queue))
        self.status.show(frame.status(state, flash, queue_hidden=not made.queue), flashing=bool(flash))
        self._draw_menu(state, made)

    def draw_activity(self, state: State, now: int) -> None:
        if state.turn is not None:
            self.live.show(frame.activity(state, now))

    def draw_pill(self) -> None:
        view = self.transcript
        self.lower.show(words.rows_below(view.rows_below) if not view.follow and view.rows_below else "")

    def put_cursor(self) -> None:
        """The terminal's own cursor stands where the person writes, for the window of an input method (CMP-2)."""
        writing = self.panel if self.panel.display else self.composer
        if writing.display and writing.region:
            self.app.cursor_position = writing.caret_offset()

    def _lay_out(self, state: State) -> Plan:
        width, height = self.size
        border = plan(width, height, draft_rows=1, live_rows=0).border
        made = plan(
            width,
            height,
            draft_rows=self.composer.rows_wanted(width, border=border),
            live_rows=1 if state.busy else 0,
            panel_rows=self.panel.rows_wanted(state, width, border=border),
            queue_rows=len(state.queue.items),
            task_rows=tasks.rows_wanted(state.tasks, height),
            asking=any(not card.answered for card in state.cards),
        )
        if (made, state.panel is None) != (self._plan, not self.panel.display):
            self._plan = made
            self._apply(made, state.panel is not None)
        return made

    def _apply(self, made: Plan, has_panel: bool) -> None:
        heights = {
            self.header: made.header,
            self.upper: made.upper,
            self.live: made.live,
            self.lower: made.lower,
            self.tasks: made.tasks,
            self.queue: made.queue,
            self.composer: 0 if has_panel else made.composer,
            self.panel: made.composer if has_panel else 0,
            self.status: made.status,
        }
        for widget, rows in heights.items():
            _show(widget, rows)
        self.transcript.display = not made.too_small
        self.small.display = made.too_small
        self.call_after_refresh(self._follow_layout)

    def _follow_layout(self) -> None:
        """Regions have moved: the terminal's cursor goes with the composer."""
        before = self.app.cursor_position
        self.put_cursor()
        if self.app.cursor_position != before:
            self.composer.refresh()

    def _draw_menu(self, state: State, made: Plan) -> None:
        rows = min(MenuOverlay.rows_wanted(state.menu), max(self.size.height - made.composer - made.status, 0))
        _show(self.menu, rows)
        if rows and state.menu is not None:
            self.menu.styles.offset = (0, -(made.composer + made.status))
            self.menu.show(state.menu, rows)

    def _focus(self, widget: Widget) -> None:
        if self.focused is not widget:
            self.set_focus(widget)


def _show(widget: Widget, rows: int) -> None:
    """Gives a widget its height, or takes it off the screen; what is the same already costs nothing."""
    if widget.display != bool(rows):
        widget.display = bool(rows)
    if rows and widget.styles.height is not None and widget.styles.height.value != rows:
        widget.styles.height = rows
