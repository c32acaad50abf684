"""Long conversations: when a session shortens one, what it sends then, and what it does when that fails."""

from __future__ import annotations

import asyncio
import itertools
import secrets

import pytest
from support.long_talks import Talker, asks_for_summary, assert_sound, sizes, text_of, worker
from support.sessions import Echo, Gate, world

from lmx_core import (
    BudgetExceeded,
    Busy,
    Cancelled,
    CompactionFailed,
    Failure,
    MemoryStore,
    Messages,
    NothingToDo,
    StandardCompaction,
    Usage,
    fork,
    resume_session,
)
from lmx_core.context.project import Projection
from lmx_core.context.replay import replay_request
from lmx_core.context.stubs import rules
from lmx_core.providers.scripted import Delay, complete, http_error, tool_call
from lmx_core.request import ContextWindow, Error, TextDelta, UsageReport
from lmx_core.testing import assert_valid_transcript
from lmx_core.testing.kit import settle
from lmx_core.transcript.audit import entry_ids

pytestmark = pytest.mark.asyncio


def events_of(heard, type):
    return [event for event in heard if event.type == type]


async def test_co_1_a_conversation_that_fills_its_window_is_summarised_and_goes_on():
    """CO-1, CO-7, EVT-14, EVT-15, REC-8: threshold, summary, cut, and on."""
    model = Talker(worker(40), window=1_000)
    async with world(provider=model, tools=[Echo()], system="s") as w, w.session.subscribe() as heard:
        result = await w.session.await_prompt("begin MARKER")
        assert result.stop_reason == "stop"
        assert len(model.summaries) >= 2
        told = heard.get_nowait_all()
        (first, *_), entries = events_of(told, "compacted"), w.entries
        planned = events_of(told, "compaction_planned")[0]
        assert (planned.trigger, first.trigger) == ("threshold", "threshold")
        assert planned.forecast >= 800 and planned.forecast == first.tokens["before"] > first.tokens["after"]
        written = next(entry for entry in entries if entry.type == "compaction")
        assert written.payload["summary"] == first.summary == "what was done so far"
        assert (written.payload["from"], written.payload["to"]) == (first.entries[0], first.entries[-1])
        assert written.payload["entries"] == len(first.entries) and written.payload["trigger"] == "threshold"
        asked = [
            entry.payload["id"] for entry in entries if entry.type == "request" and entry.payload["kind"] != "turn"
        ]
        assert written.payload["request_id"] == asked[0]
        after = model.requests[model.requests.index(model.summaries[0]) + 1]
        assert not {entry.id for entry in after.entries} & set(first.entries[1:])
        assert "what was done so far" in text_of(after)
        for request in model.requests:
            assert_sound(request)
            assert "MARKER" in text_of(request)
        assert_valid_transcript(entries)


async def test_au_1_au_2_every_request_of_a_compacted_session_can_be_had_again():
    """AU-1, AU-2, TR-9: summary requests too."""
    model = Talker(worker(60), window=2_000)
    stubs = {"keep": 4, "batch": 3, "min_bytes": 100}
    async with world(provider=model, tools=[Echo()], stub_tool_results=stubs) as w:
        await w.session.await_prompt("begin")
        await w.session.await_prompt("go on")
        entries, records = w.entries, w.of("request")
        assert {record["kind"] for record in records} == {"turn", "compaction"}
        for record, sent in zip(records, model.requests, strict=True):
            assert entry_ids(entries, record) == [entry.id for entry in sent.entries]
            assert replay_request(entries, record["id"]).entries == sent.entries


async def test_the_first_prompt_is_in_every_request_of_a_thousand_turns():
    """C21, CP-3, TR-9: the person's first message survives every compaction in their own words, no request is invalid, and
    compaction never loops."""
    marker = secrets.token_hex(8)
    made = {"n": 0}

    def turn(request):
        made["n"] += 1
        n = made["n"]
        return (
            complete(f"done {n}") if n % 11 == 0 else tool_call("echo", {"text": f"{n} " + "w" * (n % 400)}, id=f"c{n}")
        )

    model = Talker(turn, window=3_000, measures=3)
    stubs = {"keep": 5, "batch": 4, "min_bytes": 100}
    async with world(provider=model, tools=[Echo()], stub_tool_results=stubs, max_turns=10_000) as w:
        await w.session.await_prompt(f"keep {marker} in mind")
        while made["n"] < 1_000:
            assert (await w.session.await_prompt(f"prompt after turn {made['n']}")).stop_reason == "stop"
        assert len(model.summaries) > 10
        assert len(model.summaries) < len(model.turns) / 5, "a compaction makes room for many requests"
        for request in model.requests:
            assert_sound(request)
            assert marker in text_of(request)
        assert "marker" not in "".join(entry["summary"] for entry in w.of("compaction"))
        largest = max(sizes(request.entries) for request in model.turns)
        assert largest < 3 * 3_000 * 3
        record = w.of("request")[-1]
        assert replay_request(w.entries, record["id"]).entries == model.requests[-1].entries
        entries, last = w.entries, model.requests[-1]
    assert_valid_transcript(entries)
    live = Projection(Messages().lost_call, rules=rules(stubs, 3, 4))
    for entry in entries:
        if entry.type == "request" and entry.seq > entries[-3].seq:
            assert live.entries() == last.entries
        live.add(entry)


async def test_rs_1_cp_3_a_resumed_session_goes_on_with_the_request_the_live_one_would_have_sent():
    """RS-1, CP-3, RS-4: after compactions and stubs, live, resumed and forked send the same."""
    model = Talker(worker(20), window=1_000)
    options = {"tools": [Echo()], "stub_tool_results": {"keep": 3, "batch": 2, "min_bytes": 50}}
    async with world(provider=model, **options) as w:
        await w.session.await_prompt("begin")
        await w.session.await_prompt("and on")
        copy = await fork(w.store, w.session.id)
        before = await w.session.info()
        sent = []
        for id in (w.session.id, copy):
            again = Talker(window=1_000)
            if id == w.session.id:
                await w.session.stop()
            session = await resume_session(
                runtime=w.runtime, resume=id, provider=again, store=w.store, clock=w.clock, **options
            )
            assert (await session.info()).context.tokens == before.context.tokens
            await session.await_prompt("once more")
            sent.append([(entry.id, entry.payload) for entry in again.turns[0].entries][:-1])
        assert sent[0] == sent[1]
        assert [id for id, _ in sent[0]][: len(model.requests[-1].entries)] == [
            e.id for e in model.requests[-1].entries
        ]


DELTAS = ("entry", "text_delta", "usage")

FAILURES = {
    "empty": lambda request: complete(""),
    "blank": lambda request: complete(" \n "),
    "500": lambda request: http_error(500),
    "a call": lambda request: tool_call("echo", {"text": "x"}),
    "too long": lambda request: complete("x" * 40_000),
    "cut off": lambda request: complete("half of it", finish_reason="length"),
    "no end": lambda request: complete("half")[:-1],
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_co_6_co_2_a_failed_summary_leaves_the_conversation_whole_and_is_not_tried_at_once(kind):
    """CO-6, CO-2, EVT-16, REC-6, C21: whatever comes instead of a summary."""
    model = Talker(worker(70), FAILURES[kind], window=1_500, measures=4)
    async with world(provider=model, tools=[Echo()]) as w:
        async with w.session.subscribe() as heard:
            await w.session.prompt("begin")
            while (await w.session.info()).status == "busy":
                await w.clock.advance(60_000)
                await settle(2)
            told = heard.get_nowait_all()
        failed = events_of(told, "compaction_failed")
        assert failed and not events_of(told, "compacted") and not w.of("compaction")
        errors = [error for error in w.of("error") if "trigger" in error]
        transient = kind in ("500", "no end")
        assert [bool(error.get("retrying")) for error in errors[:2]] == ([True, False] if transient else [False, False])
        attempts = [n for n, request in enumerate(model.requests) if asks_for_summary(request)]
        if transient:
            attempts = attempts[::2]
        gaps = [later - earlier - (2 if transient else 1) for earlier, later in itertools.pairwise(attempts)]
        assert gaps[:4] == [3, 5, 9, 17], "the request it was for, and 2, 4, 8, 16 more"
        for before, after in itertools.pairwise(model.turns):
            assert [e.id for e in after.entries][: len(before.entries)] == [e.id for e in before.entries]
        assert events_of(told, "finished")[0].stop_reason == "stop"


def full_of(text, *, window):
    """A refusal of what does not fit."""
    return [Error(Failure(code="context_limit", message=text, category="context_limit", stated_context_window=window))]


async def long_enough(w, prompts: int = 5) -> None:
    for n in range(prompts):
        await w.session.await_prompt(f"prompt {n}")


async def test_c8_14_an_overflow_before_output_is_compacted_once_and_sent_once_more():
    """10.6, C8-14, EVT-19, CW-1: `context_recovery` first, the stated window is taken over, and never twice in a prompt."""
    refused = {"left": 1, "at": 8}

    def turn(request):
        if len(request.entries) > refused["at"] and refused["left"]:
            refused["left"] -= 1
            return full_of("too long", window=9_000)
        return complete("fine")

    model = Talker(turn, window=None)
    async with world(provider=model) as w:
        await long_enough(w, 4)
        async with w.session.subscribe() as heard:
            assert (await w.session.await_prompt("one more")).stop_reason == "stop"
            types = [event.type for event in heard.get_nowait_all() if event.type not in DELTAS]
        assert types == [
            "context_recovery", "compaction_planned", "compacted", "run_evidence", "context", "finished",
        ]  # fmt: skip
        assert (await w.session.info()).context.window == 9_000
        assert [asks_for_summary(request) for request in model.requests[-3:]] == [False, True, False]
        assert w.of("compaction")[0]["trigger"] == "overflow" and not w.of("error")
        await long_enough(w, 3)
        refused["left"], refused["at"] = 2, 0
        async with w.session.subscribe() as heard:
            await w.session.await_prompt("refused twice")
            assert len(events_of(heard.get_nowait_all(), "context_recovery")) == 1
        assert w.of("error")[-1]["reason"] == "too long" and len(model.summaries) == 2
        async with w.session.subscribe() as heard:
            await w.session.await_prompt("after it")
            assert not events_of(heard.get_nowait_all(), "context_recovery")


@pytest.mark.parametrize("why", ["summary fails", "output began", "usage came", "switched off", "no budget"])
async def test_an_overflow_that_cannot_be_helped_ends_the_turn_with_its_own_error(why):
    """10.6: a failed summary, output before the refusal, `auto_compaction=False` or no request left for both."""
    before = {
        "output began": [TextDelta("I ")],
        "usage came": [UsageReport(Usage(input_tokens=3))],
    }.get(why, [])
    model = Talker(
        lambda request: [*before, *full_of("too long", window=None)] if len(request.entries) > 8 else complete("fine"),
        FAILURES["empty"],
        window=None,
    )
    options = {"auto_compaction": False} if why == "switched off" else {"max_requests": 6} if why == "no budget" else {}
    async with world(provider=model, **options) as w:
        await long_enough(w, 4)
        result = await w.session.await_prompt("one more")
        assert result.stop_reason == "error" and result.error.message == "too long"
        assert len(model.summaries) == (1 if why == "summary fails" else 0) and len(model.turns) == 5


async def test_c20_a_compaction_that_does_not_help_is_not_repeated():
    """C20, CO-2, EVT-17: judged by what the next request measured; then 32 requests go by. Never while idle."""
    reported = Usage(input_tokens=7_500, output_tokens=5)
    model = Talker(lambda request: complete("hm", usage=reported), window=8_000)
    async with world(provider=model, system="s" * 4_000) as w:
        async with w.session.subscribe() as heard:
            await long_enough(w, 30)
            told = heard.get_nowait_all()
        assert len(model.summaries) == 1
        (ineffective,) = events_of(told, "compaction_ineffective")
        assert (ineffective.input_tokens, ineffective.threshold) == (7_500, 6_400)
        assert (ineffective.window, ineffective.retry_in) == (8_000, 32)
        assert ineffective.parts["instructions"] == 1_000 and ineffective.parts["conversation"] > 0
        await w.clock.advance(600_000)
        await settle(3)
        assert len(model.summaries) == 1
        await long_enough(w, 20)
        assert len(model.summaries) == 2
        assert all(result == "stop" for result in [(await w.session.await_prompt("hi")).stop_reason])


async def test_cw_3_instructions_that_fill_the_threshold_are_not_compacted_away():
    """CW-3, C20, C8-4, EVT-21: no attempt, and one notice for a model and window, just before its first request."""
    model = Talker(lambda request: complete("hm", usage=Usage(input_tokens=7_500)), window=8_000)
    async with world(provider=model, system="s" * 28_000) as w, w.session.subscribe() as heard:
        await settle(3)
        assert not events_of(heard.get_nowait_all(), "context_window_small")
        await long_enough(w, 12)
        told = heard.get_nowait_all()
        (small,) = events_of(told, "context_window_small")
        assert (small.model, small.window, small.overhead, small.source) == ("scripted:m", 8_000, 7_000, "provider")
        assert told.index(small) < next(
            n for n, e in enumerate(told) if e.type == "entry" and e.entry.type == "request"
        )
        assert not model.summaries


async def test_a_compacted_session_without_usage_is_not_measured_by_what_was_before():
    """C20, D22, appendix D 22: the position after a compaction is the compacted one, estimated until measured again."""
    usage = {"reported": True}

    def turn(request):
        said = complete("x" * 400, usage=Usage(input_tokens=len(text_of(request)) // 3))
        return said if usage["reported"] else [event for event in said if not isinstance(event, UsageReport)]

    costly = Usage(input_tokens=999_999, output_tokens=7)
    model = Talker(turn, lambda request: complete("short", usage=costly), window=3_000)
    async with world(provider=model) as w:
        await long_enough(w, 9)
        usage["reported"] = False
        before = (await w.session.info()).context
        assert before.measured and before.tokens > 1_000 and not model.summaries
        await w.session.compact()
        after = (await w.session.info()).context
        assert not after.measured and after.tokens < before.tokens * 0.7
        summaries = len(model.summaries)
        await long_enough(w, 2)
        assert len(model.summaries) == summaries
        assert (await w.session.info()).usage["total"].input_tokens > 999_999


async def test_met_7_compact_summarises_now():
    """MET-7, OPT-42, OPT-52, CO-5: also where nothing does it by itself; the request is as the options say."""
    model = Talker(window=None)
    options = {
        "params": {"temperature": 0.5, "max_tokens": 99_999, "stop": ["END"]},
        "reasoning_effort": "high",
        "tools": [Echo()],
        "system": "be brief",
        "summary_model": "scripted:small",
        "summary_params": {"top_p": 0.5},
    }
    async with world(provider=model, auto_compaction=False, context_window_fallback=None, **options) as w:
        with pytest.raises(NothingToDo):
            await w.session.compact()
        await long_enough(w, 6)
        async with w.session.subscribe() as heard:
            result = await w.session.compact()
            told = heard.get_nowait_all()
        assert (result.summary, result.entries) == (
            "what was done so far",
            len(events_of(told, "compacted")[0].entries),
        )
        assert events_of(told, "compacted")[0].trigger == "request"
        assert [event.type for event in told][-1] == "context" and not events_of(told, "finished")
        (asked,) = model.summaries
        assert (asked.model, asked.system, asked.tools) == ("scripted:small", "be brief", ())
        assert asked.params == {"temperature": 0.5, "max_tokens": 16_384, "top_p": 0.5}
        assert asked.reasoning_effort == "low" and asked.context["cache"] is False
        await w.session.await_prompt("and now")
        assert model.requests[-1].params["max_tokens"] == 99_999


async def test_met_7_busy_budget_timeout_and_cancel():
    """MET-7, MET-5, C21, BU-1: each leaves the conversation whole and the session of use."""
    gate = Gate()
    script = {"turn": lambda request: complete("fine")}
    model = Talker(lambda request: script["turn"](request), lambda request: [Delay(90_000), *complete("late")])
    async with world(provider=model, tools=[gate], max_requests=9, compact_at=None) as w:
        model.clock = w.clock
        script["turn"] = lambda request: tool_call("gate", id="g") if len(model.requests) == 1 else complete("fine")
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        with pytest.raises(Busy):
            await w.session.compact()
        with pytest.raises(Busy):
            await w.session.clear()
        gate.open("g")
        await w.until(lambda: len(model.requests) == 2)
        await settle(5)
        await long_enough(w, 4)
        waiting = asyncio.ensure_future(w.session.compact(timeout_ms=50_000))
        await w.until(lambda: model.summaries)
        with pytest.raises(Busy):
            await w.session.prompt("while it compacts")
        await w.clock.advance(50_000)
        with pytest.raises(CompactionFailed, match="50 s"):
            await waiting
        waiting = asyncio.ensure_future(w.session.compact())
        await w.until(lambda: len(model.summaries) == 2)
        await w.session.cancel()
        with pytest.raises(Cancelled):
            await waiting
        reasons = ("timed_out", "cancelled")
        assert w.of("cancelled") == [{"reason": reason, "trigger": "request"} for reason in reasons]
        assert not w.of("compaction")
        assert (await w.session.await_prompt("hi")).stop_reason == "stop"
        assert {"go", "prompt 0", "hi"} <= {str(e.payload.get("text")) for e in model.requests[-1].entries}
        with pytest.raises(BudgetExceeded):
            await w.session.compact()


async def test_met_8_clear_sends_nothing_of_what_was_and_keeps_it():
    """MET-8, EVT-18, EVT-13, REC-8: no request; the transcript keeps everything; a resume agrees."""
    model = Talker()
    async with world(provider=model, system="s") as w, w.session.subscribe() as heard:
        with pytest.raises(NothingToDo):
            await w.session.clear()
        await w.session.await_prompt("first")
        heard.get_nowait_all()
        assert await w.session.clear() == 2
        told = [event.type for event in heard.get_nowait_all() if event.type != "entry"]
        assert told == ["cleared", "context"] and len(model.requests) == 1
        cut = w.of("compaction")[0]
        newest = [entry for entry in w.entries if entry.type == "assistant"][-1]
        assert (cut["summary"], cut["to"], cut["entries"], cut["trigger"]) == (None, newest.id, 2, "clear")
        await w.session.await_prompt("second")
        assert [entry.payload["text"] for entry in model.requests[-1].entries] == ["second"]
        assert "first" in str(w.of("user"))
        with_it = await w.session.info()
        assert with_it.context.tokens < 20
        await w.session.stop()
        again = Talker()
        session = await resume_session(runtime=w.runtime, resume=w.session.id, provider=again, store=w.store)
        await session.await_prompt("third")
        assert [e.payload.get("text") for e in again.requests[0].entries if e.type == "user"] == ["second", "third"]


async def test_c21_a_summary_cut_by_esc_or_by_a_kill_cuts_nothing():
    """C21, MET-5, RS-2: before the summary is on disk nothing is dropped, and a resume waits for none."""
    model = Talker(
        lambda request: complete("x" * 300), lambda request: [Delay(90_000), *complete("late")], window=1_000
    )
    async with world(provider=model) as w:
        model.clock = w.clock
        while not model.summaries:
            await w.session.prompt("more")
            await settle(20)
        await w.session.steer("typed meanwhile")
        stored = list(w.entries)
        await w.session.cancel()
        assert w.types()[-1] == "cancelled" and not w.of("compaction")
        store = MemoryStore()
        store.append("killed", stored)
        again = Talker(window=100_000)
        session = await resume_session(runtime=w.runtime, resume="killed", provider=again, store=store, clock=w.clock)
        assert (await session.await_prompt("hi")).stop_reason == "stop"
        texts = [entry.payload["text"] for entry in again.requests[0].entries if entry.type == "user"]
        assert texts[-1] == "hi" and texts.count("more") == len([e for e in stored if e.type == "user"])


async def test_c21_what_is_typed_during_a_compaction_is_in_the_next_request():
    """C21, MET-2: with the first task, the instructions and every call with its result, after two compactions."""
    model = Talker(worker(50), lambda request: [Delay(1_000), *complete("no plan in here")], window=1_000)
    async with world(provider=model, tools=[Echo()], system="project instructions") as w:
        model.clock = w.clock
        await w.session.prompt("the plan: 1 one 2 two 3 three 4 four 5 five")
        await w.until(lambda: len(model.summaries) == 1)
        await w.clock.advance(1_000)
        await w.until(lambda: len(model.summaries) == 2)
        await w.session.steer("typed meanwhile")
        await w.clock.advance(1_000)
        await w.until(lambda: len(model.requests) > model.requests.index(model.summaries[1]) + 1)
        after = model.requests[model.requests.index(model.summaries[1]) + 1]
        assert_sound(after)
        for words in ("the plan: 1 one 2 two 3 three 4 four 5 five", "typed meanwhile", "project instructions"):
            assert words in text_of(after)
        summary = next(e for e in after.entries if e.id.endswith("-summary"))
        assert "not a message of the person's" in summary.payload["text"] and summary.meta["synthetic"]
        await w.session.cancel()


async def test_co_2_a_success_a_model_change_and_a_served_window_end_the_waiting():
    """CO-2: and a window that a refusal states does not."""
    model = Talker(lambda request: complete("x" * 400), FAILURES["empty"], window=1_000)
    async with world(provider=model) as w:
        while not model.summaries:
            await w.session.await_prompt("more")
        await w.session.set_model("scripted:other")
        await w.session.await_prompt("more")
        assert len(model.summaries) == 2
        model._turn = lambda request: [ContextWindow(900), *complete("x" * 400)]
        await w.session.await_prompt("more")
        assert len(model.summaries) == 2, "it waits"
        await w.session.await_prompt("more")
        assert len(model.summaries) == 3, "the newly served window ended that"
        model._turn = lambda request: full_of("too long", window=700)
        await w.session.await_prompt("more")


async def test_bu_1_no_summary_is_bought_that_leaves_no_request_for_the_answer():
    """BU-1, CO-1: `max_requests` counts summaries."""
    model = Talker(lambda request: complete("x" * 400), window=1_000)
    async with world(provider=model, max_requests=8) as w:
        results = [(await w.session.await_prompt("more")).stop_reason for _ in range(9)]
        assert len(model.requests) == 8
        assert model.requests[-1] in model.turns and results[-1] == "budget"


async def test_opt_43_opt_44_opt_45_thresholds_caps_and_tails():
    """CW-2, CO-3, OPT-43, OPT-44, OPT-45: the cap holds for a large window; how much stays is what the options say."""

    async def cut(**options):
        model = Talker(lambda request: complete("x" * 396), window=100_000)
        async with world(provider=model, **options) as w:
            while not model.summaries and len(model.turns) < 60:
                await w.session.await_prompt("more")
            request = model.requests[-1]
            return len(model.turns), len(request.entries)

    assert (await cut(compaction_window_cap=1_000, compact_at=0.5))[0] in (5, 6)
    assert (await cut(compaction_window_cap=1_000, compact_at=None))[0] == 60
    assert (await cut(compaction_window_cap=1_000, auto_compaction=False))[0] == 60
    assert (await cut(compaction_window_cap=4_000))[1] > (
        await cut(compaction_window_cap=4_000, keep_recent_tokens=300)
    )[1]
    assert (await cut(compaction_window_cap=4_000, keep=0.1))[1] < (await cut(compaction_window_cap=4_000, keep=0.5))[1]


async def test_opt_49_cw_4_a_host_that_can_count_is_believed():
    """OPT-49, CW-4: the count decides alone when to compact, is asked once a request, and ends the turn if it fails."""
    counted = []

    def count(request):
        counted.append(request.context["request_id"])
        return 900 if len(request.entries) >= 9 else 10

    model = Talker(lambda request: complete("x" * 4_000), window=1_000)
    async with world(provider=model, input_token_counter=count) as w:
        for _ in range(4):
            await w.session.await_prompt("more")
        assert not model.summaries, "16,000 bytes would have been 4,000 tokens"
        await w.session.await_prompt("more")
        assert len(model.summaries) == 1 and len(model.requests[-1].entries) < 9
        asked = [request_id for request_id in counted if request_id]
        assert len(asked) == len(set(asked))

    for broken in (lambda request: 1 / 0, lambda request: "12", lambda request: -1):
        async with world(provider=Talker(lambda request: complete("x")), input_token_counter=broken) as w:
            result = await w.session.await_prompt("more")
            assert result.stop_reason == "error" and w.of("error")[-1]["reason"].startswith("input_token_counter= ")


async def test_opt_28_co_8_a_host_decides_how_and_never_when():
    """OPT-28, CO-8: a strategy of a host's own cuts elsewhere and words the summary; entry and event keep their shapes."""

    class Mine(StandardCompaction):
        def plan(self, entries, keep):
            return next((n for n in range(len(entries) - 1, 0, -1) if entries[n].type == "user"), None)

        def instructions(self, *, sections):
            return "IN MY WORDS"

    model = Talker(lambda request: complete("x" * 400), window=1_000)
    async with world(provider=model, compaction=Mine()) as w:
        while not model.summaries:
            await w.session.await_prompt("more")
        assert model.summaries[0].entries[-1].payload["text"] == "IN MY WORDS"
        assert [e.type for e in model.requests[-1].entries] == ["user"] * 3
        record = next(r for r in w.of("request") if r["kind"] == "compaction")
        assert replay_request(w.entries, record["id"], compaction=Mine()).entries == model.summaries[0].entries


async def test_opt_51_sections_are_asked_for_and_read_back():
    """10.4, OPT-51, EVT-15: None where the model ignored the request."""
    words = {"said": "did it\n\n## Open work\n- tests\n**Decisions:**\n1. sqlite\n### verification debt\n- none\n"}
    model = Talker(lambda request: complete("x" * 400), lambda request: complete(words["said"]), window=None)
    async with world(provider=model, summary_sections=True) as w, w.session.subscribe() as heard:
        await long_enough(w, 5)
        await w.session.compact()
        expected = {"open work": ["tests"], "dependencies": [], "decisions": ["sqlite"], "verification debt": []}
        assert events_of(heard.get_nowait_all(), "compacted")[0].sections == expected
        assert w.of("compaction")[0]["sections"] == expected
        words["said"] = "nothing of the kind"
        await long_enough(w, 5)
        await w.session.compact()
        assert events_of(heard.get_nowait_all(), "compacted")[0].sections is None
        assert "sections" not in w.of("compaction")[1]
