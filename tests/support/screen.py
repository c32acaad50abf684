"""A program on a real pseudo-terminal: what it writes, byte by byte and as a screen; what it is sent.

Tests wait for conditions, never for a time; each wait has a limit, and the process group is killed at the end (TST-4).
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

LIMIT = 20.0
# pyte prints these as text (libraries.md C.5).
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>=][\d;]*[a-zA-Z]|\x1b\[\?2026\$p|\x1b\[\d+;0t|\x1b\[\?u")


class Screen:
    """Runs `argv` on a new pseudo-terminal of `columns` by `rows`. `log` has every byte it wrote."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], columns: int = 80, rows: int = 24, cwd: Path | None = None
    ):
        self.child = pexpect.spawn(
            argv[0], list(argv[1:]), env=dict(env), dimensions=(rows, columns), cwd=cwd, timeout=LIMIT
        )
        self.child.delaybeforesend = None
        self.log = b""
        self.emulator = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.emulator)
        self._fed = 0
        self.before = termios.tcgetattr(self.child.child_fd)

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, signal.SIGKILL)
        with contextlib.suppress(OSError, pexpect.ExceptionPexpect):
            self.child.close(force=True)

    # What it wrote

    def read(self, wait: float = 0.05) -> bool:
        """Takes what has come within `wait` seconds; False when nothing did or the program is gone."""
        try:
            if not select.select([self.child.child_fd], [], [], wait)[0]:
                return False
            data = os.read(self.child.child_fd, 65_536)
        except OSError:
            return False
        self.log += data
        return bool(data)

    @property
    def text(self) -> str:
        """The screen as lines of text."""
        fresh, self._fed = self.log[self._fed :], len(self.log)
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", fresh))
        return "\n".join(line.rstrip() for line in self.emulator.display)

    def until(self, condition: str | bytes | Callable[[], bool], limit: float = LIMIT) -> Screen:
        """Waits for text on the screen, bytes in the log, or a condition. Raises AssertionError with the screen."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            self.read()
            if isinstance(condition, str):
                found = condition in self.text
            elif isinstance(condition, bytes):
                found = condition in self.log
            else:
                found = condition()
            if found:
                return self
        raise AssertionError(
            f"{condition!r} did not come; the screen is:\n{self.text}\nthe last bytes: {self.log[-600:]!r}"
        )

    def quiet(self, seconds: float = 0.3, limit: float = LIMIT) -> Screen:
        """Waits until nothing has been written for `seconds`."""
        end = time.monotonic() + limit
        while time.monotonic() < end and self.read(seconds):
            pass
        return self

    # What it is told

    def send(self, data: str | bytes) -> Screen:
        """Types. Reads meanwhile, so that large input cannot block both sides."""
        view = memoryview(data.encode() if isinstance(data, str) else data)
        end = time.monotonic() + LIMIT
        while view and time.monotonic() < end:
            readable, writable, _ = select.select([self.child.child_fd], [self.child.child_fd], [], 1)
            if readable:
                self.read(0)
            if writable:
                view = view[os.write(self.child.child_fd, view[:1024]) :]
        assert not view, "the program reads no input"
        return self

    def resize(self, columns: int, rows: int) -> Screen:
        self.child.setwinsize(rows, columns)
        self.emulator.resize(max(rows, 1), max(columns, 1))
        return self

    def kill(self, number: int) -> Screen:
        os.kill(self.child.pid, number)
        return self

    # How it ended

    def wait(self, limit: float = LIMIT) -> int:
        """The exit status; negative for a signal."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            self.read()
            if not self.child.isalive():
                while self.read(0.05):
                    pass
                status = self.child.exitstatus
                return status if status is not None else -int(self.child.signalstatus or 0)
        raise AssertionError(f"it did not end; the screen is:\n{self.text}")

    def attributes(self) -> list[object]:
        """What `stty` would show now."""
        return termios.tcgetattr(self.child.child_fd)

    def modes_left_on(self) -> set[bytes]:
        """Private modes left on; those that are on at a terminal's start (7 wrap, 25 cursor) with a minus when left off."""
        state: dict[bytes, bool] = {b"7": True, b"25": True}
        for match in re.finditer(rb"\x1b\[\?([\d;]+)([hl])", self.log):
            for mode in match[1].split(b";"):
                state[mode] = match[2] == b"h"
        left = {mode for mode, on in state.items() if on and mode not in (b"7", b"25")}
        left |= {b"-" + mode for mode in (b"7", b"25") if not state[mode]}
        if self.log.count(b"\x1b[>1u") > self.log.count(b"\x1b[<u"):
            left.add(b"kitty")
        return left
