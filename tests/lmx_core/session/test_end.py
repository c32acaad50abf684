"""How a session ends: stopped, crashed, or because its transcript cannot be written."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.sessions import Echo, Gate, Stuck, world

from lmx_core import (
    JSONLStore,
    MemoryStore,
    Messages,
    Scripted,
    SessionDown,
    StoreError,
    events,
    run_in_thread,
    start_session,
)
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.request import TextDelta
from lmx_core.testing import assert_valid_transcript, collect, runtime
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio


class Failing(MemoryStore):
    """Stops writing when it is told to, or at the nth entry."""

    def __init__(self, at: int | None = None):
        super().__init__()
        self.at, self.count = at, 0

    def append(self, session_id, entries):
        self.count += 1
        if self.at is not None and self.count > self.at:
            raise StoreError("no space left on device")
        super().append(session_id, entries)


@pytest.mark.parametrize("at", range(1, 7))
async def test_se_2_a_failing_append_ends_the_session_and_announces_nothing(at):
    """SE-2, C19: at whatever entry it fails, what was announced is exactly what was written."""
    store = Failing(at)
    script = [tool_call("echo", {"text": "a"}), complete("ok")]
    async with world(script, tools=[Echo()], store=store) as w, w.session.subscribe() as heard:
        with pytest.raises(SessionDown) as caught:
            await w.session.await_prompt("go")
        assert caught.value.reason == "store_failed" and "no space left on device" in str(caught.value)
        told = [event async for event in heard]
        written = [e for e in w.entries if e.type != "session"]
        assert [e.entry for e in told if isinstance(e, events.EntryAppended)] == written
        assert told[-1] == events.Down(reason="store_failed", detail="no space left on device")
        assert not any(isinstance(e, events.Finished) for e in told)
        assert store._locks == {}, "the lock is released"
        for ask in (w.session.prompt("x"), w.session.info(), w.session.set_model("scripted:x")):
            with pytest.raises(SessionDown, match="store_failed"):
                await ask


async def test_se_2_a_session_whose_first_entry_cannot_be_written_does_not_start():
    async with runtime() as mounted:
        with pytest.raises(SessionDown, match="store_failed"):
            await start_session(runtime=mounted, provider=Scripted([]), store=Failing(0), model="scripted:m", tools=[])


async def test_se_2_whoever_asked_for_the_failed_write_is_told():
    store = Failing()
    async with world([], store=store) as w:
        store.at = 0
        with pytest.raises(SessionDown, match="store_failed"):
            await w.session.set_model("scripted:other")


async def test_se_6_work_in_flight_is_cancelled_when_the_session_ends():
    """SE-6, RE-5: a call whose session ended under it is unknown."""
    gate = Gate()
    async with world([tool_call("gate", id="c")], tools=[gate]) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.stop()
        assert gate.cancelled == ["c"]
        (result,) = w.of("tool_result")
        assert result["outcome"] == "unknown" and "may have run in part" in result["output"]
        assert [e.type for e in heard.get_nowait_all()][-3:] == ["context", "finished", "down"]
        assert w.types()[-1] == "cancelled"
        assert_valid_transcript(w.entries)


async def test_se_6_a_tool_that_cleans_up_is_waited_for_when_the_session_stops_in_its_middle(tmp_path):
    """SE-6, SE-7: it is told once to end; told twice, it would be left behind at work while the lock is let go."""

    class Tidy(Gate):
        async def run(self, args, context):
            try:
                return await super().run(args, context)
            finally:
                await run_in_thread(time.sleep, 0.1)
                tidied_under.extend(tmp_path.glob("*.lock"))

    tidy, tidied_under = Tidy(), []
    async with world([tool_call("gate", id="c")], tools=[tidy], store=JSONLStore(tmp_path)) as w:
        await w.session.prompt("go")
        await w.until(lambda: tidy.began)
        await w.session.stop()
        assert tidied_under, "the session let go of its lock after the tool had ended"


async def test_se_6_a_provider_that_goes_on_although_it_was_cancelled_holds_up_a_stop_for_half_a_second():
    """SE-6: a session that waited for it as long as for a command made the screen hang at every exit."""

    class Deaf:
        def __init__(self):
            self.asked, self.release = asyncio.Event(), asyncio.Event()

        async def run(self, request, emit):
            self.asked.set()
            while not self.release.is_set():
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    continue

    deaf = Deaf()
    async with world(provider=deaf) as w:
        await w.session.prompt("go")
        await deaf.asked.wait()
        stopping = asyncio.ensure_future(w.session.stop())
        await w.clock.await_timer(lambda left: left == 500)
        await w.clock.advance(499)
        await settle()
        assert not stopping.done()
        await w.clock.advance(1)
        await stopping
        assert w.session.down == "stopped"
        deaf.release.set()


async def test_se_7_the_lock_is_released_after_the_hooks_and_before_the_last_word():
    """SE-7, MET-26."""
    order = []

    class Store(MemoryStore):
        def unlock(self, session_id, token):
            order.append("unlock")
            super().unlock(session_id, token)

    hooks = [("session_end", lambda what, ctx: order.append(f"hook {what}"))]
    async with world([complete("a")], store=Store(), hooks=hooks) as w:
        w.session.subscribe(lambda id, event: order.append("down") if isinstance(event, events.Down) else None)
        await w.session.await_prompt("go")
        await w.session.stop()
        await w.session.stop()
        assert order == ["hook stopped", "unlock", "down"]
        assert w.session.down == "stopped" and w.runtime.sessions == ()


async def test_se_6_a_thread_that_cannot_be_ended_does_not_hold_up_the_stop():
    stuck = Stuck()
    async with world([tool_call("stuck")], tools=[stuck]) as w:
        await w.session.prompt("go")
        await w.until(stuck.began.is_set)
        await w.session.stop()
        stuck.release.set()


async def test_st_5_rt_5_a_crash_ends_one_session_for_good_and_no_other(caplog):
    """ST-5, RT-5."""

    class Broken(Messages):
        def turn_budget_spent(self, turns: int) -> str:
            raise RuntimeError("what the host says instead")

    gate = Gate()
    async with runtime() as mounted:

        async def session(**more):
            given = {"runtime": mounted, "store": MemoryStore(), "model": "scripted:m", **more}
            return await start_session(**given)

        broken = await session(provider=Scripted([tool_call("echo")]), tools=[Echo()], messages=Broken(), max_turns=1)
        healthy = await session(provider=Scripted([tool_call("gate", id="c"), complete("fine")]), tools=[gate])
        await healthy.prompt("go")
        async with healthy.subscribe() as heard:
            with pytest.raises(SessionDown, match=r"crashed \(Broken.turn_budget_spent\(\) raised RuntimeError"):
                await broken.await_prompt("go")
            await settle()
            assert mounted.sessions == (healthy,) and broken.down == "crashed"
            gate.open("c")
            assert (await collect(heard, events.Finished))[-1].stop_reason == "stop"
    assert any("crashed" in record.message for record in caplog.records)


async def test_a_prompt_waiting_for_its_hooks_is_told_that_the_session_went_down():
    asked = asyncio.Event()

    async def slow(text, ctx):
        asked.set()
        await asyncio.Event().wait()

    async with world([], hooks=[("user_prompt", slow)]) as w:
        prompting = asyncio.get_running_loop().create_task(w.session.prompt("go"))
        await asked.wait()
        await w.session.stop()
        with pytest.raises(Exception, match=r"cancelled|ended"):
            await prompting


async def test_a_session_cancelled_from_outside_still_releases_its_lock():
    store = MemoryStore()
    async with world([complete("a")], store=store) as w:
        for task in asyncio.all_tasks():
            if "/session/" in task.get_name():
                task.cancel()
        await settle()
        assert w.session.down == "cancelled" and store._locks == {}


class Talks:
    requests: tuple = ()

    async def run(self, request, emit):
        emit(TextDelta("so far"))
        await asyncio.Event().wait()


async def test_stopping_in_the_middle_of_an_answer_keeps_it():
    async with world(provider=Talks()) as w:
        await w.session.prompt("go")
        await settle()
        await w.session.stop()
        assert w.of("assistant")[0]["content"][0]["text"] == "so far"
