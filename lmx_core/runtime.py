"""What a host mounts and stops: the owner of every session and of every task the engine starts.

Several may live in one process, by name (one a tenant, one a test), and share nothing (RT-3). Tasks are supervised one by
one: a shared task group would let the failure of one session cancel its siblings (RT-5).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Never, TypeVar

from lmx_core.background.registry import Registry
from lmx_core.clock import Clock, SystemClock, deadline
from lmx_core.errors import ConfigError, for_log
from lmx_core.options import UNSET, UnsetType, refuse_unknown
from lmx_core.providers.admission import Admission, maker
from lmx_core.session.actor import Actor
from lmx_core.session.handle import Session
from lmx_core.session.setup.settings import Mount
from lmx_core.telemetry import Telemetry

log = logging.getLogger("lmx_core")

T = TypeVar("T")

DEFAULT_NAME = "lmx"

_mounted: dict[str, Runtime] = {}
"""The one process-wide state of the engine: empty until something is mounted, empty again when it is stopped."""


class Runtime:
    """`async with Runtime() as runtime:`, or `await runtime.start()` and `await runtime.stop()`.

    `clock` is what sessions use that are not given their own; `telemetry` tells handlers what happens in it. Bound to the
    event loop that started it.

    `provider_limiter` is what every session's requests pass (AD-1): a dict of options for `ProviderLimiter`, an Admission, a
    function that makes one, or None for no limit. Not given, it is a ProviderLimiter with its defaults, for the sessions that
    live in this runtime's time: a session with another clock would wait for one that never moves.
    """

    def __init__(
        self,
        name: str = DEFAULT_NAME,
        *,
        clock: Clock | None = None,
        provider_limiter: Mapping[str, Any] | Admission | Callable[[], Admission] | UnsetType | None = UNSET,
        **unknown: Never,
    ):
        _refuse(unknown)
        if not isinstance(name, str) or not name:
            raise ConfigError("name= must be text")
        if clock is not None and not isinstance(clock, Clock):
            raise ConfigError("clock= must be a Clock with now_ms and call_later")
        self.name, self.clock = name, clock
        self.telemetry = Telemetry()
        self._limits_all = provider_limiter is not UNSET
        self._make_admission = maker({} if provider_limiter is UNSET else provider_limiter, clock)
        self._admission: Admission | None = None
        self._background = Registry(self.spawn)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sessions: dict[Session, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def __repr__(self) -> str:
        return f"<Runtime {self.name}>"

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions that live in it."""
        return tuple(session for session in self._sessions if session.down is None)

    @property
    def provider_admission(self) -> Admission | None:
        """What requests to providers pass: what the mount chose (AD-1). None for no limit, and while it is not mounted."""
        return self._admission

    @property
    def background(self) -> Registry:
        """The background commands of its sessions; `lmx_core.background` is how a host uses them."""
        return self._background

    async def start(self) -> Runtime:
        """Mounts it. Raises ConfigError when the name is taken."""
        if self._loop is None and self.name in _mounted:
            raise ConfigError(f"a runtime named {self.name!r} is mounted already; give this one another name=")
        self.check_loop()
        if self._loop is None:
            self._admission = self._make_admission()
        self._loop = asyncio.get_running_loop()
        _mounted[self.name] = self
        return self

    async def stop(self, timeout_ms: float = 10_000) -> None:
        """Stops the sessions, each with its `session_end` hooks, its background commands ended and its lock released, then
        whatever is left. Idempotent.
        """
        if self._loop is None:
            return
        self.check_loop()
        stops = [self.spawn(session.stop(timeout_ms), kind="stop", id=session.id) for session in self._sessions]
        try:
            async with deadline(SystemClock(), timeout_ms + 2_000):
                await asyncio.gather(*stops, return_exceptions=True)
        except TimeoutError:
            log.warning("runtime %s: sessions did not stop in time and are ended", self.name)
        await self._background.stop()
        await self._end_tasks()
        _mounted.pop(self.name, None)
        self._loop = self._admission = None

    async def _end_tasks(self) -> None:
        left = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        if left:  # a session's own task may still have its lock to release; any other was told to end before
            _, running = await asyncio.wait(left, timeout=0.5)
            if sessions := running & set(self._sessions.values()):
                await asyncio.wait(sessions, timeout=1.5)

    async def __aenter__(self) -> Runtime:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def check_loop(self) -> None:
        """Raises ConfigError on another event loop than the one it was started on (RT-2)."""
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            raise ConfigError(f"runtime {self.name!r} belongs to another event loop; mount one on this loop")

    def spawn(self, coro: Coroutine[Any, Any, T], *, kind: str, id: str) -> asyncio.Task[T]:
        """Starts a task that this runtime owns. The one place in the engine where tasks are made (tasks.Spawn)."""
        task = asyncio.get_running_loop().create_task(coro, name=f"{self.name}/{kind}/{id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def adopt(self, actor: Actor) -> Session:
        """Starts a session's task and keeps its handle until the session has ended (ST-4)."""
        session = actor.handle = Session(actor)
        self._background.open(actor.id)
        task = self.spawn(actor.live(), kind="session", id=actor.id)
        self._sessions[session] = task
        task.add_done_callback(lambda ended: self._session_ended(session, ended))
        return session

    def _session_ended(self, session: Session, task: asyncio.Task[None]) -> None:
        """A crashed session stays down: resuming it is the host's decision (ST-5)."""
        self._sessions.pop(session, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("session %s crashed with %s", session.id, for_log(error))

    def mount(self, clock: Clock) -> Mount:
        """What a session that lives in this clock's time gets from it."""
        admission = self._admission if self._limits_all or _is_same_time(clock, self.clock) else None
        return Mount(
            name=self.name,
            spawn=self.spawn,
            telemetry=self.telemetry,
            admission=admission,
            background=self._background,
            runtime=self,
        )


def _refuse(unknown: Mapping[str, Any]) -> None:
    """Raises ConfigError for what a runtime does not take; the size of a connection pool is looked for here first (RT-8)."""
    for name in ("provider_pool", "max_concurrent_streams"):
        if name in unknown:
            raise ConfigError(
                f"a runtime takes no {name}=: connections are a provider's, and its pool has no limit; how many requests may "
                'be under way at once is provider_limiter={"max_concurrency": n}'
            )
    refuse_unknown(unknown, ("name", "clock", "provider_limiter"), "runtime option")


def _is_same_time(clock: Clock, runtimes: Clock | None) -> bool:
    return clock is runtimes or (isinstance(clock, SystemClock) and isinstance(runtimes or clock, SystemClock))


def find(runtime: Runtime | str) -> Runtime:
    """The mounted runtime of that name, or this one if it is mounted. Raises ConfigError (RT-7)."""
    if not isinstance(runtime, str | Runtime):
        raise ConfigError("runtime= must be a Runtime or the name of a mounted one")
    name = runtime if isinstance(runtime, str) else runtime.name
    mounted = _mounted.get(name)
    if mounted is None or (isinstance(runtime, Runtime) and mounted is not runtime):
        raise ConfigError(
            f"no runtime named {name!r} is mounted: enter `async with Runtime(name={name!r})`, "
            f"or call `await Runtime(name={name!r}).start()` first"
        )
    mounted.check_loop()
    return mounted
