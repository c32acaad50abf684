"""`lmx` and `lmx tui`: opens the screen and is its host.

The screen knows nothing of flags, configuration or keys; all of that is here. It is imported last, so that a line that
cannot work (no terminal, a model that does not parse) is told before Textual is paid for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lmx import __version__, argv, sessions, words
from lmx.assembly import SessionFactory
from lmx.bridge.host import Appearance, NeedsModel
from lmx.cli import failures, opening, ways
from lmx.config import layers, logs, sandbox, state
from lmx.config import model as models
from lmx.exit_status import CommandError, shown
from lmx.extensions.load import wanted
from lmx.sanitize import one_line
from lmx.sessions import SessionInfo
from lmx.tui import keymap
from lmx_core import Entry, Runtime, Session
from lmx_core.errors import ConfigError, LmxError, UnknownEntry
from lmx_core.names import name_of
from lmx_core.providers.catalog import PROVIDERS, ProviderInfo, find, names
from lmx_core.tasks import run_in_thread
from lmx_core.transcript import fork as transcript

if TYPE_CHECKING:
    from lmx.conversation.panels.first_run import Access
    from lmx.search import Results
    from lmx_core.extensions import Verify

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
    return asyncio.run(show(ScreenHost(line, factory, environ)))


def plain_wanted(line: argv.Line, settings: layers.Settings, environ: Mapping[str, str]) -> bool:
    """Lines instead of a screen: asked for, or the terminal cannot place a cursor (tui.md 9.7)."""
    asked = line.has("plain") or bool(environ.get("LMX_ACCESSIBLE")) or settings.get("accessible", False)
    return bool(asked) or environ.get("TERM", "") in ("", "dumb")


def check_terminal() -> None:
    """Raises CommandError unless standard input and output are a terminal (C1-21)."""
    if not (os.isatty(0) and os.isatty(1)):
        raise no_terminal()


def no_terminal() -> CommandError:
    return CommandError("the terminal interface needs a terminal; in scripts, pipes and CI use `lmx run PROMPT`")


async def show(host: ScreenHost) -> int:
    """The screen on the engine's loop, until it is left."""
    if host.plain:
        from lmx.plain import run_plain

        async with Runtime():
            try:
                return await run_plain(host)
            finally:
                await host.close()
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

    def __init__(self, line: argv.Line, factory: SessionFactory, environ: Mapping[str, str]):
        self.version = __version__
        self.cwd = factory.cwd
        self.permission, self.rules = factory.permission, factory.settings.rules
        get = factory.settings.get
        self.plain = plain_wanted(line, factory.settings, environ)
        self.appearance = Appearance(get("theme", "auto"), get("themes", {}), get("diff_colours", "green/red"))
        self.sandbox = sandbox.told(factory.environment)  # one that does not work here is told before the screen opens
        self.first_prompt = line.get("prompt")
        directory = factory.settings.state
        self.mask: Callable[[str], str] = lambda text: factory.mask(text)  # it learns the keys that are pasted
        self.history_path = None if directory is None else directory / "history.jsonl"
        keeps = factory.settings.get("drafts", True)
        self.drafts = directory / "drafts" if directory is not None and keeps else None
        self.keys = factory.settings.get("keys", {})
        self.exit_print = factory.settings.get("exit_print", "nothing")
        self.paste_bursts = factory.settings.get("paste_burst", "auto") == "auto"
        factory.notices += keymap.merged(self.keys)[1]
        self.checkpoints = factory.checkpoints
        self.state = directory
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

    @property
    def verify(self) -> Verify | None:
        return self._factory.verify

    async def providers(self) -> list[tuple[str, str]]:
        """The providers of the table, those that a key opens or that need none, and any other with a key."""
        keyed = self._factory.key_names
        known = [info for info in PROVIDERS if info.alias_of is None]
        named = {info.name for info in known}
        rows = [(info.name, _how_it_opens(info, keyed.get(info.name))) for info in known]
        return rows + [
            (name, words.PROVIDER_KEYED.format(variable=v)) for name, v in keyed.items() if name not in named
        ]

    async def model_of(self, provider: str) -> str:
        return await self._told(self._model_of(provider))

    async def _model_of(self, provider: str) -> str:
        """What the configuration names, else what was used last, else the usual one, else the first that is served."""
        info = find(provider)
        if info is None:
            raise LmxError(words.PROVIDER_UNKNOWN.format(name=one_line(provider)))
        settings = self._factory.settings
        if pinned := settings.get(f"providers.{info.name}.model"):
            return models.spec(pinned if pinned.startswith(f"{info.name}:") else f"{info.name}:{pinned}", "/provider")
        last = state.remembered_model(settings.state) or ""
        if last.startswith(f"{info.name}:"):
            return last
        if info.default_spec is not None:
            return info.default_spec
        served = await self._factory.provider.available_models(info.name)
        if not served:
            raise LmxError(words.PROVIDER_NO_MODEL.format(name=info.name))
        return str(served[0])

    async def fork(self, session_id: str, turn: int | None) -> str:
        return await self._told(self._fork(session_id, turn))

    async def _fork(self, session_id: str, turn: int | None) -> str:
        store = self._factory.store
        try:
            return await transcript.fork(store, session_id, at=None if turn is None else f"turn={turn}")
        except UnknownEntry as error:
            ends = transcript.turn_ends(await run_in_thread(store.read, session_id))
            raise LmxError(words.no_such_turn(len(ends))) from error

    def facts(self) -> list[tuple[str, str]]:
        factory = self._factory
        settings = factory.settings
        keys = ", ".join(f"{name} ({variable})" for name, variable in factory.key_names.items())
        return [
            ("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
            ("configuration", str(settings.config or settings.config_source)),
            ("state", words.DOCTOR_NOTHING_KEPT if self.state is None else str(self.state)),
            ("sessions", str(settings.sessions_dir)),
            ("keys", keys or words.DOCTOR_NO_KEYS),
            ("undo", words.DOCTOR_NO_UNDO if self.checkpoints is None else words.DOCTOR_UNDO),
            ("sandbox", self.sandbox or words.DOCTOR_NO_SANDBOX),
        ]

    async def search(self, query: str, everywhere: bool = False) -> Results:
        return await self._told(self._search(query, everywhere))

    async def _search(self, query: str, everywhere: bool) -> Results:
        from lmx.search import Results, search, terms

        wanted = terms(query, typing=True)
        if not wanted:
            return Results(found=())
        where = None if everywhere else self.cwd
        directory = self._factory.settings.sessions_dir
        return await search(wanted, sessions_dir=directory, state=self.state, cwd=where, wait=False)

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

    async def ways(self) -> tuple[list[Access], str]:
        return await ways.to_a_model(self._factory), ways.where_keys_go(self._factory)

    def lacks_key(self, model: str) -> NeedsModel | None:
        try:
            named = models.spec(model, "/model")
            self._factory.check(named)
        except models.NoKey as error:
            return NeedsModel(str(error), named)
        except CommandError:
            return None  # whatever else is wrong with it the session says
        return None

    async def unlock(self, provider: str, key: str, model: str | None) -> str:
        return await ways.unlock(self._factory, provider, key, model)

    async def _told(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except models.NoKey as error:
            raise NeedsModel(str(error), error.model) from error
        except CommandError as error:
            raise ConfigError(str(error)) from error
        except LmxError as error:
            raise ConfigError(str(failures.command_error(error, self._factory.settings.sessions_dir))) from error


def _how_it_opens(info: ProviderInfo, variable: str | None) -> str:
    if variable is not None:
        return words.PROVIDER_KEYED.format(variable=variable)
    if info.opens != "key" or not info.key_variables:
        return words.PROVIDER_KEYLESS
    return words.PROVIDER_NO_KEY.format(variables=" or ".join(info.key_variables))


def _shell_directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        return Path("/")
