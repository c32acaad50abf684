"""Anything may happen at any moment: a state machine of people, a model, tools, time and crashes around one session.

What must hold whatever they do: every call has exactly one result before the next request; each accepted prompt ends with
exactly one `finished`; no steer or follow-up is lost or delivered twice; what was announced is what is written; a resume
goes on.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.sessions import Asks, Echo, Gate

from lmx_core import (
    Allow,
    AlreadySent,
    Busy,
    Deny,
    Failure,
    ManualClock,
    MemoryStore,
    Pending,
    Rewrite,
    Runtime,
    UnknownCall,
    events,
    resume_session,
    start_session,
)
from lmx_core.calls import Effects
from lmx_core.calls import Runtime as HowRun
from lmx_core.request import Done, Error, TextDelta, ToolCallReady
from lmx_core.testing import assert_valid_transcript
from lmx_core.testing.kit import settle
from lmx_core.transcript.dedup import expand
from lmx_core.transcript.replay import calls_of

TOOLS = ["echo", "alone", "beside", "asks", "guarded", "nobody"]


class Model:
    """Says what the machine makes it say."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.emit: Any = None

    async def run(self, request: Any, emit: Any) -> None:
        check_sendable(request)
        self.requests.append(request)
        self.emit = emit
        try:
            await asyncio.Event().wait()
        finally:
            if self.emit is emit:
                self.emit = None


def check_sendable(request: Any) -> None:
    """What real providers refuse with a 400."""
    open_calls: set[str] = set()
    for entry in request.entries:
        if entry.type == "tool_result":
            assert entry.payload["call_id"] in open_calls
            open_calls.remove(entry.payload["call_id"])
            continue
        assert not open_calls, f"calls {open_calls} are followed by {entry.type}"
        open_calls = {call.id for call in calls_of(entry)}
    assert not open_calls


async def ask_for_guarded(call: Any, context: Any) -> Any:
    return Pending() if call.name == "guarded" else Allow()


class Anything(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock(1_764_500_000_000)
        self.model, self.store = Model(), MemoryStore()
        self.alone, self.beside = Gate("alone"), Gate("beside", runtime=HowRun(concurrency="parallel"))
        self.tools = [Echo(), self.alone, self.beside, Asks(), Gate("guarded", effects=Effects(effect="read"))]
        self.heard: list[Any] = []
        self.accepted = self.finished = 0
        self.steers: dict[str, str] = {}
        self.follow_ups: dict[str, str] = {}
        self.calls = self.said = 0
        self.wrong: list[str] = []

    def do(self, coroutine: Any) -> Any:
        async def and_settle() -> Any:
            try:
                return await coroutine
            finally:
                await settle(30)

        return self.loop.run_until_complete(and_settle())

    def background(self, coroutine: Any) -> None:
        async def start() -> None:
            self.loop.create_task(coroutine).add_done_callback(lambda task: task.cancelled() or task.exception())

        self.do(start())

    @initialize()
    def begin(self) -> None:
        self.runtime = self.do(Runtime("machine").start())
        self.session = self.do(start_session(model="m:m", **self.options()))

    def options(self) -> dict[str, Any]:
        return {
            "runtime": self.runtime,
            "provider": self.model,
            "store": self.store,
            "clock": self.clock,
            "tools": self.tools,
            "hooks": [("before_tool_call", ask_for_guarded)],
            "subscriber": lambda id, event: self.hear(event),
            "max_turns": 6,
        }

    def hear(self, event: Any) -> None:
        self.heard.append(event)
        if isinstance(event, events.Finished):
            self.finished += 1
        elif isinstance(event, events.SteerDropped):
            self.leaves(event.text, "dropped")
        elif isinstance(event, events.EntryAppended) and event.entry.type == "user":
            text = event.entry.payload["text"]
            if text in self.steers:
                self.leaves(text, "sent")
            elif text in self.follow_ups:
                if self.follow_ups[text] != "waiting":
                    self.wrong.append(f"{text} was begun twice")
                self.follow_ups[text] = "sent"
                self.accepted += 1

    def leaves(self, steer: str, how: str) -> None:
        """A steer leaves the queue, once. Noted, not raised: a subscriber that raises is dropped."""
        if self.steers[steer] != "waiting":
            self.wrong.append(f"{steer} was {self.steers[steer]} and then {how}")
        self.steers[steer] = how

    # -- a person

    @rule()
    def prompt(self) -> None:
        before = len(self.written("user"))
        try:
            self.do(self.session.prompt(f"prompt {self.accepted}"))
        except Busy:
            assert self.accepted == self.finished + 1
        else:
            self.accepted += 1
            assert len(self.written("user")) > before

    @rule()
    def steer(self) -> None:
        self.said += 1
        text = f"steer {self.said}"
        self.steers[text] = "waiting"
        self.do(self.session.steer(text))

    @rule()
    def follow_up(self) -> None:
        self.said += 1
        text = f"follow-up {self.said}"
        self.follow_ups[text] = "waiting"
        self.do(self.session.follow_up(text))

    @precondition(lambda self: self.steers)
    @rule(data=st.data())
    def revoke(self, data: Any) -> None:
        text = data.draw(st.sampled_from(sorted(self.steers)))
        try:
            self.do(self.session.revoke_steer(text))
        except AlreadySent:
            assert self.steers[text] != "waiting"
        else:
            assert self.steers[text] == "waiting"
            self.steers[text] = "revoked"

    @rule()
    def cancel(self) -> None:
        self.do(self.session.cancel())
        assert self.accepted == self.finished

    @rule(decision=st.sampled_from([Allow(), Deny("no"), Rewrite({})]), data=st.data())
    def decide(self, decision: Any, data: Any) -> None:
        pending = self.do(self.session.info()).pending
        if not pending:
            return
        chosen = data.draw(st.sampled_from(pending))
        if chosen["kind"] == "approval":
            self.do(self.session.resolve_tool(chosen["call_id"], decision))
        else:
            self.do(self.session.answer(chosen["call_id"], "this"))
        try:
            self.do(self.session.resolve_tool(chosen["call_id"], decision))
        except UnknownCall:
            return
        raise AssertionError("a decision was taken twice")

    # -- the model

    @precondition(lambda self: self.model.emit)
    @rule(text=st.sampled_from(["word ", " "]))
    def say(self, text: str) -> None:
        self.emit(TextDelta(text))

    @precondition(lambda self: self.model.emit)
    @rule(names=st.lists(st.sampled_from(TOOLS), max_size=4), ending=st.sampled_from(["stop", "length"]))
    def answer(self, names: list[str], ending: str) -> None:
        for name in names:
            self.calls += 1
            self.emit(ToolCallReady(id=f"call-{self.calls % 3}", name=name, arguments={"text": str(self.calls)}))
        self.emit(Done("tool_calls" if names else ending))

    @precondition(lambda self: self.model.emit)
    @rule(status=st.sampled_from([503, 401]))
    def fail(self, status: int) -> None:
        self.emit(Error(Failure(code="http", message=f"answered {status}", http_status=status)))

    def emit(self, event: Any) -> None:
        async def say() -> None:
            if self.model.emit is not None:
                self.model.emit(event)

        self.do(say())

    # -- tools and time

    @rule(gate=st.sampled_from(["alone", "beside"]))
    def open_a_gate(self, gate: str) -> None:
        tool = getattr(self, gate)

        async def open() -> None:
            for id in list(tool._doors):
                tool.open(id)
            tool._doors.clear()

        self.do(open())

    @rule(ms=st.sampled_from([1, 2_000, 60_000, 300_000]))
    def time_passes(self, ms: int) -> None:
        self.do(self.clock.advance(ms))

    @rule()
    def crash_and_resume(self) -> None:
        """The process dies here; another goes on from what is on disk."""
        left, self.store = self.entries(), MemoryStore()
        self.store.append(self.session.id, left)
        heard, self.hear = self.hear, lambda event: None  # type: ignore[method-assign]
        self.do(self.session.stop())
        self.hear = heard  # type: ignore[method-assign]
        self.accepted = self.finished
        self.steers = {text: state for text, state in self.steers.items() if state != "waiting"}
        self.follow_ups = {text: state for text, state in self.follow_ups.items() if state != "waiting"}
        self.heard = [events.EntryAppended(entry=entry) for entry in left]
        self.session = self.do(resume_session(resume=self.session.id, **self.options()))

    # -- what must hold

    def entries(self) -> list[Any]:
        return expand(self.store.read(self.session.id))

    def written(self, type: str) -> list[Any]:
        return [entry for entry in self.entries() if entry.type == type]

    @invariant()
    def the_transcript_keeps_its_promises(self) -> None:
        if not hasattr(self, "session"):
            return
        assert self.session.down is None and not self.wrong
        idle = self.accepted == self.finished
        assert_valid_transcript(self.entries(), settled=idle)
        assert [e.entry for e in self.heard if isinstance(e, events.EntryAppended)] == self.entries()
        info = self.do(self.session.info())
        assert info.status == ("idle" if idle else "busy")
        assert info.queued_steers == [text for text, state in self.steers.items() if state == "waiting"]
        assert info.queued_follow_ups == [text for text, state in self.follow_ups.items() if state == "waiting"]
        if idle:
            assert info.pending == []

    def teardown(self) -> None:
        if hasattr(self, "runtime"):
            self.do(self.runtime.stop())
        self.loop.close()


def running(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )


def test_anything_may_happen_and_the_promises_hold() -> None:
    """DI-2, MET-5, MET-2, MET-4, EVT-26, SE-2, RS-1: see the docstring of this file."""
    run_state_machine_as_test(Anything, settings=running(20, 25))


@pytest.mark.long
def test_anything_may_happen_for_long_and_the_promises_hold() -> None:
    run_state_machine_as_test(Anything, settings=running(600, 50))
