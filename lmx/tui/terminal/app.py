"""The Textual app on our terminal, and every private part of Textual that is touched for it (TST-6).

Each override says which private name it relies on; `tests/lmx/tui/terminal/test_app.py` has a test for each assumption, so that
an upgrade of Textual fails there and not on somebody's screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import set_cell_size
from rich.segment import Segment
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.strip import Strip

from lmx.sanitize import one_line
from lmx.tui.terminal.crash import report
from lmx.tui.terminal.driver import TerminalDriver
from lmx.tui.terminal.look import Look
from lmx.tui.terminal.signals import stop_process_group
from lmx.tui.terminal.tty import Tty

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.filter import LineFilter
    from textual.screen import Screen

TITLE_CELLS = 200
FOREGROUND_POLL = 0.5
"""Seconds between two looks whether the terminal is ours again after a suspension."""


class TerminalApp(App[int]):
    """An app on `TerminalDriver`. `look` is what `look.query_look` found; reports of faults go to `crash_directory`."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *, look: Look | None = None, crash_directory: Path | None = None):
        self.look = look or Look()
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.theme = "ansi-light" if self.look.theme == "light" else "ansi-dark"
        self.no_color = not self.look.colours
        self.animation_level = "none"
        self.crash: str | None = None
        """After a fault: the sentence for the person."""
        self.end_status: int | None = None
        """The exit status a signal or a lost terminal decided on."""
        self.listening = True
        """Are keys taken as they come? An app that is not ready at its first moment starts with False and calls `listen`."""
        self.lent = False
        """Another program has the terminal for a while (`handover`)."""
        self.opened: Tty | None = None
        """The terminal the driver takes; without it the driver opens one."""
        self._crash_directory = crash_directory
        self._held = ExitStack()
        self._returning: asyncio.TimerHandle | None = None
        self._title_text = ""
        self._lines: dict[int, Strip] = {}

    @property
    def terminal(self) -> TerminalDriver | None:
        """The driver, when there is a terminal. Relies on `App._driver`."""
        return self._driver if isinstance(self._driver, TerminalDriver) else None

    # The terminal's life

    def listen(self) -> None:
        """Something has the focus now: takes the keys, those typed before it first. Textual drops a key nobody waits for."""
        self.listening = True
        if (terminal := self.terminal) is not None:
            terminal.listen()

    def end(self, status: int) -> None:
        """Leaves the terminal at once and ends the app; the first status counts."""
        if self.end_status is None:
            self.end_status = status
        self.leave_terminal()
        self.exit(status, return_code=status)

    def leave_terminal(self) -> None:
        """Restores the terminal; harmless when it is done."""
        if (terminal := self.terminal) is not None:
            terminal.stop_application_mode()

    def terminal_gone(self) -> None:
        """The terminal was closed: 129, and no write to it (cli.md 10.1)."""
        if (terminal := self.terminal) is not None:
            terminal.abandon()
        self.end(129)

    def action_suspend_process(self) -> None:
        """Ctrl-Z (TRM-6): gives the terminal back, stops our process group, and goes on when it is continued."""
        terminal = self.terminal
        if terminal is None or not terminal.entered:
            return
        self.app_suspend_signal.publish(self)
        terminal.stop_application_mode()
        stop_process_group()  # the handler of SIGCONT comes back

    def come_back(self) -> None:
        """Enters the screen again as soon as our process group owns the terminal; until then stays out."""
        if self._returning is not None:
            self._returning.cancel()
            self._returning = None
        terminal = self.terminal
        if terminal is None or self.end_status is not None or not self._running or self.lent:
            return
        if terminal.entered:
            # Stopped and continued by somebody else's SIGSTOP: the terminal may have been used meanwhile.
            terminal.forget_screen()
        if not terminal.in_foreground():
            self._returning = asyncio.get_running_loop().call_later(FOREGROUND_POLL, self.come_back)
            return
        terminal.start_application_mode()
        self.app_resume_signal.publish(self)
        self.action_repaint()
        if self._title_text:
            self.set_title(self._title_text)

    def action_repaint(self) -> None:
        """Ctrl-L: every cell is sent again."""
        if (terminal := self.terminal) is not None:
            terminal.painter.forget()
            terminal.write("\x1b[0m\x1b[2J")
        self.refresh(layout=True)

    def set_title(self, text: str) -> None:
        """The terminal's title, cleaned and cut (LAY-5, SAF-6)."""
        self._title_text = set_cell_size(one_line(text), TITLE_CELLS).rstrip()
        if (terminal := self.terminal) is not None:
            terminal.titled = True
            terminal.write(f"\x1b]0;{self._title_text}\x07")

    # Drawing

    def hold_frames(self, hold: bool) -> None:
        """While the terminal takes nothing, nothing is drawn: frames are dropped, not queued, and the newest comes (TRM-13)."""
        self._held.close()
        if hold:
            self._held.enter_context(self.batch_update())
        elif self._running and self._screen_stack:
            self.screen.check_idle()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """None: colours are reduced, or left out, where a frame is written (THM-6). Textual's own filter makes greys."""
        return ()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Sends what changed. Relies on `App._display` being the only way a frame takes, on `_batch_count`, `_running`,
        `_closed`, and on the fields of the two kinds of update."""
        terminal = self.terminal
        if terminal is None:
            super()._display(screen, renderable)
            return
        if renderable is not None and self._running and not self._closed and not self._batch_count and terminal.entered:
            self._send_frame(terminal, screen, renderable)
        self.post_display_hook()

    def _send_frame(self, terminal: TerminalDriver, screen: Screen[Any], update: object) -> None:
        painter = terminal.painter
        size = screen.outer_size
        if (size.width, size.height) != (painter.width, painter.height):
            return  # laid out for the size before: taken for shown, its blanks would be left out where other text stands
        if painter.incomplete and not isinstance(update, LayoutUpdate):
            update = screen._compositor.render_full_update()
        changed = {}
        for y, chops in _rows_of(update):
            changed[y] = painter.row(self._segments(y, chops))
        terminal.write_frame(painter.frame(changed, size.clamp_offset(self.cursor_position)))

    def _segments(self, y: int, chops: Mapping[int, Strip | None]) -> Iterable[Segment]:
        """One row, left to right; pieces that were not drawn anew are taken from what was drawn before."""
        line = self._lines.get(y)
        pieces = list(chops.items())
        strips: list[Strip] = []
        for index, (x, strip) in enumerate(pieces):
            if strip is None and line is not None:
                strip = line.crop(x, pieces[index + 1][0] if index + 1 < len(pieces) else None)
            if strip is not None:
                strips.append(strip)
        whole = strips[0] if len(strips) == 1 else Strip.join(strips)
        self._lines[y] = whole
        return whole

    # Faults

    def _handle_exception(self, error: Exception) -> None:
        """The border of the screen: a fault becomes a file and a sentence. Relies on being called for each of them."""
        if self.crash is None:
            self.crash = report(error, self._crash_directory)
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Instead of a traceback with every local variable. Relies on `_close_messages_no_wait` ending the app."""
        self._close_messages_no_wait()

    def _print_error_renderables(self) -> None:
        """The sentence is printed by `run_in_terminal`, after the terminal is restored."""
        self._exit_renderables.clear()


def _rows_of(update: object) -> Iterable[tuple[int, Mapping[int, Strip | None]]]:
    """The rows of an update: for each, its pieces by column."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            yield y, dict(enumerate(strips))
    elif isinstance(update, ChopsUpdate):
        for y in dict.fromkeys(y for y, _, _ in update.spans):
            yield y, update.chops[y]
