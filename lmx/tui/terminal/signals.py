"""Signals while the screen is up, and the one way to run it (TRM-4, TRM-6, cli.md 10.1).

A signal that ends the program first gives the terminal back, then lets the host finish its record, then decides the status.
Textual handles none of them: SIGTERM leaves a terminal in raw mode, SIGINT exits with 0.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from lmx.tui.terminal.tty import Tty
from lmx_core.clock import Clock, SystemClock, deadline

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from lmx.tui.terminal.app import TerminalApp

GRACE_MS = 3_000
"""What `cleanup` has: the turn's record, the commands of its tools, the draft."""
LAST_RESORT_S = 5.0
"""After so long a program that was told to end is ended, whatever it waits for."""
STATUS = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130, signal.SIGQUIT: 131}


async def run_in_terminal(
    app: TerminalApp, cleanup: Callable[[], Awaitable[None]], *, mouse: bool = True, clock: Clock | None = None
) -> int:
    """Runs `app` and returns the exit status of the program.

    Whatever ends it, the terminal is restored before `cleanup` runs; `cleanup` has `GRACE_MS`. After a fault its sentence is
    written to stderr and the status is 1. Raises NoTerminal when there is none.
    """
    app.opened = Tty.open()
    with EndSignals(app):
        try:
            # Textual makes tasks eager on Python 3.12 and up; the loop is the engine's, whose tasks start when they are due.
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.set_task_factory, loop.get_task_factory())
            code = await app.run_async(mouse=mouse)
        finally:
            app.leave_terminal()
        try:
            async with deadline(clock or SystemClock(), GRACE_MS):
                await cleanup()
        except TimeoutError:
            pass  # the person asked it to end: what could not be finished in time is finished by the next start
        if app.crash is not None and app.end_status != STATUS[signal.SIGHUP]:
            print(app.crash, file=sys.stderr)
    if app.end_status is not None:
        return app.end_status
    return 1 if app.crash is not None else code or 0


class EndSignals:
    """Handlers on the running loop, for as long as the context lasts. A second signal that ends ends at once."""

    def __init__(self, app: TerminalApp):
        self._app = app
        self._loop = asyncio.get_running_loop()
        self._last_resort: threading.Timer | None = None
        self._installed: list[int] = []

    def __enter__(self) -> None:
        for number, status in STATUS.items():
            # `nohup lmx`: what was ignored at the start stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._install(number, partial(self._end, status))
        self._install(signal.SIGTSTP, self._app.action_suspend_process)
        self._install(signal.SIGCONT, self._app.come_back)
        self._install(signal.SIGWINCH, self._resized)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._installed:
            self._loop.remove_signal_handler(number)
        if self._last_resort is not None:
            self._last_resort.cancel()

    def _install(self, number: int, handler: Callable[[], None]) -> None:
        self._loop.add_signal_handler(number, handler)
        self._installed.append(number)

    def _resized(self) -> None:
        if (terminal := self._app.terminal) is not None:
            terminal.on_resize_signal()

    def _end(self, status: int) -> None:
        if self._app.lent and status in (STATUS[signal.SIGINT], STATUS[signal.SIGQUIT]):
            return  # a key for the program that has the terminal
        if self._last_resort is not None:
            self._now(status)
        self._last_resort = threading.Timer(LAST_RESORT_S, self._now, (status,))
        self._last_resort.daemon = True
        self._last_resort.start()
        self._app.end(status)

    def _now(self, status: int) -> None:
        self._app.leave_terminal()
        os._exit(status)


def stop_process_group() -> None:
    """Stops our process group as the terminal's Ctrl-Z would, and returns when it is continued (the handler of SIGCONT is
    called then too).

    Commands of tools have process groups of their own and go on. In an orphaned group the kernel ignores SIGTSTP; then the
    process is stopped by SIGSTOP.
    """
    continued = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal continued
        continued = True

    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL), signal.signal(signal.SIGCONT, note)
    try:
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        if not continued:
            os.kill(os.getpid(), signal.SIGSTOP)
    finally:
        signal.signal(signal.SIGTSTP, before[0] or signal.SIG_DFL)
        signal.signal(signal.SIGCONT, before[1] or signal.SIG_DFL)
