"""`lmx demo --print` tells on standard output what happens, step by step; `lmx demo` opens the screen on it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmx import argv, exit_status
from lmx.assembly import SessionFactory
from lmx.cli import failures
from lmx.cli.demo import model, project
from lmx.cli.run import prompted
from lmx.cli.stop import on_signals
from lmx.config import layers, logs
from lmx.config.layers import Settings
from lmx.config.model import Choice
from lmx.output import lines
from lmx.output.text import call_line
from lmx.sanitize import for_terminal
from lmx_core import MemoryStore, Runtime, events
from lmx_core.errors import LmxError

_SHOWN_LINES = 8
_ABOUT = (
    "This is a demonstration: the model is scripted, and what it says was written beforehand. Everything else is real: the\n"
    "loop, the tools, the permission gate, the test. Nothing leaves this machine and no key is needed."
)
_NEXT = "With a model of your own this is `lmx --print 'what to do'`, or `lmx` for the screen: see `lmx help models`."


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    layers.working_directory(line.values, environ)  # `-C` must name a directory here too, although the demo has its own
    logs.start(None, environ, screen=not line.has("print"))
    with project.laid_out(keep=line.has("keep")) as folder:
        if line.has("print"):
            return asyncio.run(_play(DemoFactory(folder, environ, "full_auto"), keep=line.has("keep")))
        from lmx.cli import tui

        tui.check_terminal()
        return asyncio.run(tui.show(_host(line, DemoFactory(folder, environ, "ask", pace_ms=25), environ)))


class DemoFactory(SessionFactory):
    """The ordinary recipe with a scripted model, a transcript that is not kept, and no text of any workspace."""

    def __init__(self, folder: Path, environ: Mapping[str, str], mode: str, pace_ms: float = 0):
        settings = Settings(
            values={"permissions.mode": mode, "context_window": model.WINDOW},
            sources={"permissions.mode": "the demo"},
            config=None,
            config_source=layers.NONE,
            state=None,
            sessions_dir=folder / ".sessions",
        )
        super().__init__(settings, cwd=folder, environ=environ, interactive=mode == "ask", bare=True)
        self.provider, self.store = model.scripted(pace_ms), MemoryStore()

    async def choose(self) -> Choice:
        return Choice(model.NAME, "placeholder")

    def check(self, model: str) -> None:
        """Nothing can be wrong with a script."""

    async def close(self) -> None:
        """A script holds no connections."""

    async def offered(self) -> list[str]:
        return [model.NAME]


def _host(line: argv.Line, factory: DemoFactory, environ: Mapping[str, str]) -> Any:
    from lmx.cli.tui import ScreenHost

    class DemoHost(ScreenHost):
        def hint(self, session_id: str) -> str:
            return "the demo keeps no session; `lmx` starts one of your own"

    host = DemoHost(line, factory, environ)
    host.first_prompt = project.PROMPT
    return host


async def _play(factory: DemoFactory, *, keep: bool) -> int:
    """The whole job without a screen. 0 when the project was repaired."""
    gone = "it stays there" if keep else "it is removed at the end (--keep leaves it)"
    _say(f"{_ABOUT}\n\nFolder: {factory.cwd}; {gone}.")
    _say("Permissions: full_auto, inside that folder, because nobody can approve here.")
    _say(f"\nPrompt: {project.PROMPT}\n")
    with on_signals() as stop:
        try:
            async with Runtime():
                session = await factory.new(model.NAME)
                told = await prompted(session, project.PROMPT, stop, _tell)
        except asyncio.CancelledError:
            if stop.status is None:
                raise
        except LmxError as error:
            raise failures.command_error(error, factory.settings.sessions_dir) from error
    if stop.status is not None:
        return stop.status
    if told.failure is not None:
        lines.say(told.failure.message)
    if not project.is_repaired(factory.cwd):
        return exit_status.OTHER
    _say(f"\nshop.py:\n  - {project.BROKEN}\n  + {project.WHOLE}\n\n{_NEXT}")
    return exit_status.OK


def _tell(event: Any) -> None:
    if not isinstance(event, events.EntryAppended):
        return
    payload = event.entry.payload
    if event.entry.type == "assistant":
        for part in payload.get("content", []):
            if part.get("type") == "text":
                _say(f"Model: {part['text']}")
        for call in payload.get("tool_calls") or []:
            _say(f"  -> {call_line(call['name'], call['arguments'])}")
    elif event.entry.type == "tool_result":
        output = payload["output"].strip().split("\n")
        more = [f"... {len(output) - _SHOWN_LINES} more lines"] if len(output) > _SHOWN_LINES else []
        _say(f"  <- {payload['name']}" + ("" if payload["outcome"] == "ok" else f" ({payload['outcome']})"))
        _say("\n".join(f"     {text}" for text in [*output[:_SHOWN_LINES], *more]))


def _say(text: str) -> None:
    sys.stdout.write((for_terminal(text) if sys.stdout.isatty() else text) + "\n")
    sys.stdout.flush()
