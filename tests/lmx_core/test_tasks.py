"""Blocking code in threads of our own, and somebody else's coroutine in a task that can be given up."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from lmx_core.tasks import beside, run_apart, run_in_thread, together


@pytest.mark.asyncio
async def test_a_function_runs_in_a_daemon_thread_with_our_context():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("ours")

    def work(a, *, b):
        return (
            a + b,
            variable.get(),
            threading.current_thread().daemon,
            threading.current_thread() is threading.main_thread(),
        )

    assert await run_in_thread(work, 1, b=2) == (3, "ours", True, False)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
@pytest.mark.asyncio
async def test_what_a_function_raises_reaches_who_waits(error):
    def work():
        raise error

    async def waits():  # in the coroutine: a task that raised SystemExit would end the loop
        with pytest.raises(type(error)):
            await run_in_thread(work)

    await waits()


@pytest.mark.asyncio
async def test_stop_iteration_does_not_wait_for_ever():
    with pytest.raises(RuntimeError, match="StopIteration"):
        await run_in_thread(next, iter(()))


@pytest.mark.asyncio
async def test_se_8_a_thread_given_up_is_dropped_and_holds_nobody():
    """SE-8: cancelling returns at once; the late result goes nowhere."""
    go = threading.Event()
    task = asyncio.create_task(run_in_thread(go.wait, 10))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    await asyncio.sleep(0.01)


def test_se_8_a_hung_thread_does_not_hold_up_the_exit():
    """SE-8: `asyncio.to_thread` would be joined."""
    script = (
        "import asyncio, threading\nfrom lmx_core.tasks import run_in_thread\n"
        "async def main():\n"
        "    task = asyncio.create_task(run_in_thread(threading.Event().wait))\n"
        "    await asyncio.sleep(0)\n    task.cancel()\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=20, check=True)


@pytest.mark.asyncio
async def test_a_coroutine_apart_gives_what_it_returns_or_raises():
    async def returns():
        return 3

    async def raises():
        raise ValueError

    assert await run_apart(returns(), name="n", grace_ms=100, abandoned=pytest.fail) == 3
    with pytest.raises(ValueError):
        await run_apart(raises(), name="n", grace_ms=100, abandoned=pytest.fail)


@pytest.mark.asyncio
async def test_cancelling_waits_until_it_has_ended():
    begun, ended = asyncio.Event(), []

    async def body():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            ended.append(asyncio.current_task().get_name())

    task = asyncio.create_task(run_apart(body(), name="mine", grace_ms=5_000, abandoned=pytest.fail))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["mine"]


@pytest.mark.parametrize("cancels", [1, 2])
@pytest.mark.asyncio
async def test_d_17_what_does_not_end_is_left_behind(cancels):
    """D-17: after the grace, or at a second cancellation at once."""
    begun, go, left = asyncio.Event(), asyncio.Event(), []

    async def body():
        begun.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue

    grace_ms = 20 if cancels == 1 else 60_000
    task = asyncio.create_task(run_apart(body(), name="n", grace_ms=grace_ms, abandoned=lambda: left.append(True)))
    await begun.wait()
    for _ in range(cancels):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left == [True]
    go.set()
    await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_together_ends_all_where_one_fails():
    gone = asyncio.Event()

    async def waits():
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    async def fails():
        raise OSError("x")

    with pytest.raises(ExceptionGroup) as caught:
        await together(waits(), fails())
    assert gone.is_set() and isinstance(caught.value.exceptions[0], OSError)


@pytest.mark.asyncio
async def test_what_runs_beside_ends_with_what_is_waited_for():
    gone = asyncio.Event()

    async def waits():
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    async def answers():
        await asyncio.sleep(0)
        return 7

    assert await beside(answers(), waits()) == 7 and gone.is_set()
    with pytest.raises(ExceptionGroup):
        await beside(asyncio.Event().wait(), _raises())


async def _raises():
    raise OSError("x")
