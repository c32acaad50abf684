"""Who hears what a session says (SU-1 to SU-3).

A subscriber is an address, not an owner: the session never waits for one and lives on without any. Emitting calls each sink
once and creates nothing, no task and no copy, because a streamed answer emits thousands of deltas a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from lmx_core.errors import ConfigError
from lmx_core.events import Down, Event, EventsLagged, TextDelta, ThinkingDelta, ToolCallDelta, ToolDelta

log = logging.getLogger("lmx_core")

Deliver = Callable[[Event], None]

_TRANSIENT = (TextDelta, ThinkingDelta, ToolCallDelta, ToolDelta)
"""What a reader who lags can do without: the entry or the result that follows says it whole."""


class Subscription:
    """The events of one session from now on: an async iterator that ends after `Down`, and an async context manager.

    Its buffer is unbounded, so a slow reader holds up nobody. With `max_pending` so many events wait at most, before deltas are
    dropped: one `EventsLagged` in their place says how many. Everything else is delivered, however many wait.
    `get_nowait_all()` takes what has arrived, for a pump that draws once a frame. Raises ConfigError for what is no number.
    """

    def __init__(
        self, close: Callable[[Subscription], None] = lambda subscription: None, *, max_pending: int | None = None
    ):
        if max_pending is not None and (type(max_pending) is not int or max_pending < 1):
            raise ConfigError("max_pending= must be a whole number of events, at least 1, or None")
        self._arrived: deque[Event] = deque()
        self._max_pending, self._dropped = max_pending, 0
        self._waiter: asyncio.Future[None] | None = None
        self._unsubscribe = close
        self.closed = False

    def put(self, event: Event) -> None:
        if self._max_pending is not None:
            if len(self._arrived) >= self._max_pending and isinstance(event, _TRANSIENT):
                self._dropped += 1
                if isinstance(self._arrived[-1], EventsLagged):  # nobody has been told of that gap: it goes on
                    self._tell_of_dropped()
                return
            self._tell_of_dropped()
        self._arrived.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def get_nowait_all(self) -> list[Event]:
        """Every event that has arrived and was not taken yet, without waiting."""
        self._tell_of_dropped()
        taken = list(self._arrived)
        self._arrived.clear()
        self.closed = self.closed or any(isinstance(event, Down) for event in taken)
        return taken

    def _tell_of_dropped(self) -> None:
        """Closes a gap: what comes next comes after it. Two gaps with nothing between them are one."""
        if not self._dropped:
            return
        last = self._arrived.pop() if self._arrived and isinstance(self._arrived[-1], EventsLagged) else None
        before = last.dropped if isinstance(last, EventsLagged) else 0
        self._arrived.append(EventsLagged(dropped=before + self._dropped))
        self._dropped = 0

    async def wait(self) -> None:
        """Returns when there is something to take, or nothing will come any more. One task may wait at a time."""
        while not self._arrived and not self.closed:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def close(self) -> None:
        """Stops listening; a waiting reader ends. Idempotent."""
        self.closed = True
        self._unsubscribe(self)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Event:
        await self.wait()
        if not self._arrived:
            raise StopAsyncIteration
        event = self._arrived.popleft()
        if not self._arrived:
            self._tell_of_dropped()
        self.closed = self.closed or isinstance(event, Down)
        return event

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Subscribers:
    """The sinks of one session, told in the order in which they came."""

    def __init__(self, session_id: str, sinks: Iterable[Any] = ()):
        self._session_id = session_id
        self._sinks: dict[int, tuple[Any, Deliver]] = {}
        self._deliver: tuple[tuple[Any, Deliver], ...] = ()
        for sink in sinks:
            self.add(sink)

    def add(self, sink: Any) -> None:
        """Adds a Subscription, a queue (told `(session_id, event)`) or a callable `f(session_id, event)`. Idempotent."""
        self._sinks.setdefault(id(sink), (sink, self._address(sink)))
        self._deliver = tuple(self._sinks.values())

    def remove(self, sink: Any) -> None:
        self._sinks.pop(id(sink), None)
        self._deliver = tuple(self._sinks.values())

    def emit(self, event: Event) -> None:
        for sink, deliver in self._deliver:
            try:
                deliver(event)
            except Exception as error:  # noqa: BLE001 - SU-1: a broken sink is dropped and never harms the session
                log.warning("a subscriber of session %s was dropped: %s", self._session_id, type(error).__name__)
                self.remove(sink)

    def _address(self, sink: Any) -> Deliver:
        if isinstance(sink, Subscription):
            return sink.put
        put = getattr(sink, "put_nowait", None)
        if put is not None:
            return lambda event: put((self._session_id, event))
        return lambda event: sink(self._session_id, event)
