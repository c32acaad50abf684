"""A small app on our terminal, run by the tests on a real pseudo-terminal. What it sees it writes to the file `SEEN`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from lmx.tui.terminal.app import TerminalApp
from lmx.tui.terminal.driver import Paste
from lmx.tui.terminal.look import query_look
from lmx.tui.terminal.signals import run_in_terminal
from lmx.tui.terminal.tty import NoTerminal

SEEN = Path(os.environ["SEEN"])
HOSTILE = "cells: \x1b[41m\x1b]52;c;aGFjaw==\x07\x1b]0;owned\x07\x9b31m\u202e[red]x[/]"


def seen(line: str) -> None:
    with SEEN.open("a") as file:
        file.write(line + "\n")


class Keys(Static):
    """Says what it was sent."""

    can_focus = True

    def on_key(self, event: events.Key) -> None:
        event.stop()
        seen(f"key {event.key} {event.character!r}")
        app = self.app
        assert isinstance(app, SmallApp)
        if event.key == "q":
            app.exit(0)
        elif event.key == "s":
            app.action_suspend_process()
        elif event.key == "x":
            secret = os.environ.get("SOME_API_KEY", "")  # noqa: F841 - a local variable that must not be reported
            raise RuntimeError(f"broken with {os.environ.get('SOME_API_KEY')}")
        elif event.key == "r":
            app.query_one(Broken).broken = True
            app.query_one(Broken).refresh()
        elif event.key == "w":
            app.run_worker(app.fail())
        elif event.key == "h":
            app.query_one("#text", Static).update("waiting for ever")
            app.call_later(app.hang)
        elif event.key == "f":
            app.query_one("#text", Static).update(f"frames {'x' * 40}")
        elif event.key == "t":
            app.set_title("a \x1b[31mtitle\n" + "y" * 500)
        elif event.key == "L":
            app.action_repaint()

    def on_paste(self, event: events.Paste) -> None:
        assert isinstance(event, Paste)
        seen(f"paste {event.text!r} removed {event.removed} size {event.size}")


class Broken(Widget):
    broken = False

    def render(self) -> str:
        if self.broken:
            raise ValueError("cannot draw")
        return ""


class SmallApp(TerminalApp):
    CSS = "Static { height: 1; } Broken { height: 1; } #text { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield Keys("ready [b]x[/b]", markup=False)
        yield Broken()
        yield Static(HOSTILE if os.environ.get("HOSTILE") else "text \x1b[31m" * 3, markup=False, id="text")

    def on_mount(self) -> None:
        self.query_one(Keys).focus()
        seen(f"look {self.look.theme} {self.look.depth} {self.look.colours}")
        seen(f"task factory {asyncio.get_running_loop().get_task_factory()}")
        if os.environ.get("TICK"):
            self.set_interval(0.02, self.tick)

    ticks = 0

    def tick(self) -> None:
        self.ticks += 1
        width, height = self.size
        self.query_one("#text", Static).update("\n".join(f"{self.ticks:6}" * (width // 6) for _ in range(height)))

    async def fail(self) -> None:
        raise RuntimeError("a worker broke")

    async def hang(self) -> None:
        await asyncio.Event().wait()

    def on_resize(self, event: events.Resize) -> None:
        seen(f"size {event.size.width}x{event.size.height}")

    def on_app_focus(self) -> None:
        seen("focus")

    def on_app_blur(self) -> None:
        seen("blur")


async def cleanup() -> None:
    seen("cleanup")
    if os.environ.get("SLOW"):
        await asyncio.Event().wait()
    seen("clean")


async def main() -> int:
    if "EAGER" in os.environ:  # as on Python 3.12 and up
        asyncio.eager_task_factory = lambda loop, coro, **how: asyncio.Task(coro, loop=loop, **how)
    look = await query_look()
    crash = Path(os.environ["CRASH"]) if "CRASH" in os.environ else None
    try:
        return await run_in_terminal(SmallApp(look=look, crash_directory=crash), cleanup)
    except NoTerminal as error:
        seen(str(error))
        return 2


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
