"""The shipped limiter on a loop: waiting, being cancelled, timers."""

from __future__ import annotations

import asyncio

import pytest

from lmx_core import FOREVER, AdmissionRefused, ConfigError, ManualClock, ProviderLimiter
from lmx_core.providers.admission.limiter import MANY_KEYS
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio

KEY = ("x.Provider", "openai", "gpt-6")


def limiter(**options) -> tuple[ProviderLimiter, ManualClock]:
    clock = ManualClock()
    return ProviderLimiter(**{"clock": clock, **options}), clock


def asks(limits: ProviderLimiter, root: str = "r", tokens: int = 0, key=KEY) -> asyncio.Task:
    return asyncio.get_running_loop().create_task(limits.checkout(key, root, tokens))


async def test_ad_2_by_default_eight_go_at_once_and_no_tokens_are_counted():
    limits, _ = limiter()
    tasks = [asks(limits, tokens=1_000_000) for _ in range(9)]
    await settle()
    assert [task.done() for task in tasks] == [True] * 8 + [False]
    limits.release(tasks[3].result())
    await settle()
    assert tasks[8].done() and limits.snapshot()[KEY].available_tokens == FOREVER


async def test_a_free_place_is_taken_without_giving_way():
    limits, _ = limiter()
    checkout = limits.checkout(KEY, "r", 0)
    with pytest.raises(StopIteration) as ended:
        checkout.send(None)
    assert ended.value.value.root_id == "r"


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_concurrency": 0},
        {"max_concurrency": 1.5},
        {"max_concurrency": True},
        {"tokens_per_interval": -1},
        {"interval_ms": FOREVER},
        {"clock": object()},
    ],
)
async def test_what_makes_no_limit_is_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ProviderLimiter(**wrong)


async def test_ad_3_a_key_has_one_timer_for_the_instant_its_next_may_go():
    limits, clock = limiter(tokens_per_interval=100, interval_ms=1_000)
    first = await limits.checkout(KEY, "r", 100)
    waiting = [asks(limits, f"r{n}", 50) for n in range(5)]
    await settle()
    assert clock.pending() == [500]
    limits.reconcile(first, 80)
    limits.release(first)
    assert clock.pending() == [300]
    await clock.advance(300)
    assert [task.done() for task in waiting] == [True, False, False, False, False] and clock.pending() == [500]
    await clock.advance(2_000)
    assert all(task.done() for task in waiting) and clock.pending() == []


async def test_ad_4_what_is_above_the_limit_is_refused_at_once_and_the_limit_named():
    limits, clock = limiter(tokens_per_interval=90_000, max_concurrency=1)
    await limits.checkout(KEY, "r", 90_000)
    asked = asks(limits, tokens=90_001)
    await settle()
    assert isinstance(asked.exception(), AdmissionRefused) and "90,000" in str(asked.exception())
    failure = asked.exception().failure
    assert failure.code == "request_exceeds_token_limit" and not failure.is_transient
    assert clock.pending() == [] and limits.snapshot()[KEY].queued == 0


async def test_ad_5_cancelling_a_wait_frees_its_place_at_once():
    limits, _ = limiter(max_concurrency=1)
    held = await limits.checkout(KEY, "r", 0)
    gone, next_one = asks(limits), asks(limits)
    await settle()
    gone.cancel()
    await settle()
    assert limits.snapshot()[KEY].queued == 1
    limits.release(held)
    await settle()
    assert gone.cancelled() and next_one.done()


async def test_ad_5_a_lease_granted_to_a_task_that_is_being_cancelled_comes_back_whole():
    limits, _ = limiter(max_concurrency=1, tokens_per_interval=100)
    held = await limits.checkout(KEY, "r", 40)
    gone, next_one = asks(limits, tokens=60), asks(limits, tokens=60)
    await settle()
    limits.release(held)  # grants it to `gone`, which is cancelled before it can know
    gone.cancel()
    await settle()
    assert gone.cancelled() and next_one.done()
    load = limits.snapshot()[KEY]
    assert (load.active, load.queued, load.available_tokens) == (1, 0, 0)


async def test_ad_5_a_lease_is_not_given_to_a_task_that_is_already_cancelled():
    limits, _ = limiter(max_concurrency=1, tokens_per_interval=100)
    held = await limits.checkout(KEY, "r", 40)
    gone, next_one = asks(limits, tokens=60), asks(limits, tokens=60)
    await settle()
    gone.cancel()
    limits.release(held)
    await settle()
    assert gone.cancelled() and next_one.done() and limits.snapshot()[KEY].available_tokens == 0


async def test_ad_5_releasing_twice_is_harmless():
    limits, _ = limiter(max_concurrency=1)
    one = await limits.checkout(KEY, "r", 0)
    limits.release(one)
    two = await limits.checkout(KEY, "r", 0)
    limits.release(one)
    limits.reconcile(one, 7)
    assert limits.snapshot()[KEY].active == 1
    limits.release(two)
    assert limits.snapshot()[KEY].active == 0


async def test_ad_6_a_penalised_key_waits_and_another_does_not():
    limits, clock = limiter()
    limits.penalize(KEY, 5_000)
    waiting = asks(limits)
    await limits.checkout("another", "r", 0)
    await clock.advance(4_999)
    assert not waiting.done() and limits.snapshot()[KEY].blocked_until == 5_000
    await clock.advance(1)
    assert waiting.done()


async def test_ad_6_a_penalty_puts_off_who_waits_already():
    limits, clock = limiter(tokens_per_interval=10, interval_ms=1_000)
    await limits.checkout(KEY, "r", 10)
    waiting = asks(limits, tokens=10)
    await settle()
    limits.penalize(KEY, 3_000)
    await clock.advance(2_999)
    assert not waiting.done()
    await clock.advance(1)
    assert waiting.done()


async def test_ad_7_keys_are_counted_apart():
    limits, _ = limiter(max_concurrency=1)
    await limits.checkout(("a", 1), "r", 0)
    await limits.checkout(("a", 2), "r", 0)
    assert {key: load.active for key, load in limits.snapshot().items()} == {("a", 1): 1, ("a", 2): 1}


async def test_ad_8_the_snapshot_tells_each_keys_state():
    limits, _ = limiter(max_concurrency=2, tokens_per_interval=100, interval_ms=1_000)
    for _ in range(2):
        await limits.checkout(KEY, "r", 30)
    waiting = asks(limits, tokens=30)
    limits.penalize(KEY, 700)
    await settle()
    load = limits.snapshot()[KEY]
    assert (load.active, load.queued, load.available_tokens, load.blocked_until) == (2, 1, 40, 700)
    waiting.cancel()
    await settle()


async def test_keys_that_hold_nothing_are_forgotten_when_there_are_very_many():
    limits, _ = limiter()
    held = await limits.checkout("held", "r", 0)
    for number in range(2 * MANY_KEYS):
        limits.release(await limits.checkout(number, "r", 0))
    assert len(limits.snapshot()) <= MANY_KEYS + 1 and limits.snapshot()["held"].active == 1
    limits.release(held)


async def test_a_limiter_at_work_on_one_loop_refuses_another():
    limits, _ = limiter()
    held = await limits.checkout(KEY, "r", 0)

    async def elsewhere():
        await limits.checkout(KEY, "r", 0)

    def in_a_thread():
        with pytest.raises(ConfigError, match="another event loop"):
            asyncio.run(elsewhere())

    await asyncio.get_running_loop().run_in_executor(None, in_a_thread)
    limits.release(held)
    await asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(elsewhere()))
    await limits.checkout(KEY, "r", 0)
    assert limits.snapshot()[KEY].active == 1, "what a closed loop left behind is gone"


async def test_its_repr_shows_its_class_only():
    assert repr(ProviderLimiter(max_concurrency=3)) == "ProviderLimiter"
