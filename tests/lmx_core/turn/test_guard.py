"""When the model goes round in circles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.calls import Outcome, Result, ToolCall
from lmx_core.messages import Messages
from lmx_core.turn.guard import Continue, Record, StandardGuard, Stop, in_progress


def outcome(name: str = "bash", arguments: dict | None = None, text: str = "same", **more: object) -> Outcome:
    arguments = arguments or {}
    call = ToolCall(id="c", name=name, arguments=arguments)
    return Outcome(call=call, outcome=more.pop("outcome", "ok"), text=text, arguments=arguments, **more)


def decide(record: Record, turns: int = 1, most: int = 400) -> Continue | Stop:
    view = record.view(turns_taken=turns, max_turns=most, messages=Messages())
    return StandardGuard().decide(view)


def after(*waves: list[Outcome]) -> Record:
    record = Record()
    for wave in waves:
        record = record.settled(wave)
    return record


def test_gu_2_the_same_round_three_times_running_is_no_progress():
    wave = [outcome()]
    assert decide(after(wave, wave)) == Continue()
    assert decide(after(wave, wave, wave)) == Stop("no_progress", Messages().stuck(3))


def test_gu_2_the_order_within_a_round_does_not_matter():
    one, two = outcome("read"), outcome("grep")
    assert after([one, two], [two, one], [one, two]).repeats == 3


@pytest.mark.parametrize("other", [outcome(text="new"), outcome(arguments={"x": 1}), outcome(outcome="error")])
def test_gu_2_another_answer_or_another_call_breaks_the_row(other):
    same = [outcome()]
    assert after(same, same, [other], same).repeats == 1


def test_gu_2_half_of_the_last_eight_calls_repeating_is_no_progress():
    rounds = [[outcome(arguments={"n": n % 4})] for n in range(8)]
    assert decide(after(*rounds[:7])) == Continue()
    assert decide(after(*rounds)) == Stop("no_progress", Messages().cycling(8))
    fewer = [[outcome(arguments={"n": n % 5})] for n in range(8)]
    assert decide(after(*fewer)) == Continue()


def test_gu_2_turns_spent_is_max_turns_and_the_circle_is_told_first():
    assert decide(after([outcome()]), turns=4, most=4) == Stop("max_turns", Messages().turn_budget_spent(4))
    wave = [outcome()]
    assert decide(after(wave, wave, wave), turns=4, most=4).reason == "no_progress"


@pytest.mark.parametrize("status", ["running", "pending", "queued", "in_progress"])
def test_gu_3_work_in_progress_joins_no_record_and_resets_the_row(status):
    """D-7: polling a quiet background task never trips the guard."""
    waiting = outcome(result=Result(structured_content={"status": status}))
    assert in_progress(waiting)
    record = after(*[[waiting]] * 20)
    assert record.recent_calls == () and record.repeats == 0
    assert decide(record) == Continue()
    same = [outcome()]
    assert after(same, same, [waiting], same).repeats == 1


def test_gu_3_metadata_may_say_it_too_and_other_statuses_do_not():
    assert in_progress(outcome(result=Result(metadata={"in_progress": True})))
    assert not in_progress(outcome(result=Result(structured_content={"status": "done"})))
    assert not in_progress(outcome(result=Result(structured_content=["running"])))


def test_gu_1_the_guard_sees_the_last_eight_calls():
    record = after(*[[outcome(arguments={"n": n}, text=str(n))] for n in range(20)])
    assert len(record.recent_calls) == 8
    view = record.view(turns_taken=20, max_turns=400, messages=Messages())
    assert [call.name for call in view.recent_calls] == ["bash"] * 8
    assert view.last_wave is not None and view.turns_taken == 20


@given(st.lists(st.lists(st.builds(outcome, text=st.text(max_size=3)), min_size=1, max_size=4), max_size=12))
def test_rounds_that_never_repeat_never_stop(waves):
    numbered = [
        [outcome(arguments={"wave": n, "call": m}, text=o.text) for m, o in enumerate(wave)]
        for n, wave in enumerate(waves)
    ]
    record = Record()
    for wave in numbered:
        record = record.settled(wave)
        assert decide(record) == Continue()
