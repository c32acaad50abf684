"""The terminal given to another program for a while: an editor, a pager (TRM-7).

The program gets the terminal as the shell left it, opened anew: our own descriptors do not wait, and one that is shared would
make the program's reads fail. It stays in our process group, as under any shell, so its Ctrl-C and Ctrl-Z reach us as well: the
first is not for us then, the second stops both, or the person would sit in front of a terminal that nobody reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lmx.tui.terminal.tty import NoTerminal

if TYPE_CHECKING:
    from lmx.tui.terminal.app import TerminalApp


async def lend(app: TerminalApp, argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Runs `argv` on the terminal and returns its exit status once the screen is there again; negative for a signal.

    Raises OSError where it cannot be started, NoTerminal where there is no terminal to give. What the session says meanwhile is
    kept by whoever listens to it (EVT-8).
    """
    terminal = app.terminal
    if terminal is None or not terminal.entered:
        raise NoTerminal("the terminal is not the screen's to give away")
    app.lent = True
    # The kernel's own: it stops us together with the program, and neither where no shell could continue them.
    stopped = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    app.app_suspend_signal.publish(app)
    terminal.stop_application_mode()
    process = None
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=descriptor, stdout=descriptor, stderr=descriptor, env=env
            )
        finally:
            os.close(descriptor)
        return await process.wait()
    finally:
        app.lent = False
        signal.signal(signal.SIGTSTP, stopped or signal.SIG_DFL)
        if process is not None and process.returncode is None:  # lmx is told to end
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        app.come_back()
