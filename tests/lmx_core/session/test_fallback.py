"""While a model does not answer, the next of the person's list is asked: when, which, for how long, and what is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from support.sessions import Echo, World, world

from lmx_core import ConfigError, Failure, ManualClock, Request, Scripted, ToolSpec, Usage, default_tools, events
from lmx_core.providers.scripted import (
    complete,
    context_limit,
    delayed,
    error,
    http_error,
    interrupted,
    stream_timeout,
    tool_call,
)
from lmx_core.request import UsageReport
from lmx_core.testing import assert_valid_transcript, collect, prompt

pytestmark = pytest.mark.asyncio

A, B, C = "one:a", "two:b", "three:c"
DOWN = http_error(529, {"retry-after": "61"}, message="overloaded")
"""A failure whose provider asks for a longer wait than is made: the next model is asked at once."""


class ByModel:
    """A script for each model. `windows` and `refuses` are what the provider says of them; `requests` the order of all."""

    def __init__(self, windows: dict[str, int] | None = None, refuses: dict[str, str] | None = None, **scripts: Any):
        names = {"a": A, "b": B, "c": C}
        self.scripts = {names[key]: Scripted(turns) for key, turns in scripts.items()}
        self.windows, self.refuses = windows or {}, refuses or {}
        self.requests: list[Request] = []

    @property
    def asked(self) -> list[str]:
        return [request.model for request in self.requests]

    def check(self, model: str, tools: Sequence[ToolSpec] = ()) -> Failure | None:
        return Failure(code="no", message=self.refuses[model]) if model in self.refuses else None

    async def context_window(self, model: str) -> int | None:
        return self.windows.get(model)

    async def run(self, request: Request, emit: Any) -> None:
        self.requests.append(request)
        await self.scripts[request.model].run(request, emit)


def told(heard: list[events.Event], kind: type) -> list[Any]:
    return [event for event in heard if isinstance(event, kind)]


async def go(w: World, *waits: int) -> list[events.Event]:
    async with w.session.subscribe() as heard:
        await w.session.prompt("go")
        for ms in waits:
            await w.clock.await_timer(lambda left, ms=ms: left == ms)
            await w.clock.advance(ms)
        return await collect(heard, events.Finished)


# --- when ------------------------------------------------------------------------------------------------------------------


async def test_after_the_last_attempt_the_next_of_the_list_is_asked():
    """The retry policy of the first comes first (RY-1); then the switch, told once, and the answer of the second."""
    model = ByModel(a=[http_error(503, message="busy")] * 6, b=[complete("from b")])
    async with world(provider=model, model=[A, B, C]) as w:
        heard = await go(w, 2_000, 4_000, 8_000, 16_000, 32_000)
        assert model.asked == [A] * 6 + [B] and heard[-1].stop_reason == "stop"
        (switch,) = told(heard, events.ModelFallback)
        assert (switch.previous, switch.current, switch.reason, switch.message) == (A, B, "server", "busy")
        assert_valid_transcript(w.entries)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (http_error(429), "rate_limit"),
        (http_error(500), "server"),
        (http_error(529), "server"),
        (stream_timeout(), "timeout"),
        (interrupted("half an ans"), "server"),
        (error(Failure(code="odd", message="x", retryable=True)), "other"),
        (error(Failure(code="unreachable", message="x", category="server", retryable=False)), "server"),
    ],
)
async def test_rate_limits_overload_stalls_and_broken_streams_are_reasons(failure: list[Any], reason: str):
    """`provider_retry=False` is one attempt a model."""
    model = ByModel(a=[failure], b=[complete("from b")])
    async with world(provider=model, model=[A, B], provider_retry=False) as w:
        heard = await go(w)
        assert model.asked == [A, B] and told(heard, events.ModelFallback)[0].reason == reason
        assert [e["content"][-1]["text"] for e in w.of("assistant")][-1] == "from b"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
async def test_what_the_person_must_see_is_no_reason(status: int):
    """Keys, accounts and refused requests: another model would hide them."""
    model = ByModel(a=[http_error(status)], b=[complete("never")])
    async with world(provider=model, model=[A, B]) as w:
        assert (await go(w))[-1].stop_reason == "error" and model.asked == [A]


async def test_a_wait_that_is_not_made_switches_at_once():
    """A `retry-after` above `max_delay_ms`; without a list it is waited for as long as the policy allows."""
    model = ByModel(a=[DOWN], b=[complete("from b")])
    async with world(provider=model, model=[A, B]) as w:
        heard = await go(w)
        assert model.asked == [A, B] and not told(heard, events.ProviderRetry)
    async with world(provider=ByModel(a=[DOWN, complete("ok")]), model=A) as w:
        assert [r.delay_ms for r in told(await go(w, 60_000), events.ProviderRetry)] == [60_000]


async def test_after_output_false_asks_nobody_again():
    model = ByModel(a=[interrupted("half")], b=[complete("never")])
    async with world(provider=model, model=[A, B], provider_retry={"after_output": False, "max_attempts": 1}) as w:
        assert (await go(w))[-1].stop_reason == "error" and model.asked == [A]


async def test_ry_3_a_hosts_word_on_a_failure_counts_here_too():
    """RY-3: `fatal` ends it; `transient` makes a reason of what is none."""
    model = ByModel(a=[http_error(403), http_error(503)], b=[complete("from b")])
    policy = {"max_attempts": 1, "classify": lambda failure: "transient" if failure.http_status == 403 else "fatal"}
    async with world(provider=model, model=[A, B], provider_retry=policy) as w:
        assert (await go(w))[-1].stop_reason == "stop" and model.asked == [A, B]
        await w.session.set_model(A)
        assert (await go(w))[-1].stop_reason == "error" and model.asked == [A, B, A]


# --- overflow --------------------------------------------------------------------------------------------------------------


async def test_10_6_a_conversation_that_does_not_fit_goes_to_a_larger_window():
    """10.6: after recovery failed, and only to one that has more room."""
    model = ByModel(
        {A: 8_000, B: 8_000, C: 100_000}, a=[context_limit()], b=[complete("never")], c=[complete("from c")]
    )
    async with world(provider=model, model=[A, B, C]) as w:
        heard = await go(w)
        assert model.asked == [A, C]
        assert [skip.model for skip in told(heard, events.ModelSkipped)] == [B]
        assert told(heard, events.ModelFallback)[0].reason == "context_limit"
        assert (await w.session.info()).context.window == 100_000


async def test_10_6_a_compaction_is_tried_before_another_model():
    answers = [complete("word " * 200) for _ in range(6)]
    model = ByModel({A: 8_000, B: 90_000}, a=[*answers, context_limit(), complete("summary"), complete("ok")], b=[])
    async with world(provider=model, model=[A, B], keep=0.3) as w:
        for _ in range(7):
            heard = await go(w)
        assert heard[-1].stop_reason == "stop" and set(model.asked) == {A}


# --- whom ------------------------------------------------------------------------------------------------------------------


async def test_a_model_that_cannot_serve_the_session_is_passed_over_and_told():
    """PV-5: no key, or tools that it refuses; known before anything is sent to it."""
    model = ByModel(refuses={B: "B needs a key"}, a=[DOWN], c=[complete("from c")])
    async with world(provider=model, model=[A, B, C], tools=[Echo()]) as w:
        heard = await go(w)
        assert model.asked == [A, C]
        (skip,) = told(heard, events.ModelSkipped)
        assert (skip.model, skip.reason) == (B, "B needs a key")


async def test_each_is_asked_once_a_prompt_and_the_last_failure_ends_it():
    model = ByModel(a=[DOWN], b=[DOWN], c=[http_error(529, {"retry-after": "61"}, message="c is down")])
    async with world(provider=model, model=[A, B, C], provider_retry={"max_attempts": 1}) as w:
        heard = await go(w)
        assert model.asked == [A, B, C] and heard[-1].stop_reason == "error"
        assert [e["reason"] for e in w.of("error")] == ["c is down"]


async def test_without_a_list_nobody_else_is_asked():
    async with world(provider=ByModel(a=[http_error(503)]), model=A, provider_retry=False) as w:
        assert (await go(w))[-1].stop_reason == "error"


async def test_the_list_is_never_restored_from_a_transcript():
    """PR-3: whom a conversation may go to is said by whoever takes it up."""
    async with world(provider=ByModel(a=[complete("ok")]), model=[A, B]) as w:
        await go(w)
        assert B not in str(w.of("session"))
    model = ByModel(a=[DOWN], b=[complete("never")])
    async with world(provider=model, resume=w, provider_retry=False) as again:
        assert (await go(again))[-1].stop_reason == "error" and model.asked == [A]
    model = ByModel(a=[DOWN], b=[complete("from b")])
    async with world(provider=model, resume=w, fallback_models=[B]) as again:
        assert (await go(again))[-1].stop_reason == "stop" and model.asked == [A, B]
    async with world(provider=ByModel(b=[complete("b")]), resume=w, model=[B, A]) as again:
        assert (await again.session.info()).model == B


@pytest.mark.parametrize("model", [[], [A, 7], [A, ""], (A, None)])
async def test_opt_5_a_list_that_names_no_model_is_refused(model: Any):
    with pytest.raises(ConfigError, match="model="):
        async with world([], model=model):
            pass


# --- for how long ----------------------------------------------------------------------------------------------------------


async def test_it_holds_for_the_prompt_and_the_next_begins_with_the_first_once_it_has_rested():
    """Five minutes, or as long as its provider asked for; then the first choice, which is told."""
    ask = tool_call("echo", {"text": "x"})
    model = ByModel(a=[DOWN, complete("a again")], b=[ask, complete("from b"), complete("b again")])
    async with world(provider=model, model=[A, B], tools=[Echo()]) as w:
        await go(w)
        assert model.asked == [A, B, B], "the rest of the prompt stays with the second"
        assert (await w.session.info()).model == B
        heard = await go(w)
        assert model.asked[3:] == [B] and not told(heard, events.ModelFallback)
        await w.clock.advance(300_000)
        heard = await go(w)
        assert model.asked[4:] == [A]
        (back,) = told(heard, events.ModelFallback)
        assert (back.previous, back.current, back.reason) == (B, A, "restored")


async def test_a_longer_wait_that_was_asked_for_is_kept():
    model = ByModel(a=[http_error(429, {"retry-after": "3600"}), complete("a")], b=[complete("b")] * 2)
    async with world(provider=model, model=[A, B]) as w:
        await go(w)
        await w.clock.advance(3_599_000)
        await go(w)
        await w.clock.advance(1_000)
        await go(w)
        assert model.asked == [A, B, B, A]


async def test_met_18_choosing_a_model_by_hand_forgets_who_rests():
    model = ByModel(a=[DOWN, complete("a")], b=[complete("b")])
    async with world(provider=model, model=[A, B], provider_limiter=None) as w:
        await go(w)
        heard: list[events.Event] = []
        w.session.subscribe(lambda _, event: heard.append(event))
        await w.session.set_model(A)
        assert [(e.previous, e.current) for e in told(heard, events.ModelChanged)] == [(B, A)]
        await go(w)
        assert model.asked == [A, B, A]


async def test_pr_2_only_the_persons_choice_is_recorded():
    """A change of tools while the second is in use records the first, and so does a resume find it."""
    model = ByModel(a=[DOWN], b=[complete("b")])
    async with world(provider=model, model=[A, B]) as w:
        await go(w)
        await w.session.set_tools(default_tools(["read"]))
        assert [e["model"] for e in w.of("session")] == [A, A]


# --- what is recorded, and what goes along --------------------------------------------------------------------------------


async def test_au_1_the_request_says_why_it_went_elsewhere_and_the_hooks_hear_it():
    """RY-5, HP-4, AU-1: the note of the request; no other entry, so an older reader meets nothing that it does not know."""
    heard: list[Any] = []

    async def listen(request: Request, context: Any) -> Request:
        heard.append(context.retry)
        return request

    model = ByModel(a=[DOWN], b=[complete("b")])
    async with world(provider=model, model=[A, B], hooks=[("prepare_next_turn", listen)]) as w:
        await go(w)
        first, second = w.of("request")
        assert (first["model"], second["model"]) == (A, B) and "retry" not in first
        assert (
            second["retry"]
            == heard[1]
            == {
                "attempt": 1,
                "after_request_id": first["id"],
                "category": "server",
                "reason": "overloaded",
                "delay_ms": 0,
                "previous_model": A,
            }
        )
        assert w.types() == ["session", "user", "request", "request", "assistant"]


async def test_ry_4_what_the_first_had_said_is_a_record_and_not_sent_again():
    half = [*interrupted("half an ans")]
    half.insert(1, UsageReport(Usage(input_tokens=5, output_tokens=1, cost_usd=0.5)))
    model = ByModel(a=[half], b=[complete("whole", usage=Usage(input_tokens=5, output_tokens=2, cost_usd=1.0))])
    async with world(provider=model, model=[A, B], provider_retry=False) as w:
        await go(w)
        assert [e.get("partial") for e in w.of("assistant")] == [True, None]
        assert "half an ans" not in str(model.requests[1].entries)
        assert (await w.session.info()).spent_usd == 1.5


async def test_cw_1_the_second_models_own_window_counts():
    """CW-1, EVT-20: what was measured with the first says nothing about the second."""
    model = ByModel(
        {A: 100_000}, a=[complete("a", usage=Usage(input_tokens=90_000, output_tokens=1)), DOWN], b=[complete("b")]
    )
    async with world(provider=model, model=[A, B]) as w:
        await go(w)
        heard = await go(w)
        assert [e.model for e in told(heard, events.ContextWindowUnknown)] == [B]
        assert (await w.session.info()).context.window is None


@pytest.mark.parametrize("ceiling", [{"max_turns": 1}, {"max_requests": 1}])
async def test_ry_5_without_another_request_the_failure_ends_it(ceiling: dict[str, int]):
    model = ByModel(a=[DOWN], b=[complete("never")])
    async with world(provider=model, model=[A, B], **ceiling) as w:
        heard = await go(w)
        assert heard[-1].stop_reason == "error" and model.asked == [A]
        assert not told(heard, events.ModelFallback)


async def test_bu_5_under_a_cost_ceiling_an_untold_usage_ends_it():
    model = ByModel(a=[http_error(502)], b=[complete("never")])
    model.estimate_cost = lambda request: 0.1  # type: ignore[attr-defined] - the optional method of a provider
    async with world(provider=model, model=[A, B], max_cost_usd=5, provider_retry=False) as w:
        assert (await go(w))[-1].stop_reason == "error" and model.asked == [A]


async def test_met_5_a_cancel_while_the_second_answers_ends_it():
    clock = ManualClock()
    slow = Scripted([delayed(60_000, complete("late"))], clock=clock)
    model = ByModel(a=[DOWN], b=[])
    model.scripts[B] = slow
    async with world(provider=model, model=[A, B], clock=clock) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        await clock.await_timer(lambda left: left == 60_000)
        await w.session.cancel()
        assert (await collect(heard, events.Finished))[-1].stop_reason == "cancelled"
        assert_valid_transcript(w.entries)


async def test_a_hook_that_names_another_model_is_not_overruled():
    async def elsewhere(request: Request, context: Any) -> Request:
        return msgspec.structs.replace(request, model=C)

    model = ByModel(c=[http_error(503)], b=[complete("never")])
    options = {"hooks": [("prepare_next_turn", elsewhere)], "provider_retry": False}
    async with world(provider=model, model=[A, B], **options) as w:
        assert (await prompt(w.session, "go")).stop_reason == "error" and model.asked == [C]
