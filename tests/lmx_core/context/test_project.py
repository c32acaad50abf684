"""Which entries of a transcript a model is sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.cost import seconds
from support.transcripts import Conversation

from lmx_core.context.project import Projection
from lmx_core.transcript.audit import Sent


def lost(call) -> str:
    return f"lost {call.id}"


steps = st.lists(
    st.one_of(
        st.just(("user",)),
        st.just(("system",)),
        st.tuples(st.just("answer"), st.lists(st.sampled_from("abc"), unique=True, max_size=3)),
        st.tuples(st.just("partial"), st.just(["a"])),
        st.tuples(st.just("result"), st.sampled_from("abcd")),
        st.just(("error",)),
        st.just(("cancelled",)),
        st.just(("request",)),
        st.just(("session",)),
    ),
    max_size=25,
)


def written(steps) -> list:
    talk = Conversation()
    for n, step in enumerate(steps):
        match step:
            case ("answer", calls):
                talk.answer(f"text {n}", *calls, request_id=f"r{n}")
            case ("partial", calls):
                talk.answer(f"half {n}", *calls, request_id=f"r{n}", partial=True)
            case ("result", id):
                talk.add("tool_result", call_id=id, name="bash", output="x", outcome="ok", error=False, arguments={})
            case ("error",):
                talk.add("error", reason="x", request_id=f"r{n - 1}")
            case (kind,):
                talk.add(kind, text=f"{kind} {n}")
    return talk.entries


@given(steps)
def test_c14_every_call_is_followed_by_exactly_one_result_before_anything_else(steps):
    """C14, DI-2: whatever a transcript holds, what is sent can never be refused for a call without its result."""
    open_calls: list[str] = []
    for entry in Projection(lost, written(steps)).entries():
        if entry.type == "tool_result":
            open_calls.remove(entry.payload["call_id"])
            continue
        assert open_calls == []
        open_calls = [call["id"] for call in entry.payload.get("tool_calls", ())]
    assert open_calls == []


@given(steps)
def test_cp_3_the_same_entries_give_the_same_request_however_they_came(steps):
    """CP-3, RS-1, TK-3: live (one by one, asked in between) and resumed (all at once)."""
    entries = written(steps)
    live = Projection(lost)
    for entry in entries:
        live.add(entry)
        if entry.type == "user" and not live.open_calls:
            live.entries()
    assert live.entries() == Projection(lost, entries).entries()


@given(steps)
def test_au_1_the_account_of_what_was_sent_agrees_with_what_is_sent(steps):
    projection = Projection(lost, written(steps))
    sent = projection.entries()
    assert projection.sent.summary()["digest"] == Sent.of(sent).summary()["digest"]
    assert projection.sent.summary()["count"] == sum(1 for entry in sent if not entry.meta)


@given(steps)
def test_cp_3_partial_answers_are_never_sent(steps):
    """CP-3, TR-8."""
    assert not any(e.payload.get("partial") for e in Projection(lost, written(steps)).entries())


def test_ll_6_an_abandoned_answer_is_not_the_last_word_and_a_kept_one_stays():
    talk = Conversation()
    talk.user("hi")
    talk.answer("abandoned", request_id="r1")
    talk.add("error", reason="x", request_id="r1")
    assert [e.type for e in Projection(lost, talk.entries).entries()] == ["user"]
    kept = Conversation()
    kept.user("hi")
    kept.answer("cancelled text", request_id="r1")
    kept.add("cancelled", reason="cancelled")
    kept.add("error", reason="of another request", request_id="r2")
    assert [e.type for e in Projection(lost, kept.entries).entries()] == ["user", "assistant"]


def test_tr_9_stand_ins_are_named_after_the_answer_and_never_look_written():
    talk = Conversation()
    talk.user("hi")
    answer = talk.answer("", "a")
    talk.user("on")
    stand_in = Projection(lost, talk.entries).entries()[2]
    assert stand_in.id == f"{answer.id}-lost-a" and stand_in.meta == {"synthetic": True}
    assert (stand_in.payload["outcome"], stand_in.payload["output"]) == ("unknown", "lost a")


def test_projecting_costs_what_was_added_not_the_square_of_the_conversation():
    def spent(turns: int) -> float:
        entries = written([("user",), ("answer", ["a"]), ("result", "a"), ("answer", [])] * turns)

        def project() -> None:
            projection = Projection(lost)
            for entry in entries:
                projection.add(entry)
            projection.entries()

        return seconds(project)

    small, large = min(spent(100) for _ in range(3)), spent(10_000)
    assert large < 1_000 * small  # a square would be 10,000 times as much
