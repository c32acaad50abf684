"""One prompt, step by step, and what is written and told on the way."""

from __future__ import annotations

import asyncio

import pytest
from support.sessions import EVIDENCE, Echo, Gate, call, parallel, world

from lmx_core import AwaitTimeout, Busy, ConfigError, SessionDown, Usage, events
from lmx_core.providers.scripted import (
    complete,
    http_error,
    invalid_tool_call,
    stated_context_limit,
    thinking,
    tool_call,
    tool_calls,
)
from lmx_core.request import ContextWindow
from lmx_core.testing import assert_valid_transcript, collect, prompt
from lmx_core.testing.kit import settle
from lmx_core.turn.guard import Continue, Stop

pytestmark = pytest.mark.asyncio


async def test_a_prompt_without_tools_is_written_asked_answered_and_over():
    async with world([complete("Hello.")]) as w:
        done = await prompt(w.session, "hi")
        assert done.stop_reason == "stop"
        assert w.types() == ["session", "user", "request", "assistant"]
        assert [e.type for e in done.events] == [
            "entry",
            "context_window_unknown",
            "entry",
            "harness_snapshot",
            "entry",
            "text_delta",
            "entry",
            "usage",
            "entry",
            "run_evidence",
            "context",
            "finished",
        ]
        assert w.provider.requests[0].entries[-1].payload == {"text": "hi"}
        assert_valid_transcript(w.entries)


async def test_calls_are_run_and_their_results_sent_with_the_next_request():
    script = [tool_calls([("echo", {"text": "a"}), ("echo", {"text": "b"})]), complete("Both.")]
    async with world(script, tools=[Echo()]) as w:
        result = await w.session.await_prompt("go")
        assert (result.text, result.stop_reason, result.error) == ("Both.", "stop", None)
        sent = w.provider.requests[1].entries
        assert [entry.type for entry in sent] == ["user", "assistant", "tool_result", "tool_result"]
        assert sorted(entry.payload["output"] for entry in sent[2:]) == ["a", "b"]
        assert_valid_transcript(w.entries)


async def test_se_2_an_entry_is_in_the_store_before_it_is_announced():
    seen = []
    async with world([complete("Hello.")]) as w:
        w.session.subscribe(
            lambda id, event: (
                seen.append(event.entry in w.store.read(id)) if isinstance(event, events.EntryAppended) else None
            )
        )
        await prompt(w.session, "hi")
    assert seen == [True] * 5


async def test_su_4_the_entry_of_an_answer_has_the_id_of_its_deltas():
    async with world([complete(fragments=["He", "llo"])]) as w:
        done = await prompt(w.session, "hi")
        deltas = [e for e in done.events if isinstance(e, events.TextDelta)]
        answer = next(e for e in done.entries if e.type == "assistant")
        assert {delta.id for delta in deltas} == {answer.id}
        assert "".join(delta.text for delta in deltas) == answer.payload["content"][0]["text"]


async def test_se_4_met_1_a_busy_session_refuses_another_prompt():
    """SE-4, MET-1."""
    gate = Gate()
    async with world([tool_call("gate", id="c"), complete("ok"), complete("again")], tools=[gate]) as w:
        assert (await w.session.info()).status == "idle"
        await w.session.prompt("one")
        assert (await w.session.info()).status == "busy"
        with pytest.raises(Busy):
            await w.session.prompt("two")
        gate.open("c")
        await w.until(lambda: w.provider.requests[1:])
        await settle()
        assert (await w.session.info()).status == "idle"
        assert (await w.session.await_prompt("three")).text == "again"


async def test_se_5_looking_steering_and_subscribing_are_served_while_a_tool_runs():
    gate = Gate()
    async with world([tool_call("gate", id="c"), complete("ok")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        assert (await w.session.snapshot()).entries[-1].type == "assistant"
        await w.session.steer("hurry")
        async with w.session.subscribe() as late:
            gate.open("c")
            heard = await collect(late, events.Finished)
        assert [e.entry.type for e in heard if isinstance(e, events.EntryAppended)][:2] == ["tool_result", "user"]


async def test_st_2_await_prompt_hears_everything_in_order_and_disturbs_nobody():
    heard = []
    script = [tool_call("echo", {"text": "x"}, usage=Usage(input_tokens=1, output_tokens=2, cost_usd=0.25)),
              complete("End.", usage=Usage(input_tokens=3, output_tokens=4, cost_usd=0.5))]  # fmt: skip
    async with world(script, tools=[Echo()]) as w, w.session.subscribe() as other:
        result = await w.session.await_prompt("go", on_event=heard.append)
        assert [e.type for e in heard] == [e.type for e in other.get_nowait_all()]
        assert result.usage.cost_usd == 0.75 and result.usage.input_tokens == 4
        assert [e.type for e in result.entries if e.type not in EVIDENCE] == [
            "user",
            "request",
            "assistant",
            "tool_result",
            "request",
            "assistant",
        ]
        assert result.session_id == w.session.id


async def test_st_2_an_answer_without_usage_makes_the_cost_unknown():
    script = [[e for e in complete("Hi.") if not hasattr(e, "usage")]]
    async with world(script) as w:
        assert (await w.session.await_prompt("go")).usage.cost_usd is None
        assert (await w.session.info()).spent_usd is None


async def test_st_3_a_wait_that_timed_out_leaves_the_session_working():
    gate = Gate()
    async with world([tool_call("gate", id="c"), complete("Late.")], tools=[gate]) as w:
        waiting = asyncio.get_running_loop().create_task(w.session.await_prompt("go", timeout_ms=1_000))
        await w.until(lambda: gate.began)
        await w.clock.advance(1_000)
        with pytest.raises(AwaitTimeout):
            await waiting
        assert (await w.session.info()).status == "busy"
        async with w.session.subscribe() as rest:
            gate.open("c")
            assert (await collect(rest, events.Finished))[-1].stop_reason == "stop"


async def test_st_3_a_wait_never_hangs_on_a_dead_session():
    gate = Gate()
    async with world([tool_call("gate", id="c")], tools=[gate]) as w:
        waiting = asyncio.get_running_loop().create_task(w.session.await_prompt("go"))
        await w.until(lambda: gate.began)
        await w.session.stop()
        assert (await waiting).stop_reason == "stopped"
        for ask in (w.session.await_prompt("x"), w.session.prompt("x"), w.session.snapshot(), w.session.steer("x")):
            with pytest.raises(SessionDown):
                await ask
        assert [event async for event in w.session.subscribe()] == []


async def test_di_1_batches_run_in_their_order_and_readers_together_at_the_end():
    alone, readers = Gate("alone"), parallel()
    script = [
        tool_calls([call("gate", "r1"), call("alone", "x1"), call("gate", "r2"), call("alone", "x2")]),
        complete("ok"),
    ]
    async with world(script, tools=[alone, readers]) as w:
        await w.session.prompt("go")
        await w.until(lambda: alone.began == ["x1"])
        assert readers.began == []
        alone.open("x1")
        await w.until(lambda: alone.began == ["x1", "x2"])
        assert readers.began == []
        alone.open("x2")
        await w.until(lambda: readers.began == ["r1", "r2"])
        readers.open("r2")
        await w.until(lambda: len(w.of("tool_result")) == 3)
        assert len(w.provider.requests) == 1
        readers.open("r1")
        await w.until(lambda: len(w.provider.requests) == 2)
        assert [r["call_id"] for r in w.of("tool_result")] == ["x1", "x2", "r2", "r1"]


async def test_di_2_results_are_written_as_they_finish_and_all_before_the_next_request():
    readers = parallel()
    script = [tool_calls([call("gate", id) for id in "abc"]), complete("ok")]
    async with world(script, tools=[readers]) as w:
        await w.session.prompt("go")
        await w.until(lambda: len(readers.began) == 3)
        for n, id in enumerate("cab", 1):
            assert len(w.provider.requests) == 1
            readers.open(id)
            await w.until(lambda n=n: len(w.of("tool_result")) == n)
        await settle()
        assert [e.payload["call_id"] for e in w.provider.requests[1].entries if e.type == "tool_result"] == list("cab")


async def test_di_3_arguments_that_did_not_decode_never_run():
    async with world([invalid_tool_call("echo", id="c"), complete("ok")], tools=[Echo()]) as w:
        await w.session.await_prompt("go")
        (result,) = w.of("tool_result")
        assert result["outcome"] == "invalid_arguments" and "one JSON object" in result["output"]


async def test_di_3_a_call_cut_off_at_the_output_limit_is_told_to_write_smaller_pieces():
    gate = Gate("write")
    script = [
        invalid_tool_call("write", '{"path":"a.txt","content":"hel', id="c", finish_reason="length"),
        complete("ok"),
    ]
    async with world(script, tools=[gate]) as w:
        await w.session.await_prompt("go")
        (result,) = w.of("tool_result")
        assert result["outcome"] == "invalid_arguments"
        assert "output limit" in result["output"] and "smaller" in result["output"]
        assert gate.began == []
        assert_valid_transcript(w.entries)


async def test_di_3_an_unknown_tool_is_answered_with_the_names_there_are():
    async with world([tool_call("nope"), complete("ok")], tools=[Echo()]) as w:
        await w.session.await_prompt("go")
        (result,) = w.of("tool_result")
        assert result["outcome"] == "unavailable" and "echo" in result["output"]


async def test_di_5_a_crash_still_yields_a_result_and_no_secret():
    """DI-5, D-9: the text of what a tool raised may hold a key."""

    class Breaks(Echo):
        name = "breaks"

        async def run(self, args, context):
            raise RuntimeError("sk-secret")

    async with world([tool_call("breaks"), complete("ok")], tools=[Breaks()]) as w:
        await w.session.await_prompt("go")
        (result,) = w.of("tool_result")
        assert result["outcome"] == "crashed" and "RuntimeError" in result["output"]
        assert "sk-secret" not in str(w.entries)


async def test_d_17_a_tool_that_raises_cancelled_error_by_itself_leaves_no_zombiecall():
    class Cancels(Echo):
        name = "cancels"

        async def run(self, args, context):
            raise asyncio.CancelledError

    async with world([tool_call("cancels"), complete("ok")], tools=[Cancels()]) as w:
        assert (await w.session.await_prompt("go")).text == "ok"
        assert len(w.of("tool_result")) == 1


async def test_evt_5_output_of_a_running_tool_is_told_and_not_kept_twice():
    class Streams(Echo):
        name = "streams"

        async def run(self, args, context):
            yield "one "
            yield "two"

    async with world([tool_call("streams", id="c"), complete("ok")], tools=[Streams()]) as w:
        done = await prompt(w.session, "go")
        told = [e for e in done.events if isinstance(e, events.ToolDelta)]
        assert [(e.call_id, e.name, e.text) for e in told] == [("c", "streams", "one "), ("c", "streams", "two")]
        assert w.of("tool_result")[0]["output"] == "one two"


async def test_bu_1_max_turns_ends_a_prompt_after_its_results_are_written():
    script = [tool_call("echo", {"text": str(n)}) for n in range(5)]
    async with world(script, tools=[Echo()], max_turns=2) as w:
        result = await w.session.await_prompt("go")
        assert result.stop_reason == "max_turns" and "2 turns" in result.error.message
        assert len(w.provider.requests) == 2 and len(w.of("tool_result")) == 2
        assert w.types()[-1] == "error"
        assert (await w.session.await_prompt("more")).stop_reason == "max_turns"
        assert len(w.provider.requests) == 4, "turns are counted for each prompt"


async def test_opt_37_max_requests_bounds_the_session_and_nothing_is_sent_beyond_it():
    async with world([complete("1"), complete("2"), complete("3")], max_requests=2) as w:
        await w.session.await_prompt("a")
        await w.session.await_prompt("b")
        result = await prompt(w.session, "c")
        assert result.events[-1] == events.Finished(
            stop_reason="budget", detail={"kind": "requests", "used": 2, "limit": 2}
        )
        assert len(w.provider.requests) == 2
        info = await w.session.info()
        assert (info.requests, info.max_requests) == (2, 2)


async def test_gu_4_a_circle_ends_the_prompt_and_a_new_prompt_starts_afresh():
    script = [tool_call("echo", {"text": "x"}) for _ in range(8)]
    async with world(script, tools=[Echo()]) as w:
        result = await w.session.await_prompt("go")
        assert result.stop_reason == "no_progress" and "3 times" in result.error.message
        assert len(w.provider.requests) == 3
        assert w.types()[-1] == "error"
        assert (await w.session.await_prompt("again")).stop_reason == "no_progress"
        assert len(w.provider.requests) == 6


async def test_gu_1_gu_4_a_hosts_guard_is_asked_once_a_wave_and_cannot_lift_max_turns():
    """GU-1, GU-4."""
    views = []

    class Mine:
        def decide(self, view):
            views.append(view)
            return Continue()

    script = [tool_call("echo", {"text": "x"}) for _ in range(6)]
    async with world(script, tools=[Echo()], guard=Mine(), max_turns=5) as w:
        result = await w.session.await_prompt("go")
        assert result.stop_reason == "max_turns"
        assert [view.turns_taken for view in views] == [1, 2, 3, 4, 5]
        assert views[-1].repeats == 5


async def test_gu_4_a_guards_own_word_is_the_stop_reason():
    class Bored:
        def decide(self, view):
            return Stop("bored", "Enough of this.")

    async with world([tool_call("echo")], tools=[Echo()], guard=Bored()) as w:
        result = await w.session.await_prompt("go")
        assert result.stop_reason == "bored" and result.error.message == "Enough of this."
        assert w.of("error")[0]["reason"] == "Enough of this."


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter", "refusal"])
async def test_stop_reasons_of_the_provider_are_passed_on(reason):
    async with world([complete("Hm.", finish_reason=reason)]) as w:
        assert (await w.session.await_prompt("go")).stop_reason == reason


async def test_evt_25_a_failed_turn_is_written_told_and_over():
    async with world([http_error(401, message="the key was refused")]) as w:
        done = await prompt(w.session, "go")
        assert [e.type for e in done.events][-6:] == ["entry", "error", "entry", "run_evidence", "context", "finished"]
        told = done.events[-5]
        assert (told.reason, told.category, told.http_status) == ("the key was refused", "auth", 401)
        assert done.stop_reason == "error"
        (error,) = w.of("error")
        assert error["http_status"] == 401 and error["request_id"] == w.of("request")[0]["id"]


async def test_evt_20_an_unknown_window_is_told_before_a_models_first_request_and_only_then():
    """EVT-20, D-20: never at the start, before anyone listens."""
    async with world([complete("a"), complete("b"), complete("c")], context_window_fallback=99) as w:
        told = [
            [e for e in (await prompt(w.session, "go")).events if isinstance(e, events.ContextWindowUnknown)]
            for _ in range(2)
        ]
        await w.session.set_model("scripted:other")
        told.append([e for e in (await prompt(w.session, "go")).events if isinstance(e, events.ContextWindowUnknown)])
    first = events.ContextWindowUnknown(model="scripted:m", fallback=99)
    assert told == [[first], [], [events.ContextWindowUnknown(model="scripted:other", fallback=99)]]


async def test_evt_13_the_position_is_told_before_finished_with_what_was_measured():
    usage = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=40)
    async with world([complete("a", usage=usage)], context_window=1_000) as w:
        done = await prompt(w.session, "go")
        position = done.events[-2]
        assert (position.tokens, position.window, position.measured) == (120, 1_000, True)
        assert position.fraction == pytest.approx(0.12)
        assert position.current == {"input": 100, "cached": 40, "cache_write": 0, "output": 20}
        info = await w.session.info()
        assert info.context == position and info.context_window_known


async def test_thinking_is_kept_with_what_the_provider_wants_back():
    details = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    async with world([thinking("hm", "Yes.", reasoning_details=details)]) as w:
        done = await prompt(w.session, "go")
        assert any(isinstance(e, events.ThinkingDelta) for e in done.events)
        (answer,) = w.of("assistant")
        assert answer["reasoning_details"] == details
        assert answer["content"] == [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "Yes."}]


async def test_met_18_a_model_change_is_recorded_and_told_and_refused_while_busy():
    gate = Gate()
    async with world([tool_call("gate", id="c"), complete("ok"), complete("new")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        with pytest.raises(Busy):
            await w.session.set_model("scripted:b")
        async with w.session.subscribe() as heard:
            gate.open("c")
            await collect(heard, events.Finished)
            await w.session.set_model("scripted:b")
            entry, changed = heard.get_nowait_all()
        assert changed == events.ModelChanged(previous="scripted:m", current="scripted:b")
        assert entry.entry.type == "session" and entry.entry.payload["model"] == "scripted:b"
        await w.session.await_prompt("go")
        assert w.provider.requests[-1].model == "scripted:b"


async def test_met_15_met_16_what_a_session_says_of_itself():
    """MET-15, MET-16."""
    async with world([complete("a", usage=Usage(input_tokens=2, output_tokens=1, cost_usd=0.5))], tools=[Echo()]) as w:
        await w.session.steer("later")
        before = await w.session.info()
        assert (before.model, before.provider, before.tools) == ("scripted:m", "Scripted", ["echo"])
        assert before.queued_steers == ["later"] and before.requests == 0 and before.spent_usd == 0.0
        await w.session.await_prompt("go")
        after = await w.session.snapshot()
        assert after.entries == w.entries
        assert after.spent_usd == after.inclusive_spent_usd == 0.5 and after.usage["total"] == after.usage["direct"]
        assert after.usage["total"].input_tokens == 2 and after.usage["delegated"] == Usage(cost_usd=0.0)
        assert after.runtime == w.runtime.name and after.reasoning_effort == "default"


@pytest.mark.parametrize("nothing", ["", " \n", None, 7])
async def test_a_prompt_or_a_steer_without_words_is_refused_and_leaves_no_trace(nothing):
    async with world([complete("a")]) as w:
        for ask in (w.session.prompt(nothing), w.session.steer(nothing)):
            with pytest.raises(ConfigError):
                await ask
        assert w.types() == ["session"] and (await w.session.info()).queued_steers == []


async def test_cw_1_what_a_provider_says_of_its_window_is_what_the_session_knows():
    async with world([[ContextWindow(4_096), *complete("a")], stated_context_limit(2_000)]) as w:
        await w.session.await_prompt("go")
        assert (await w.session.info()).context.window == 4_096
        await w.session.set_model("scripted:other")
        assert not (await w.session.info()).context_window_known
        assert (await w.session.await_prompt("go")).error.category == "context_limit"
        assert (await w.session.info()).context.window == 2_000
