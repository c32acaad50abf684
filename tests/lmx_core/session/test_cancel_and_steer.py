"""Cancelling at any point, and words for a model that is already at work."""

from __future__ import annotations

import asyncio

import pytest
from support.sessions import Asks, Echo, Gate, Stuck, call, parallel, world

from lmx_core import Allow, AlreadySent, Cancelled, Pending, UnknownCall, events
from lmx_core.calls import Effects
from lmx_core.providers.scripted import complete, delayed, http_error, tool_call, tool_calls
from lmx_core.request import Done, Message, TextDelta
from lmx_core.testing import assert_valid_transcript, collect, prompt
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio


class Talks:
    """A provider that says what it is told to, when it is told to."""

    def __init__(self):
        self.requests, self.emit, self._go = [], None, asyncio.Event()

    async def run(self, request, emit):
        self.requests.append(request)
        self.emit = emit
        await self._go.wait()


async def begun(w, text="go"):
    await w.session.prompt(text)
    await w.until(lambda: w.provider.requests)
    await settle()


async def test_met_5_cancelling_keeps_the_text_so_far_and_later_requests_include_it():
    """MET-5, TR-8."""
    provider = Talks()
    async with world(provider=provider) as w, w.session.subscribe() as heard:
        await begun(w)
        provider.emit(TextDelta("Half an "))
        provider.emit(TextDelta("answer"))
        await w.session.cancel()
        told = [e.type for e in heard.get_nowait_all()]
        assert told[-8:-4] == ["text_delta", "text_delta", "entry", "entry"]
        assert told[-4:] == ["entry", "run_evidence", "context", "finished"]
        assert w.types()[-2:] == ["assistant", "cancelled"]
        (answer,) = w.of("assistant")
        assert answer["content"] == [{"type": "text", "text": "Half an answer"}] and "partial" not in answer
        assert w.of("cancelled") == [{"reason": "cancelled"}]
        await w.session.prompt("on")
        await w.until(lambda: len(provider.requests) == 2)
        assert [e.type for e in provider.requests[1].entries] == ["user", "assistant", "user"]


async def test_d_3_what_a_provider_says_after_a_cancel_reaches_nobody():
    provider = Talks()
    async with world(provider=provider) as w:
        await begun(w)
        late = provider.emit
        await w.session.cancel()
        async with w.session.subscribe() as heard:
            await w.session.prompt("next")
            await w.until(lambda: len(provider.requests) == 2)
            late(TextDelta("ghost"))
            late(Message(content=[{"type": "text", "text": "ghost"}]))
            late(Done("stop"))
            await settle()
            assert "text_delta" not in [e.type for e in heard.get_nowait_all()]
        assert "ghost" not in str(w.entries)
        assert (await w.session.info()).status == "busy"


async def test_se_1_an_answer_that_is_whole_when_the_cancel_comes_is_not_lost():
    provider = Talks()
    async with world(provider=provider) as w:
        await begun(w)
        provider.emit(TextDelta("All of it."))
        cancelling = asyncio.get_running_loop().create_task(w.session.cancel())
        await asyncio.sleep(0)
        provider.emit(Done("stop"))
        await cancelling
        assert w.of("assistant")[0]["content"] == [{"type": "text", "text": "All of it."}]


async def test_met_5_every_unfinished_call_is_answered_once_and_the_finished_keep_theirs():
    """MET-5, C14: the next request holds each call id with exactly one result, right after it."""
    readers = parallel()
    script = [tool_calls([call("gate", id) for id in "abc"]), complete("ok")]
    async with world(script, tools=[readers]) as w:
        await w.session.prompt("go")
        await w.until(lambda: len(readers.began) == 3)
        readers.open("b")
        await w.until(lambda: len(w.of("tool_result")) == 1)
        await w.session.cancel()
        await settle()
        assert sorted(readers.cancelled) == ["a", "c"]
        outcomes = {r["call_id"]: r["outcome"] for r in w.of("tool_result")}
        assert outcomes == {"a": "cancelled", "b": "ok", "c": "cancelled"}
        assert all("may have run in part" in r["output"] for r in w.of("tool_result") if r["call_id"] != "b")
        assert_valid_transcript(w.entries)
        await w.session.await_prompt("continue")
        assert [e.type for e in w.provider.requests[1].entries] == [
            "user",
            "assistant",
            "tool_result",
            "tool_result",
            "tool_result",
            "user",
        ]


async def test_a_call_whose_turn_had_not_come_is_cancelled_and_never_ran():
    gate = Gate()
    async with world([tool_calls([call("gate", "a"), call("gate", "b")])], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.cancel()
        await settle()
        assert gate.began == ["a"]
        first, second = w.of("tool_result")
        assert "may have run in part" in first["output"] and "may have run in part" not in second["output"]


async def test_se_8_d_18_a_thread_that_cannot_be_killed_leaves_its_outcome_unknown():
    """SE-8, D-18."""
    stuck = Stuck()
    async with world([tool_call("stuck"), complete("ok")], tools=[stuck]) as w:
        await w.session.prompt("go")
        await w.until(stuck.began.is_set)
        await w.session.cancel()
        assert w.of("tool_result")[0]["outcome"] == "unknown"
        stuck.release.set()
        await settle()
        assert "late" not in str(w.entries)


async def test_se_8_a_read_only_thread_is_cancelled():
    stuck = Stuck(effects=Effects(effect="read"))
    async with world([tool_call("stuck"), complete("ok")], tools=[stuck]) as w:
        await w.session.prompt("go")
        await w.until(stuck.began.is_set)
        await w.session.cancel()
        assert w.of("tool_result")[0]["outcome"] == "cancelled"
        stuck.release.set()


async def test_met_5_cancel_in_the_middle_of_a_backoff():
    async with world([http_error(503), complete("never")]) as w:
        await w.session.prompt("go")
        await w.until(lambda: w.clock.pending())
        await w.session.cancel()
        await w.clock.advance(60_000)
        assert len(w.provider.requests) == 1
        assert w.types()[-1] == "cancelled"


async def test_met_5_cancel_while_a_request_hook_thinks():
    asked = asyncio.Event()

    async def slow(request, context):
        asked.set()
        await asyncio.Event().wait()

    async with world([complete("never")], hooks=[("prepare_next_turn", slow)]) as w:
        await w.session.prompt("go")
        await asked.wait()
        await w.session.cancel()
        assert w.types() == ["session", "user", "cancelled"] and not w.provider.requests


async def test_met_5_cancel_while_a_stop_hook_thinks():
    asked = asyncio.Event()

    async def slow(reason, context):
        asked.set()
        await asyncio.Event().wait()

    async with world([complete("Done.")], hooks=[("stop", slow)]) as w:
        await w.session.prompt("go")
        await asked.wait()
        await w.session.cancel()
        assert w.types()[-2:] == ["assistant", "cancelled"]


async def test_met_1_cancel_while_a_prompt_hook_thinks_means_it_never_began():
    asked, given_up = asyncio.Event(), asyncio.Event()

    async def slow(text, context):
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    async with world([complete("never")], hooks=[("user_prompt", slow)]) as w, w.session.subscribe() as heard:
        prompting = asyncio.get_running_loop().create_task(w.session.prompt("go"))
        await asked.wait()
        await w.session.cancel()
        with pytest.raises(Cancelled):
            await prompting
        await w.until(given_up.is_set)
        assert w.types() == ["session"] and heard.get_nowait_all() == []
        assert (await w.session.info()).status == "idle"


async def test_di_4_cancel_while_a_call_is_parked_withdraws_the_question():
    """DI-4, D-6: a late answer approves nothing."""

    async def ask(asked, context):
        return Pending()

    async with world(
        [tool_call("echo", id="c"), complete("ok")], tools=[Echo()], hooks=[("before_tool_call", ask)]
    ) as w:
        await w.session.prompt("go")
        assert await w.until_parked() == "c"
        await w.session.cancel()
        assert (await w.session.info()).pending == []
        with pytest.raises(UnknownCall):
            await w.session.resolve_tool("c", Allow())
        (result,) = w.of("tool_result")
        assert result["outcome"] == "cancelled" and "may have run" not in result["output"]
        assert [a["status"] for a in w.of("approval")] == ["pending"]
        assert w.clock.pending() == []


async def test_met_5_an_idle_session_has_nothing_to_cancel():
    async with world([complete("ok")]) as w, w.session.subscribe() as heard:
        await w.session.cancel()
        assert heard.get_nowait_all() == [] and w.types() == ["session"]


async def test_met_5_a_host_may_give_its_own_reason():
    gate = Gate()
    async with world([tool_call("gate")], tools=[gate]) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.cancel("budget_of_the_host")
        assert heard.get_nowait_all()[-1] == events.Finished(stop_reason="budget_of_the_host")
        assert w.of("cancelled") == [{"reason": "budget_of_the_host"}]


async def test_a_tool_may_cancel_its_own_session():
    class Suicide(Echo):
        name = "suicide"

        async def run(self, args, context):
            await context.session.cancel()

    async with world([tool_call("suicide"), complete("ok")], tools=[Suicide()]) as w:
        assert (await w.session.await_prompt("go")).stop_reason == "cancelled"
        assert_valid_transcript(w.entries)


@pytest.mark.parametrize("turns", range(0, 60, 3))
async def test_met_5_wherever_the_cancel_falls_there_is_one_end_and_every_call_is_answered(turns):
    """MET-5, EVT-26: exactly one `finished` for each prompt."""
    script = [
        delayed(0, tool_calls([call("echo", "a", text="1"), call("echo", "b", text="2")], text="Looking.")),
        complete("Done."),
        complete("Again."),
    ]
    async with world(script, tools=[Echo()]) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        for _ in range(turns):
            await asyncio.sleep(0)
        await w.session.cancel()
        await settle()
        ends = [e for e in heard.get_nowait_all() if isinstance(e, events.Finished)]
        assert len(ends) == 1 and ends[0].stop_reason in ("cancelled", "stop")
        assert_valid_transcript(w.entries)
        assert (await w.session.await_prompt("more")).error is None
        assert_valid_transcript(w.entries)


# -- steering


async def test_met_2_a_steer_joins_after_the_results_of_the_wave_at_work():
    gate = Gate()
    async with world([tool_call("gate", id="c"), complete("ok")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.steer("and quickly")
        await w.session.steer("please")
        assert (await w.session.info()).queued_steers == ["and quickly", "please"]
        gate.open("c")
        await w.until(lambda: len(w.provider.requests) == 2)
        sent = w.provider.requests[1].entries
        assert [e.type for e in sent] == ["user", "assistant", "tool_result", "user", "user"]
        assert [e.payload["text"] for e in sent[3:]] == ["and quickly", "please"]


async def test_met_2_a_steer_never_changes_a_request_in_flight_and_turns_a_final_answer_into_one_more_request():
    provider = Talks()
    async with world(provider=provider) as w:
        await begun(w)
        first = provider.requests[0]
        await w.session.steer("one more thing")
        assert [e.type for e in first.entries] == ["user"]
        provider.emit(TextDelta("Done."))
        provider.emit(Done("stop"))
        await w.until(lambda: len(provider.requests) == 2)
        assert [e.type for e in provider.requests[1].entries] == ["user", "assistant", "user"]


async def test_met_2_an_idle_steer_waits_for_the_next_prompt():
    async with world([complete("ok")]) as w:
        await w.session.steer("remember the tests")
        await settle()
        assert not w.provider.requests
        await w.session.await_prompt("go")
        assert [e.payload["text"] for e in w.provider.requests[0].entries] == ["go", "remember the tests"]


async def test_met_3_a_steer_can_be_taken_back_until_it_is_sent():
    gate = Gate()
    async with world([tool_call("gate", id="c"), complete("ok")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.steer("no")
        await w.session.revoke_steer("no")
        with pytest.raises(AlreadySent):
            await w.session.revoke_steer("no")
        gate.open("c")
        await w.until(lambda: len(w.provider.requests) == 2)
        assert "no" not in [e.payload.get("text") for e in w.provider.requests[1].entries]


async def test_met_2_a_steer_that_cannot_be_sent_is_given_back_before_the_end():
    gate = Gate()
    async with world([tool_call("gate", id="c")], tools=[gate], max_turns=1) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.steer("too late")
        gate.open("c")
        told = await collect(heard, events.Finished)
        assert [e.type for e in told][-3:] == ["steer_dropped", "context", "finished"]
        assert told[-3].text == "too late" and told[-1].stop_reason == "max_turns"
        assert "too late" not in str(w.entries)
        assert (await w.session.info()).queued_steers == []


async def test_met_2_a_steer_after_the_last_answer_of_spent_turns_does_not_change_its_stop_reason():
    provider = Talks()
    async with world(provider=provider, max_turns=1) as w, w.session.subscribe() as heard:
        await begun(w)
        await w.session.steer("more")
        provider.emit(TextDelta("Done."))
        provider.emit(Done("stop"))
        told = await collect(heard, events.Finished)
        assert told[-1].stop_reason == "stop" and told[-3] == events.SteerDropped(text="more")


async def test_met_2_a_steer_that_arrives_with_the_last_word_is_not_lost():
    provider = Talks()
    async with world(provider=provider) as w:
        await begun(w)

        async def at_once():
            provider.emit(Done("stop"))
            await w.session.steer("one more")

        await at_once()
        await w.until(lambda: len(provider.requests) == 2)


async def test_met_2_stop_hooks_are_not_asked_about_an_answer_that_is_not_the_last():
    provider, asked = Talks(), []

    async def note(reason, context):
        asked.append(reason)
        return Allow()

    async with world(provider=provider, hooks=[("stop", note)]) as w:
        await begun(w)
        await w.session.steer("more")
        provider.emit(Done("stop"))
        await w.until(lambda: len(provider.requests) == 2)
        assert asked == []


async def test_met_2_a_steer_said_while_a_stop_hook_thinks_is_not_lost():
    async def talkative(reason, context):
        if not (await context.session.info()).requests > 1:
            await context.session.steer("wait, also this")
        return Allow()

    async with world([complete("Done."), complete("That too.")], hooks=[("stop", talkative)]) as w:
        assert (await w.session.await_prompt("go")).text == "That too."


async def test_met_2_a_steer_during_a_backoff_is_in_the_next_attempt():
    async with world([http_error(503), complete("ok")]) as w:
        await w.session.prompt("go")
        await w.until(lambda: w.clock.pending())
        await w.session.steer("also")
        await w.clock.advance(2_000)
        assert [e.payload["text"] for e in w.provider.requests[1].entries] == ["go", "also"]


async def test_asking_a_person_does_not_hold_up_the_session():
    async with world([tool_call("asks", id="c"), complete("ok")], tools=[Asks()]) as w:
        await w.session.prompt("go")
        await w.until_parked()
        await w.session.answer("c", "the second")
        await w.until(lambda: len(w.provider.requests) == 2)
        assert w.of("tool_result")[0]["output"] == "they said the second"


async def test_the_kit_and_await_prompt_agree():
    async with world([complete("a"), complete("b")]) as w:
        one, two = await prompt(w.session, "x"), await w.session.await_prompt("y")
        assert [e.type for e in one.entries if e.type != "harness_snapshot"] == [e.type for e in two.entries]
