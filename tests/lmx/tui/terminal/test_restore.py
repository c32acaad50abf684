"""What the sequences of entering and leaving do to a terminal that already shows something."""

from __future__ import annotations

import pyte

from lmx.tui.terminal import restore


class Terminal(pyte.Screen):
    """Homes the cursor at every change of the scroll region, as terminals do and pyte does not when it is reset."""

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        super().set_margins(top, bottom)
        self.cursor_position()


def test_trm_3_the_shell_goes_on_below_its_last_line() -> None:
    """TRM-3: the alternate screen remembers the cursor where the shell had it; entering does not move it first."""
    terminal = Terminal(80, 24)
    stream = pyte.Stream(terminal)
    stream.feed("$ make\r\n$ lmx\r\n")
    before, _, _ = restore.enter(mouse=True, kitty=True, query=True).partition("\x1b[?1049h")
    stream.feed(before.replace("\x1b[>4m", ""))  # pyte prints what it does not know
    assert (terminal.cursor.x, terminal.cursor.y) == (0, 2)
