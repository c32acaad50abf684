"""One child process that serves a model: started, listened to, ended.

Its output is read as it comes and only the last of it is kept: an unread pipe fills and then holds up the server. It has a
session of its own, so Ctrl-C in the terminal reaches the answer and not the server; a watchdog ends it with this process, even
one that was killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from lmx_core.environment.watchdog import Watchdog

LOG_BYTES = 64 * 1024
KILL_AFTER_S = 2.0
_POLL_S = 0.02


class Process:
    """Raises OSError where the program cannot be started. Must be made inside a running event loop."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], watchdog: Watchdog):
        read, write = os.pipe()
        try:
            self._popen = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=write,
                cwd="/",
                env=dict(env),
                start_new_session=True,
            )
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(write)
        os.set_blocking(read, False)
        self._watchdog, self._pipe, self._log = watchdog, read, b""
        self._loop: asyncio.AbstractEventLoop | None = None
        watchdog.add(self._popen.pid)
        self.listen()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def status(self) -> int | None:
        """None while it runs; otherwise its exit status, negative for the signal that ended it."""
        return self._popen.poll()

    @property
    def log(self) -> str:
        """The last of what it wrote, on both its outputs."""
        self._read()
        return self._log.decode("utf-8", "replace")

    def listen(self) -> None:
        """Reads its output on this event loop from now on; a server outlives the loop it was started on."""
        loop = asyncio.get_running_loop()
        if self._pipe >= 0 and self._loop is not loop:
            self._loop = loop
            loop.add_reader(self._pipe, self._read)

    def _read(self) -> None:
        while self._pipe >= 0:
            try:
                data = os.read(self._pipe, LOG_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._hang_up()
                return
            self._log = (self._log + data)[-LOG_BYTES:]

    def _hang_up(self) -> None:
        if self._pipe < 0:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._pipe)
        os.close(self._pipe)
        self._pipe = -1

    def kill(self) -> None:
        """SIGKILL to all of its group, without waiting."""
        self._signal(signal.SIGKILL)
        self._let_go()

    async def end(self) -> None:
        """SIGTERM, and SIGKILL if that does not end it. Cancelled meanwhile, it kills."""
        try:
            self._signal(signal.SIGTERM)
            waited = 0.0
            while self.status is None and waited < KILL_AFTER_S:
                await asyncio.sleep(_POLL_S)
                waited += _POLL_S
        finally:
            self.kill()

    def _signal(self, number: int) -> None:
        if self.status is not None:
            return  # it was collected, and its number may be another's by now
        try:
            os.killpg(self._popen.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # it ended this moment

    def _let_go(self) -> None:
        try:
            self._popen.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            pass  # the kernel itself holds it; Popen collects it later
        self._watchdog.remove(self._popen.pid)
        self._read()
        self._hang_up()
