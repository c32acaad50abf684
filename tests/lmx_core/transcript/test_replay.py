"""Reading a transcript: linkage, answers, and the calls that got none."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.transcripts import Conversation

from lmx_core.transcript.replay import (
    calls_of,
    in_conversation,
    latest_assistant_text,
    requests,
    spent,
    stop_hook,
    text_of,
    unanswered_calls,
    validate,
)
from lmx_core.usage import Usage


def talk() -> Conversation:
    conversation = Conversation()
    conversation.user("go")
    conversation.add("request", id="r1")
    conversation.answer("on it", "c1", "c2")
    conversation.result("c2")
    conversation.result("c1")
    conversation.add("request", id="r2")
    conversation.answer("done")
    return conversation


def test_rs_5_a_sound_transcript_has_no_problem():
    """RS-5: seq counts from 0 and every parent is the entry before."""
    assert validate(talk().entries) == []
    assert validate([]) == []


@pytest.mark.parametrize("missing", range(6))
def test_rs_5_a_missing_entry_is_found(missing: int):
    """RS-5"""
    entries = talk().entries
    assert validate([*entries[:missing], *entries[missing + 1 :]])


def test_rs_5_a_wrong_parent_and_a_wrong_seq_are_found():
    """RS-5"""
    entries = talk().entries
    entries[2] = msgspec.structs.replace(entries[2], parent_id=entries[0].id)
    assert len(validate(entries)) == 1
    entries[2] = msgspec.structs.replace(talk().entries[2], seq=7, parent_id=entries[1].id, id=entries[2].id)
    assert [problem for problem in validate(entries) if "seq 7 where 2 belongs" in problem]


def test_bu_5_one_request_without_usage_makes_the_cost_unknown():
    """BU-5: whether it came to an answer or not; of no request at all the cost is known."""
    assert spent([]).cost_usd == 0.0
    conversation, priced = Conversation(), {"input_tokens": 3, "cost_usd": 0.5}
    for told in (priced, priced, None):
        conversation.add("request", id="r")
        conversation.entries.append(msgspec.structs.replace(conversation.answer("x"), usage=told))
    answered = [entry for entry in conversation.entries if entry.type == "request" or entry.usage is not None]
    assert spent(answered[:4]) == Usage(input_tokens=6, cost_usd=1.0)
    assert spent(answered).input_tokens == 6 and spent(answered).cost_usd is None


def test_rs_5_requests_and_the_latest_answer():
    """RS-5"""
    conversation = talk()
    assert [entry.payload["id"] for entry in requests(conversation.entries)] == ["r1", "r2"]
    assert latest_assistant_text(conversation.entries) == "done"
    assert latest_assistant_text(conversation.entries[:2]) == ""


def test_rs_5_a_stop_hooks_words_are_not_a_persons():
    """RS-5"""
    conversation = Conversation()
    assert not stop_hook(conversation.user("hello"))
    assert stop_hook(conversation.user("run the tests", stop_hook=True))
    assert not stop_hook(conversation.add("assistant", content=[], stop_hook=True))


def test_tr_8_a_partial_answer_is_a_record_only():
    """TR-8: never sent again, makes no calls, and is not the last word."""
    conversation = talk()
    partial = conversation.add(
        "assistant",
        content=[{"type": "text", "text": "half"}],
        tool_calls=[{"id": "c9", "name": "bash", "arguments": {}}],
        partial=True,
    )
    assert not in_conversation(partial)
    assert calls_of(partial) == []
    assert unanswered_calls(conversation.entries) == []
    assert latest_assistant_text(conversation.entries) == "done"


def test_tr_7_calls_live_on_the_answer_and_results_beside_it():
    """TR-7: no entry type is for calls alone; the effective arguments stand on the result."""
    conversation = talk()
    answer = conversation.entries[2]
    assert [(call.id, call.name, call.arguments) for call in calls_of(answer)] == [
        ("c1", "bash", {"command": "ls"}),
        ("c2", "bash", {"command": "ls"}),
    ]
    assert not any(calls_of(entry) for entry in conversation.entries if entry is not answer)


def test_text_is_what_was_said_without_thinking():
    conversation = Conversation()
    answer = conversation.add(
        "assistant",
        content=[{"type": "thinking", "text": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    )
    assert text_of(answer) == "ab"
    assert text_of(conversation.user("hello")) == "hello"


def test_rs_2_calls_are_matched_wave_by_wave():
    """RS-2: ids repeat across answers, so an old result does not answer a new call."""
    conversation = Conversation()
    conversation.user("go")
    conversation.answer("", "call_1", "call_2")
    conversation.result("call_1")
    conversation.result("call_2")
    last = conversation.answer("", "call_1", "call_2")
    conversation.result("call_2")
    lost = unanswered_calls(conversation.entries)
    assert [(answer.id, call.id) for answer, call in lost] == [(last.id, "call_1")]


def test_rs_2_a_call_lost_in_an_earlier_wave_stays_lost():
    """RS-2"""
    conversation = Conversation()
    first = conversation.answer("", "call_1")
    conversation.answer("", "call_1")
    conversation.result("call_1")
    assert [(answer.id, call.id) for answer, call in unanswered_calls(conversation.entries)] == [(first.id, "call_1")]


def test_rs_2_the_same_id_twice_in_one_wave_needs_two_results():
    """RS-2"""
    conversation = Conversation()
    conversation.answer("", "call_1", "call_1")
    conversation.result("call_1")
    assert len(unanswered_calls(conversation.entries)) == 1
    conversation.result("call_1")
    assert unanswered_calls(conversation.entries) == []


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=4), max_size=6), st.randoms())
def test_rs_2_whatever_was_answered_the_rest_is_lost(waves, random):
    """RS-2: for waves with repeating ids, some of their calls answered in any order."""
    conversation = Conversation()
    expected = []
    for wave in waves:
        if not wave:
            continue
        answer = conversation.answer("", *(id for id, _ in wave))
        answered = [id for id, done in wave if done]
        for id in random.sample(answered, len(answered)):
            conversation.result(id)
        expected += sorted((answer.id, id) for id, done in wave if not done)
    assert sorted((answer.id, call.id) for answer, call in unanswered_calls(conversation.entries)) == sorted(expected)


def test_a_foreign_payload_is_read_as_far_as_it_makes_sense():
    conversation = Conversation()
    odd = conversation.add("assistant", content="text", tool_calls=[{"id": 5, "arguments": "x"}, "call"])
    assert text_of(odd) == ""
    assert [(call.id, call.name, call.arguments) for call in calls_of(odd)] == [("5", "", {})]
    assert text_of(conversation.user(None)) == ""
