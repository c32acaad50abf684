"""Writing without waiting, against a real pseudo-terminal that nobody reads."""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import Iterator

import pytest

from lmx.tui.terminal.tty import MAX_WAITING, NoTerminal, Output, Tty


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """The two ends of a pseudo-terminal: the emulator's and, non-blocking, the program's."""
    theirs, ours = pty.openpty()
    mine = os.open(os.ttyname(ours), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    yield theirs, mine
    for fd in (theirs, ours, mine):
        try:
            os.close(fd)
        except OSError:
            pass


@pytest.mark.asyncio
async def test_trm_13_what_is_not_taken_waits_in_a_bounded_buffer(ends: tuple[int, int]) -> None:
    """TRM-13: writing never waits; the owner hears that it should hold frames, and when all is out; the rest is dropped."""
    theirs, mine = ends
    held: list[bool] = []
    output = Output(mine, hold=held.append, gone=lambda: held.append(False))
    for _ in range(100):
        output.write("x" * 10_000)
    assert held == [True]
    assert 0 < output.waiting <= MAX_WAITING
    assert output.dropped
    taken = 0
    os.set_blocking(theirs, False)
    while output.waiting:
        try:
            taken += len(os.read(theirs, 65_536))
        except BlockingIOError:
            pass
        await asyncio.sleep(0)
    assert held == [True, False]
    output.close()
    assert output.written >= taken > 100_000


@pytest.mark.asyncio
async def test_trm_4_writing_to_a_terminal_that_is_gone(ends: tuple[int, int]) -> None:
    """TRM-4: the owner hears of it once, and later writes do nothing."""
    theirs, mine = ends
    gone: list[int] = []
    output = Output(mine, hold=lambda on: None, gone=lambda: gone.append(1))
    os.close(theirs)
    output.write("a")
    output.write("b")
    assert gone == [1] and output.closed


def test_lay_23_size_raw_and_cooked(ends: tuple[int, int]) -> None:
    """LAY-23, TRM-3: a terminal without a size has one, raw mode is undone, and late input is thrown away in bounded time."""
    import termios

    theirs, mine = ends
    tty = Tty(mine, mine)
    assert tty.size() == (80, 24)
    termios.tcsetwinsize(mine, (0, 40))
    assert tty.size() == (40, 1)
    before = termios.tcgetattr(mine)
    tty.raw()
    assert termios.tcgetattr(mine) != before
    assert tty.read() is None
    os.write(theirs, b"late \x1b[97;1:3u")
    tty.drain(0.5, 0.05)
    assert tty.read() is None
    tty.cooked()
    tty.cooked()
    assert termios.tcgetattr(mine) == before
    assert tty.write_now("ok", 0.1)
    assert not tty.write_now("x" * 1_000_000, 0.05), "a terminal that takes nothing is not waited for"
    os.close(theirs)
    assert tty.read() == b""


def test_trm_2_without_a_terminal_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRM-2: an error of its own, for the host to word."""
    monkeypatch.setattr("sys.__stdin__", None)
    real = os.open

    def no_tty(path: str, flags: int, *args: int) -> int:
        if path == "/dev/tty":
            raise OSError(6, "No such device or address")
        return real(path, flags, *args)

    monkeypatch.setattr(os, "open", no_tty)
    with pytest.raises(NoTerminal, match="no terminal"):
        Tty.open()
