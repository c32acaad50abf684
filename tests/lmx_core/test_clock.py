"""The clock: that a test can fire every deadline by hand, in order, and that a deadline can be held."""

from __future__ import annotations

import asyncio

import pytest

from lmx_core import clock

pytestmark = pytest.mark.asyncio(loop_scope="function")


async def test_sc_3_due_timers_fire_in_order_each_at_its_own_instant() -> None:
    manual, seen = clock.ManualClock(now=1_000), []
    for ms in (300, 100, 200):
        manual.call_later(ms, lambda ms=ms: seen.append((ms, manual.now_ms())))
    manual.call_later(100, lambda: seen.append(("second", manual.now_ms())))
    assert manual.pending() == [100, 100, 200, 300]
    await manual.advance(250)
    assert seen == [(100, 1_100), ("second", 1_100), (200, 1_200)] and manual.now_ms() == 1_250
    await manual.advance(50)
    assert seen[-1] == (300, 1_300) and manual.pending() == []


async def test_sc_3_a_timer_armed_by_a_firing_one_fires_in_the_same_advance() -> None:
    manual, seen = clock.ManualClock(), []
    manual.call_later(10, lambda: manual.call_later(10, lambda: seen.append(manual.now_ms())))
    await manual.advance(20)
    assert seen == [20]


async def test_sc_3_zero_delay_fires_at_once_and_a_cancelled_timer_never() -> None:
    manual, seen = clock.ManualClock(), []
    manual.call_later(0, lambda: seen.append("now"))
    manual.call_later(5, lambda: seen.append("never")).cancel()
    await asyncio.sleep(0)
    await manual.advance(10)
    assert seen == ["now"]


async def test_sc_3_settle_runs_between_firings() -> None:
    manual, order = clock.ManualClock(), []

    async def settle() -> None:
        order.append("settle")

    manual.call_later(1, lambda: order.append("a"))
    manual.call_later(2, lambda: order.append("b"))
    await manual.advance(2, settle=[settle])
    assert order == ["settle", "a", "settle", "b", "settle"]


async def test_sc_3_await_timer_says_what_is_pending_when_none_comes() -> None:
    manual = clock.ManualClock()
    manual.call_later(70, lambda: None)
    assert await manual.await_timer(lambda ms: ms > 50) == 70
    with pytest.raises(TimeoutError, match=r"pending: \[70.*\]"):
        await manual.await_timer(lambda ms: ms > 100, timeout_ms=5)


async def test_a_deadline_ends_the_body_and_only_when_it_is_due() -> None:
    manual = clock.ManualClock()

    async def work() -> None:
        async with clock.deadline(manual, 100):
            await clock.sleep(manual, 1_000)

    task = asyncio.create_task(work())
    await manual.advance(99)
    assert not task.done()
    await manual.advance(1)
    with pytest.raises(TimeoutError):
        await task


async def test_a_paused_deadline_keeps_what_was_left() -> None:
    manual = clock.ManualClock()
    timers: list[clock.Deadline] = []

    async def work() -> None:
        async with clock.deadline(manual, 100) as timer:
            timers.append(timer)
            await clock.sleep(manual, 10_000)

    task = asyncio.create_task(work())
    await manual.advance(60)
    timers[0].pause()
    await manual.advance(5_000)
    timers[0].resume()
    await manual.advance(39)
    assert not task.done()
    await manual.advance(1)
    with pytest.raises(TimeoutError):
        await task


async def test_no_deadline_is_left_behind_by_a_body_that_ends() -> None:
    manual = clock.ManualClock()
    async with clock.deadline(manual, 100):
        pass
    async with clock.deadline(manual, clock.FOREVER):
        assert manual.pending() == []


async def test_a_cancelled_body_stays_cancelled() -> None:
    manual = clock.ManualClock()

    async def work() -> None:
        async with clock.deadline(manual, 100):
            await clock.sleep(manual, 1_000)

    task = asyncio.create_task(work())
    await manual.advance(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert manual.pending() == []


async def test_a_restarted_deadline_fires_only_after_its_whole_time_without_a_restart() -> None:
    manual, fired = clock.ManualClock(), []
    timer = clock.Deadline(manual, 100, lambda: fired.append(manual.now_ms()))
    for _ in range(3):
        await manual.advance(80)
        timer.restart()
    await manual.advance(99)
    assert not fired
    await manual.advance(1)
    assert fired == [340] and timer.expired
