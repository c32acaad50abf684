"""Under a cost ceiling nothing is sent that may pass it, and nothing that nobody can price."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions import Echo, World, world

from lmx_core import BudgetExceeded, CompactionFailed, ManualClock, Request, Scripted, SystemClock, Usage, events
from lmx_core.clock import deadline
from lmx_core.providers.scripted import complete, context_limit, delayed, http_error, interrupted, tool_call
from lmx_core.request import Done, Forecast, TextDelta, UsageReport
from lmx_core.testing import collect, prompt
from lmx_core.transcript.replay import spent

pytestmark = pytest.mark.asyncio


def cost(usd: float | None, read: int = 100, out: int = 10, **more: Any) -> Usage:
    return Usage(input_tokens=read, output_tokens=out, cost_usd=usd, model="m", **more)


def priced(turns: list[Any], estimate: Any = 0.25) -> Scripted:
    return Scripted(turns, estimated_cost_usd=estimate)


async def ended(w: World, text: str = "go") -> events.Finished:
    last = (await prompt(w.session, text)).events[-1]
    assert isinstance(last, events.Finished)
    return last


# --- BU-2: spent + estimate > cap --------------------------------------------------------------------------------------


async def test_bu_2_a_request_that_may_pass_the_ceiling_is_not_sent():
    """BU-2, OPT-38, REC-6: the detail has the numbers, the error entry the sentence."""
    model = priced([complete("a", usage=cost(0.5)), complete("b", usage=cost(0.5)), complete("never")])
    async with world(provider=model, max_cost_usd=1.2) as w:
        assert (await ended(w)).stop_reason == "stop"
        assert (await ended(w)).stop_reason == "stop"
        last = await ended(w)
        assert last.stop_reason == "budget"
        assert last.detail == {"kind": "cost", "spent": 1.0, "estimate": 0.25, "cap": 1.2, "model": "scripted:m"}
        assert len(model.requests) == 2
        [said] = w.of("error")
        assert said["reason"] == (
            "Stopped: $1.00 is spent and the next request may cost $0.25, over the limit of $1.20 (max_cost_usd)."
        )


async def test_bu_2_exactly_the_ceiling_is_within_it_and_adding_up_does_not_drift():
    """BU-2: ten times $0.10 is $1.00; three times is not more than $0.30."""
    model = priced([complete(str(n), usage=cost(0.1)) for n in range(4)], estimate=0.1)
    async with world(provider=model, max_cost_usd=0.3) as w:
        assert [(await ended(w)).stop_reason for _ in range(4)] == ["stop", "stop", "stop", "budget"]
        assert (await w.session.info()).spent_usd == 0.3


async def test_bu_2_it_is_asked_before_every_request_of_a_prompt():
    model = priced([tool_call("echo", {"text": "x"}, usage=cost(0.4)) for _ in range(9)])
    async with world(provider=model, tools=[Echo()], max_cost_usd=1) as w:
        last = await ended(w)
        assert (last.stop_reason, last.detail["spent"], len(model.requests)) == ("budget", 0.8, 2)


async def test_bu_2_a_ceiling_of_nothing_admits_what_costs_nothing():
    """BU-2, OPT-38: 0 is a ceiling; a model of one's own is free under it."""
    async with world(provider=priced([complete("a", usage=cost(0.0))], 0.0), max_cost_usd=0) as w:
        assert (await ended(w)).stop_reason == "stop"
    async with world(provider=priced([complete("a")], 0.000001), max_cost_usd=0) as w:
        assert (await ended(w)).stop_reason == "budget" and w.provider.requests == []


@pytest.mark.parametrize("told", [None, float("nan"), -1.0, "a lot"])
async def test_bu_2_an_estimate_that_is_none_stops_and_names_the_model(told: Any):
    """BU-2, BU-5: unknown is never free."""
    async with world(provider=priced([complete("never")], lambda _: told), max_cost_usd=5) as w:
        last = await ended(w)
        assert last.detail == {"kind": "cost", "spent": 0.0, "estimate": None, "cap": 5.0, "model": "scripted:m"}
        assert w.of("error")[0]["reason"].startswith("Stopped: what a request to scripted:m may cost is not known")
        assert w.provider.requests == []


async def test_bu_2_a_provider_that_breaks_or_has_no_estimate_is_unknown_as_well():
    """BU-2, PV-2."""

    class Bare:
        async def run(self, request: Request, emit: Any) -> None:
            emit(Done("stop"))

    class Breaks(Bare):
        def estimate_cost(self, request: Request) -> float:
            raise RuntimeError("no table")

    class Later(Bare):
        async def estimate_cost(self, request: Request) -> float:
            return 0.5

    for provider, reason in ((Bare(), "budget"), (Breaks(), "budget"), (Later(), "stop")):
        async with world(provider=provider, max_cost_usd=5) as w:
            assert (await ended(w)).stop_reason == reason


async def test_without_a_ceiling_nobody_is_asked_what_it_costs():
    asked: list[Request] = []
    async with world(provider=priced([complete("a")], lambda request: asked.append(request))) as w:
        assert (await ended(w)).stop_reason == "stop" and asked == []


# --- BU-5: unknown means unknown ---------------------------------------------------------------------------------------


async def test_bu_5_an_answer_without_a_price_makes_the_spend_unknown():
    async with world(provider=priced([complete("a", usage=cost(None)), complete("never")]), max_cost_usd=5) as w:
        assert (await ended(w)).stop_reason == "stop"
        last = await ended(w)
        assert (last.stop_reason, last.detail["spent"], last.detail["model"]) == ("budget", None, "scripted:m")
        assert w.of("error")[0]["reason"].startswith("Stopped: what scripted:m has cost in this session is not known")
        assert len(w.provider.requests) == 1


async def test_bu_5_ry_5_an_attempt_whose_usage_never_came_is_not_retried_under_a_ceiling():
    """RY-5, BU-5: the provider's error ends the turn, without backoff; without a ceiling it is retried."""
    async with world(provider=priced([http_error(500), complete("never")]), max_cost_usd=5) as w:
        told = await prompt(w.session, "go")
        assert told.stop_reason == "error" and not any(isinstance(e, events.ProviderRetry) for e in told.events)
        assert len(w.provider.requests) == 1 and w.of("error")[0]["http_status"] == 500
        info = await w.session.info()
        assert (info.spent_usd, info.max_cost_usd) == (None, 5.0)


@pytest.mark.parametrize("refusal", [http_error(429), http_error(503), http_error(529), http_error(404)])
async def test_ry_5_what_was_turned_away_cost_nothing(refusal):
    """A rate limit does not end a session that has a ceiling: it is retried, and the record lets a resume count the same."""
    whole = complete("whole", usage=cost(0.5))
    async with world(provider=priced([refusal, whole]), max_cost_usd=1, provider_retry={"base_delay_ms": 0}) as w:
        told = await prompt(w.session, "go")
        if told.stop_reason == "error":  # 404 is not worth another attempt
            assert w.of("error")[0]["unbilled"] is True and (await w.session.info()).spent_usd == 0
            assert spent(told.entries).cost_usd == 0 == w.of("run_evidence")[0]["cost"]["usd"]
            told = await prompt(w.session, "again")
        assert told.stop_reason == "stop" and (await w.session.info()).spent_usd == 0.5
        assert spent(told.entries).cost_usd == 0.5, "what a prompt's result says is what the session counts"
        evidence = w.of("run_evidence")[-1]
        assert evidence["cost"] == {"completeness": "complete", "usd": 0.5}
        assert evidence["usage"]["completeness"] == "complete"
    async with world(resume=w, provider=priced([complete("more", usage=cost(0.1))]), max_cost_usd=1) as again:
        assert (await again.session.info()).spent_usd == 0.5
        assert (await prompt(again.session, "go")).stop_reason == "stop"


async def test_bu_5_a_refusal_after_some_output_may_have_cost_something():
    half = [TextDelta("half"), *http_error(429)]
    async with world(provider=priced([half, complete("never")]), max_cost_usd=1) as w:
        assert (await prompt(w.session, "go")).stop_reason == "error"
        assert (await w.session.info()).spent_usd is None and "unbilled" not in w.of("error")[0]


async def test_ry_4_ry_5_a_failed_attempt_that_told_its_usage_is_counted_and_tried_again():
    failed = [TextDelta("half"), UsageReport(cost(0.5)), *interrupted("")[-1:]]
    model = priced([failed, complete("whole", usage=cost(0.5))])
    async with world(provider=model, max_cost_usd=1) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        await w.clock.await_timer(lambda left: left == 2_000)
        await w.clock.advance(2_000)
        async for event in heard:
            if isinstance(event, events.Finished):
                break
        assert event.stop_reason == "stop" and (await w.session.info()).spent_usd == 1.0


async def test_ry_5_a_retry_that_the_money_does_not_reach_leaves_the_first_error():
    failed = [UsageReport(cost(0.9)), *http_error(503)]
    async with world(provider=priced([failed, complete("never")]), max_cost_usd=1) as w:
        told = await prompt(w.session, "go")
        assert told.stop_reason == "error" and len(w.provider.requests) == 1
        assert [e["code"] for e in w.of("error")] == ["http"]


async def test_bu_1_bu_5_a_resume_counts_again_what_the_transcript_says():
    """BU-1, BU-5, PR-3: spend and its unknown part come back; the ceiling is given anew."""
    async with world(provider=priced([complete("a", usage=cost(0.5))]), max_cost_usd=9) as w:
        await ended(w)
    async with world(resume=w, provider=priced([complete("never")]), max_cost_usd=0.7) as again:
        assert (await ended(again)).detail["spent"] == 0.5
        assert again.provider.requests == []
    async with world([http_error(502)], provider_retry=False) as w:
        await ended(w)
    async with world(resume=w, provider=priced([complete("never")]), max_cost_usd=9) as again:
        info = await again.session.info()
        assert info.spent_usd is None, "nobody told what the failed request cost, and no other followed it"
        assert (await ended(again)).detail["spent"] is None


async def test_bu_1_what_a_tool_charged_is_spent():
    """4.5: `spent_usd` includes declared tool charges."""

    class Buys(Echo):
        async def run(self, args: dict[str, Any], context: Any) -> Any:
            from lmx_core import Result

            return Result(model_text="bought", cost={"usd": 0.6})

    model = priced([tool_call("echo", usage=cost(0.2)), complete("never")])
    async with world(provider=model, tools=[Buys()], max_cost_usd=1) as w:
        assert (await ended(w)).detail["spent"] == 0.8


@pytest.mark.parametrize("amount", [-5, True, "3"])
async def test_bu_1_no_tool_and_no_provider_gives_money_back(amount: Any):
    """BU-1: what is no amount is not spent, and of a request unknown."""

    class Refunds(Echo):
        async def run(self, args: dict[str, Any], context: Any) -> Any:
            from lmx_core import Result

            return Result(model_text="back", cost={"usd": amount})

    model = priced([tool_call("echo", usage=cost(0.2)), complete("stops", usage=cost(0.3))])
    async with world(provider=model, tools=[Refunds()], max_cost_usd=1) as w:
        await prompt(w.session, "go")
        assert (await w.session.budget()).spent_usd == 0.5
    async with world(provider=priced([complete("x", usage=cost(-5.0)), complete("never")]), max_cost_usd=1) as w:
        await prompt(w.session, "go")
        assert (await ended(w)).detail["spent"] is None


# --- summaries -----------------------------------------------------------------------------------------------------------


def talk(turns: int) -> list[Any]:
    return [complete(f"answer {n} " * 50, usage=cost(0.1)) for n in range(turns)]


async def test_bu_2_a_summary_passes_the_same_gate():
    """BU-2, MET-7: `compact()` says why, with the numbers; nothing was asked or cut."""
    async with world(provider=priced([*talk(6), complete("never")]), max_cost_usd=0.8, keep=0.3) as w:
        for _ in range(6):
            await ended(w)
        with pytest.raises(BudgetExceeded, match=r"\$0.60 is spent") as refused:
            await w.session.compact()
        assert refused.value.payload["estimate"] == 0.25
        assert len(w.provider.requests) == 6 and w.of("compaction") == []
        assert (await w.session.info()).status == "idle"


async def test_bu_5_a_failed_summary_without_usage_is_not_asked_for_again():
    async with world(provider=priced([*talk(6), http_error(500), complete("never")]), max_cost_usd=9, keep=0.3) as w:
        for _ in range(6):
            await ended(w)
        with pytest.raises(CompactionFailed, match="500"):
            async with deadline(SystemClock(), 5_000):
                await w.session.compact()
        assert len(w.provider.requests) == 7 and (await w.session.info()).spent_usd is None


async def test_c8_14_a_request_that_did_not_fit_is_recovered_under_a_ceiling():
    """10.6, C8-14: the refusal cost nothing; summary and second request go through the gate."""
    model = priced([*talk(6), context_limit(), complete("summary", usage=cost(0.1)), complete("b", usage=cost(0.1))])
    async with world(provider=model, max_cost_usd=9, keep=0.3) as w:
        for _ in range(6):
            await ended(w)
        assert (await ended(w)).stop_reason == "stop" and len(model.requests) == 9
        assert (await w.session.info()).spent_usd == pytest.approx(0.8)
    async with world(resume=w, provider=priced([])) as again:
        assert (await again.session.info()).spent_usd == pytest.approx(0.8), "the record says that it cost nothing"


# --- what an estimate goes by ----------------------------------------------------------------------------------------------


async def test_bu_4_the_forecast_goes_by_what_was_measured():
    """BU-3, BU-4: last input, its answer, what was added since; the cache's part; the longest answer so far."""
    seen: list[Forecast] = []

    def estimate(request: Request) -> float:
        seen.append(request.context["forecast"])
        return 0.0

    usages = [cost(0.0, read=1_000, out=300), cost(0.0, read=2_000, out=50, cache_read_tokens=1_500)]
    model = priced([complete("a", usage=usages[0]), complete("b", usage=usages[1]), complete("c")], estimate)
    async with world(provider=model, max_cost_usd=1, system=None) as w:
        for text in ("x" * 400, "y" * 400, "z" * 400):
            await ended(w, text)
    assert (seen[0].input_tokens, seen[0].likely_tokens, seen[0].largest_answer) == (100, None, 0)
    assert (seen[1].likely_tokens, seen[1].cached_share, seen[1].largest_answer) == (1_400, 0.0, 300)
    assert (seen[2].likely_tokens, seen[2].cached_share, seen[2].largest_answer) == (2_150, 0.75, 300)
    assert all("forecast" not in request.context for request in model.requests)


# --- budget() --------------------------------------------------------------------------------------------------------------


async def test_met_17_what_is_used_and_what_is_left():
    """MET-17, OPT-39: time is told and stops nothing."""
    model = priced([complete("a", usage=cost(0.5)), complete("b", usage=cost(0.25))])
    async with world(provider=model, max_cost_usd=2, max_requests=7, deadline_ms=10_000) as w:
        await ended(w)
        await w.clock.advance(4_000)
        told = await w.session.budget()
        assert (told.spent_usd, told.max_cost_usd, told.requests, told.max_requests) == (0.5, 2.0, 1, 7)
        assert (told.deadline_ms, told.time_left_ms) == (10_000, 6_000)
        await w.clock.advance(40_000)
        assert (await w.session.budget()).time_left_ms == 0
        assert (await ended(w)).stop_reason == "stop"
    async with world([]) as w:
        told = await w.session.budget()
        assert (told.spent_usd, told.max_cost_usd, told.deadline_ms, told.time_left_ms) == (0.0, None, None, None)


async def test_bu_2_when_the_money_is_gone_no_hook_is_run_and_no_steer_makes_another_request():
    """BU-2, MET-2: a steer that no request can carry is told as dropped, and the answer stays the end."""
    asked: list[Request] = []

    async def watch(request: Request, context: Any) -> Request:
        asked.append(request)
        return request

    clock = ManualClock()
    script = [delayed(1_000, complete("a", usage=cost(2.0))), complete("never")]
    model = Scripted(script, estimated_cost_usd=0.0, clock=clock)
    async with world(provider=model, max_cost_usd=1, clock=clock, hooks=[("prepare_next_turn", watch)]) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            await clock.await_timer(lambda left: left == 1_000)
            await w.session.steer("and then?")
            await clock.advance(1_000)
            told = await collect(heard, events.Finished)
        assert told[-1].stop_reason == "stop" and [type(e) for e in told].count(events.SteerDropped) == 1
        assert (await ended(w)).stop_reason == "budget" and len(asked) == 1
