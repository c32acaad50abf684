"""Waiting for what other processes do: for their end, and for a line that they write. On the thing itself, never by looking
again and again: a look costs what the other needs to get there."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path


def ended(pid: int, within_s: float = 20) -> bool:
    """Whether a process, anybody's, has ended by then."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(within_s * 1_000))
    finally:
        os.close(fd)


class Line:
    """A named pipe at `path`, made before anybody writes into it; `echo $$ > PATH` in a command is one `read()` here."""

    def __init__(self, path: Path):
        os.mkfifo(path)
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def read(self, writer: subprocess.Popen[bytes] | None = None, within_s: float = 20) -> str:
        """The next line, without its end. Raises AssertionError when none comes, or when `writer` has ended before."""
        data = b""
        while not data.endswith(b"\n"):
            poll = select.poll()
            poll.register(self._fd, select.POLLIN)
            end = os.pidfd_open(writer.pid) if writer is not None and writer.poll() is None else None
            if end is not None:
                poll.register(end, select.POLLIN)
            try:
                ready = {fd for fd, what in poll.poll(within_s * 1_000) if what & select.POLLIN}
            finally:
                if end is not None:
                    os.close(end)
            if self._fd in ready:
                data += os.read(self._fd, 65_536)
                continue
            assert end not in ready, f"{writer and writer.communicate()}"
            raise AssertionError("nothing was written")
        return data.decode().strip()

    def close(self) -> None:
        os.close(self._fd)


def interrupt_until_it_ends(process: subprocess.Popen[bytes], within_s: float = 20) -> None:
    """Ctrl-C again and again, as somebody in a hurry does. Two at once would be one: signals do not queue."""
    for _ in range(int(within_s * 20)):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        return
    raise AssertionError("it did not end")
