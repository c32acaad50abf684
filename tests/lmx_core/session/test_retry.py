"""A failed attempt is tried again, on the clock, within the budget, and never after a whole answer."""

from __future__ import annotations

import pytest
from support.sessions import Echo, World, world

from lmx_core import Busy, Deny, Failure, NothingToRetry, Usage, events
from lmx_core.providers.scripted import complete, error, http_error, interrupted, stream_timeout, tool_call
from lmx_core.request import Done, ToolCallDelta, UsageReport
from lmx_core.testing import assert_valid_transcript, collect

pytestmark = pytest.mark.asyncio


async def play(w: World, *waits: int) -> list[events.Event]:
    """Prompts, lets each of `waits` pass when it is armed, and returns every event."""
    async with w.session.subscribe() as heard:
        await w.session.prompt("go")
        for ms in waits:
            await w.clock.await_timer(lambda left, ms=ms: left == ms)
            await w.clock.advance(ms)
        return await collect(heard, events.Finished)


def retries(told: list[events.Event]) -> list[events.ProviderRetry]:
    return [event for event in told if isinstance(event, events.ProviderRetry)]


async def test_ry_1_evt_22_a_server_error_is_tried_again_after_the_backoff():
    """RY-1, EVT-22."""
    async with world([http_error(503), http_error(529), complete("ok")]) as w:
        told = await play(w, 2_000, 4_000)
        assert [(r.attempt, r.max, r.delay_ms, r.category, r.after_output) for r in retries(told)] == [
            (2, 6, 2_000, "server", False),
            (3, 6, 4_000, "server", False),
        ]
        assert told[-1].stop_reason == "stop"
        assert w.of("error") == [], "a backoff writes no error entry"
        assert w.types() == ["session", "user", "request", "request", "request", "assistant"]


async def test_ry_1_after_six_attempts_the_last_failure_ends_the_turn():
    async with world([http_error(500, message=f"try {n}") for n in range(7)]) as w:
        told = await play(w, 2_000, 4_000, 8_000, 16_000, 32_000)
        assert told[-1].stop_reason == "error" and len(w.provider.requests) == 6
        assert [e.reason for e in told if isinstance(e, events.TurnError)] == ["try 5"]


async def test_ry_1_retry_after_replaces_the_backoff():
    async with world([http_error(429, {"retry-after": "7"}), complete("ok")]) as w:
        assert retries(await play(w, 7_000))[0].delay_ms == 7_000


async def test_ry_1_false_disables():
    async with world([http_error(503)], provider_retry=False) as w:
        assert (await play(w))[-1].stop_reason == "error"
        assert len(w.provider.requests) == 1


ACCOUNT = [http_error(401), http_error(402), http_error(403), http_error(429, code="insufficient_quota")]


@pytest.mark.parametrize("failed", ACCOUNT)
async def test_no_6_account_failures_are_never_retried(failed):
    """NO-6, RY-2."""
    async with world([failed, complete("never")]) as w:
        told = await play(w)
        assert told[-1].stop_reason == "error" and not retries(told)


@pytest.mark.parametrize("broken", [interrupted("half"), stream_timeout("half")])
async def test_ry_4_after_output_what_was_said_is_kept_as_a_record_and_never_sent(broken):
    """RY-4, CP-3, TR-8."""
    async with world([broken, complete("whole")]) as w:
        told = await play(w, 2_000)
        assert retries(told)[0].after_output
        first, second = w.of("assistant")
        assert first["partial"] and first["content"] == [{"type": "text", "text": "half"}]
        assert "partial" not in second
        delta = next(e for e in told if isinstance(e, events.TextDelta))
        assert delta.id == next(e for e in w.entries if e.type == "assistant").id
        assert [e.type for e in w.provider.requests[1].entries] == ["user"]
        assert_valid_transcript(w.entries)


async def test_ry_4_a_call_composed_in_a_failed_attempt_never_runs():
    """C15 (a), (d): a stream that ends inside the arguments of a call executes nothing."""
    cut = [ToolCallDelta(name="echo", fragment='{"text": "rm -rf build'), *interrupted("")]
    async with world([cut, complete("ok")], tools=[Echo()]) as w:
        await play(w, 2_000)
        assert w.of("tool_result") == [] and w.of("assistant")[0]["partial"]


async def test_ry_4_usage_of_a_failed_attempt_counts():
    half = [*interrupted("half")]
    half.insert(1, UsageReport(Usage(input_tokens=5, output_tokens=1, cost_usd=0.5)))
    whole = complete("ok", usage=Usage(input_tokens=5, output_tokens=2, cost_usd=1.0))
    async with world([half, whole]) as w:
        await play(w, 2_000)
        assert (await w.session.info()).spent_usd == 1.5


async def test_ry_5_missing_usage_of_a_failed_attempt_makes_spend_unknown():
    """RY-5, BU-5, NO-6."""
    whole = complete("ok", usage=Usage(cost_usd=1.0))
    async with world([http_error(500), whole]) as w:
        await play(w, 2_000)
        assert (await w.session.info()).spent_usd is None


async def test_bu_5_a_request_that_failed_for_good_without_usage_makes_spend_unknown():
    async with world([http_error(502)], provider_retry=False) as w:
        assert (await w.session.info()).spent_usd == 0.0
        await play(w)
        assert (await w.session.info()).spent_usd is None


async def test_ry_4_a_completed_response_resets_the_count_and_output_alone_does_not():
    script = [
        http_error(503),
        tool_call("echo", {"text": "1"}),
        interrupted("half"),
        interrupted("half"),
        complete("ok"),
    ]
    async with world(script, tools=[Echo()]) as w:
        told = await play(w, 2_000, 2_000, 4_000)
        assert [r.attempt for r in retries(told)] == [2, 2, 3]
        assert told[-1].stop_reason == "stop"


async def test_no_6_a_completed_response_is_never_asked_again():
    async with world([complete("", finish_reason="content_filter"), complete("never")]) as w:
        await play(w)
        assert len(w.provider.requests) == 1


@pytest.mark.parametrize("ceiling", [{"max_turns": 2}, {"max_requests": 2}])
async def test_ry_5_retries_use_up_the_budget_and_the_first_failure_stays_the_reason(ceiling):
    async with world([http_error(500, message="one"), http_error(500, message="two")], **ceiling) as w:
        told = await play(w, 2_000)
        assert told[-1].stop_reason == "error"
        assert [e.reason for e in told if isinstance(e, events.TurnError)] == ["two"]
        assert len(retries(told)) == 1, "no backoff begins that could not be followed by a request"


async def test_ry_5_the_next_request_says_what_it_retries_and_the_hooks_hear_it():
    """RY-5, HP-4."""
    heard = []

    async def listen(request, context):
        heard.append(context.retry)
        return request

    async with world([http_error(503, message="busy"), complete("ok")], hooks=[("prepare_next_turn", listen)]) as w:
        await play(w, 2_000)
        first, second = w.of("request")
        note = {
            "attempt": 2,
            "after_request_id": first["id"],
            "category": "server",
            "reason": "busy",
            "delay_ms": 2_000,
        }
        assert heard == [None, note]
        assert "retry" not in first and second["retry"] == note


async def test_ry_5_a_hook_that_forbids_the_retry_restores_the_first_failure():
    async def once(request, context):
        return request if context.retry is None else Deny("not again")

    async with world([http_error(503, message="busy")], hooks=[("prepare_next_turn", once)]) as w:
        told = await play(w, 2_000)
        assert told[-1].stop_reason == "error"
        assert [e.reason for e in told if isinstance(e, events.TurnError)] == ["busy"]


class Raises:
    def __init__(self, error):
        self.error, self.requests = error, []

    async def run(self, request, emit):
        self.requests.append(request)
        raise self.error


async def test_pv_1_a_provider_that_raises_fails_the_turn_and_shows_no_secret():
    """PV-1, D-9, NO-4."""
    async with world(provider=Raises(RuntimeError("Bearer sk-secret"))) as w:
        told = await play(w)
        assert told[-1].stop_reason == "error"
        assert "sk-secret" not in str(w.entries) + str(told)


class Silent:
    requests: tuple = ()

    async def run(self, request, emit):
        return None


async def test_pv_1_an_answer_without_an_end_is_an_incomplete_stream_and_retried():
    async with world(provider=Silent()) as w:
        told = await play(w, 2_000, 4_000, 8_000, 16_000, 32_000)
        assert [e.code for e in told if isinstance(e, events.TurnError)] == ["incomplete_stream"]


async def test_announced_calls_that_never_came_are_retried():
    async with world([[Done("tool_calls")], complete("ok")]) as w:
        assert (await play(w, 2_000))[-1].stop_reason == "stop"


async def test_a_failure_without_a_cure_ends_at_once():
    odd = Failure(code="x", message="no such model", http_status=404)
    async with world([error(odd)]) as w:
        told = await play(w)
        assert told[-1].stop_reason == "error" and not retries(told)


# --- retry(): asked again by hand ----------------------------------------------------------------------------------------


async def once_more(w: World) -> list[events.Event]:
    async with w.session.subscribe() as heard:
        await w.session.retry()
        return await collect(heard, events.Finished)


async def test_met_6_what_a_failure_ended_is_asked_again_from_the_transcript():
    """MET-6: a prompt of its own without words; the person's stand once, the failed answer is not sent."""
    script = [tool_call("echo", {"text": "x"}), interrupted("half"), complete("whole")]
    async with world(script, tools=[Echo()], provider_retry=False) as w:
        assert (await play(w))[-1].stop_reason == "error"
        told = await once_more(w)
        assert told[-1].stop_reason == "stop"
        asked = w.provider.requests[-1].entries
        assert [e.type for e in asked] == ["user", "assistant", "tool_result"] and "half" not in str(asked)
        assert len(w.of("user")) == 1 and len(w.of("run_evidence")) == 2
        assert_valid_transcript(w.entries)
        with pytest.raises(NothingToRetry):
            await w.session.retry()


async def test_met_6_settings_and_summaries_in_between_change_nothing_about_it():
    script = [*[complete("word " * 99)] * 6, http_error(503), complete("summary"), complete("whole")]
    async with world(script, provider_retry=False, keep=0.3) as w:
        for _ in range(7):
            last = (await play(w))[-1]
        assert last.stop_reason == "error"
        await w.session.set_model("scripted:other")
        await w.session.compact()
        assert (await once_more(w))[-1].stop_reason == "stop"
        assert w.provider.requests[-1].model == "scripted:other"


async def test_met_6_a_resumed_session_may_try_again():
    async with world([http_error(503)], provider_retry=False) as w:
        await play(w)
    async with world([complete("whole")], resume=w) as again:
        assert (await once_more(again))[-1].stop_reason == "stop"


async def test_met_6_there_is_nothing_to_retry_after_anything_else():
    """MET-6: before the first prompt, after an answer, a limit, a cancel, and once the conversation was cleared."""
    async with world([complete("fine"), http_error(503)], max_turns=1, provider_retry=False) as w:
        for _ in range(2):
            with pytest.raises(NothingToRetry):
                await w.session.retry()
            await play(w)
        await w.session.clear()
        with pytest.raises(NothingToRetry):
            await w.session.retry()
    async with world([tool_call("echo")], tools=[Echo()], max_turns=1) as w:
        assert (await play(w))[-1].stop_reason == "max_turns"
        with pytest.raises(NothingToRetry):
            await w.session.retry()


async def test_met_6_not_while_it_works_or_ends():
    async with world([http_error(503), complete("ok")]) as w:
        await w.session.prompt("go")
        with pytest.raises(Busy):
            await w.session.retry()
        await w.session.cancel()
        with pytest.raises(NothingToRetry):
            await w.session.retry()


async def test_ry_3_a_host_may_classify_failures_and_sees_the_original():
    """RY-3: the typed failure itself; what it says wins over the shipped rule, `default` leaves it."""
    seen = []

    def classify(failure):
        seen.append(failure)
        return {402: "transient", 503: "fatal"}.get(failure.http_status, "default")

    async with world([http_error(402, code="odd"), complete("ok")], provider_retry={"classify": classify}) as w:
        assert (await play(w, 2_000))[-1].stop_reason == "stop"
        assert (seen[0].code, seen[0].http_status) == ("odd", 402)
    async with world([http_error(503)], provider_retry={"classify": classify}) as w:
        assert (await play(w))[-1].stop_reason == "error" and len(w.provider.requests) == 1
    async with world([http_error(500), complete("ok")], provider_retry={"classify": classify}) as w:
        assert (await play(w, 2_000))[-1].stop_reason == "stop"
