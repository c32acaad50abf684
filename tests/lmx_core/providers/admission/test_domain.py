"""The bookkeeping of one key, without a loop: who goes next, and what is left of the tokens."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lmx_core import FOREVER
from lmx_core.providers.admission import Lease
from lmx_core.providers.admission.domain import Domain


def domain(**options) -> Domain:
    return Domain(**{"max_concurrency": FOREVER, "tokens": FOREVER, "interval_ms": 60_000, "now_ms": 0, **options})


def ask(where: Domain, root: str, tokens: int = 0) -> Lease:
    lease = Lease(key="k", root_id=root, estimated_tokens=tokens)
    where.ask(lease)
    return lease


def granted(where: Domain, now_ms: int = 0) -> list[Lease]:
    leases = []
    while (lease := where.grant(now_ms)) is not None:
        leases.append(lease)
    return leases


def test_ad_2_no_more_are_under_way_than_may_be():
    d = domain(max_concurrency=2)
    first, second, third = (ask(d, "a") for _ in range(3))
    assert granted(d) == [first, second] and d.wake_in(0) is None
    d.end(first, 0)
    assert granted(d) == [third]


def test_ad_3_a_root_that_waits_alone_goes_after_one_of_a_busy_roots():
    d = domain(max_concurrency=1)
    busy = [ask(d, "busy") for _ in range(4)]
    assert granted(d) == busy[:1]
    alone = ask(d, "alone")
    order = []
    running = busy[0]
    for _ in range(4):
        d.end(running, 0)
        [running] = granted(d)
        order.append(running)
    assert order == [busy[1], alone, busy[2], busy[3]]


def test_ad_2_the_bucket_refills_linearly_and_no_further_than_full():
    d = domain(tokens=600, interval_ms=60_000)
    ask(d, "a", 600)
    assert len(granted(d)) == 1
    assert [d.load(now).available_tokens for now in (0, 100, 30_000, 60_000, 600_000)] == [0, 1, 300, 600, 600]


def test_ad_2_many_small_steps_refill_as_much_as_one_long_one():
    small, long = (domain(tokens=7, interval_ms=1_000) for _ in range(2))
    for d in (small, long):
        ask(d, "a", 7)
        granted(d)
    for now in range(1, 778):
        small.load(now)
    assert small.load(777) == long.load(777)


def test_ad_2_a_release_gives_back_what_was_estimated_too_much_and_takes_what_was_too_little():
    d = domain(tokens=1_000)
    cheap, dear, unknown = ask(d, "a", 300), ask(d, "a", 300), ask(d, "a", 300)
    granted(d)
    assert d.load(0).available_tokens == 100
    for lease, actual in ((cheap, 50), (dear, 900)):
        d.reconcile(lease, actual)
        d.end(lease, 0)
    assert d.load(0).available_tokens == 100 + 250 - 600
    d.end(unknown, 0)
    assert d.load(0).available_tokens == -250


def test_ad_3_who_is_short_of_tokens_is_not_passed_by_one_that_is_not():
    d = domain(tokens=100, interval_ms=1_000)
    spends, large, small = ask(d, "a", 90), ask(d, "b", 60), ask(d, "c", 5)
    assert granted(d) == [spends]
    assert d.wake_in(0) == 500
    assert granted(d, 499) == [] and granted(d, 500) == [large]
    assert granted(d, 550) == [small]


def test_ad_6_nobody_goes_before_a_penalty_has_elapsed_and_a_shorter_one_does_not_end_a_longer():
    d = domain()
    d.penalize(5_000, 0)
    d.penalize(1_000.2, 100)
    lease = ask(d, "a")
    assert d.wake_in(1_000) == 4_000 and granted(d, 4_999) == []
    assert d.load(4_999).blocked_until == 5_000
    assert granted(d, 5_000) == [lease] and d.load(5_000).blocked_until is None


def test_ad_5_a_second_release_is_harmless_and_one_who_waits_can_leave():
    d = domain(max_concurrency=1, tokens=100)
    held, waits = ask(d, "a", 40), ask(d, "b", 40)
    granted(d)
    d.end(waits, 0)
    d.end(waits, 0)
    d.reconcile(held, 10)
    d.end(held, 0)
    d.reconcile(held, 0)
    d.end(held, 0)
    assert (d.load(0).active, d.load(0).queued, d.load(0).available_tokens) == (0, 0, 90)


def test_a_clock_that_is_set_back_neither_gives_nor_takes():
    d = domain(tokens=100, interval_ms=1_000, now_ms=10_000)
    ask(d, "a", 100)
    granted(d, 10_000)
    assert d.load(5_000).available_tokens == 0
    assert d.load(5_500).available_tokens == 50


class EveryoneInTurn(RuleBasedStateMachine):
    """AD-2, AD-3, AD-5: whatever comes, waits, is cancelled and ends, in whatever order and whenever.

    Beside the domain stands the plainest possible account of it: the list of who asked, what the tokens ought to be, and how
    often each root was passed over.
    """

    @initialize(
        most=st.integers(1, 4), tokens=st.one_of(st.just(FOREVER), st.integers(5, 60)), every=st.integers(1, 50)
    )
    def begin(self, most: int, tokens: float, every: int) -> None:
        self.most, self.tokens, self.every = most, tokens, every
        self.now = 0
        self.domain = domain(max_concurrency=most, tokens=tokens, interval_ms=every)
        self.queued: list[Lease] = []
        self.active: list[Lease] = []
        self.level = 0 if tokens == FOREVER else tokens * every
        self.blocked_until = 0
        self.passed: dict[str, int] = {}

    def serve(self) -> None:
        """What a limiter does after anything has happened."""
        while (lease := self.domain.grant(self.now)) is not None:
            assert lease in self.queued and self.now >= self.blocked_until and len(self.active) < self.most
            assert lease is next(one for one in self.queued if one.root_id == lease.root_id), "its own root's order"
            self.queued.remove(lease)
            self.active.append(lease)
            if self.tokens != FOREVER:
                self.level -= lease.estimated_tokens * self.every
                assert self.level >= 0, "granted with tokens that are not there"
            self.passed.pop(lease.root_id, None)
            others = {one.root_id for one in self.queued} - {lease.root_id}
            for root in others:
                self.passed[root] = self.passed.get(root, 0) + 1

    @rule(root=st.sampled_from("abcd"), tokens=st.integers(0, 5))
    def comes(self, root: str, tokens: int) -> None:
        self.queued.append(ask(self.domain, root, tokens))
        self.serve()

    @precondition(lambda self: self.active)
    @rule(data=st.data(), actual=st.one_of(st.none(), st.integers(0, 20)))
    def ends(self, data: st.DataObject, actual: int | None) -> None:
        lease = data.draw(st.sampled_from(self.active))
        self.active.remove(lease)
        if actual is not None:
            self.domain.reconcile(lease, actual)
            if self.tokens != FOREVER:
                self.level = min(self.tokens * self.every, self.level + (lease.estimated_tokens - actual) * self.every)
        self.domain.end(lease, self.now)
        self.domain.end(lease, self.now)
        self.serve()

    @precondition(lambda self: self.queued)
    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.queued))
        self.queued.remove(lease)
        if not any(one.root_id == lease.root_id for one in self.queued):
            self.passed.pop(lease.root_id, None)
        self.domain.end(lease, self.now)
        self.serve()

    @rule(ms=st.integers(0, 60))
    def time_passes(self, ms: int) -> None:
        self.now += ms
        if self.tokens != FOREVER:
            self.level = min(self.tokens * self.every, self.level + ms * self.tokens)
        self.serve()

    @precondition(lambda self: self.domain.wake_in(self.now) is not None)
    @rule()
    def the_timer_fires(self) -> None:
        """When time alone is said to help, it does, and not a millisecond sooner."""
        wait = self.domain.wake_in(self.now)
        assert wait > 0
        if wait > 1:
            assert self.domain.grant(self.now + wait - 1) is None
            if self.tokens != FOREVER:
                self.level = min(self.tokens * self.every, self.level + (wait - 1) * self.tokens)
            self.now += wait - 1
            wait = 1
        before = len(self.active)
        self.time_passes(wait)
        assert len(self.active) > before

    @rule(ms=st.integers(0, 40))
    def is_penalised(self, ms: int) -> None:
        self.domain.penalize(ms, self.now)
        self.blocked_until = max(self.blocked_until, self.now + ms)

    @invariant()
    def the_account_agrees(self) -> None:
        if not hasattr(self, "domain"):
            return
        load = self.domain.load(self.now)
        assert (load.active, load.queued) == (len(self.active), len(self.queued))
        assert load.available_tokens == (FOREVER if self.tokens == FOREVER else self.level // self.every)

    @invariant()
    def nobody_is_forgotten(self) -> None:
        """Who waits is either behind a lease that must come back or has a timer coming."""
        if getattr(self, "queued", None) and len(self.active) < self.most:
            assert (self.domain.wake_in(self.now) or 0) > 0

    @invariant()
    def nobody_is_passed_twice(self) -> None:
        """Each other root goes at most once before a root that waits; a root cannot be starved."""
        if hasattr(self, "passed"):
            assert all(times <= 3 for times in self.passed.values())


@pytest.mark.long
def test_everyone_in_turn_for_long() -> None:
    """AD-2, AD-3, AD-5: the same, fifty times as often."""
    run_state_machine_as_test(
        EveryoneInTurn, settings=settings(max_examples=3_000, stateful_step_count=60, deadline=None)
    )


EveryoneInTurn.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestEveryoneInTurn = EveryoneInTurn.TestCase
