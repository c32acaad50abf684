"""What the terminal can show: colour depth, `NO_COLOR`, and whether its background is light (THM-1, THM-5, THM-6).

The background is asked for before Textual starts, in raw mode, together with a question every terminal answers (DA1): when that
answer is there, the other will not come. Asking later would delay nothing, but the answer could then arrive among keys, and the
first frame would be drawn in the wrong colours. What was typed meanwhile is kept and read first.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal

import msgspec

from lmx.tui.terminal.events import Reply
from lmx.tui.terminal.filter import InputFilter
from lmx.tui.terminal.restore import Restorer, understands_queries
from lmx.tui.terminal.tty import NoTerminal, Tty, over_ssh
from lmx_core.tasks import run_in_thread

Depth = Literal["truecolor", "256", "16"]

_QUESTION = "\x1b]11;?\x1b\\\x1b[c"
_RGB = re.compile(r"11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_FEW_COLOURS = ("linux", "cons25", "vt100", "vt220", "ansi")
LOCAL_WAIT, SSH_WAIT = 0.5, 1.0


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """`typed` are the bytes that came with the answer and belong to the person; `reason` says how the theme was found."""

    theme: str = "dark"
    depth: Depth = "truecolor"
    colours: bool = True
    typed: bytes = b""
    reason: str = "default"


def colours_wanted(environ: Mapping[str, str]) -> bool:
    """False when `NO_COLOR` is set to anything but the empty string."""
    return not environ.get("NO_COLOR")


def colour_depth(environ: Mapping[str, str]) -> Depth:
    """THM-5: 24-bit only where the terminal says so; GNU screen passes 256 on, whatever is said."""
    term = environ.get("TERM", "")
    if environ.get("STY"):
        return "256"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "truecolor"
    if term.startswith(_FEW_COLOURS) and "256" not in term:
        return "16"
    return "256"


def is_light(red: float, green: float, blue: float) -> bool:
    """Is a colour, of parts from 0 to 1, a light background? Perceived brightness above the middle."""
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5


def background_in(body: str) -> bool | None:
    """The answer to OSC 11, as light or not; None for anything else."""
    match = _RGB.match(body)
    if match is None:
        return None
    return is_light(*(int(part, 16) / (16 ** len(part) - 1) for part in match.groups()))


def background_of_variable(value: str) -> bool | None:
    """`COLORFGBG` (foreground;background): 7 and 9 to 15 are light."""
    last = value.rpartition(";")[2]
    return (int(last) == 7 or 9 <= int(last) <= 15) if last.isascii() and last.isdigit() and len(last) < 4 else None


class Answers:
    """Sorts what comes after the question into the answer and what was typed. Pure: bytes in."""

    def __init__(self) -> None:
        self._filter = InputFilter()
        self._raw = b""
        self.light: bool | None = None
        self.complete = False
        self.typed = b""

    def feed(self, data: bytes) -> None:
        """Byte by byte, because what belongs to no answer is kept exactly as it came, to be read again."""
        for position in range(len(data)):
            byte = data[position : position + 1]
            self._raw += byte
            for event in self._filter.feed(byte):
                if isinstance(event, Reply):
                    self._raw = b""
                    self._take(event)
            if self._filter.wait is None:
                self.typed += self._raw
                self._raw = b""

    def _take(self, reply: Reply) -> None:
        if reply.kind == "osc" and (light := background_in(reply.body)) is not None:
            self.light = light
        if reply.kind == "csi" and reply.body.endswith("c"):
            self.complete = True

    def finish(self) -> None:
        """The time is over: what is unfinished was typed, unless it is the beginning of an answer."""
        if not self._raw.startswith((b"\x1b]", b"\x1b[?")):
            self.typed += self._raw


async def query_look(theme: str | None = None, environ: Mapping[str, str] | None = None) -> Look:
    """How to draw. `theme`: what the person chose; then, or with `NO_COLOR` or without a real terminal, nothing is asked."""
    environ = os.environ if environ is None else environ
    depth, colours = colour_depth(environ), colours_wanted(environ)
    if not colours:
        return Look(theme="mono", depth=depth, colours=False, reason="NO_COLOR is set")
    if theme is not None:
        return Look(theme=theme, depth=depth, colours=theme != "mono", reason="chosen")
    if environ.get("TERM", "dumb") in ("", "dumb"):
        return Look(depth=depth)
    async with _restored_when_killed() as restorers:
        light, typed, reason = await run_in_thread(_background, dict(environ), restorers)
    return Look(theme="light" if light else "dark", depth=depth, typed=typed, reason=reason)


@asynccontextmanager
async def _restored_when_killed() -> AsyncIterator[list[Restorer]]:
    """Before the screen's own handlers are there: a signal that kills first gives the terminal back (TRM-4)."""
    restorers: list[Restorer] = []
    loop = asyncio.get_running_loop()

    def die(number: int) -> None:
        for restorer in restorers:
            restorer.restore()
        loop.remove_signal_handler(number)
        os.kill(os.getpid(), number)

    ours = [n for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT) if signal.getsignal(n) is signal.SIG_DFL]
    for number in ours:
        loop.add_signal_handler(number, die, number)
    try:
        yield restorers
    finally:
        for number in ours:
            loop.remove_signal_handler(number)


def _background(environ: Mapping[str, str], restorers: list[Restorer]) -> tuple[bool | None, bytes, str]:
    typed = b""
    if understands_queries(environ):
        try:
            tty = Tty.open()
        except NoTerminal:
            return None, b"", "default"
        try:
            restorers.append(Restorer(tty.cooked))
            answers = _ask(tty, SSH_WAIT if over_ssh(environ) else LOCAL_WAIT, restorers[0])
        finally:
            tty.close()
        typed = answers.typed
        if answers.light is not None:
            return answers.light, typed, "the terminal's background"
    light = background_of_variable(environ.get("COLORFGBG", ""))
    if light is not None:
        return light, typed, "COLORFGBG"
    if environ.get("TERM_PROGRAM") == "Apple_Terminal" and sys.platform == "darwin":
        return not _mac_is_dark(), typed, "the system's appearance"
    return None, typed, "default"


def _ask(tty: Tty, limit: float, restorer: Restorer) -> Answers:
    """Asks, and reads until the answer to DA1 or for `limit` seconds. The terminal is left as it was."""
    answers = Answers()
    if not tty.in_foreground():
        return answers
    restorer.arm()
    tty.raw()
    try:
        end = time.monotonic() + limit
        tty.write_now(_QUESTION, limit)
        while not answers.complete and (left := end - time.monotonic()) > 0:
            if not select.select([tty.input], [], [], left)[0]:
                break
            data = tty.read()
            if data == b"":
                break
            answers.feed(data or b"")
    finally:
        restorer.restore()
    answers.finish()
    return answers


def _mac_is_dark() -> bool:
    try:
        asked = subprocess.run(
            ["defaults", "read", "-g", "AppleInterfaceStyle"], capture_output=True, text=True, timeout=1
        )
    except (OSError, subprocess.SubprocessError):
        return True
    return asked.stdout.strip() == "Dark"
