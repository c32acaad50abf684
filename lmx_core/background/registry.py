"""The background commands of a runtime: each a task that reads its command, whoever looks at it (BG-1 to BG-4).

The obvious way, `command &`, ends with the call that wrote it, or outlives everybody with its output lost. Here a command runs
through its environment as any other does, with the same shell, the same group that is ended whole, the same watchdog for a
host that dies; only its reader is a task of the runtime and no tool call. It ends with its session at the latest.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

import msgspec

from lmx_core.background.capture import Capture
from lmx_core.clock import FOREVER, Clock, Handle, deadline, steady_ms
from lmx_core.environment.base import Data, Exit, Failed, OutputLimit, RunEvent, TimedOut, closing
from lmx_core.errors import SessionDown, ToolError, UnknownTask, for_log
from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.tasks import Spawn
from lmx_core.tools.plain import in_turns

log = logging.getLogger("lmx_core")

MAX_RUNNING = 16
"""Of one session at a time. Each is a reader on the loop and up to 1.5 MB of output."""
KEPT_MS = 3_600_000
"""How long a command that has ended can still be asked about (BG-4)."""
MAX_KEPT_BYTES = 32_000_000
"""Of the output of a session's commands that have ended. Over it the older ones keep only `SHRUNK_BYTES` each."""
SHRUNK_BYTES = 8_000
SETTLE_MS = 100
"""A start waits so long, in real time: what fails at once, such as a misspelt program, is told by the start itself."""
END_MS = 5_000
"""How long ended commands may take to be gone, in real time. A group needs up to 3 s (EN-3)."""

Status = Literal["running", "exited", "timed_out", "failed", "cancelled"]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A background command at one moment (BG-3).

    `exit_status` is there when it has exited, `error` when it has failed. `output` is text, its first and last 500,000 bytes
    with the number of those between; `output_bytes` is all that it has written. `started_at` and `finished_at` are milliseconds
    since the epoch. `ended` and `left` name processes it left behind, as `Exit` has them.
    """

    id: str
    session_id: str
    command: str
    status: Status
    exit_status: int | None
    output: str
    output_bytes: int
    error: str | None
    started_at: int
    finished_at: int | None
    duration_ms: int
    ended: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        return self.status == "running"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What a subscriber hears, once. `id` is `<session>:<task>:terminal`, the same whenever it is told (BG-2)."""

    id: str
    snapshot: Snapshot


Sink = Callable[[Ended], Any]


class Registry:
    """All background commands of one runtime, by session and id. Another session's id is as unknown as one that never was."""

    def __init__(self, spawn: Spawn):
        self._spawn = spawn
        self._sessions: dict[str, dict[str, _Command]] = {}

    def open(self, session_id: str) -> None:
        """From now on commands may be started for this session."""
        self._sessions.setdefault(session_id, {})

    async def close(self, session_id: str) -> None:
        """Ends the session's commands and forgets them."""
        await self._drop(list(self._sessions.pop(session_id, {}).values()))

    async def stop(self) -> None:
        """Ends all commands of all sessions (RT-6)."""
        commands = [command for commands in self._sessions.values() for command in commands.values()]
        self._sessions.clear()
        await self._drop(commands)

    async def start(
        self,
        session_id: str,
        command: str,
        events: AsyncIterator[RunEvent],
        clock: Clock,
        *,
        settle_ms: float = SETTLE_MS,
        secrets: Masker = NOTHING,
    ) -> str:
        """Reads `events`, those of `command` as an environment gives them, in a task of the runtime, and returns its id.

        `secrets` is what is masked in all that is told of it. Raises SessionDown for a session that does not live here,
        ToolError where too many run.
        """
        commands = self._sessions.get(session_id)
        if commands is None:
            raise SessionDown("stopped", "a background command ends with its session")
        if sum(not command.done.is_set() for command in commands.values()) >= MAX_RUNNING:
            raise ToolError(f"{MAX_RUNNING} background commands run already; cancel one, or wait until one has ended.")
        id = _new_id(commands)
        started = commands[id] = _Command(id, session_id, command, clock, secrets)
        started.task = self._spawn(started.follow(events), kind="background", id=id)
        started.task.add_done_callback(lambda task: self._over(started, task))
        try:
            await asyncio.wait({started.task}, timeout=settle_ms / 1_000)
        except asyncio.CancelledError:
            started.task.cancel()  # nobody was told its id
            raise
        return id

    def poll(self, session_id: str, id: str) -> Snapshot:
        """As it is now. Raises UnknownTask."""
        command = self._find(session_id, id)
        return command.snapshot(command.capture.text())

    def read(self, session_id: str, id: str, limit: int) -> Snapshot:
        """The same for the model: `output` is what came since it last read, at most about `limit` bytes. Raises UnknownTask."""
        command = self._find(session_id, id)
        return command.read(limit)

    def known(self, session_id: str) -> list[Snapshot]:
        """The session's commands, oldest first, without their `output`."""
        return [command.snapshot("") for command in self._sessions.get(session_id, {}).values()]

    def endings(self, session_id: str) -> list[Snapshot]:
        """The commands that have ended and of whose end the model has not been told, each once. Their `output` is left out."""
        ended = [c for c in self._sessions.get(session_id, {}).values() if c.done.is_set() and not c.told]
        for command in ended:
            command.told = True
        return [command.snapshot("") for command in ended]

    async def await_done(self, session_id: str, id: str, timeout_ms: float = FOREVER) -> Snapshot:
        """As it is when it has ended, or after `timeout_ms` of its clock. It runs on, also if the wait is cancelled."""
        command = self._find(session_id, id)
        try:
            async with deadline(command.clock, timeout_ms):
                await command.done.wait()
        except TimeoutError:
            pass  # then it is told as it stands
        return command.snapshot(command.capture.text())

    async def cancel(self, session_id: str, id: str) -> Snapshot:
        """Ends it with all its processes and returns it as it is then; what has ended stays so. Raises UnknownTask."""
        command = self._find(session_id, id)
        await self._end([command])
        return command.snapshot(command.capture.text())

    def subscribe(self, session_id: str, id: str, sink: Sink) -> None:
        """Calls `sink` once with `Ended`: when the command ends, or now if it has. Idempotent. Raises UnknownTask."""
        command = self._find(session_id, id)
        if command.done.is_set():
            _tell(sink, command.ending())
        elif sink not in command.sinks:
            command.sinks.append(sink)

    def unsubscribe(self, session_id: str, id: str, sink: Sink) -> None:
        command = self._find(session_id, id)
        if sink in command.sinks:
            command.sinks.remove(sink)

    def _find(self, session_id: str, id: str) -> _Command:
        command = self._sessions.get(session_id, {}).get(id)
        if command is None:
            raise UnknownTask(id)
        return command

    async def _drop(self, commands: list[_Command]) -> None:
        for command in commands:
            command.forget.cancel()
        await self._end(commands)

    async def _end(self, commands: list[_Command]) -> None:
        tasks = {command.task for command in commands if command.task is not None and not command.done.is_set()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=END_MS / 1_000)
            await asyncio.sleep(0)  # what hears of their end runs before whoever waited for it goes on

    def _over(self, command: _Command, task: asyncio.Task[None]) -> None:
        """Settles a command whose reader has ended, however it did, and arms the moment when it is forgotten."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ToolError):
            command.error = str(error)
        elif error is not None:
            log.error("the environment of background command %s failed with %s", command.id, for_log(error))
            command.error = f"the environment failed: {type(error).__name__}"
        command.settle(cancelled=task.cancelled())
        commands = self._sessions.get(command.session_id)
        if commands is not None and commands.get(command.id) is command:
            command.forget = command.clock.call_later(KEPT_MS, lambda: commands.pop(command.id, None))
            _make_room(list(commands.values()))
        ending = command.ending()
        for sink in command.sinks:
            _tell(sink, ending)
        command.sinks.clear()


class _Never:
    def cancel(self) -> None:
        pass


class _Command:
    """One background command. Only its own task feeds it; `done` is set once its status is the last one."""

    def __init__(self, id: str, session_id: str, command: str, clock: Clock, secrets: Masker):
        self.id, self.session_id, self.command, self.clock = id, session_id, command, clock
        self.capture, self._mask = Capture(secrets=secrets), secrets.mask
        self.task: asyncio.Task[None] | None = None
        self.done = asyncio.Event()
        self.told = False
        self.sinks: list[Sink] = []
        self.forget: Handle = _Never()
        self.error: str | None = None
        self._status: Status = "running"
        self._end: Exit | TimedOut | OutputLimit | Failed | None = None
        self._read_to = 0
        self._started_at, self._since = clock.now_ms(), steady_ms(clock)
        self._finished_at: int | None = None
        self._duration_ms = 0

    async def follow(self, events: AsyncIterator[RunEvent]) -> None:
        """Reads until the command says how it ended. Cancelled, it ends the command, as any reader of an environment does."""
        async with closing(events) as arriving:
            async for event in arriving:
                if isinstance(event, Data):
                    async for piece in in_turns(event.data):
                        self.capture.feed(piece)
                else:
                    self._end = event
                    break

    def settle(self, *, cancelled: bool) -> None:
        self.capture.end()
        self._finished_at, self._duration_ms = self.clock.now_ms(), steady_ms(self.clock) - self._since
        match self._end:
            case Exit():
                self._status = "exited"
            case TimedOut():
                self._status = "timed_out"
            case Failed(reason):
                self._status, self.error = "failed", reason
            case OutputLimit():
                self._status, self.error = "failed", "the environment ended it for the size of its output"
            case None if cancelled:
                self._status = "cancelled"
            case None:
                self._status = "failed"
                self.error = self.error or "the environment did not say how it ended"
        self.done.set()

    def read(self, limit: int) -> Snapshot:
        seen = self.snapshot(self.capture.text(self._read_to, limit))
        self._read_to, self.told = self.capture.total, self.done.is_set()
        return seen

    def ending(self) -> Ended:
        return Ended(id=f"{self.session_id}:{self.id}:terminal", snapshot=self.snapshot(self.capture.text()))

    def snapshot(self, output: str) -> Snapshot:
        running = self._finished_at is None
        return Snapshot(
            id=self.id,
            session_id=self.session_id,
            command=self.command,
            status=self._status,
            exit_status=self._end.status if isinstance(self._end, Exit) else None,
            output=output,
            output_bytes=self.capture.received,
            error=None if self.error is None else self._mask(self.error),
            started_at=self._started_at,
            finished_at=self._finished_at,
            duration_ms=steady_ms(self.clock) - self._since if running else self._duration_ms,
            ended=tuple(map(self._mask, self._end.ended)) if isinstance(self._end, Exit) else (),
            left=() if self._end is None or isinstance(self._end, Failed) else tuple(map(self._mask, self._end.left)),
        )


def _make_room(commands: list[_Command]) -> None:
    """Bounds what a session's ended commands keep together, the newest first."""
    kept = 0
    for command in reversed(commands):
        if command.done.is_set():
            kept += command.capture.kept
            if kept > MAX_KEPT_BYTES:
                command.capture.shrink(SHRUNK_BYTES)


def _new_id(taken: dict[str, _Command]) -> str:
    """Random, so that after a resume no new command answers to the id of one that died with its process."""
    while (id := f"bg-{secrets.token_hex(4)}") in taken:
        pass
    return id


def _tell(sink: Sink, ending: Ended) -> None:
    try:
        sink(ending)
    except Exception as error:  # noqa: BLE001 - SU-1: a broken sink is dropped and harms nobody
        log.warning("a subscriber of background command %s failed: %s", ending.snapshot.id, type(error).__name__)
