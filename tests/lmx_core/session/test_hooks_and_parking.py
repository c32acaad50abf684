"""Hooks at every point, and calls that wait for a person."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest
from support.sessions import Asks, Echo, Gate, call, parallel, world

from lmx_core import Allow, Deny, Feedback, HookDenied, HookFailed, InvalidAnswer, Pending, Rewrite, UnknownCall, events
from lmx_core.calls import Runtime as HowRun
from lmx_core.clock import FOREVER
from lmx_core.providers.scripted import complete, http_error, tool_call, tool_calls
from lmx_core.testing import assert_valid_transcript, collect, prompt
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio


def says(answer):
    async def hook(*_):
        return answer

    return hook


async def test_hp_1_hp_9_sessions_tell_their_beginning_and_their_end():
    """HP-1, HP-9, SE-7, RS-1."""
    told = []
    hooks = [
        ("session_start", lambda what, ctx: told.append(what)),
        ("session_end", lambda what, ctx: told.append(what)),
    ]
    async with world([complete("a")], hooks=hooks) as w:
        await w.session.await_prompt("go")
    async with world(resume=w, script=[], hooks=hooks):
        pass
    assert told == [{"source": "startup"}, "stopped", {"source": "resume"}, "stopped"]


async def test_hp_1_a_watcher_that_fails_or_hangs_holds_up_nobody():
    def fails(what, ctx):
        raise RuntimeError

    async with world([complete("a")], hooks=[("session_start", fails), ("session_end", fails)]) as w:
        assert (await w.session.await_prompt("go")).text == "a"


async def test_hp_9_a_session_end_hook_that_hangs_is_left_behind_after_its_time():
    hangs = asyncio.Event()

    async def hang(what, ctx):
        hangs.set()
        await asyncio.Event().wait()

    async with world([], hooks=[("session_end", hang)]) as w, w.session.subscribe() as heard:
        stopping = asyncio.get_running_loop().create_task(w.session.stop())
        await hangs.wait()
        assert not stopping.done()
        await w.clock.advance(10_000)
        await stopping
        assert heard.get_nowait_all()[-1] == events.Down(reason="stopped")


async def test_hp_9_a_watcher_that_hangs_for_ever_lets_nothing_begin_once_the_session_is_over():
    hangs, late = asyncio.Event(), []

    async def hang(what, ctx):
        hangs.set()
        await asyncio.Event().wait()

    async with world([], hooks=[("session_start", hang), ("session_end", lambda what, ctx: late.append(what))]) as w:
        await hangs.wait()
        stopping = asyncio.get_running_loop().create_task(w.session.stop())
        await settle()
        await w.clock.advance(10_000)
        await stopping
        await settle()
        assert late == [] and w.session.down == "stopped"


async def test_hp_3_a_prompt_may_be_rewritten_refused_or_fail():
    async with world([complete("a")], hooks=[("user_prompt", says(Rewrite("better")))]) as w:
        await w.session.await_prompt("good")
        assert w.of("user") == [{"text": "better"}]
    async with world([], hooks=[("user_prompt", says(Deny("not today")))]) as w:
        with pytest.raises(HookDenied, match="not today"):
            await w.session.prompt("x")
        assert w.types() == ["session"] and (await w.session.info()).status == "idle"

    def crashes(text, ctx):
        raise RuntimeError("sk-secret")

    async with world([], hooks=[("user_prompt", crashes)]) as w:
        with pytest.raises(HookFailed) as caught:
            await w.session.prompt("x")
        assert "sk-secret" not in str(caught.value)


async def test_hp_4_a_request_may_be_replaced_before_it_is_sent_and_is_recorded_as_sent():
    def other(request, ctx):
        return msgspec.structs.replace(request, system="Be brief.", params={"temperature": 0.5})

    async with world([complete("a")], hooks=[("prepare_next_turn", other)]) as w:
        await w.session.await_prompt("go")
        assert w.provider.requests[0].system == "Be brief."
        assert w.of("request")[0]["system"] == "Be brief." and w.of("request")[0]["params"] == {"temperature": 0.5}


@pytest.mark.parametrize("hook", [says(Deny("over budget")), says("nonsense")])
async def test_hp_4_a_refused_request_is_an_error_and_hook_failed(hook):
    async with world([complete("a")], hooks=[("prepare_next_turn", hook)]) as w:
        result = await w.session.await_prompt("go")
        assert result.stop_reason == "hook_failed" and not w.provider.requests
        assert w.types()[-1] == "error" and result.error.code == "hook_failed"


async def test_hp_5_hk_2_a_denied_call_is_a_result_the_model_reads():
    """HP-5, HK-2."""
    async with world(
        [tool_call("echo"), complete("a")], tools=[Echo()], hooks=[("before_tool_call", says(Deny("no")))]
    ) as w:
        await w.session.await_prompt("go")
        (result,) = w.of("tool_result")
        assert (result["outcome"], result["output"]) == ("denied", "denied: no")
        assert result["decision"]["verdict"] == "deny"


async def test_hp_5_hk_1_rewrites_are_threaded_and_recorded():
    """HP-5, HK-1, TR-7."""
    seen = []

    def second(asked, ctx):
        seen.append(asked.arguments)
        return Allow()

    hooks = [("before_tool_call", says(Rewrite({"text": "b"}))), ("before_tool_call", second)]
    async with world([tool_call("echo", {"text": "a"}), complete("ok")], tools=[Echo()], hooks=hooks) as w:
        await w.session.await_prompt("go")
        (result,) = w.of("tool_result")
        assert seen == [{"text": "b"}]
        assert (result["output"], result["arguments"], result["hook_rewritten"]) == ("b", {"text": "b"}, True)
        assert w.of("assistant")[0]["tool_calls"][0]["arguments"] == {"text": "a"}


async def test_hp_5_a_hook_that_crashes_fails_its_call_only():
    def crashes(asked, ctx):
        raise RuntimeError

    hooks = [("before_tool_call", crashes)]
    async with world([tool_call("echo"), complete("ok")], tools=[Echo()], hooks=hooks) as w:
        assert (await w.session.await_prompt("go")).text == "ok"
        assert w.of("tool_result")[0]["outcome"] == "error"


async def test_hp_6_feedback_is_appended_under_its_mark():
    hooks = [("after_tool_call", says(Feedback("lint it")))]
    async with world([tool_call("echo", {"text": "a"}), complete("ok")], tools=[Echo()], hooks=hooks) as w:
        await w.session.await_prompt("go")
        assert w.of("tool_result")[0]["output"] == "a\n[hook]\nlint it"


async def test_hp_7_hk_4_a_stop_hook_sends_the_model_back_and_says_so():
    """HP-7, HK-4."""
    active = []

    def check(reason, ctx):
        active.append((reason, ctx.stop_hook_active))
        return Deny("the tests fail") if len(active) == 1 else Allow()

    async with world([complete("Done."), complete("Now.")], hooks=[("stop", check)]) as w:
        assert (await w.session.await_prompt("go")).text == "Now."
        assert w.of("user") == [{"text": "go"}, {"text": "the tests fail", "stop_hook": True}]
        assert active == [("stop", False), ("stop", True)]


async def test_hk_4_without_turns_left_a_stop_denial_ends_in_max_turns():
    async with world([complete("Done.")], hooks=[("stop", says(Deny("again")))], max_turns=1) as w:
        assert (await w.session.await_prompt("go")).stop_reason == "max_turns"
        assert w.of("user") == [{"text": "go"}]


@pytest.mark.parametrize("hook", [says("nonsense"), says(None)])
async def test_hp_7_what_is_no_decision_lets_the_stop_go_on(hook):
    async with world([complete("Done.")], hooks=[("stop", hook)]) as w:
        assert (await w.session.await_prompt("go")).stop_reason == "stop"


async def test_hp_8_watchers_hear_of_failures():
    heard = []
    async with world(
        [http_error(401, message="refused")], hooks=[("error", lambda why, ctx: heard.append(why.message))]
    ) as w:
        await w.session.await_prompt("go")
        await w.until(lambda: heard == ["refused"])


async def test_hk_3_hooks_get_the_session_and_its_surroundings():
    seen = []

    async def look(text, ctx):
        seen.append((ctx.session_id, ctx.session, ctx.runtime, ctx.cwd, (await ctx.session.info()).status))
        return Allow()

    async with world([complete("a")], hooks=[("user_prompt", look)]) as w:
        await w.session.await_prompt("go")
        assert seen == [(w.session.id, w.session, w.runtime, Path.cwd(), "busy")]
        assert "hooks" not in w.of("session")[0]


async def test_se_8_a_blocking_hook_does_not_hold_the_loop():
    release = threading.Event()

    def blocks(text, ctx):
        release.wait(20)
        return Allow()

    async with world([complete("a")], hooks=[("user_prompt", blocks)]) as w:
        prompting = asyncio.get_running_loop().create_task(w.session.prompt("go"))
        await settle()
        assert (await w.session.info()).status == "busy" and not prompting.done()
        release.set()
        await prompting


# -- parking

ASK = ("before_tool_call", says(Pending({"permission": "bash"})))


async def test_pk_1_evt_7_a_parked_call_is_recorded_told_and_runs_when_it_is_allowed():
    """PK-1, EVT-7, MET-11, HP-2."""
    attention = []
    hooks = [ASK, ("attention", lambda state, ctx: attention.append(state))]
    async with world([tool_call("echo", {"text": "a"}, id="c"), complete("ok")], tools=[Echo()], hooks=hooks) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            told = await collect(heard, events.ToolApproval)
            assert told[-1].call == {"id": "c", "name": "echo", "arguments": {"text": "a"}, "permission": "bash"}
            assert (await w.session.info()).pending == [{"call_id": "c", "kind": "approval", "payload": told[-1].call}]
            await w.session.resolve_tool("c", Allow(approved_by="me"))
            await collect(heard, events.Finished)
        assert [(a["status"], a["call_id"], a["kind"]) for a in w.of("approval")] == [
            ("pending", "c", "approval"),
            ("allowed", "c", "approval"),
        ]
        assert w.of("tool_result")[0]["output"] == "a"
        await w.until(lambda: len(attention) == 2)
        assert attention == [{"state": "waiting", "call_id": "c", "kind": "approval"}, {"state": "working"}]


async def test_pk_1_details_of_a_hook_cannot_disguise_the_call():
    lying = ("before_tool_call", says(Pending({"id": "x", "name": "harmless", "arguments": {}})))
    async with world([tool_call("echo", {"text": "rm"}, id="c"), complete("ok")], tools=[Echo()], hooks=[lying]) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            asked = (await collect(heard, events.ToolApproval))[-1].call
        assert (asked["id"], asked["name"], asked["arguments"]) == ("c", "echo", {"text": "rm"})


async def test_pk_1_a_hook_that_asked_and_rewrote_shows_and_runs_the_rewritten_call():
    hooks = [("before_tool_call", says(Rewrite({"text": "safe"}))), ASK]
    async with world([tool_call("echo", {"text": "rm"}, id="c"), complete("ok")], tools=[Echo()], hooks=hooks) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            assert (await collect(heard, events.ToolApproval))[-1].call["arguments"] == {"text": "safe"}
            await w.session.resolve_tool("c", Allow())
            await collect(heard, events.Finished)
        assert w.of("tool_result")[0]["output"] == "safe"


async def test_pk_1_a_person_may_refuse_or_rewrite():
    async with world(
        [tool_calls([call("echo", "a"), call("echo", "b")]), complete("ok")], tools=[Echo()], hooks=[ASK]
    ) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            await w.until_parked()
            await settle()
            await w.session.resolve_tool("a", Deny("too risky"))
            await w.session.resolve_tool("b", Rewrite({"text": "gently"}))
            await collect(heard, events.Finished)
        results = {r["call_id"]: r for r in w.of("tool_result")}
        assert results["a"]["output"] == "denied: too risky"
        assert results["b"]["output"] == "gently" and results["b"]["hook_rewritten"]
        statuses = [(a["call_id"], a["status"]) for a in w.of("approval")]
        assert statuses[2:] == [("a", "denied"), ("b", "rewritten")]


async def test_pk_1_one_decision_counts_whichever_host_is_first():
    async with world([tool_call("echo", id="c"), complete("ok")], tools=[Echo()], hooks=[ASK]) as w:
        await w.session.prompt("go")
        await w.until_parked()
        answers = await asyncio.gather(
            w.session.resolve_tool("c", Allow()), w.session.resolve_tool("c", Deny("x")), return_exceptions=True
        )
        assert answers[0] is None and isinstance(answers[1], UnknownCall)
        await settle()
        assert [a["status"] for a in w.of("approval")] == ["pending", "allowed"]


@pytest.mark.parametrize("nonsense", [True, "yes", None, Pending(), Rewrite("text")])
async def test_pk_3_nothing_but_a_decision_allows_and_the_call_waits_on(nonsense):
    async with world([tool_call("echo", id="c"), complete("ok")], tools=[Echo()], hooks=[ASK]) as w:
        await w.session.prompt("go")
        await w.until_parked()
        for attempt in (w.session.resolve_tool("c", nonsense), w.session.answer("c", "yes")):
            with pytest.raises(InvalidAnswer):
                await attempt
        assert (await w.session.info()).pending


async def test_met_11_what_does_not_wait_cannot_be_answered():
    async with world([complete("ok")]) as w:
        for attempt in (w.session.resolve_tool("c", Allow()), w.session.answer("c", "x"), w.session.park("c", "q", {})):
            with pytest.raises(UnknownCall):
                await attempt


async def test_pk_2_tk_2_nobody_answering_is_a_refusal_exactly_when_the_time_is_up():
    """PK-2, TK-2."""
    async with world([tool_call("echo", id="c"), complete("ok")], tools=[Echo()], hooks=[ASK]) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            await w.until_parked()
            await w.clock.advance(299_999)
            assert (await w.session.info()).pending
            await w.clock.advance(1)
            await collect(heard, events.Finished)
        (result,) = w.of("tool_result")
        assert result["outcome"] == "denied" and "Nobody answered" in result["output"]
        assert [a["status"] for a in w.of("approval")] == ["pending", "timed_out"]


class Bell:
    """A clock whose timers cannot be taken back in time: they ring when they are told to."""

    def __init__(self):
        self.ringing = []

    def now_ms(self):
        return 1_764_500_000_000

    def call_later(self, ms, callback):
        self.ringing.append((ms, callback))
        return self

    def cancel(self):
        pass


async def test_pk_1_an_answer_just_before_the_time_is_up_is_the_one_that_counts():
    bell = Bell()
    async with world([tool_call("echo", id="c"), complete("ok")], tools=[Echo()], hooks=[ASK], clock=bell) as w:
        await w.session.prompt("go")
        await w.until_parked()
        await w.session.resolve_tool("c", Allow())
        for ms, callback in bell.ringing:
            if ms == 300_000:
                callback()
        await w.until(lambda: len(w.provider.requests) == 2)
        assert [a["status"] for a in w.of("approval")] == ["pending", "allowed"]
        assert w.session.down is None


async def test_pk_2_forever_never_times_out():
    async with world([tool_call("echo", id="c")], tools=[Echo()], hooks=[ASK], approval_timeout_ms=FOREVER) as w:
        await w.session.prompt("go")
        await w.until_parked()
        assert w.clock.pending() == [] or min(w.clock.pending()) >= 3_600_000
        await w.clock.advance(10**9)
        assert (await w.session.info()).pending


async def test_pk_2_evt_8_met_12_a_question_is_told_answered_and_times_out_as_an_error():
    """PK-2, EVT-8, MET-12, MET-13."""
    script = [tool_call("asks", id="c"), tool_call("asks", id="d"), complete("ok")]
    async with world(script, tools=[Asks()]) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            asked = (await collect(heard, events.Question))[-1]
            assert (asked.call_id, asked.payload) == ("c", {"question": "which?"})
            for wrong in (7, ["a"]):
                with pytest.raises(InvalidAnswer):
                    await w.session.answer("c", wrong)
            with pytest.raises(InvalidAnswer):
                await w.session.resolve_tool("c", Allow())
            await w.session.answer("c", "this one")
            await collect(heard, events.Question)
            await w.clock.advance(300_000)
            await collect(heard, events.Finished)
        first, second = w.of("tool_result")
        assert first["output"] == "they said this one"
        assert second["outcome"] == "error" and "Nobody answered" in second["output"]
        assert [a["status"] for a in w.of("approval")] == ["pending", "answered", "pending", "timed_out"]


async def test_di_4_the_tools_time_does_not_run_while_a_person_thinks():
    class Slow(Gate):
        def __init__(self):
            super().__init__("slow", runtime=HowRun(timeout_ms=1_000))

    slow = Slow()
    async with world([tool_call("slow", id="c"), complete("ok")], tools=[slow], hooks=[ASK]) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("go")
            await w.until_parked()
            await w.clock.advance(200_000)
            await w.session.resolve_tool("c", Allow())
            await w.until(lambda: slow.began)
            await w.clock.advance(999)
            assert not w.of("tool_result")
            await w.clock.advance(1)
            await collect(heard, events.Finished)
        assert w.of("tool_result")[0]["outcome"] == "timeout"


async def test_hp_2_working_is_told_only_when_the_last_parked_call_is_released():
    attention = []
    readers = parallel()
    hooks = [ASK, ("attention", lambda state, ctx: attention.append(state["state"]))]
    script = [tool_calls([call("gate", "a"), call("gate", "b")]), complete("ok")]
    async with world(script, tools=[readers], hooks=hooks) as w:
        await w.session.prompt("go")
        await w.until_parked()
        await settle()
        await w.session.resolve_tool("a", Allow())
        await w.until(lambda: attention == ["waiting", "waiting"])
        await settle()
        assert attention == ["waiting", "waiting"]
        await w.session.resolve_tool("b", Deny("no"))
        await w.until(lambda: attention == ["waiting", "waiting", "working"])


async def test_d_6_a_call_that_ended_while_it_was_parked_cannot_be_approved_afterwards():
    """D-6, DI-4."""

    class Both(Asks):
        name = "both"

        async def run(self, args, context):
            waiting = asyncio.get_running_loop().create_task(
                context.session.park(context.call_id, "question", {"question": "?"})
            )
            await settle()
            waiting.cancel()
            return "went on without"

    async with world([tool_call("both", id="c"), complete("ok")], tools=[Both()]) as w:
        done = await prompt(w.session, "go")
        assert done.stop_reason == "stop" and (await w.session.info()).pending == []
        with pytest.raises(UnknownCall):
            await w.session.answer("c", "late")
        assert w.clock.pending() == []
        assert_valid_transcript(w.entries)
