"""Who owns background commands, who may ask about them, and when they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from lmx_core import (
    ManualClock,
    MemoryStore,
    Runtime,
    Scripted,
    SessionDown,
    ToolError,
    UnknownTask,
    background,
    start_session,
)
from lmx_core.background import registry
from lmx_core.background.registry import MAX_RUNNING
from lmx_core.environment.base import Data, Exit, Failed, OutputLimit, TimedOut
from lmx_core.environment.local import LocalEnvironment

pytestmark = pytest.mark.asyncio


class Stage:
    """An environment whose commands say what the test tells them to. `ended` lists those that were ended."""

    def __init__(self):
        self.lines: dict[str, asyncio.Queue] = {}
        self.ended: list[str] = []
        self.options: dict = {}

    async def run(self, command: str, **options) -> AsyncIterator:
        self.options = options
        said = self.lines[command] = asyncio.Queue()
        try:
            while True:
                event = await said.get()
                yield event
                if not isinstance(event, Data):
                    return
        finally:
            self.ended.append(command)

    async def say(self, command: str, *events) -> None:
        for event in events:
            self.lines[command].put_nowait(event)
        for _ in range(20):
            await asyncio.sleep(0)


@pytest_asyncio.fixture
async def clock():
    return ManualClock(1_000)


@pytest_asyncio.fixture
async def mounted(clock):
    async with Runtime(clock=clock) as runtime:
        yield runtime


async def session(runtime, **more):
    return await start_session(
        runtime=runtime, provider=Scripted([]), store=MemoryStore(), model="m:m", tools=[], **more
    )


async def started(runtime, session_id, stage, command="serve", **more):
    return await background.start(runtime, session_id, command, environment=stage, cwd="/", **more)


async def test_bg_3_a_snapshot_of_a_command_that_runs_and_of_one_that_has_exited(mounted, clock):
    one, stage = await session(mounted), Stage()
    snapshot = await started(mounted, one.id, stage)
    assert (snapshot.status, snapshot.exit_status, snapshot.finished_at) == ("running", None, None)
    assert (snapshot.session_id, snapshot.command, snapshot.started_at) == (one.id, "serve", 1_000)
    await stage.say("serve", Data(b"\x1b[1mready\x1b[0m\n"))
    await clock.advance(250)
    now = background.poll(mounted, one.id, snapshot.id)
    assert (now.output, now.output_bytes, now.duration_ms) == ("ready\n", 14, 250)
    await stage.say("serve", Exit(3, ended=("sleep 9 (pid 7)",)))
    await clock.advance(1_000)
    over = background.poll(mounted, one.id, snapshot.id)
    assert (over.status, over.exit_status, over.finished_at, over.duration_ms) == ("exited", 3, 1_250, 250)
    assert over.ended == ("sleep 9 (pid 7)",) and not over.running


@pytest.mark.parametrize(
    ("event", "status", "error"),
    [
        (TimedOut(5), "timed_out", None),
        (Failed("no shell"), "failed", "no shell"),
        (OutputLimit(9), "failed", "the environment ended it for the size of its output"),
    ],
)
async def test_bg_3_every_ending_has_its_status(mounted, event, status, error):
    one, stage = await session(mounted), Stage()
    id = (await started(mounted, one.id, stage)).id
    await stage.say("serve", Data(b"x"), event)
    over = background.poll(mounted, one.id, id)
    assert (over.status, over.error, over.output) == (status, error, "x")


async def test_bg_3_an_environment_that_breaks_is_a_failed_command(mounted, caplog):
    detail = "secret" + " detail"  # a line of source is no secret, and is logged

    class Broken:
        async def run(self, command, **options):
            yield Data(b"so far\n")
            raise OSError(detail)

    one = await session(mounted)
    over = await started(mounted, one.id, Broken())
    assert (over.status, over.output, over.error) == ("failed", "so far\n", "the environment failed: OSError")
    assert detail not in caplog.text


async def test_bg_1_waiting_does_not_end_it_and_cancelling_does(mounted, clock):
    one, stage = await session(mounted), Stage()
    id = (await started(mounted, one.id, stage)).id
    waiting = asyncio.create_task(background.await_done(mounted, one.id, id, 500))
    await clock.await_timer(lambda ms: ms == 500)
    await clock.advance(500)
    assert (await waiting).running and stage.ended == []
    given_up = asyncio.create_task(background.await_done(mounted, one.id, id))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait({given_up})
    assert background.poll(mounted, one.id, id).running
    over = await background.cancel(mounted, one.id, id)
    assert over.status == "cancelled" and stage.ended == ["serve"]
    assert (await background.cancel(mounted, one.id, id)).status == "cancelled"
    assert (await background.await_done(mounted, one.id, id)).status == "cancelled"


async def test_bg_1_cancelling_what_has_ended_changes_nothing(mounted):
    one, stage = await session(mounted), Stage()
    id = (await started(mounted, one.id, stage)).id
    await stage.say("serve", Exit(0))
    assert (await background.cancel(mounted, one.id, id)).status == "exited"


async def test_bg_2_another_sessions_id_is_as_unknown_as_one_that_never_was(mounted):
    one, other, stage = await session(mounted), await session(mounted), Stage()
    id = (await started(mounted, one.id, stage)).id
    for wrong in ((other.id, id), (one.id, "bg-00000000"), ("nobody", id)):
        said = set()
        for ask in (background.poll, background.await_done, background.cancel):
            with pytest.raises(UnknownTask) as error:
                answer = ask(mounted, *wrong)
                await answer if asyncio.iscoroutine(answer) else None
            said.add(str(error.value).replace(wrong[1], "ID"))
        with pytest.raises(UnknownTask):
            background.subscribe(mounted, *wrong, print)
        assert len(said) == 1
    assert stage.ended == []


async def test_bg_2_a_subscriber_hears_the_end_once_also_when_it_comes_late(mounted):
    """BG-2: with the same id whenever it is told."""
    one, stage, heard, late = await session(mounted), Stage(), [], []
    id = (await started(mounted, one.id, stage)).id
    background.subscribe(mounted, one.id, id, heard.append)
    background.subscribe(mounted, one.id, id, heard.append)
    background.subscribe(mounted, one.id, id, late.append)
    background.unsubscribe(mounted, one.id, id, late.append)
    background.subscribe(mounted, one.id, id, lambda ending: 1 / 0)  # harms nobody
    await stage.say("serve", Data(b"bye\n"), Exit(0))
    background.subscribe(mounted, one.id, id, late.append)
    assert heard == late and len(heard) == 1
    assert heard[0].id == f"{one.id}:{id}:terminal" and heard[0].snapshot.output == "bye\n"


async def test_bg_4_it_can_be_asked_about_for_an_hour_after_its_end(mounted, clock):
    one, stage = await session(mounted), Stage()
    id = (await started(mounted, one.id, stage)).id
    await clock.advance(9_000_000)
    await stage.say("serve", Exit(0))
    await clock.advance(3_600_000 - 1)
    assert background.poll(mounted, one.id, id).status == "exited"
    await clock.advance(1)
    with pytest.raises(UnknownTask):
        background.poll(mounted, one.id, id)


async def test_bg_4_an_hour_unless_said_otherwise_and_a_day_at_most(mounted):
    one, stage = await session(mounted), Stage()
    await started(mounted, one.id, stage)
    assert stage.options["timeout_ms"] == 3_600_000 and stage.options["max_output_bytes"] == float("inf")
    await started(mounted, one.id, stage, "long", timeout_ms=10**12)
    assert stage.options["timeout_ms"] == 86_400_000


async def test_bg_4_se_6_it_dies_with_its_session_and_with_no_other(mounted):
    one, other, stage = await session(mounted), await session(mounted), Stage()
    await started(mounted, one.id, stage, "mine")
    await started(mounted, other.id, stage, "theirs")
    ends = []
    background.subscribe(mounted, one.id, (await started(mounted, one.id, stage, "watched")).id, ends.append)
    await one.stop()
    assert sorted(stage.ended) == ["mine", "watched"] and ends[0].snapshot.status == "cancelled"
    with pytest.raises(SessionDown):
        await started(mounted, one.id, stage, "late")
    await other.stop()
    assert "theirs" in stage.ended


async def test_rt_4_rt_6_the_runtime_owns_them_by_name_and_ends_them(clock):
    """RT-4, RT-6: each is a task of the runtime; after a stop there is none, and the next mount begins without."""
    stage = Stage()
    async with Runtime("shop", clock=clock) as runtime:
        one = await session(runtime)
        id = (await started(runtime, one.id, stage)).id
        assert f"shop/background/{id}" in {task.get_name() for task in asyncio.all_tasks()}
    assert stage.ended == ["serve"]
    async with runtime:
        with pytest.raises(UnknownTask):
            background.poll(runtime, one.id, id)


async def test_rt_6_the_sessions_and_their_hooks_come_first_and_nothing_is_left_after_them(clock):
    """RT-6: a `session_end` hook finds the commands running; what no session ended is ended by the runtime."""
    stage, found = Stage(), []

    async def at_the_end(reason, context):
        found.append(list(stage.ended))

    async with Runtime(clock=clock) as runtime:
        one = await session(runtime, hooks=[("session_end", at_the_end)])
        await started(runtime, one.id, stage)
        runtime.background.open("of nobody")
        id = (await started(runtime, "of nobody", stage, "orphan")).id
    assert found == [[]] and stage.ended == ["serve", "orphan"]
    with pytest.raises(UnknownTask):
        background.poll(runtime, "of nobody", id)


async def test_rt_5_a_session_that_crashes_takes_its_commands_along(mounted):
    one, stage = await session(mounted), Stage()
    await started(mounted, one.id, stage)
    task = next(task for task in asyncio.all_tasks() if task.get_name() == f"lmx/session/{one.id}")
    task.cancel()
    await asyncio.wait({task})
    assert stage.ended == ["serve"]


async def test_only_so_many_run_at_once(mounted):
    one, stage = await session(mounted), Stage()
    for number in range(MAX_RUNNING):
        await mounted.background.start(one.id, str(number), stage.run(str(number)), mounted.clock, settle_ms=0)
    with pytest.raises(ToolError, match="run already"):
        await started(mounted, one.id, stage)
    await stage.say("0", Exit(0))
    await started(mounted, one.id, stage)


async def test_what_has_ended_takes_only_so_much_memory(mounted, monkeypatch):
    """The newest outputs stay whole; of the oldest the ends, the size and the status can still be asked for."""
    monkeypatch.setattr(registry, "MAX_KEPT_BYTES", 20_000)
    one, stage = await session(mounted), Stage()
    ids = []
    for number in range(3):
        ids.append(
            await mounted.background.start(one.id, str(number), stage.run(str(number)), mounted.clock, settle_ms=0)
        )
        await stage.say(str(number), Data(b"x" * 9_999 + b"\n"), Exit(number))
    oldest, *others = (background.poll(mounted, one.id, id) for id in ids)
    assert "2,000 bytes cut from the middle" in oldest.output and oldest.output_bytes == 10_000
    assert [len(other.output) for other in others] == [10_000, 10_000]


async def test_a_start_that_is_given_up_leaves_nothing_behind(mounted):
    one, stage = await session(mounted), Stage()
    start = asyncio.create_task(started(mounted, one.id, stage))
    while "serve" not in stage.lines:
        await asyncio.sleep(0)
    start.cancel()
    await asyncio.wait({start})
    await asyncio.sleep(0)
    assert stage.ended == ["serve"]


async def test_bg_1_a_real_command_and_its_group_are_gone_after_a_cancel(mounted, tmp_path):
    one = await session(mounted)
    command = "sleep 300 & echo $! > child; echo up; wait"
    begun = await background.start(mounted, one.id, command, environment=LocalEnvironment(), cwd=tmp_path)
    while not background.poll(mounted, one.id, begun.id).output:
        await asyncio.sleep(0.005)
    child = int((tmp_path / "child").read_text())
    assert (await background.cancel(mounted, one.id, begun.id)).status == "cancelled"
    try:
        state = (tmp_path / f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        state = "gone"
    assert state in ("gone", "Z")
