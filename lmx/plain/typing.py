"""What is typed, a line at a time, and since when (APR-4).

Lines are read in a thread, by the line editor that the person knows from their shell. Consent needs to know when a line was
begun: whatever stood in the editor when a question appeared was not meant as its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import termios
import threading
from collections.abc import Callable
from types import ModuleType


class Typed:
    """Calls `line` on the loop with each line, and `end` when there will be none. `began` is known by looking: see `look`."""

    def __init__(self, line: Callable[[str], None], end: Callable[[], None], now: Callable[[], int]):
        self._line, self._end, self._now = line, end, now
        self._loop = asyncio.get_running_loop()
        self._began: int | None = None
        self._before = _attributes()
        self._editor = _editor()

    def start(self) -> None:
        threading.Thread(target=self._read, name="typing", daemon=True).start()

    def look(self) -> None:
        """To be called when something is asked, and half a second later: a line that has letters by then was begun before."""
        if self._began is None and self.unfinished():
            self._began = self._now()

    def unfinished(self) -> str:
        """What stands in the line editor just now."""
        return "" if self._editor is None else str(self._editor.get_line_buffer())

    def began(self) -> int:
        """When the line that has just been read was begun, as far as anybody has seen."""
        began, self._began = self._began, None
        return self._now() if began is None else began

    def remember(self, text: str) -> None:
        """Up brings it back."""
        if self._editor is not None and "\n" not in text:
            self._editor.add_history(text)

    def restore(self) -> None:
        """The terminal as it was: the editor may be in the middle of a line."""
        if self._before is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._before)

    def _read(self) -> None:
        while True:
            try:
                line = input()
            except (EOFError, OSError, ValueError):
                self._call(self._end)
                return
            except UnicodeDecodeError:
                continue
            self._call(self._line, line)

    def _call(self, function: Callable[..., None], *arguments: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the program is leaving
            self._loop.call_soon_threadsafe(function, *arguments)


def _editor() -> ModuleType | None:
    """The line editor, where Python has one."""
    try:
        import readline
    except ImportError:
        return None
    readline.set_auto_history(False)
    return readline


def _attributes() -> list[int | list[bytes | int]] | None:
    try:
        return termios.tcgetattr(sys.stdin.fileno())
    except (OSError, ValueError, termios.error):
        return None
