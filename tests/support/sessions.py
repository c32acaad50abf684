"""Sessions for tests: a scripted model, a manual clock, a store that forgets, and tools that wait until they are told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from lmx_core import ManualClock, MemoryStore, Runtime, Scripted, Session, resume_session, start_session
from lmx_core.calls import Effects, ToolContext
from lmx_core.calls import Runtime as HowRun
from lmx_core.entry import Entry
from lmx_core.request import ToolCallReady
from lmx_core.testing import runtime as mounted
from lmx_core.testing.kit import settle
from lmx_core.transcript.dedup import expand

OBJECT = {"type": "object", "properties": {}}
EVIDENCE = ("harness_snapshot", "run_evidence")
"""Entries that tell under what and with what result the others came to be; most tests are not about them."""


TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


class Echo:
    """Answers with its `text`. Beside anything, a reader."""

    name, description, schema = "echo", "says it again", TEXT
    read_only, parallel_safe = True, True

    async def run(self, args: dict[str, Any], context: ToolContext) -> str:
        return str(args.get("text", ""))


class Gate:
    """A tool that runs until it is opened (`gate.open(id)`), one call at a time. `began` lists the calls that started."""

    description, schema = "waits", OBJECT

    def __init__(self, name: str = "gate", **metadata: Any):
        self.name = name
        self.metadata = metadata
        self.began: list[str] = []
        self.cancelled: list[str] = []
        self._doors: dict[str, asyncio.Event] = {}

    def _door(self, call_id: str) -> asyncio.Event:
        return self._doors.setdefault(call_id, asyncio.Event())

    def open(self, call_id: str) -> None:
        self._door(call_id).set()

    async def run(self, args: dict[str, Any], context: ToolContext) -> str:
        self.began.append(context.call_id)
        try:
            await self._door(context.call_id).wait()
        except asyncio.CancelledError:
            self.cancelled.append(context.call_id)
            raise
        return f"opened {context.call_id}"


def call(name: str, id: str, **arguments: Any) -> ToolCallReady:
    """A call in a script, with an id a test can speak of."""
    return ToolCallReady(id=id, name=name, arguments=arguments)


def parallel(name: str = "gate") -> Gate:
    return Gate(name, runtime=HowRun(concurrency="parallel"), effects=Effects(effect="read"))


class Stuck:
    """A blocking tool: its thread runs until `release` is set, whatever happens to the call."""

    name, description, schema = "stuck", "blocks", OBJECT

    def __init__(self, **metadata: Any):
        self.metadata = metadata
        self.release = threading.Event()
        self.began = threading.Event()

    def run(self, args: dict[str, Any], context: ToolContext) -> str:
        self.began.set()
        self.release.wait(20)
        return "late"


class Asks:
    """A tool that asks a person and returns the answer."""

    name, description, schema = "asks", "asks", OBJECT

    async def run(self, args: dict[str, Any], context: ToolContext) -> str:
        assert context.park is not None
        return f"they said {await context.park(context.call_id, 'question', {'question': 'which?'})}"


class World:
    """A session and what it was made of."""

    def __init__(self, session: Session, provider: Any, store: Any, clock: ManualClock, runtime: Runtime):
        self.session, self.provider, self.store, self.clock, self.runtime = session, provider, store, clock, runtime

    @property
    def entries(self) -> list[Entry]:
        return expand(self.store.read(self.session.id))

    def types(self) -> list[str]:
        """The types of the entries in order, without the evidence beside them."""
        return [entry.type for entry in self.entries if entry.type not in EVIDENCE]

    def of(self, type: str) -> list[dict[str, Any]]:
        return [entry.payload for entry in self.entries if entry.type == type]

    async def until_parked(self) -> str:
        """The id of the call that waits for a person."""
        for _ in range(100):
            if pending := (await self.session.info()).pending:
                return str(pending[0]["call_id"])
            await settle(5)
        raise AssertionError("nothing was parked")

    async def until(self, condition: Any, within_s: float = 30) -> None:
        """Turns the loop until the condition holds; what a real process does takes real time, so the limit is one."""
        end = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > end:
                raise AssertionError("it did not come to that")
            await settle(2)


@asynccontextmanager
async def world(script: Sequence[Any] = (), *, resume: World | None = None, **options: Any) -> AsyncIterator[World]:
    """A running session over a script, on a clock moved by hand. `resume` goes on with the transcript of another."""
    clock = options.pop("clock", None) or ManualClock(1_764_500_000_000)
    store = options.pop("store", None) or (resume.store if resume else MemoryStore())
    provider = options.pop("provider", None) or Scripted(list(script), clock=clock)
    given = {"provider": provider, "store": store, "clock": clock, **options}
    async with mounted(clock=clock) as runtime:
        if resume is None:
            session = await start_session(runtime=runtime, **{"model": "scripted:m", "tools": [], **given})
        else:
            session = await resume_session(runtime=runtime, resume=resume.session.id, **given)
        yield World(session, provider, store, clock, runtime)
