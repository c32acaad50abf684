"""Whether one more request may be sent, and words that wait for it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmx_core.turn.budget import Limits
from lmx_core.turn.steering import Steers
from lmx_core.usage import Usage


def test_bu_1_turns_bound_a_prompt_and_requests_the_session():
    limits = Limits(max_turns=3, max_requests=10)
    assert limits.refusal(turns=2, requests=9) is None
    assert limits.refusal(turns=3, requests=3).stop_reason == "max_turns"
    refused = limits.refusal(turns=0, requests=10)
    assert (refused.stop_reason, refused.detail) == ("budget", {"kind": "requests", "used": 10, "limit": 10})


def test_bu_1_without_a_ceiling_only_turns_count():
    assert Limits().refusal(turns=399, requests=10**9) is None


@given(st.lists(st.tuples(st.sampled_from(["add", "revoke", "take"]), st.sampled_from("abc"))))
def test_met_2_no_steer_is_lost_and_none_is_delivered_twice(steps):
    steers, added, gone = Steers(), 0, 0
    for what, text in steps:
        if what == "add":
            steers.add(text)
            added += 1
        elif what == "revoke":
            waiting = text in steers.waiting
            assert steers.revoke(text) is waiting
            gone += waiting
        else:
            expected = steers.waiting
            taken = steers.take()
            assert tuple(taken) == expected
            gone += len(taken)
        assert len(steers.waiting) == added - gone


def test_met_2_steers_keep_their_order():
    steers = Steers()
    for text in ("one", "two", "three"):
        steers.add(text)
    steers.revoke("two")
    assert steers.take() == ["one", "three"]


@given(st.lists(st.integers(0, 10**7), max_size=30), st.integers(0, 10**8))
def test_bu_2_money_is_compared_as_it_is_written(micros, cap):
    """BU-2: whatever was added up before, the ceiling is passed by a millionth of a dollar and not by a rounding."""
    limits = Limits(max_cost_usd=cap / 1e6)
    spent = Usage.sum(Usage(cost_usd=amount / 1e6) for amount in micros).cost_usd
    assert spent == sum(micros) / 1e6
    room = cap - sum(micros)
    if room >= 0:
        assert limits.unaffordable(spent=spent, estimate=room / 1e6, model="m") is None
        assert limits.unaffordable(spent=spent, estimate=(room + 1) / 1e6, model="m") is not None
    else:
        assert limits.unaffordable(spent=spent, estimate=0.0, model="m") is not None


def test_bu_5_under_a_ceiling_unknown_is_not_nothing():
    for spent, estimate in ((None, 0.0), (0.0, None), (None, None)):
        refused = Limits(max_cost_usd=10.0).unaffordable(spent=spent, estimate=estimate, model="a:b")
        assert refused is not None and refused.detail["model"] == "a:b"
        assert Limits().unaffordable(spent=spent, estimate=estimate, model="a:b") is None
