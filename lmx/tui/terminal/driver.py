"""Textual's driver, ours: the controlling terminal instead of stderr, one loop instead of two threads, every way out restored.

It turns events of the input filter into Textual messages and gives Textual's app a `write`. Frames come from `paint.Painter`;
what else the app writes (a bell, the clipboard) passes through as it is.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import TYPE_CHECKING

from textual import events as textual_events
from textual.driver import Driver
from textual.geometry import Size

from lmx.tui.terminal import restore
from lmx.tui.terminal.events import Event, Focus, Key, Mouse, Reply
from lmx.tui.terminal.events import Paste as PasteEvent
from lmx.tui.terminal.filter import InputFilter
from lmx.tui.terminal.paint import Painter
from lmx.tui.terminal.tty import Output, Tty, over_ssh

if TYPE_CHECKING:
    from textual.message import Message

    from lmx.tui.terminal.app import TerminalApp

RESIZE_INTERVAL = 0.05
"""Seconds between two sizes told to the app; the newest wins (TRM-8)."""
_KITTY = re.compile(r"\?\d{1,4}u")
_SYNC_START, _SYNC_END = "\x1b[?2026h", "\x1b[?2026l"
_MOUSE = {
    "press": textual_events.MouseDown,
    "release": textual_events.MouseUp,
    "move": textual_events.MouseMove,
    "scroll_up": textual_events.MouseScrollUp,
    "scroll_down": textual_events.MouseScrollDown,
    "scroll_left": textual_events.MouseScrollLeft,
    "scroll_right": textual_events.MouseScrollRight,
}


class Paste(textual_events.Paste):
    """A paste as Textual knows it, clean, with the count of what was taken out and its size in bytes as sent."""

    def __init__(self, text: str, removed: int = 0, size: int = 0):
        super().__init__(text)
        self.removed, self.size = removed, size


class TerminalDriver(Driver):
    """See the module. All of it runs on the app's loop."""

    def __init__(
        self, app: TerminalApp, *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ):
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.app = app
        self.painter = Painter(app.look.depth, app.look.colours)
        self.filter = InputFilter()
        self.synchronized = False
        self.titled = False
        self.tells_keys_apart = False
        """The terminal has said that it spells modifiers out: Shift-Enter is not Enter (KEY-5)."""
        self._marked = False
        self._pointed = False
        self._environ = dict(os.environ)
        self._tty: Tty | None = None
        self._output: Output | None = None
        self._restorer = restore.Restorer(self._leave)
        self._typed = app.look.typed
        self._expiry: asyncio.TimerHandle | None = None
        self._resizing: asyncio.TimerHandle | None = None
        self._resized_at = 0.0
        self._mouse_at = (0, 0)

    @property
    def can_suspend(self) -> bool:
        return True

    @property
    def marks_pastes(self) -> bool:
        """Does the terminal say where a paste begins and ends? One that has done so, or knows younger things, does (CMP-18).

        tmux always does, and what is typed into it by `send-keys` was meant as typed.
        """
        return self._marked or self.synchronized or self.tells_keys_apart or bool(self._environ.get("TMUX"))

    @property
    def entered(self) -> bool:
        """Is the terminal ours at the moment?"""
        return self._output is not None

    # The life of the screen

    def start_application_mode(self) -> None:
        """Enters the screen: at the start, after `App.suspend` and after Ctrl-Z. Raises NoTerminal."""
        if self._output is not None:
            return
        self._tty = tty = self._tty or self.app.opened or Tty.open()
        self._output = Output(tty.output, hold=self.app.hold_frames, gone=self._gone)
        self._restorer.arm()
        tty.raw()
        self._output.write(
            restore.enter(
                mouse=self._mouse,
                kitty=restore.wants_kitty(self._environ),
                query=restore.understands_queries(self._environ),
            )
        )
        self.tell_size()
        if self.app.listening:
            self.listen()

    def take_mouse(self, on: bool | None) -> bool:
        """Has the terminal report the mouse, or keep it to itself; None changes nothing. Returns whether it is reported."""
        if on is not None and on != self._mouse:
            self._mouse = on
            if self._output is not None:
                self._output.write(restore.MOUSE_ON if on else restore.MOUSE_OFF)
        return self._mouse

    def listen(self) -> None:
        """Reads the keys, first those that were typed while the look was asked for. Until then the terminal keeps them."""
        if self._tty is None or self._output is None:
            return
        self._loop.add_reader(self._tty.input, self._readable)
        typed, self._typed = self._typed, b""
        self._receive(typed)

    def stop_application_mode(self) -> None:
        """Leaves the screen and restores the terminal; harmless when it is done already."""
        self._restorer.restore()

    def disable_input(self) -> None:
        self._stop_reading()

    def close(self) -> None:
        self.stop_application_mode()
        if self._tty is not None:
            self._tty.close()
            self._tty = self.app.opened = None

    def suspend_application_mode(self) -> None:
        self.stop_application_mode()

    def resume_application_mode(self) -> None:
        self.start_application_mode()

    def abandon(self) -> None:
        """The terminal is gone: not another byte is written to it."""
        self.forget_screen()
        self._restorer.disarm()

    def forget_screen(self) -> None:
        """The process was stopped while it owned the screen: nothing is known of the terminal, and nothing is written to it."""
        self._stop_reading()
        if self._output is not None:
            self._output.close()
            self._output = None

    def in_foreground(self) -> bool:
        return self._tty is None or self._tty.in_foreground()

    def _leave(self) -> None:
        """Runs on every way out, the interpreter's end included, so it must not need the loop."""
        tty, output = self._tty, self._output
        if tty is None or output is None:
            return
        self._output = None
        self._stop_reading()
        output.close()
        far = over_ssh(self._environ)
        tty.write_now(restore.leave(titled=self.titled, pointed=self._pointed), 1.0 if far else 0.3)
        tty.drain(1.0 if far else 0.1, 0.15 if far else 0.03)
        tty.cooked()

    def _stop_reading(self) -> None:
        for timer in (self._expiry, self._resizing):
            if timer is not None:
                timer.cancel()
        self._expiry = self._resizing = None
        if self._tty is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._tty.input)

    def _gone(self) -> None:
        self.app.terminal_gone()

    # Out

    def write(self, data: str) -> None:
        if self._output is not None:
            if data.startswith("\x1b]22;"):
                if not self._pointed and "default" in data:
                    return  # it has its default shape; old terminals would print the sequence
                self._pointed = True
            self._output.write(data)

    def write_frame(self, frame: str) -> None:
        """A frame of the painter, shown at once where the terminal can do that."""
        if frame:
            self.write(f"{_SYNC_START}{frame}{_SYNC_END}" if self.synchronized else frame)

    @property
    def written(self) -> int:
        """Bytes written since the screen was entered."""
        return self._output.written if self._output is not None else 0

    def tell_size(self) -> None:
        """Reads the size and tells the app, which draws everything anew."""
        if self._tty is None:
            return
        self._resized_at = time.monotonic()
        self._resizing = None
        width, height = self._tty.size()
        self.painter.resize(width, height)
        size = Size(width, height)
        self.send_message(textual_events.Resize(size, size))

    def on_resize_signal(self) -> None:
        """SIGWINCH: at once when the last was a while ago, else at the end of the interval."""
        if self._resizing is None and self._output is not None:
            wait = RESIZE_INTERVAL - (time.monotonic() - self._resized_at)
            self._resizing = self._loop.call_later(max(wait, 0), self.tell_size)

    # In

    def _readable(self) -> None:
        assert self._tty is not None
        data = self._tty.read()
        if data is None:
            return
        if not data:
            self._gone()
            return
        self._receive(data)

    def _receive(self, data: bytes) -> None:
        self._deliver(self.filter.feed(data))

    def _expired(self) -> None:
        self._expiry = None
        self._deliver(self.filter.expire())

    def _deliver(self, events: list[Event]) -> None:
        for event in events:
            message = self._message(event)
            if message is not None:
                self.process_message(message)
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if (wait := self.filter.wait) is not None and self._output is not None:
            self._expiry = self._loop.call_later(wait, self._expired)

    def send_message(self, message: Message) -> None:
        self.app.post_message(message)

    def _message(self, event: Event) -> Message | None:
        if isinstance(event, Key):
            return textual_events.Key(event.key, event.character)
        if isinstance(event, PasteEvent):
            self._marked = True
            return Paste(event.text, event.removed, event.size)
        if isinstance(event, Mouse):
            return self._mouse_message(event)
        if isinstance(event, Focus):
            return textual_events.AppFocus() if event.gained else textual_events.AppBlur()
        self._reply(event)
        return None

    def _mouse_message(self, event: Mouse) -> Message:
        last_x, last_y = self._mouse_at
        self._mouse_at = (event.x, event.y)
        return _MOUSE[event.action](
            widget=None,
            x=event.x,
            y=event.y,
            delta_x=event.x - last_x,
            delta_y=event.y - last_y,
            button=event.button,
            shift=event.shift,
            meta=event.meta,
            ctrl=event.ctrl,
            screen_x=event.x,
            screen_y=event.y,
        )

    def _reply(self, reply: Reply) -> None:
        """Answers are never text; the one that is looked at says that synchronized output is known."""
        if reply.kind == "csi" and reply.body in ("?2026;1$y", "?2026;2$y", "?2026;3$y"):
            self.synchronized = True
        elif reply.kind == "csi" and _KITTY.fullmatch(reply.body):
            self.tells_keys_apart = True
