"""Questions beside the conversation (MET-10): recorded, paid for and checked, and never a part of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from support.sessions import Echo, World, call, world

from lmx_core import (
    Allow,
    Aside,
    AwaitTimeout,
    Busy,
    Cancelled,
    ConfigError,
    Deny,
    HookDenied,
    MemoryStore,
    Messages,
    NothingToRetry,
    Rewrite,
    SessionDown,
    Usage,
    events,
    fork,
    replay_request,
)
from lmx_core.entry import Entry
from lmx_core.providers.scripted import Delay, complete, context_limit, delayed, error, http_error, tool_calls
from lmx_core.request import Done, TextDelta, ToolSpec
from lmx_core.testing import assert_valid_transcript, collect, prompt
from lmx_core.testing.kit import settle
from lmx_core.transcript.fork import turn_ends
from lmx_core.transcript.replay import latest_assistant_text, spent

pytestmark = pytest.mark.asyncio

TITLE = Aside(kind="title", text="Name this conversation. See @notes.txt")


def texts(request: Any) -> list[str]:
    return [str(entry.payload.get("text") or entry.payload.get("content")) for entry in request.entries]


async def test_met_10_an_aside_sees_the_conversation_and_leaves_it_as_it_was(tmp_path: Any):
    """MET-10, AU-1: one request of its own kind without tools; question and answer are in no later request."""
    (tmp_path / "notes.txt").write_text("notes")
    script = [complete("one"), complete("A title"), complete("two")]
    async with world(script, tools=[Echo()], cwd=tmp_path) as w:
        await prompt(w.session, "first")
        told = w.session.subscribe()
        answer = await w.session.aside(TITLE)
        assert (answer.text, answer.stop_reason, answer.error) == ("A title", "stop", None)
        assert [e.type for e in answer.entries] == ["user", "request", "assistant"]
        assert [event.type for event in told.get_nowait_all()][-2:] == ["context", "finished"]
        await prompt(w.session, "second")
        first, aside, second = w.provider.requests
        assert [t.name for t in first.tools] == ["echo"] and aside.tools == ()
        assert len(aside.entries) == 3 and texts(aside)[-1] == TITLE.text and aside.context["cache"] is False
        assert [e.payload.get("text") for e in second.entries if e.type == "user"] == ["first", "second"]
        assert [r["kind"] for r in w.of("request")] == ["turn", "title", "turn"]
        assert "attachments" not in w.of("user")[1]  # an @ is not expanded
        assert latest_assistant_text(w.entries[:-4]) == "one"
        assert_valid_transcript(w.entries)


async def test_met_10_rs_1_the_next_request_is_the_same_after_a_resume_and_each_can_be_made_again():
    """MET-10, RS-1, AU-2."""
    async with world([complete("one"), complete("title"), complete("two")]) as w:
        await prompt(w.session, "first")
        await w.session.aside(TITLE)
        await prompt(w.session, "second")
        asked = w.provider.requests
        for entry, request in zip((e for e in w.entries if e.type == "request"), asked, strict=True):
            again = replay_request(w.entries, entry.id)
            assert [e.id for e in again.entries] == [e.id for e in request.entries] and again.tools == ()
        live = (await w.session.info()).context
        await w.session.stop()
        async with world([complete("three")], resume=w) as resumed:
            assert (await resumed.session.info()).context == live
            await prompt(resumed.session, "third")
            sent = texts(resumed.provider.requests[0])
            assert not [text for text in sent if "title" in text] and len(sent) == 5


async def test_met_10_in_an_empty_conversation_the_question_is_all_that_is_sent():
    async with world([complete("hello")]) as w:
        await w.session.aside(Aside(kind="greet", text="Greet them.", params={"max_tokens": 20}))
        request = w.provider.requests[0]
        assert texts(request) == ["Greet them."] and request.params == {"max_tokens": 20}
        assert replay_request(w.entries, w.of("request")[0]["id"]).entries == request.entries
        assert (await w.session.info()).params == {}


async def test_met_10_it_is_billed_and_moves_no_window():
    """MET-10, BU-1: spend and requests count it; where the conversation stands in its window does not change."""
    paid = Usage(input_tokens=50, output_tokens=9, cost_usd=0.5)
    more = Usage(input_tokens=70, output_tokens=3, cost_usd=0.5)
    async with world([complete("one", usage=paid), complete("title", usage=more), complete("two", usage=paid)]) as w:
        await prompt(w.session, "first")
        before = await w.session.info()
        answer = await w.session.aside(TITLE)
        after = await w.session.info()
        assert (after.spent_usd, after.requests) == (1.0, 2) and answer.usage.cost_usd == 0.5
        assert (after.context.tokens, after.context.current) == (before.context.tokens, before.context.current)
        await prompt(w.session, "second")
        assert spent(w.entries).cost_usd == 1.5
        assert w.of("run_evidence")[-1]["usage"]["output_tokens"] == 9


@pytest.mark.parametrize("limit", [{"max_requests": 1}, {"max_cost_usd": 0.5}])
async def test_met_10_bu_2_no_request_is_made_that_the_budget_does_not_admit(limit: dict[str, Any]):
    """MET-10, BU-2: asides too."""
    async with world([complete("one", usage=Usage(cost_usd=0.25))], **limit) as w:
        w.provider._cost = 0.1
        await prompt(w.session, "first")
        w.provider._cost = 0.3
        answer = await w.session.aside(TITLE)
        assert answer.stop_reason == "budget" and answer.error is not None and answer.text == ""
        assert len(w.provider.requests) == 1 and w.of("error")[-1]["aside"] == "title"


async def test_met_10_hooks_are_asked_as_for_a_prompt_and_know_that_it_is_an_aside():
    """MET-10, HP-3, HP-4, HP-7: a rewrite is asked; tools that a hook puts in are taken out again."""
    seen: list[tuple[str, str | None]] = []

    def said(text: str, context: Any) -> Any:
        seen.append(("user_prompt", context.aside))
        return Rewrite(f"{text} Briefly.") if context.aside else Allow()

    def prepared(request: Any, context: Any) -> Any:
        seen.append(("prepare", context.aside))
        return msgspec.structs.replace(request, tools=(ToolSpec(name="echo", description="", schema={}),))

    def ended(reason: str, context: Any) -> Any:
        seen.append((f"stop {reason}", context.aside))
        return Allow()

    hooks = [("user_prompt", said), ("prepare_next_turn", prepared), ("stop", ended)]
    async with world([complete("title")], hooks=hooks) as w:
        await w.session.aside(Aside(kind="title", text="Name it."))
        assert texts(w.provider.requests[0]) == ["Name it. Briefly."] and w.provider.requests[0].tools == ()
        assert seen == [("user_prompt", "title"), ("prepare", "title"), ("stop stop", "title")]


async def test_met_10_a_hook_may_refuse_the_question_or_the_answer():
    """MET-10: a refused question writes nothing; a veto of the answer ends it with `hook_failed`, not with another request."""
    refuse = {"question": True}

    def said(text: str, context: Any) -> Any:
        return Deny("not now") if refuse["question"] else Allow()

    hooks = [("user_prompt", said), ("stop", lambda reason, context: Deny("say it in French"))]
    async with world([complete("title")], hooks=hooks) as w:
        with pytest.raises(HookDenied, match="not now"):
            await w.session.aside(TITLE)
        assert w.types() == ["session"] and (await w.session.info()).status == "idle"
        refuse["question"] = False
        answer = await w.session.aside(TITLE)
        assert (answer.stop_reason, answer.text) == ("hook_failed", "title")
        assert answer.error is not None and "French" in answer.error.message
        assert len(w.provider.requests) == 1


async def test_met_10_a_call_that_the_model_makes_anyway_is_denied():
    """MET-10, DI-2: each has its result, nothing runs, and the aside ends with `error`."""

    class Reworded(Messages):
        def aside_denied(self, call: Any) -> str:
            return f"no {call.name} here"

    asks = tool_calls([call("echo", "a", text="x"), call("nobody", "b")])
    ran: list[Any] = []
    hooks = [("before_tool_call", lambda call, context: ran.append(call))]
    async with world([asks, complete("two")], tools=[Echo()], hooks=hooks, messages=Reworded()) as w:
        answer = await w.session.aside(TITLE)
        assert answer.stop_reason == "error" and answer.error is not None
        assert answer.error.code == "aside_called_tools"
        assert [(r["call_id"], r["outcome"], r["output"]) for r in w.of("tool_result")] == [
            ("a", "denied", "no echo here"),
            ("b", "denied", "no nobody here"),
        ]
        assert not ran
        await prompt(w.session, "go on")
        assert texts(w.provider.requests[1]) == ["go on"]
        assert_valid_transcript(w.entries)


async def test_met_10_a_crash_between_its_calls_and_their_results_is_healed():
    """MET-10, RS-2: they were never run, so they are denied and not lost."""
    asks = tool_calls([call("echo", "a"), call("echo", "b")])
    async with world([asks], tools=[Echo()]) as w:
        await w.session.aside(TITLE)
        whole = w.entries
        first = next(n for n, e in enumerate(whole) if e.type == "tool_result")
        for left in (first, first + 1):
            store = MemoryStore()
            store.append(w.session.id, whole[:left])
            crashed = World(w.session, w.provider, store, w.clock, w.runtime)
            async with world([complete("two")], resume=crashed, tools=[Echo()]) as again:
                assert [r["outcome"] for r in again.of("tool_result")] == ["denied", "denied"]
                assert_valid_transcript(again.entries)
                await prompt(again.session, "go on")
                assert texts(again.provider.requests[0]) == ["go on"]
                await fork(store, again.session.id)


async def test_met_10_steers_and_follow_ups_wait_and_nobody_else_gets_in():
    """MET-10, SE-4: busy meanwhile; the steer joins the next prompt, the follow-up begins after the aside."""
    async with world([delayed(5_000, complete("title")), complete("one")]) as w:
        told = w.session.subscribe()
        asked = w.runtime.spawn(w.session.aside(TITLE), kind="test", id="aside")
        await w.until(lambda: w.provider.requests)
        await w.session.steer("be quick")
        await w.session.follow_up("next")
        for other in (w.session.aside(TITLE), w.session.prompt("x"), w.session.compact(), w.session.clear()):
            with pytest.raises(Busy):
                await other
        info = await w.session.info()
        assert (info.status, info.queued_steers, info.queued_follow_ups) == ("busy", ["be quick"], ["next"])
        assert info.request_id == w.of("request")[-1]["id"]
        await w.clock.advance(5_000)
        assert (await asked).text == "title"
        await collect(told, events.Finished)
        await collect(told, events.Finished)
        assert texts(w.provider.requests[1]) == ["next", "be quick"]


async def test_met_10_met_5_a_cancelled_aside_keeps_what_was_said_beside_the_conversation():
    answer = [TextDelta("half a "), Delay(9_000), Done("stop")]
    async with world([answer, complete("one")]) as w:
        told = w.session.subscribe()
        asked = w.runtime.spawn(w.session.aside(TITLE), kind="test", id="aside")
        await collect(told, events.TextDelta)
        await w.session.cancel()
        result = await asked
        assert (result.stop_reason, result.text) == ("cancelled", "half a ")
        assert w.of("cancelled") == [{"reason": "cancelled", "aside": "title"}]
        await prompt(w.session, "go on")
        assert texts(w.provider.requests[1]) == ["go on"]
        assert_valid_transcript(w.entries)


async def test_met_10_cancelled_while_its_hook_decides_it_never_began():
    async def never(text: str, context: Any) -> Any:
        await context.session._actor.closed

    async with world([], hooks=[("user_prompt", never)]) as w:
        asked = w.runtime.spawn(w.session.aside(TITLE), kind="test", id="aside")
        await settle()
        await w.session.cancel()
        with pytest.raises(Cancelled):
            await asked
        assert w.types() == ["session"]


async def test_met_10_a_session_that_ends_under_it_tells_whoever_waits():
    async with world([[Delay(9_000)]]) as w:
        asked = w.runtime.spawn(w.session.aside(TITLE), kind="test", id="aside")
        await w.until(lambda: w.provider.requests)
        await w.session.stop()
        assert (await asked).stop_reason == "stopped"
        with pytest.raises(SessionDown):
            await w.session.aside(TITLE)
        async with world([complete("one")], resume=w) as again:
            await prompt(again.session, "go on")
            assert texts(again.provider.requests[0]) == ["go on"]


async def test_met_10_a_wait_that_times_out_leaves_it_working():
    async with world([delayed(5_000, complete("title"))]) as w:
        told = w.session.subscribe()
        asked = w.runtime.spawn(w.session.aside(TITLE, timeout_ms=1_000), kind="test", id="aside")
        await w.until(lambda: w.provider.requests)
        await w.clock.advance(1_000)
        with pytest.raises(AwaitTimeout):
            await asked
        await w.clock.advance(4_000)
        assert (await collect(told, events.Finished))[-1].stop_reason == "stop"


async def test_met_10_ry_1_a_failure_that_may_pass_is_tried_again_and_another_ends_it():
    async with world([http_error(503), complete("title"), error("broken")]) as w:
        asked = w.runtime.spawn(w.session.aside(TITLE), kind="test", id="aside")
        await w.until(lambda: w.clock.pending())
        await w.clock.advance(2_000)
        assert (await asked).text == "title"
        assert [r["kind"] for r in w.of("request")] == ["title", "title"]
        failed = await w.session.aside(TITLE)
        assert failed.stop_reason == "error" and failed.error is not None and failed.error.message == "broken"


async def test_met_10_it_is_never_compacted():
    """MET-10, CO-1: neither before it, however full the window is, nor where it did not fit."""
    script = [*(complete("x" * 400) for _ in range(6)), complete("title"), context_limit()]
    async with world(script, context_window=1_000, compact_at=0.9, evidence="off", auto_compaction=False) as w:
        for _ in range(6):
            await prompt(w.session, "y" * 400)
        w.session._actor.settings = msgspec.structs.replace(
            w.session._actor.settings,
            options=msgspec.structs.replace(w.session._actor.settings.options, auto_compaction=True),
        )
        w.session._actor.room._options = w.session._actor.settings.options
        told = w.session.subscribe()
        assert (await w.session.aside(TITLE)).text == "title"
        assert (await w.session.aside(TITLE)).stop_reason == "error"
        kinds = [event.type for event in told.get_nowait_all()]
        assert not [kind for kind in kinds if kind.startswith(("compact", "context_recovery"))]
        assert not w.of("compaction") and len(w.provider.requests) == 8


async def test_met_10_what_is_no_aside():
    async with world() as w:
        for kind in ("", "Title", "turn", "compaction", "x" * 65, "a b", 3):
            with pytest.raises(ConfigError):
                await w.session.aside(Aside(kind=kind, text="x"))  # type: ignore[arg-type] - what a host may get wrong
        for wrong in (Aside(kind="a", text=" "), Aside(kind="a", text="x", params=[]), "title", None):  # type: ignore[arg-type] - the same
            with pytest.raises(ConfigError):
                await w.session.aside(wrong)  # type: ignore[arg-type] - what a host may get wrong


async def test_a_turn_of_the_conversation_is_none_of_an_aside():
    def entry(seq: int, type: str, **payload: Any) -> Entry:
        return Entry(id=str(seq), seq=seq, type=type, payload=payload, at="2026-01-01T00:00:00.000Z")

    answered = {"content": [{"type": "text", "text": "a"}]}
    entries = [entry(0, "assistant", **answered), entry(1, "assistant", aside="title", **answered)]
    assert turn_ends([*entries, entry(2, "assistant", **answered)]) == [1, 3]


async def test_met_6_met_10_a_failed_prompt_can_be_asked_again_after_an_aside_and_a_failed_aside_cannot():
    script = [error("broken"), complete("title"), complete("at last"), error("broken")]
    async with world(script, provider_retry=False) as w:
        told = w.session.subscribe()
        assert (await prompt(w.session, "first")).stop_reason == "error"
        await w.session.aside(TITLE)
        told.get_nowait_all()
        await w.session.retry()
        assert (await collect(told, events.Finished))[-1].stop_reason == "stop"
        assert texts(w.provider.requests[2]) == ["first"]
        assert (await w.session.aside(TITLE)).stop_reason == "error"
        with pytest.raises(NothingToRetry):
            await w.session.retry()


async def test_met_6_met_4_a_follow_up_that_a_hook_refused_does_not_stand_in_the_way_of_a_retry():
    hooks = [("user_prompt", lambda text, context: Deny("no") if text == "second" else Allow())]
    async with world([error("broken"), complete("at last")], provider_retry=False, hooks=hooks) as w:
        told = w.session.subscribe()
        await prompt(w.session, "first")
        await w.session.follow_up("second")
        await collect(told, events.FollowUpDropped)
        await w.session.retry()
        await collect(told, events.Finished)
        assert texts(w.provider.requests[1]) == ["first"]
