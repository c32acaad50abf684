"""The turn folds what a provider says into effects, without a loop, a clock or an id of its own."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core import events
from lmx_core.errors import Failure
from lmx_core.request import (
    ContextWindow,
    Done,
    Error,
    Message,
    ResponseMetadata,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageReport,
)
from lmx_core.turn.effects import Append, Emit, Finished, RunTools
from lmx_core.turn.turn import HEAD_BYTES, Turn
from lmx_core.usage import Usage

LOST = Failure(code="connection", message="the connection was lost", category="server")
USAGE = Usage(input_tokens=7, output_tokens=3, model="m")


def turn() -> Turn:
    return Turn(entry_id="E", request_id="R", model="m")


def play(*said: object) -> list[object]:
    folding = turn()
    return [effect for event in said for effect in folding.fold(event)]


texts = st.text(max_size=20)
calls = st.builds(
    ToolCallReady,
    id=st.sampled_from(["", "a", "b", "a-2"]),
    name=st.sampled_from(["read", "bash"]),
    arguments=st.dictionaries(st.sampled_from(["x", "y"]), st.integers(), max_size=2),
    argument_error=st.none() | st.just("not one JSON object"),
)
endings = st.builds(Done, st.sampled_from(["stop", "length", "tool_calls", "content_filter"])) | st.just(Error(LOST))
spoken = st.one_of(
    st.builds(TextDelta, texts),
    st.builds(ThinkingDelta, texts),
    st.builds(ToolCallDelta, index=st.integers(0, 2), name=st.none() | st.just("read"), fragment=texts),
    calls,
    st.builds(Message, content=st.just([{"type": "text", "text": "hi"}]) | st.just([]), tool_calls=st.lists(calls)),
    st.just(UsageReport(USAGE)),
    st.just(ResponseMetadata(status=200)),
    st.just(ContextWindow(4096)),
    endings,
)


@given(said=st.lists(spoken, max_size=12), last=endings)
def test_se_3_exactly_one_run_tools_or_finished_ends_a_turn_and_nothing_follows_it(said, last):
    effects = play(*said, last, *said, last)
    ends = [e for e in effects if isinstance(e, RunTools | Finished)]
    assert len(ends) == 1
    assert effects[-1] is ends[0]
    assert sum(isinstance(e, Append) for e in effects) <= 1


@given(said=st.lists(spoken, max_size=12), last=endings)
def test_se_3_the_same_events_give_the_same_effects(said, last):
    assert play(*said, last) == play(*said, last)


@given(pieces=st.lists(st.tuples(st.sampled_from([TextDelta, ThinkingDelta]), texts), max_size=30))
def test_text_is_assembled_in_the_order_it_came(pieces):
    append = next(e for e in play(*[kind(text) for kind, text in pieces], Done("stop")) if isinstance(e, Append))
    for kind, name in ((TextDelta, "text"), (ThinkingDelta, "thinking")):
        kept = "".join(part["text"] for part in append.payload["content"] if part["type"] == name)
        assert kept == "".join(text for k, text in pieces if k is kind)


@given(said=st.lists(spoken, max_size=12))
def test_tr_8_an_interrupted_answer_keeps_its_text_unmarked_and_without_calls(said):
    said = [event for event in said if not isinstance(event, Done | Error)]
    folding = turn()
    for event in said:
        folding.fold(event)
    kept = folding.interrupt()
    assert folding.fold(TextDelta("late")) == () and folding.interrupt() == ()
    for effect in kept:
        assert isinstance(effect, Append)
        assert "partial" not in effect.payload and "tool_calls" not in effect.payload
        assert any(p["type"] == "text" and p["text"].strip() for p in effect.payload["content"])


def test_su_4_deltas_carry_the_id_of_the_entry_they_become():
    effects = play(TextDelta("a"), ThinkingDelta("b"), ToolCallDelta(name="read", fragment='{"'))
    assert {effect.event.id for effect in effects} == {"E"}


def test_an_answer_in_words_is_written_then_its_usage_told_then_it_is_over():
    effects = play(TextDelta("he"), TextDelta("llo"), UsageReport(USAGE), Done("stop"))
    told, written, usage, end = effects[1:]
    assert told == Emit(events.TextDelta(id="E", text="llo"))
    assert written == Append(
        payload={"content": [{"type": "text", "text": "hello"}], "request_id": "R"}, usage=USAGE.to_dict()
    )
    assert usage == Emit(events.UsageEvent(usage=USAGE.to_dict(), request_id="R"))
    assert end == Finished(stop_reason="stop", after_output=True)


def test_the_assembled_message_wins_over_the_deltas_before_it():
    details = [{"type": "thinking", "signature": "s"}]
    message = Message(content=[{"type": "text", "text": "right"}], reasoning_details=details)
    append = next(e for e in play(TextDelta("wrong"), message, Done("stop")) if isinstance(e, Append))
    assert append.payload["content"] == [{"type": "text", "text": "right"}]
    assert append.payload["reasoning_details"] == details


def test_evt_4_calls_are_written_then_told_then_run():
    call = ToolCallReady(id="c", name="read", arguments={"path": "a"})
    effects = play(call, Message(tool_calls=[call]), Done("tool_calls"))
    assert [type(e) for e in effects] == [Append, Emit, RunTools]
    assert effects[0].payload["tool_calls"] == [{"id": "c", "name": "read", "arguments": {"path": "a"}}]
    assert effects[1].event == events.ToolCalled(id="c", name="read", arguments={"path": "a"})
    assert [c.id for c in effects[2].calls] == ["c"]


@given(ids=st.lists(st.sampled_from(["", "a", "a-2", "call-1"]), min_size=1, max_size=6))
def test_each_call_of_an_answer_has_an_id_of_its_own(ids):
    run = play(*[ToolCallReady(id=id, name="read", arguments={"x": 1}) for id in ids], Done("tool_calls"))[-1]
    given_out = [call.id for call in run.calls]
    assert len(set(given_out)) == len(ids) and all(given_out)
    assert given_out[0] == (ids[0] or "call-1")


@pytest.mark.parametrize(
    ("arguments", "argument_error", "reason", "cut"),
    [
        ({}, "not one JSON object", "length", True),
        ({}, None, "length", True),
        ({"path": "a"}, None, "length", False),
        ({}, "not one JSON object", "tool_calls", False),
        ({}, None, "stop", False),
    ],
)
def test_di_3_only_the_last_call_of_an_answer_at_the_output_limit_can_be_cut_off(
    arguments, argument_error, reason, cut
):
    whole = ToolCallReady(id="whole", name="read", arguments={"path": "a"})
    last = ToolCallReady(id="last", name="write", arguments=arguments, argument_error=argument_error)
    run = play(whole, last, Done(reason))[-1]
    assert run.cut_off == ("last" if cut else None)


def test_ry_4_what_a_failed_attempt_had_said_is_kept_as_a_partial_record_without_calls():
    call = ToolCallReady(id="c", name="read", arguments={"path": "a"})
    effects = play(TextDelta("half"), call, UsageReport(USAGE), Error(LOST))
    append = next(e for e in effects if isinstance(e, Append))
    assert append.payload == {"content": [{"type": "text", "text": "half"}], "request_id": "R", "partial": True}
    assert append.usage == USAGE.to_dict()
    assert effects[-1] == Finished(stop_reason="error", failure=LOST, after_output=True)


def test_an_attempt_that_failed_before_it_said_anything_leaves_no_answer():
    assert play(Error(LOST)) == [Finished(stop_reason="error", failure=LOST, after_output=False)]


def test_calls_that_were_announced_and_never_came_are_a_transient_failure():
    (end,) = play(Done("tool_calls"))
    assert end.failure is not None and end.failure.code == "unanswered" and end.failure.is_transient


def test_tool_calls_is_never_a_final_stop_reason():
    assert play(TextDelta("hi"), Done("tool_calls"))[-1] == Finished(stop_reason="stop", after_output=True)


def test_evt_3_the_head_of_a_call_is_at_most_240_bytes_and_valid_text():
    effects = play(*[ToolCallDelta(name="write", fragment="é" * 50) for _ in range(5)])
    last = effects[-1].event
    assert last.bytes == 500
    assert len(last.head.encode()) <= HEAD_BYTES and set(last.head) == {"é"}


def test_evt_3_parallel_calls_are_counted_apart():
    effects = play(
        ToolCallDelta(index=0, name="read", fragment="12345"), ToolCallDelta(index=1, name="grep", fragment="1")
    )
    assert [(e.event.name, e.event.bytes) for e in effects] == [("read", 5), ("grep", 1)]


def test_folding_a_delta_costs_the_same_however_long_the_answer_is():
    def seconds(folding: Turn, count: int) -> float:
        begun = time.process_time()
        for _ in range(count):
            folding.fold(TextDelta("word "))
        return time.process_time() - begun

    folding = turn()
    seconds(folding, 2_000)
    first = min(seconds(folding, 2_000) for _ in range(3))
    seconds(folding, 200_000)
    assert min(seconds(folding, 2_000) for _ in range(3)) < first * 20
