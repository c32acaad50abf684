"""The scripted provider: what a host's own tests stand on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.adapters import attempt, request

from lmx_core.clock import ManualClock
from lmx_core.errors import Failure
from lmx_core.providers import scripted
from lmx_core.providers.scripted import Scripted
from lmx_core.request import ToolCallReady
from lmx_core.usage import Usage

pytestmark = pytest.mark.asyncio


async def test_sc_1_turns_are_played_in_order_and_requests_are_kept() -> None:
    """SC-1: a turn may be a function of the request; past the end is an error event, not an exception."""
    provider = Scripted([scripted.complete("one"), lambda asked: scripted.complete(asked.system or "")])
    asked = [request("x:y"), request("x:y", system="two"), request("x:y")]
    heard = [await attempt(provider, what) for what in asked]
    assert [h.text for h in heard] == ["one", "two", ""] and provider.requests == asked
    failure = heard[2].failure
    assert failure is not None and failure.code == "script_exhausted" and not failure.is_transient
    assert "2 turns" in failure.message and "turn 3" in failure.message


async def test_sc_1_an_estimate_of_the_cost() -> None:
    assert Scripted([]).estimate_cost(request("x:y")) is None
    assert Scripted([], estimated_cost_usd=0.5).estimate_cost(request("x:y")) == 0.5
    assert (
        Scripted([], estimated_cost_usd=lambda asked: len(asked.entries)).estimate_cost(request("x:y", "a", "b")) == 2
    )


async def test_sc_2_complete_answers() -> None:
    """SC-2: every builder's turn keeps the provider contract, which `attempt` checks."""
    usage = Usage(input_tokens=3, output_tokens=4, cost_usd=0.01)
    heard = await attempt(Scripted([scripted.complete("ab", ["a", "b"], usage, "length")]), request("x:y"))
    assert (heard.text, heard.stop, heard.usage) == ("ab", "length", usage)
    heard = await attempt(Scripted([scripted.thinking("hm", "x", [("f", {"a": 1})])]), request("x:y"))
    assert (heard.thinking, heard.text, heard.stop, heard.calls[0].arguments) == ("hm", "x", "tool_calls", {"a": 1})


async def test_sc_2_calls_get_ids_that_differ_between_turns() -> None:
    turns = [
        scripted.tool_call("f", {"a": 1}),
        scripted.tool_calls([("f", {}), ToolCallReady(id="own", name="g", arguments={})], text="x"),
        scripted.invalid_tool_call("f", '{"a": ', finish_reason="length"),
    ]
    provider = Scripted(turns)
    first, second, third = [await attempt(provider, request("x:y")) for _ in turns]
    assert [c.id for c in first.calls + second.calls + third.calls] == ["call_0_0", "call_1_0", "own", "call_2_0"]
    assert third.stop == "length" and third.calls[0].argument_error and third.calls[0].arguments == {}
    assert third.fragments == {0: '{"a": '} and first.fragments == {0: '{"a":1}'}


@pytest.mark.parametrize(
    ("turn", "code", "category", "transient"),
    (
        (scripted.error("no"), "scripted", "other", False),
        (scripted.error(Failure(code="mine", message="m", category="server")), "mine", "server", True),
        (scripted.http_error(503), "http", "server", True),
        (scripted.http_error(401), "http", "auth", False),
        (scripted.http_error(429, code="insufficient_quota"), "insufficient_quota", "rate_limit", False),
        (scripted.http_error(500, retryable=False), "http", "server", False),
        (scripted.stream_timeout("a"), "timeout", "timeout", True),
        (scripted.context_limit(), "context_limit", "context_limit", False),
        (scripted.interrupted("a"), "connection", "server", True),
    ),
)
async def test_sc_2_failures(turn: Any, code: str, category: str, transient: bool) -> None:
    failure = (await attempt(Scripted([turn]), request("x:y"))).failure
    assert failure is not None
    assert (failure.code, failure.category, failure.is_transient) == (code, category, transient)


async def test_sc_2_failures_carry_what_a_session_acts_on() -> None:
    turns = [
        scripted.http_error(429, {"Retry-After": "1.5"}),
        scripted.http_error(429, {"retry-after-ms": "20"}),
        scripted.stated_context_limit(4_096),
    ]
    provider = Scripted(turns)
    failures = [(await attempt(provider, request("x:y"))).failure for _ in turns]
    assert [f and (f.retry_after_ms, f.stated_context_window) for f in failures] == [
        (1_500, None),
        (20, None),
        (None, 4_096),
    ]


async def test_sc_2_a_delay_is_on_the_clock() -> None:
    clock = ManualClock()
    turn = scripted.delayed(500, lambda asked: scripted.complete("late"))
    provider = Scripted([turn, scripted.delayed(500, scripted.complete("again"))], clock=clock)
    for text in ("late", "again"):
        running = asyncio.create_task(attempt(provider, request("x:y")))
        await clock.advance(499)
        assert not running.done()
        await clock.advance(1)
        assert (await running).text == text
