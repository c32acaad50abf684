"""What a host mounts and stops."""

from __future__ import annotations

import asyncio

import pytest
from support.sessions import Echo, Gate

from lmx_core import ConfigError, ManualClock, MemoryStore, Runtime, Scripted, events, run, start_session
from lmx_core import runtime as rooms
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing import collect

pytestmark = pytest.mark.asyncio


async def session(mounted, *script, **more):
    return await start_session(
        **{"runtime": mounted, "provider": Scripted(script), "store": MemoryStore(), "model": "m:m", "tools": []} | more
    )


async def test_rt_2_a_runtime_is_entered_or_started_and_stopped_and_stopping_twice_is_fine():
    """RT-2, RT-6."""
    async with Runtime() as one:
        assert rooms.find("lmx") is one
    two = await Runtime("two").start()
    assert rooms.find(two) is two and await two.start() is two
    await two.stop()
    await two.stop()
    with pytest.raises(ConfigError):
        rooms.find(two)


async def test_rt_2_another_loop_is_refused():
    async with Runtime("here") as here:

        async def elsewhere():
            with pytest.raises(ConfigError, match="another event loop"):
                await session("here")
            with pytest.raises(ConfigError, match="another event loop"):
                await here.stop()

        await asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(elsewhere()))


async def test_rt_3_any_number_by_name_sharing_nothing_and_none_left_behind():
    async with Runtime("a") as a, Runtime("b") as b:
        with pytest.raises(ConfigError, match="'a'"):
            await Runtime("a").start()
        await session(a)
        assert len(a.sessions) == 1 and b.sessions == ()
        assert set(rooms._mounted) == {"a", "b"}
    assert rooms._mounted == {}
    async with Runtime("a"):
        pass


async def test_rt_4_every_task_bears_the_name_of_its_runtime_kind_and_id():
    gate = Gate()
    async with Runtime("tenant-7") as mounted:
        mine = await session(mounted, tool_call("gate", id="c"), tools=[gate])
        await mine.prompt("go")
        while not gate.began:
            await asyncio.sleep(0)
        ours = {t.get_name() for t in asyncio.all_tasks() if t is not asyncio.current_task()}
        assert f"tenant-7/session/{mine.id}" in ours
        assert any(name.startswith(f"tenant-7/tool_attempt/{mine.id}/") for name in ours)
        assert all(name.startswith("tenant-7/") for name in ours)


async def test_rt_6_stop_ends_every_session_with_its_hooks_and_its_lock():
    told, store, gate = [], MemoryStore(), Gate()
    async with Runtime("a") as mounted:
        for n in range(3):
            mine = await session(
                mounted,
                tool_call("gate", id="c"),
                store=store,
                id=f"s{n}",
                tools=[gate],
                hooks=[("session_end", lambda what, ctx: told.append(ctx.session_id))],
            )
            await mine.prompt("go")
        while len(gate.began) < 3:
            await asyncio.sleep(0)
    assert sorted(told) == ["s0", "s1", "s2"] and store._locks == {}
    assert len(gate.cancelled) == 3
    assert [t for t in asyncio.all_tasks() if t.get_name().startswith("a/")] == []


async def test_rt_6_a_session_that_will_not_end_does_not_hold_up_the_stop():
    class Deaf(Echo):
        name = "deaf"

        async def run(self, args, context):
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    if freed.is_set():
                        raise

    freed = asyncio.Event()
    async with Runtime("a") as mounted:
        mine = await session(mounted, tool_call("deaf"), tools=[Deaf()], hooks=[("session_end", hang)])
        await mine.prompt("go")
        await asyncio.sleep(0.01)
        await mounted.stop(timeout_ms=50)
        assert rooms._mounted == {}
        freed.set()
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()


async def hang(what, ctx):
    await asyncio.Event().wait()


async def test_rt_7_with_nothing_mounted_both_remedies_are_named():
    for start in (
        session("tenant"),
        run("x", runtime="tenant", provider=Scripted([]), store=MemoryStore(), model="m:m"),
    ):
        with pytest.raises(ConfigError) as caught:
            await start
        text = str(caught.value)
        assert "'tenant'" in text and "async with Runtime(name='tenant')" in text and ".start()" in text
    with pytest.raises(ConfigError, match="'lmx'"):
        await run("x", provider=Scripted([]), store=MemoryStore(), model="m:m")
    with pytest.raises(ConfigError, match="runtime="):
        await session(7)
    with pytest.raises(ConfigError, match="'other'"):
        await session(Runtime("other"))


async def test_opt_59_sessions_use_the_runtimes_clock_unless_they_have_their_own():
    mine, its = ManualClock(1_000_000_000_000), ManualClock(2_000_000_000_000)
    async with Runtime("a", clock=its) as mounted:
        one, two = await session(mounted, complete("x")), await session(mounted, complete("x"), clock=mine)
        assert (await one.snapshot()).entries[0].at.startswith("2033-05-18")
        assert (await two.snapshot()).entries[0].at.startswith("2001-09-09")


@pytest.mark.parametrize("wrong", [{"name": ""}, {"name": 7}, {"clock": "noon"}])
async def test_a_runtime_refuses_what_it_cannot_use(wrong):
    with pytest.raises(ConfigError):
        Runtime(**wrong)


async def test_st_1_run_always_stops_its_session():
    seen = []
    store = MemoryStore()
    async with Runtime() as mounted:
        given = {"store": store, "model": "m:m", "tools": []}
        result = await run("go", provider=Scripted([complete("a")]), on_event=seen.append, **given)
        assert result.text == "a" and seen[-1].type == "finished"
        assert mounted.sessions == () and store._locks == {}
        again = await run("on", provider=Scripted([complete("b")]), resume=result.session_id, store=store)
        assert (again.text, again.session_id) == ("b", result.session_id)
        failing = run("go", provider=Scripted([complete("c")]), on_event=lambda event: 1 / 0, **given)
        with pytest.raises(ZeroDivisionError):
            await failing
        assert mounted.sessions == () and store._locks == {}


async def test_st_1_run_stops_its_session_when_it_is_cancelled():
    store, gate = MemoryStore(), Gate()
    async with Runtime() as mounted:
        running = asyncio.get_running_loop().create_task(
            run("go", provider=Scripted([tool_call("gate", id="c")]), store=store, model="m:m", tools=[gate])
        )
        while not gate.began:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert mounted.sessions == () and store._locks == {} and gate.cancelled == ["c"]


async def test_a_host_that_gives_up_while_a_session_starts_leaves_none_behind():
    store = MemoryStore()
    async with Runtime("a") as mounted:
        starting = asyncio.get_running_loop().create_task(session(mounted, store=store))
        for _ in range(40):
            if mounted.sessions:
                break
            await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        for _ in range(50):
            await asyncio.sleep(0)
        assert mounted.sessions == () and store._locks == {}


async def test_rt_11_no_2_a_host_is_called_through_what_it_passed_in_and_nothing_else():
    """RT-11, NO-2: every event of a prompt can be had without any of them."""
    async with Runtime("a") as mounted:
        mine = await session(mounted, complete("x"))
        async with mine.subscribe() as heard:
            await mine.prompt("go")
            assert (await collect(heard, events.Finished))[-1].stop_reason == "stop"
