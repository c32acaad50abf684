"""Prompting a session and looking at what came of it, independent of `await_prompt`: one checks the other."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from lmx_core.clock import Clock, SystemClock, deadline
from lmx_core.entry import Entry
from lmx_core.errors import SessionDown
from lmx_core.events import Down, EntryAppended, Event, Finished
from lmx_core.runtime import Runtime
from lmx_core.session.handle import Session
from lmx_core.session.subscribers import Subscription
from lmx_core.transcript.replay import calls_of, unanswered_calls, validate

_numbers = itertools.count(1)


class Prompted(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a prompt gave: its events, its entries, how it stopped."""

    events: list[Event]
    entries: list[Entry]
    stop_reason: str


async def prompt(session: Session, text: str, timeout_ms: float = 5_000) -> Prompted:
    """Prompts and waits for `finished`, at most `timeout_ms` of real time. Raises TimeoutError, SessionDown."""
    async with session.subscribe() as subscription, deadline(SystemClock(), timeout_ms):
        await session.prompt(text)
        heard = await collect(subscription, lambda event: isinstance(event, Finished | Down))
    last = heard[-1]
    if not isinstance(last, Finished):
        raise SessionDown(session.down or "stopped")
    entries = [event.entry for event in heard if isinstance(event, EntryAppended)]
    return Prompted(events=heard, entries=entries, stop_reason=last.stop_reason)


async def collect(
    subscription: Subscription, until: Callable[[Event], bool] | type[Event], timeout_ms: float = 5_000
) -> list[Event]:
    """The events up to and with the first that `until` accepts, or that is of that type. Raises TimeoutError."""
    wanted = (lambda event: isinstance(event, until)) if isinstance(until, type) else until
    heard: list[Event] = []
    async with deadline(SystemClock(), timeout_ms):
        async for event in subscription:
            heard.append(event)
            if wanted(event):
                return heard
    raise AssertionError(f"the session ended before that event came; heard: {[event.type for event in heard]}")


@asynccontextmanager
async def runtime(name: str | None = None, *, clock: Clock | None = None) -> AsyncIterator[Runtime]:
    """A mounted runtime under a name of its own; use it as an async fixture."""
    async with Runtime(name or f"test-{next(_numbers)}", clock=clock) as mounted:
        yield mounted


def assert_valid_transcript(entries: Sequence[Entry], *, settled: bool = True) -> None:
    """Raises AssertionError where a transcript breaks a promise: the chain, one result a call, no call left open.

    `settled` False allows open calls at the end, as a crash leaves them.
    """
    assert not (broken := validate(entries)), broken[0]
    asked: dict[str, Any] = {}
    for entry in entries:
        if entry.type == "request":
            assert not asked, f"request {entry.id} went out with unanswered calls {sorted(asked)}"
        for call in calls_of(entry):
            assert call.id not in asked, f"answer {entry.id} has two calls {call.id}"
            asked[call.id] = call
        if entry.type == "tool_result":
            assert asked.pop(entry.payload["call_id"], None) is not None, f"result {entry.id} answers no open call"
    open_calls = [call.id for _, call in unanswered_calls(entries)]
    assert not (settled and open_calls), f"calls without a result: {open_calls}"


async def settle(times: int = 50) -> None:
    """Turns the loop until nothing is ready, without time passing."""
    for _ in range(times):
        await asyncio.sleep(0)
