"""`lmx` and `lmx tui`: opens the screen and is its host.

The screen knows nothing of flags, configuration or keys; all of that is here. It is imported last, so that a line that
cannot work (no terminal, a model that does not parse) is told before Textual is paid for.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from lmx import __version__, argv, sessions
from lmx.assembly import SessionFactory
from lmx.cli import failures, opening
from lmx.config import layers, logs, sandbox, state
from lmx.config import model as models
from lmx.exit_status import CommandError, shown
from lmx.extensions.load import wanted
from lmx.sessions import SessionInfo
from lmx_core import Entry, Runtime, Session
from lmx_core.errors import ConfigError, LmxError
from lmx_core.names import name_of
from lmx_core.providers.catalog import names
from lmx_core.tasks import run_in_thread

T = TypeVar("T")


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    """Opens the screen; returns when it is gone. Raises CommandError for what stops it from opening."""
    check_terminal()
    cwd = layers.working_directory(line.values, environ)
    settings = layers.load(line.values, environ, names())
    own = wanted(line, settings, environ)
    factory = SessionFactory(settings, cwd=cwd, environ=environ, interactive=True, extensions=own)
    logs.start(settings.state, environ, factory.secrets, mask=lambda text: factory.mask(text), screen=True)
    factory.notices += settings.notices
    factory.named()  # a model that does not parse is told here, where run tells it too (C1-22)
    factory.load()  # so is an extension that cannot be loaded (C10-21)
    return asyncio.run(show(ScreenHost(line, factory)))


def check_terminal() -> None:
    """Raises CommandError unless standard input and output are a terminal (C1-21)."""
    if not (os.isatty(0) and os.isatty(1)):
        raise no_terminal()


def no_terminal() -> CommandError:
    return CommandError("the terminal interface needs a terminal; in scripts, pipes and CI use `lmx run PROMPT`")


async def show(host: ScreenHost) -> int:
    """The screen on the engine's loop, until it is left."""
    from lmx.tui import run_screen
    from lmx.tui.terminal.tty import NoTerminal

    async with Runtime():
        try:
            return await run_screen(host)
        except NoTerminal as error:
            raise no_terminal() from error
        finally:
            await host.close()


class ScreenHost:
    """What `lmx.bridge.Host` asks for, made from a command line. Every failure is an LmxError with its sentence."""

    def __init__(self, line: argv.Line, factory: SessionFactory):
        self.version = __version__
        self.cwd = factory.cwd
        self.permission, self.rules = factory.permission, factory.settings.rules
        self.sandbox = sandbox.told(factory.environment)  # one that does not work here is told before the screen opens
        self.first_prompt = line.get("prompt")
        directory = factory.settings.state
        self.mask = factory.mask
        self.history_path = None if directory is None else directory / "history.jsonl"
        keeps = factory.settings.get("drafts", True)
        self.drafts = directory / "drafts" if directory is not None and keeps else None
        self.checkpoints = factory.checkpoints
        self.log = logging.getLogger("lmx.tui")
        self.notices = factory.notices
        self.resume_hint: Callable[[str], str] = self.hint
        self._line, self._factory = line, factory
        self._choice: models.Choice | None = None

    @property
    def tell(self) -> Callable[[str], None]:
        return self._factory.tell

    @tell.setter
    def tell(self, told: Callable[[str], None]) -> None:
        self._factory.tell = told

    def hint(self, session_id: str) -> str:
        """What to say when the screen is gone (C1-27)."""
        elsewhere = "" if self.cwd == _shell_directory() else f" -C {shown(str(self.cwd))}"
        return f"session {name_of(session_id)} saved; to go on: lmx -c{elsewhere}"

    async def start(self, model: str | None = None) -> Session:
        """The session to begin with: what `-c` and `--resume` say until one has opened, on `model` where one is given."""
        return await self._told(self._start(model))

    async def new(self) -> Session:
        return await self._told(self._new())

    async def resume(self, ref: str) -> Session:
        return await self._told(self._resume(ref))

    async def sessions(self, everywhere: bool = False) -> list[SessionInfo]:
        where = None if everywhere else self.cwd
        return await self._told(sessions.listed(self._factory.settings.sessions_dir, cwd=where))

    async def entries(self, session_id: str) -> list[Entry]:
        return await self._told(run_in_thread(self._factory.store.read, session_id))

    async def models(self) -> list[str]:
        """The model in use first, then whatever else can be chosen."""
        known = [] if self._choice is None else [self._choice.model]
        return list(dict.fromkeys([*known, *await self._factory.offered()]))

    async def close(self) -> None:
        await self._factory.close()

    async def _start(self, model: str | None) -> Session:
        named = None if model is None else models.spec(model, "/model")
        if self._line.has("resume") or self._line.has("continue"):
            return await opening.open_session(self._line, self._factory, model=named)
        return await self._new(named)

    async def _new(self, named: str | None = None) -> Session:
        """A fresh session on the model that was named last, else on the one chosen by the rules."""
        choice = models.Choice(named, "flag") if named else self._choice or await self._factory.choose()
        self._factory.check(choice.model)
        session = await self._factory.new(choice.model)
        if choice.named:
            await run_in_thread(state.remember_model, self._factory.settings.state, choice.model)
        self._choice = choice
        return session

    async def _resume(self, ref: str) -> Session:
        found = await sessions.resolve(self._factory.settings.sessions_dir, ref)
        return await opening.take_up(self._factory, found)

    async def _told(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except CommandError as error:
            raise ConfigError(str(error)) from error
        except LmxError as error:
            raise ConfigError(str(failures.command_error(error, self._factory.settings.sessions_dir))) from error


def _shell_directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        return Path("/")
