"""Time as the engine sees it: one `Clock`, so that a test can fire every deadline by hand.

Every timer of a session, a hook or a tool goes through a clock. The obvious other way (`asyncio.timeout`, `wait_for`)
leaves deadlines that no test can reach without waiting for them, so those are lint errors everywhere but here.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Protocol, runtime_checkable

FOREVER: float = math.inf
"""No limit. Written to a transcript as the string "forever"."""


class Handle(Protocol):
    def cancel(self) -> None: ...


@runtime_checkable
class Clock(Protocol):
    """`now_ms()` is wall-clock milliseconds since the epoch; `call_later` runs a callback on the loop after `ms`.

    It may also have `steady_ms()`, milliseconds since any moment that never jump; see `steady_ms` below.
    """

    def now_ms(self) -> int: ...

    def call_later(self, ms: float, callback: Callable[[], Any]) -> Handle: ...


class SystemClock:
    """The real time. Timers are the running loop's."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def steady_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def call_later(self, ms: float, callback: Callable[[], Any]) -> Handle:
        return asyncio.get_running_loop().call_later(ms / 1_000, callback)


def steady_ms(clock: Clock) -> int:
    """What to measure durations with. The time of day jumps, when it is set right or summer ends: measured by it, a stream that
    has stalled is taken for alive for hours, or one that flows for stalled. A clock that has no other is asked for that.
    """
    steady: int = getattr(clock, "steady_ms", clock.now_ms)()
    return steady


class _ManualTimer:
    def __init__(self, due: float, order: int, callback: Callable[[], Any]):
        self.due, self.order, self.callback, self.cancelled = due, order, callback, False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A clock that moves only when told (SC-3).

    `advance(ms)` fires what falls due, in order, setting the time to each due instant and letting the loop settle
    between firings. `settle` is what to wait for between them: awaitables' factories, called each time; without one the
    loop is turned until nothing is ready. A zero delay fires at the next turn of the loop.
    """

    def __init__(self, now: int = 0):
        self._now: float = now
        self._order = 0
        self._timers: list[_ManualTimer] = []
        self._armed = asyncio.Event()

    def now_ms(self) -> int:
        return int(self._now)

    def call_later(self, ms: float, callback: Callable[[], Any]) -> Handle:
        if ms <= 0:
            return asyncio.get_running_loop().call_soon(callback)
        self._order += 1
        timer = _ManualTimer(self._now + ms, self._order, callback)
        self._timers.append(timer)
        self._armed.set()
        return timer

    def pending(self) -> list[float]:
        """Milliseconds until each armed timer, soonest first."""
        return sorted(t.due - self._now for t in self._timers if not t.cancelled)

    async def advance(self, ms: float, settle: Iterable[Callable[[], Awaitable[Any]]] = ()) -> None:
        until = self._now + ms
        waits = list(settle)
        await self._settle(waits)
        while due := [t for t in self._timers if not t.cancelled and t.due <= until]:
            timer = min(due, key=lambda t: (t.due, t.order))
            self._timers.remove(timer)
            self._now = max(self._now, timer.due)
            timer.callback()
            await self._settle(waits)
        self._timers = [t for t in self._timers if not t.cancelled]
        self._now = until

    async def await_timer(self, match: Callable[[float], bool] = lambda ms: True, timeout_ms: int = 5_000) -> float:
        """Waits (in real time, at most `timeout_ms`) until a timer is armed whose remaining ms `match`; returns it."""
        end = time.monotonic() + timeout_ms / 1_000
        while True:
            for ms in self.pending():
                if match(ms):
                    return ms
            if time.monotonic() > end:
                raise TimeoutError(f"no such timer was armed; pending: {self.pending()}")
            await asyncio.sleep(0.001)

    @staticmethod
    async def _settle(waits: list[Callable[[], Awaitable[Any]]]) -> None:
        for wait in waits:
            await wait()
        for _ in range(50):
            await asyncio.sleep(0)


async def sleep(clock: Clock, ms: float) -> None:
    """Returns after `ms` of the clock's time."""
    if ms <= 0:
        await asyncio.sleep(0)
        return
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    handle = clock.call_later(ms, lambda: None if done.done() else done.set_result(None))
    try:
        await done
    finally:
        handle.cancel()


class Deadline:
    """A running deadline: `expired` says whether it fired; `pause()` holds its remaining time, `resume()` goes on (DI-4).

    `restart()` gives it its whole time again. That is cheap enough for every piece of a stream: the timer itself is moved only
    when it fires.
    """

    def __init__(self, clock: Clock, ms: float, expire: Callable[[], None]):
        self._clock, self._left, self._expire = clock, ms, expire
        self._whole = ms
        self._handle: Handle | None = None
        self._since = 0
        self._paused = 0
        self._restarted = False
        self.expired = False
        self._start()

    def _start(self) -> None:
        self._since = steady_ms(self._clock)
        if self._left != FOREVER:
            self._handle = self._clock.call_later(self._left, self._fire)

    def _fire(self) -> None:
        remaining = self._left - (steady_ms(self._clock) - self._since)
        if remaining > 0 and self._restarted:
            self._restarted = False
            self._handle = self._clock.call_later(remaining, self._fire)
            return
        self.expired = True
        self._expire()

    def restart(self) -> None:
        self._left, self._since, self._restarted = self._whole, steady_ms(self._clock), True

    def pause(self) -> None:
        self._paused += 1
        if self._paused == 1 and self._handle is not None and not self.expired:
            self._handle.cancel()
            self._handle = None
            self._left = max(0.0, self._left - (steady_ms(self._clock) - self._since))

    def resume(self) -> None:
        self._paused -= 1
        if self._paused == 0 and not self.expired:
            self._start()

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


@asynccontextmanager
async def deadline(clock: Clock, ms: float) -> AsyncIterator[Deadline]:
    """Like `asyncio.timeout`, but on the session's clock: raises `TimeoutError` when `ms` pass before the body ends.

    Built on `asyncio.timeout` itself (whose rescheduling makes the cancellation safe), armed by the clock's timer.
    """
    async with asyncio.timeout(None) as scope:  # noqa: TID251 - the one place where it is allowed
        timer = Deadline(clock, ms, lambda: scope.reschedule(0))
        try:
            yield timer
        finally:
            timer.cancel()
