"""Background commands as a host uses them: `from lmx_core import background` (BG-2).

Each function takes the mounted runtime, the id of a session that lives in it and, but for `start`, the id of one of that
session's commands; for any other id they raise `UnknownTask`. The model reaches the same commands with `bash`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from lmx_core.background.registry import Ended, Registry, Sink, Snapshot
from lmx_core.clock import FOREVER, Clock, SystemClock
from lmx_core.environment.base import EnvEntry, Environment

__all__ = [
    "DEFAULT_LIFETIME_MS",
    "MAX_LIFETIME_MS",
    "Ended",
    "Snapshot",
    "await_done",
    "cancel",
    "poll",
    "start",
    "subscribe",
    "unsubscribe",
]

DEFAULT_LIFETIME_MS = 3_600_000
MAX_LIFETIME_MS = 86_400_000


class Owner(Protocol):
    """A `Runtime`, as far as background commands go."""

    @property
    def clock(self) -> Clock | None: ...

    @property
    def background(self) -> Registry: ...


async def start(
    runtime: Owner,
    session_id: str,
    command: str,
    *,
    environment: Environment,
    cwd: Path,
    timeout_ms: float = DEFAULT_LIFETIME_MS,
    env: Sequence[EnvEntry] = (),
) -> Snapshot:
    """Starts a shell command that ends with the session, or after `timeout_ms`, of which there are at most 24 hours.

    Raises SessionDown for a session that does not live in the runtime, ToolError when the session has too many running.
    """
    events = environment.run(
        command, cwd=cwd, timeout_ms=min(timeout_ms, MAX_LIFETIME_MS), env=env, max_output_bytes=FOREVER
    )
    registry = runtime.background
    return registry.poll(session_id, await registry.start(session_id, command, events, runtime.clock or SystemClock()))


def poll(runtime: Owner, session_id: str, task_id: str) -> Snapshot:
    """The command as it is now."""
    return runtime.background.poll(session_id, task_id)


async def await_done(runtime: Owner, session_id: str, task_id: str, timeout_ms: float = FOREVER) -> Snapshot:
    """The command when it has ended, or as it is after `timeout_ms`; then it runs on."""
    return await runtime.background.await_done(session_id, task_id, timeout_ms)


async def cancel(runtime: Owner, session_id: str, task_id: str) -> Snapshot:
    """Ends the command and every process of its group, and returns it as it is then."""
    return await runtime.background.cancel(session_id, task_id)


def subscribe(runtime: Owner, session_id: str, task_id: str, sink: Sink) -> None:
    """Calls `sink(Ended)` on the loop, once: when the command ends, or at once if it has ended."""
    runtime.background.subscribe(session_id, task_id, sink)


def unsubscribe(runtime: Owner, session_id: str, task_id: str, sink: Sink) -> None:
    """Calls it no more."""
    runtime.background.unsubscribe(session_id, task_id, sink)
