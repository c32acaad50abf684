"""The controlling terminal: opened by itself, put into raw mode, written to without ever waiting.

Textual draws on stderr, so `2> log` blanks the screen (TRM-1), and it writes through a queue to a thread, which stops the app
when a terminal is stopped (Ctrl-S on the other end, a suspended ssh client). Here the terminal is opened anew by its name, so
that it can be non-blocking without making the shell's own descriptors non-blocking; what it does not take at once waits in a
bounded buffer, and the owner is told to draw nothing until it is empty (TRM-13).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import termios
import time
from collections.abc import Callable, Mapping
from typing import Any

MAX_WAITING = 262_144
"""Bytes that wait at most; what comes then is dropped. Frames are held back long before."""
FALLBACK_SIZE = (80, 24)


class NoTerminal(OSError):
    """There is no terminal to draw on or to read from."""


def _reopen(fd: int, flags: int) -> int:
    """The terminal behind `fd` as a descriptor of our own, non-blocking. Raises NoTerminal."""
    if not os.isatty(fd):
        raise NoTerminal(f"descriptor {fd} is no terminal")
    flags |= os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    for name in (_name_of(fd), "/dev/tty"):
        if name is None:
            continue
        with contextlib.suppress(OSError):
            mine = os.open(name, flags)
            if os.fstat(mine).st_rdev == os.fstat(fd).st_rdev or name == "/dev/tty":
                return mine
            os.close(mine)
    raise NoTerminal("the terminal cannot be opened")


def _name_of(fd: int) -> str | None:
    try:
        return os.ttyname(fd)
    except OSError:
        return None


class Tty:
    """Both directions of one terminal. `input` and `output` are descriptors of our own."""

    def __init__(self, input: int, output: int):
        self.input, self.output = input, output
        self._before: list[Any] | None = None

    @classmethod
    def open(cls) -> Tty:
        """The terminal of stdin and stdout; where one of them is redirected, the controlling terminal. Raises NoTerminal."""
        opened: list[int] = []
        try:
            for stream, flags in ((sys.__stdin__, os.O_RDONLY), (sys.__stdout__, os.O_WRONLY)):
                opened.append(_open_stream(stream.fileno() if stream else -1, flags))
        except OSError:
            for fd in opened:
                os.close(fd)
            raise
        return cls(*opened)

    def close(self) -> None:
        for fd in {self.input, self.output}:
            with contextlib.suppress(OSError):
                os.close(fd)

    def size(self) -> tuple[int, int]:
        """Columns and rows, at least 1; a terminal that does not say has 80 and 24."""
        try:
            columns, rows = os.get_terminal_size(self.output)
        except OSError:
            return FALLBACK_SIZE
        if columns <= 0 and rows <= 0:
            return FALLBACK_SIZE
        return max(columns, 1), max(rows, 1)

    def in_foreground(self) -> bool:
        """Does our process group own the terminal? Where that cannot be told, yes."""
        try:
            return os.tcgetpgrp(self.input) == os.getpgrp()
        except OSError:
            return True

    def raw(self) -> None:
        """Every key as a byte: no echo, no lines, no signals from keys, no flow control. `cooked` undoes it."""
        try:
            attributes = termios.tcgetattr(self.input)
            if self._before is None:
                self._before = list(attributes)
            attributes[0] &= ~(
                termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.ISTRIP
            )
            attributes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            attributes[6] = [*attributes[6]]
            attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self.input, termios.TCSANOW, attributes)
        except termios.error:
            return  # the terminal is going away: the reader will see it

    def cooked(self) -> None:
        if self._before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.input, termios.TCSANOW, self._before)
            self._before = None

    def read(self) -> bytes | None:
        """What has come; None when nothing has; empty when the terminal is gone."""
        try:
            return os.read(self.input, 65_536)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""

    def drain(self, limit: float, quiet: float) -> None:
        """Throws away what still comes in, until `quiet` seconds bring nothing or `limit` is over: late key reports must
        not reach the shell."""
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            try:
                ready, _, _ = select.select([self.input], [], [], min(left, quiet))
            except (OSError, ValueError):
                return
            if not ready or not self.read():
                return

    def write_now(self, text: str, limit: float) -> bool:
        """Writes while the terminal takes it, for at most `limit` seconds; False when something is left. It waits."""
        data, end = text.encode("utf-8", "replace"), time.monotonic() + limit
        while data:
            try:
                data = data[os.write(self.output, data) :]
            except (BlockingIOError, InterruptedError):
                left = end - time.monotonic()
                try:
                    if left <= 0 or not select.select([], [self.output], [], left)[1]:
                        return False
                except (OSError, ValueError):
                    return False
            except OSError:
                return False
        return True


def _open_stream(fd: int, flags: int) -> int:
    with contextlib.suppress(NoTerminal, OSError, ValueError):
        return _reopen(fd, flags)
    try:
        return os.open("/dev/tty", flags | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NoTerminal(f"no terminal: {error.strerror}") from error


class Output:
    """The writing half, on a loop. `hold(True)` is called when the terminal stops taking bytes, `hold(False)` when all are out;
    `gone` when it has gone away."""

    def __init__(self, fd: int, *, hold: Callable[[bool], None], gone: Callable[[], None]):
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._hold, self._gone = hold, gone
        self._waiting = bytearray()
        self.dropped = 0
        self.written = 0
        self.closed = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def write(self, text: str) -> None:
        """Never waits. Beyond `MAX_WAITING` the text is dropped and counted."""
        if self.closed or not text:
            return
        data = text.encode("utf-8", "replace")
        if self._waiting:
            if len(self._waiting) + len(data) > MAX_WAITING:
                self.dropped += 1
            else:
                self._waiting += data
            return
        sent = self._send(data)
        if sent < len(data) and not self.closed:
            self._waiting += data[sent:]
            self._loop.add_writer(self._fd, self._flush)
            self._hold(True)

    def close(self) -> str:
        """Ends writing; the bytes that still wait, as text, for whoever goes on."""
        if self._waiting:
            self._loop.remove_writer(self._fd)
        rest = self._waiting.decode("utf-8", "replace")
        self._waiting.clear()
        self.closed = True
        return rest

    def _send(self, data: bytes | bytearray) -> int:
        try:
            sent = os.write(self._fd, data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self.close()
            self._gone()
            return 0
        self.written += sent
        return sent

    def _flush(self) -> None:
        sent = self._send(self._waiting)
        del self._waiting[:sent]
        if not self._waiting and not self.closed:
            self._loop.remove_writer(self._fd)
            self._hold(False)


def over_ssh(environ: Mapping[str, str]) -> bool:
    """Is the terminal a network away?"""
    return bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
