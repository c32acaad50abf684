"""`lmx run` and `lmx --print`: one prompt, one answer, and an exit status a script can act on.

The checks come in the order of cli.md C1-40, so that the first error is predictable, and nothing is written to disk before
the last of them. Nobody can answer a question here; the permission gate is told so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lmx import argv
from lmx.assembly import SessionFactory
from lmx.cli import failures, opening, prompt
from lmx.cli.stop import Stop, on_signals
from lmx.config import layers, logs
from lmx.exit_status import CommandError
from lmx.extensions.load import wanted
from lmx.output import result
from lmx.output.result import Outcome
from lmx.output.stream import StreamOutput
from lmx.output.text import JsonOutput, TextOutput
from lmx_core import Entry, Runtime, Session, events
from lmx_core.errors import Cancelled, Failure, HookDenied, LmxError, SessionDown
from lmx_core.names import name_of
from lmx_core.providers.catalog import names
from lmx_core.transcript.replay import spent

Output = TextOutput | StreamOutput
CHECKS = "lmx.verify"
"""The document of the checks after edits."""

_FORMATS: dict[str, type[Output]] = {"text": TextOutput, "json": JsonOutput, "stream-json": StreamOutput}


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    """Answers the prompt and prints the answer. What keeps the line from being read raises; the rest is told in the format."""
    cwd = layers.working_directory(line.values, environ)
    settings = layers.load(line.values, environ, names())
    factory = SessionFactory(
        settings,
        cwd=cwd,
        environ=environ,
        interactive=False,
        bare=line.has("bare") or line.has("system"),
        extensions=wanted(line, settings, environ),
    )
    logs.start(settings.state, environ, factory.secrets, mask=lambda text: factory.mask(text))
    output = _FORMATS[line.get("output_format") or "text"]()
    if isinstance(output, TextOutput):
        output.mask = lambda text: factory.mask(text)
    for notice in settings.notices:
        output.notice(notice)
    run = _Run(line, factory, output)
    try:
        asked = prompt.read(line.words, output.notice)
        outcome = asyncio.run(run.answer(asked))
    except CommandError as error:
        outcome = run.told or result.failed(error)
    if run.told is None:
        output.end(outcome)
    return outcome.status


class _Run:
    """One prompt of one session, from its start to its end. `told` is the outcome once it has been printed."""

    def __init__(self, line: argv.Line, factory: SessionFactory, output: Output):
        self._line, self._factory, self._output = line, factory, output
        self.told: Outcome | None = None

    async def answer(self, asked: prompt.Prompt) -> Outcome:
        """The outcome of the prompt, a signal's included. Raises CommandError where no session came to be."""
        with on_signals() as stop:
            try:
                return await self._in_a_runtime(asked, stop)
            except asyncio.CancelledError:
                if stop.status is None:
                    raise
                # The signal ended this task itself: there was no session yet, or it did not end within the grace.
                return _signalled(self.told or Outcome(), stop)
            except LmxError as error:
                raise failures.command_error(error, self._factory.settings.sessions_dir) from error
            finally:
                await self._factory.close()

    async def _in_a_runtime(self, asked: prompt.Prompt, stop: Stop) -> Outcome:
        async with Runtime():
            session = await opening.open_session(self._line, self._factory)
            info = await session.info()
            window = info.context.window if info.context_window_known else None
            name = name_of(session.id)
            self._output.session(session_id=session.id, name=name, model=info.model, context_window=window)
            for notice in self._factory.notices:
                self._output.notice(notice)
            self._factory.tell = self._output.notice
            try:
                told = await prompted(session, asked.text, stop, self._output.event, typed=asked.typed)
                outcome = await self._with_check(session, told, told.outcome(session.id, name, info.model))
                outcome = outcome if stop.status is None else _signalled(outcome, stop)
                self._output.end(outcome)  # before the hooks of the session's end, which may take their time
                self.told = outcome
            finally:
                await session.stop()
        return outcome if stop.status is None else _signalled(outcome, stop)

    async def _with_check(self, session: Session, told: Told, outcome: Outcome) -> Outcome:
        """The same with the last check of this prompt, and whether what it found still holds."""
        verify = self._factory.verify
        if verify is None or told.failed is not None or not told.checked:
            return outcome
        status = await verify.status(session)
        if status.last is None:
            return outcome
        facts = ("command", "status", "exit_status", "tree", "left")
        check = {name: getattr(status.last, name) for name in facts} | {"current": status.current}
        return msgspec.structs.replace(outcome, check=check)


async def prompted(
    session: Session, text: str, stop: Stop, tell: Callable[[Any], None], *, typed: str | None = None
) -> Told:
    """Sends a prompt and passes on what the session says until it is done. A signal cancels the turn.

    `typed` is the part of the text whose `@` attach files, None for all of it. What `tell` raises ends it, and the session is
    the caller's to stop.
    """
    told = Told()
    arrivals: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
    session.subscribe(arrivals)
    stop.tell = lambda: arrivals.put_nowait((session.id, stop))
    try:
        await session.prompt(text, typed=typed)
        while not told.over:
            _, event = await arrivals.get()
            if event is stop:
                await session.cancel(f"stopped by {stop.name}")
                continue
            told.see(event)
            tell(event)
    except (HookDenied, Cancelled, SessionDown) as error:
        told.failed = error
    return told


class Told:
    """What the session said about one prompt."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.finished: events.Finished | None = None
        self.failed: LmxError | None = None
        self.failure: Failure | None = None

    @property
    def checked(self) -> bool:
        """Whether the files were checked after edits."""
        return any(
            entry.payload.get("namespace") == CHECKS for entry in self.entries if entry.type == "extension_state"
        )

    @property
    def over(self) -> bool:
        return self.finished is not None or self.failed is not None

    def see(self, event: Any) -> None:
        if isinstance(event, events.EntryAppended):
            self.entries.append(event.entry)
        elif isinstance(event, events.TurnError):
            self.failure = Failure(
                code=event.code or "other",
                message=event.reason,
                category=event.category,
                http_status=event.http_status,
                provider=event.provider,
            )
        elif isinstance(event, events.Finished):
            self.finished = event
        elif isinstance(event, events.Down):
            self.failed = SessionDown(event.reason, event.detail)

    def outcome(self, session_id: str, name: str, model: str) -> Outcome:
        ended = result.outcome(
            session_id=session_id,
            name=name,
            model=model,
            stop_reason=self.finished.stop_reason if self.finished else "error",
            detail=self.finished.detail if self.finished else {},
            failure=self.failure,
            usage=spent(self.entries),
            entries=self.entries,
        )
        if self.failed is None:
            return ended
        category = "other" if isinstance(self.failed, SessionDown) else "cancelled"
        return result.with_error(ended, category, str(self.failed))


def _signalled(outcome: Outcome, stop: Stop) -> Outcome:
    assert stop.status is not None
    ended = result.with_error(outcome, "cancelled", f"stopped by {stop.name}")
    return msgspec.structs.replace(ended, stop_reason="cancelled", status=stop.status)
