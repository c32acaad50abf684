"""Ordered lanes for blocking work: what is given to one lane runs one after another, in a daemon thread of our own.

A store's appends must keep their order, and a thread a session would be a thousand threads for a thousand idle sessions.
So all sessions of a process share a few lanes: a session always has the same one, and a lane whose work is done ends its
thread, which leaves nothing behind and holds up no exit (`asyncio.to_thread` does).
"""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

LANES = 8
LINGER_S = 1.0
"""How long an idle lane keeps its thread: a conversation appends again soon."""


class Lane:
    """A queue with at most one thread, started when there is work."""

    def __init__(self, name: str):
        self._name = name
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._running = False

    def submit(self, job: Callable[[], None]) -> None:
        with self._changed:
            self._jobs.append(job)
            if self._running:
                self._changed.notify()
                return
            self._running = True
        threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._jobs:
                    self._changed.wait(LINGER_S)
                if not self._jobs:
                    self._running = False
                    return
                job = self._jobs.popleft()
            job()


_lanes = [Lane(f"lmx-store-{number}") for number in range(LANES)]


def of(key: str) -> Lane:
    """The lane that a session of this id shares with others."""
    return _lanes[zlib.crc32(key.encode()) % LANES]


async def run(lane: Lane, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `function` returns, after everything given to the lane before has run.

    Cancelling the wait does not take the work back: an append that was asked for happens, in its order.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            set_it(value)

    def job() -> None:
        try:
            outcome: tuple[Callable[[Any], None], Any] = (done.set_result, function(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - it is not swallowed: the awaiting task gets it
            outcome = (done.set_exception, error)
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    lane.submit(job)
    return await done
