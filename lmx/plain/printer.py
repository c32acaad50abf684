"""The way to the terminal, in a thread of its own: a terminal that takes nothing must not stop the session (TRM-13).

Text of others has been made safe before it comes here.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue


class Printer:
    """Writes lines to a descriptor, in order. A terminal that is gone takes none, and that is no fault."""

    def __init__(self, descriptor: int = 1):
        self._descriptor = descriptor
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="printer", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        self._lines.put(line)

    def close(self, seconds: float = 1.0) -> None:
        """Waits until what was said is written, but not for ever."""
        self._lines.put(None)
        self._thread.join(seconds)

    def _write(self) -> None:
        gone = False
        while (line := self._lines.get()) is not None:
            if not gone:
                gone = not self._written(line.encode("utf-8", "replace") + b"\n")

    def _written(self, data: bytes) -> bool:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except OSError:
                return False
        return True
