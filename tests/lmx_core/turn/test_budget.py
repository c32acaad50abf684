"""Whether one more request may be sent, and words that wait for it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmx_core.turn.budget import Limits
from lmx_core.turn.steering import Steers


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
