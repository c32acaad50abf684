"""What reaches an actor: questions from outside, and reports from the work it started.

Both wait in one queue and are handled one at a time, in the actor's task, so nothing it decides can change under it. A
report carries the ticket of its work; when the ticket is no longer awaited (the prompt was cancelled, the attempt is over)
the report is dropped, so late words of a provider or a tool never reach the next turn (SE-1, appendix D 3).
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from typing import Any

from lmx_core.clock import Clock
from lmx_core.errors import LmxError
from lmx_core.turn.effects import Effect, EffectHost, EffectKey, EffectOutcome, Hook, Running

Progress = Callable[[Any], None]


class Ask:
    """A question: `answer()` runs its handler in the actor's task and gives the asker what it returns or raises.

    `context` is the asker's.
    """

    def __init__(self, handler: Callable[[], Awaitable[Any]]):
        self._handler = handler
        self.context = copy_context()
        self.reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def answer(self) -> None:
        try:
            result = await self._handler()
        except LmxError as error:
            self.fail(error)
        else:
            if not self.reply.done():
                self.reply.set_result(result)

    def fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)
            self.reply.exception()  # an asker who has gone away is not reported as a lost exception


class Ticket:
    """A piece of work in flight. `outcome` is set once it was reported; `awaited` says whether anybody still wants it.

    `kind` is that of its effect.
    """

    __slots__ = ("awaited", "kind", "outcome", "over", "running", "work")

    def __init__(self, work: Work, kind: str, over: Callable[[], None]):
        self.work, self.kind, self.over = work, kind, over
        self.awaited = True
        self.outcome: EffectOutcome | None = None
        self.running: Running | None = None

    def abandon(self) -> None:
        """Gives it up, once: a second cancellation would cut short the time in which it may clean up after itself."""
        self.awaited = False
        if self.running is not None:
            self.running.cancel()
            self.running = None


class Report:
    """What a piece of work came to. `over`: its task has ended, so nothing more can follow."""

    __slots__ = ("outcome", "over", "ticket")

    def __init__(self, ticket: Ticket, outcome: EffectOutcome, *, over: bool):
        self.ticket, self.outcome, self.over = ticket, outcome, over

    def settle(self) -> None:
        """Takes note of it, unless nobody waits for it any more; in the actor's task."""
        if self.ticket.awaited and self.ticket.outcome is None:
            self.ticket.outcome = self.outcome
        if self.over:
            self.ticket.work.in_flight.discard(self.ticket)
            self.ticket.over()


Inbox = asyncio.Queue[Ask | Report]


class Work:
    """The effects of one run, numbered from 1 (EFF-1) and given up together.

    `host` is asked for each: what is in force changes with the model. `in_flight` is the session's: it holds every task that
    has not ended, also of runs that are over. Effects are started in `context`, that of whoever asked for the run: what a host
    keeps in context variables reaches its tools and its provider.
    """

    def __init__(
        self,
        host: Callable[[], EffectHost],
        inbox: Inbox,
        in_flight: set[Ticket],
        *,
        session_id: str,
        run_id: str,
        context: Context | None = None,
    ):
        self._host, self._inbox = host, inbox
        self._session_id, self.run_id = session_id, run_id
        self._numbers = itertools.count(1)
        self.in_flight = in_flight
        self.context = copy_context() if context is None else context

    def start(
        self,
        effect: Effect,
        *,
        turn: int = 0,
        call_id: str | None = None,
        progress: Progress | None = None,
        over: Callable[[], None] = lambda: None,
    ) -> Ticket:
        """Starts an effect. Its `progress` does not go through the inbox: a delta costs one call, no wake-up.

        `over` is called in the actor's task when its task has ended.
        """
        key = EffectKey(
            session_id=self._session_id,
            run_id=self.run_id,
            turn=turn,
            kind=effect.kind,
            number=next(self._numbers),
            call_id=call_id,
        )
        ticket = Ticket(self, effect.kind, over)
        self.in_flight.add(ticket)

        def heard(item: Any) -> None:
            if progress is not None and ticket.awaited and ticket.outcome is None:
                progress(item)

        def done(outcome: EffectOutcome) -> None:
            self.report(ticket, outcome, over=True)

        ticket.running = self.context.run(self._host().start, key, effect, heard, done)
        return ticket

    def report(self, ticket: Ticket, outcome: EffectOutcome, *, over: bool = False) -> None:
        """Puts what a piece of work came to into the inbox."""
        self._inbox.put_nowait(Report(ticket, outcome, over=over))

    def abandon(self) -> None:
        """Gives up what this run still has in flight."""
        for ticket in self.in_flight:
            if ticket.work is self:
                ticket.abandon()


class Watchers:
    """Tells the hooks that only watch, one after another, in the order of what happened; nothing waits for them."""

    def __init__(self, work: Work):
        self._work = work
        self._waiting: deque[Hook] = deque()
        self.busy = False

    def tell(self, hook: Hook) -> None:
        self._waiting.append(hook)
        if not self.busy:
            self._next()

    def forget(self) -> None:
        """Tells nothing more."""
        self._waiting.clear()

    def _next(self) -> None:
        self.busy = bool(self._waiting)
        if self.busy:
            self._work.start(self._waiting.popleft(), over=self._next)


class Alarm:
    """Wakes the actor after `ms` of its clock; `rung` says that it has."""

    def __init__(self, clock: Clock, inbox: Inbox, ms: float):
        self._inbox = inbox
        self.rung = False
        self._timer = clock.call_later(ms, self._ring)

    def _ring(self) -> None:
        self.rung = True
        self._inbox.put_nowait(Ask(_woken))

    def cancel(self) -> None:
        self._timer.cancel()


async def _woken() -> None:
    """The message of an alarm: there is nothing to do but look at it."""
