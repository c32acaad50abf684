"""`bash` and background commands: what the model may ask, and what it reads."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.confined import confined
from support.tool_calls import call, context

from lmx_core import ManualClock, MemoryStore, Runtime, Sandbox, Scripted, events, start_session
from lmx_core.builtin import default_tools
from lmx_core.builtin.bash import Bash
from lmx_core.environment.base import Data, Exit, TimedOut
from lmx_core.environment.local import LocalEnvironment
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing import collect

pytestmark = pytest.mark.asyncio

LOOP = "echo up; while [ ! -e go ]; do sleep 0.01; done; echo down; exit 3"


class Model:
    """A session's `bash` as a model calls it."""

    def __init__(self, session, runtime, cwd, clock, environment):
        self.session, self.runtime, self.cwd, self.clock = session, runtime, cwd, clock
        self.environment = environment

    async def bash(self, tool=None, *, deadline_ms=3_600_000, emit=lambda text: None, **arguments):
        given = context(
            self.cwd,
            clock=self.clock,
            environment=self.environment,
            deadline_ms=deadline_ms,
            session_id=self.session.id,
            runtime=self.runtime,
        )
        return await call(tool or Bash(), "bash", arguments, given, emit=emit)

    async def start(self, command, **arguments):
        outcome = await self.bash(command=command, background=True, **arguments)
        return outcome.result.structured_content["task_id"]

    async def until(self, id, text):
        """Polls until `text` has come; returns all that was read."""
        said = ""
        while text not in said:
            said += (await self.bash(task_id=id)).text
            await asyncio.sleep(0.005)
        return said


@asynccontextmanager
async def model(cwd, clock=None, environment=None):
    async with Runtime() as runtime:
        session = await start_session(
            runtime=runtime, provider=Scripted([]), store=MemoryStore(), model="m:m", tools=[Bash()], cwd=cwd
        )
        yield Model(session, runtime, cwd, clock, environment or LocalEnvironment())


async def test_bg_1_started_polled_awaited(tmp_path):
    """BG-1: a poll has only what is new; waiting ends when the command does."""
    async with model(tmp_path) as m:
        started = await m.bash(command=LOOP, background=True)
        id = started.result.structured_content["task_id"]
        assert started.outcome == "ok" and f'task_id "{id}"' in started.text
        said = started.text + await m.until(id, "no new output")
        assert said.count("up\n") == 1
        (tmp_path / "go").touch()
        over = await m.bash(task_id=id, wait_ms=60_000)
        assert re.fullmatch(
            rf"down\n\[{id} has exited with status 3 after [\d,]+ ms and 8 bytes of output\]", over.text
        )
        typed = over.result.structured_content
        assert (typed["status"], typed["exit_status"], typed["output_bytes"]) == ("exited", 3, 8)
        assert "no new output" in (await m.bash(task_id=id)).text


async def test_bg_1_what_fails_at_once_is_told_by_the_start(tmp_path):
    async with model(tmp_path) as m:
        started = await m.bash(command="no-such-program", background=True, wait_ms=60_000)
        assert "not found" in started.text and "has exited with status 127" in started.text
        assert "with cancel stops it" not in started.text


async def test_bg_1_a_start_can_wait_for_the_first_words(tmp_path):
    async with model(tmp_path) as m:
        outcome = await m.bash(command="sleep 0.3; echo done", background=True, wait_ms=60_000)
        assert outcome.text.startswith("done\n") and "has exited with status 0" in outcome.text


async def test_bg_1_a_start_that_waits_and_is_cancelled_has_said_its_id_and_goes_on(tmp_path):
    heard = []
    async with model(tmp_path) as m:
        starting = asyncio.create_task(m.bash(command="sleep 300", background=True, wait_ms=60_000, emit=heard.append))
        while not heard:
            await asyncio.sleep(0.005)
        starting.cancel()
        await asyncio.wait({starting})
        (id,) = re.findall(r"bg-[0-9a-f]{8}", "".join(heard))
        assert "is running" in (await m.bash(task_id=id)).text


async def test_bg_3_two_polls_of_a_quiet_command_differ(tmp_path):
    clock = ManualClock()
    async with model(tmp_path, clock) as m:
        id = await m.start("sleep 300")
        one = await m.bash(task_id=id)
        await clock.advance(40)
        two = await m.bash(task_id=id)
        assert one.text == f"[{id} is running: 0 ms, 0 bytes of output; no new output]"
        assert two.text == f"[{id} is running: 40 ms, 0 bytes of output; no new output]"


async def test_bg_1_waiting_leaves_it_running_and_cancel_stops_it(tmp_path):
    async with model(tmp_path) as m:
        id = await m.start("trap 'echo ended; exit' TERM; echo up; while :; do sleep 0.01; done")
        await m.until(id, "is running")
        assert (await m.bash(task_id=id, wait_ms=1)).result.structured_content["status"] == "running"
        over = await m.bash(task_id=id, cancel=True)
        assert over.outcome == "ok" and "was stopped after" in over.text
        assert over.result.structured_content["status"] == "cancelled"


async def test_ba_3_a_wait_is_cut_to_what_the_session_allows(tmp_path):
    """BA-3: and the result says that it was."""
    clock = ManualClock()
    async with model(tmp_path, clock) as m:
        id = await m.start("sleep 300")
        waiting = asyncio.create_task(m.bash(task_id=id, wait_ms=60_000, deadline_ms=1_000))
        await clock.await_timer(lambda ms: ms == 900)
        await clock.advance(900)
        assert "[waited 900 ms: the session allows a call no more than this]" in (await waiting).text
        waiting = asyncio.create_task(m.bash(task_id=id, wait_ms=50))
        await clock.await_timer(lambda ms: ms == 50)
        await clock.advance(50)
        assert "waited" not in (await waiting).text


async def test_ba_3_a_command_cut_short_is_advised_to_run_in_the_background(tmp_path):
    class Slow(LocalEnvironment):
        async def run(self, command, *, timeout_ms, **options):
            yield TimedOut(timeout_ms)

    async with model(tmp_path, environment=Slow()) as m:
        outcome = await m.bash(command="sleep 300", timeout_ms=60_000, deadline_ms=20_000)
        assert "60,000 ms were asked for. Run longer work in the background]" in outcome.text


async def test_bg_4_a_lifetime_of_its_own(tmp_path):
    async with model(tmp_path) as m:
        id = await m.start("echo up; sleep 300", background_timeout_ms=50)
        over = await m.bash(task_id=id, wait_ms=60_000)
        assert over.result.structured_content["status"] == "timed_out" and "which was its time limit" in over.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Give a command to run, or the task_id"),
        ({"command": "true", "task_id": "bg-1"}, "not both"),
        ({"command": "", "task_id": ""}, "Give a command to run, or the task_id"),
        ({"command": " "}, "The command is empty."),
        ({"command": "touch ran", "cancel": True}, "Only a background command can be cancelled"),
        ({"task_id": "bg-00000000"}, "This session has no background command"),
        ({"command": None, "task_id": "bg-00000000"}, "This session has no background command"),
    ],
)
async def test_ba_4_exactly_one_of_command_and_task_id(tmp_path, arguments, said):
    """BA-4: checked when the call runs; nothing runs where both are given."""
    async with model(tmp_path) as m:
        outcome = await m.bash(**arguments)
        assert outcome.outcome == "error" and said in outcome.text and not (tmp_path / "ran").exists()


async def test_d_4_a_null_or_empty_task_id_beside_a_command_is_not_both(tmp_path):
    """D-4: nor is any other optional argument that a model sends as null, false or 0."""
    async with model(tmp_path) as m:
        rest = {"background": False, "cancel": False, "wait_ms": 0, "timeout_ms": None, "background_timeout_ms": None}
        for nothing in (None, ""):
            assert (await m.bash(command="echo ran", task_id=nothing, **rest)).text == "ran\n"
        id = await m.start("sleep 300")
        assert "is running" in (await m.bash(command=None, task_id=id, **rest)).text


async def test_d_7_gu_3_polling_a_quiet_command_is_not_going_in_circles():
    """D-7: a clock that stands still makes every poll the same; twenty of them stop no prompt."""
    clock = ManualClock()

    class Quiet(LocalEnvironment):
        async def run(self, command, **options):
            yield Data(b"up\n")
            await asyncio.Event().wait()

    def next_step(request):
        asked = [entry for entry in request.entries if entry.type == "tool_result"]
        if len(asked) > 20:
            return complete("enough")
        if not asked:
            return tool_call("bash", {"command": "serve", "background": True})
        return tool_call("bash", {"task_id": asked[0].payload["structured_content"]["task_id"]})

    async with Runtime(clock=clock) as runtime:
        session = await start_session(
            runtime=runtime,
            provider=Scripted([next_step] * 22),
            store=MemoryStore(),
            model="m:m",
            tools=default_tools(),
            environment=Quiet(),
            cwd="/",
        )
        heard = session.subscribe()
        await session.prompt("watch it")
        finished = (await collect(heard, events.Finished))[-1]
        assert finished.stop_reason == "stop"


async def test_a_model_that_forgot_an_id_is_told_those_there_are(tmp_path):
    async with model(tmp_path) as m:
        assert (await m.bash(task_id="bg-0")).text.endswith("There is none.")
        id = await m.start(f"sleep 300 # {'x' * 100}")
        assert (await m.bash(task_id="bg-0")).text.endswith(f"There are: {id} (sleep 300 # {'x' * 47}…): running.")


async def test_the_end_of_a_background_command_is_told_with_the_next_one_and_once(tmp_path):
    async with model(tmp_path) as m:
        id = await m.start(LOOP)
        assert (await m.bash(command="touch go; echo now")).text == "now\n"
        while m.runtime.background.poll(m.session.id, id).running:
            await asyncio.sleep(0.005)
        told = (await m.bash(command="printf next")).text
        assert re.fullmatch(
            rf'next\n\[the background command {id} \(echo up.*\) has exited with status 3 .*"{id}".*\]', told
        )
        assert (await m.bash(command="echo later")).text == "later\n"
        assert "down" in (await m.bash(task_id=id)).text


async def test_the_end_of_one_is_told_with_a_look_at_another(tmp_path):
    async with model(tmp_path) as m:
        quiet, dead = await m.start("sleep 300"), await m.start("sleep 0.3; exit 7")
        while m.runtime.background.poll(m.session.id, dead).running:
            await asyncio.sleep(0.005)
        told = (await m.bash(task_id=quiet)).text
        assert f"[{quiet} is running" in told and f"[the background command {dead} " in told and "status 7" in told
        assert dead not in (await m.bash(task_id=quiet)).text


async def test_an_end_the_model_has_read_is_not_told_again(tmp_path):
    async with model(tmp_path) as m:
        id = await m.start("true")
        await m.bash(task_id=id, wait_ms=60_000)
        assert (await m.bash(command="echo later")).text == "later\n"


async def test_c07_a_background_flood_is_bounded_and_counted(tmp_path):
    """C07, BG-4: 60 MB go by, the result stays small, the true size is told."""
    async with model(tmp_path) as m:
        id = await m.start("yes abcdefg | head -c 60000000; echo; echo last")
        over = await m.bash(task_id=id, wait_ms=120_000)
        assert len(over.text.encode()) < 30_500 and "bytes cut from the middle" in over.text
        typed = over.result.structured_content
        assert typed["output_bytes"] == 60_000_006 and "\nlast\n[" in over.text


async def test_c07_a_progress_bar_is_polled_in_its_last_state(tmp_path):
    async with model(tmp_path) as m:
        bar = "i=0; while [ $i -lt 500 ]; do printf '\\rstep %d' $i; i=$((i+1)); done; : > drawn; sleep 300"
        id = await m.start(bar)
        while not (tmp_path / "drawn").exists():
            await asyncio.sleep(0.005)
        assert "step 499\n[" in await m.until(id, "step 499")
        assert "step 498" not in (await m.bash(task_id=id)).text


async def test_c05_processes_a_background_command_leaves_behind_are_named(tmp_path):
    async with model(tmp_path) as m:
        id = await m.start("sleep 300 & echo done")
        over = await m.bash(task_id=id, wait_ms=60_000)
        assert "[processes it had left behind were ended with it: sleep 300 (pid " in over.text


async def test_without_a_session_nobody_could_own_it(tmp_path):
    outcome = await call(Bash(), "bash", {"command": "true", "background": True}, context(tmp_path))
    assert outcome.outcome == "error" and "no session that owns them" in outcome.text


# --- BA-5: a host's own runner ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sync", [True, False])
async def test_ba_5_a_hosts_runner_runs_the_command_and_the_rest_stays(tmp_path, sync):
    """BA-5: clean text, endings and status are the engine's."""
    asked = []

    def answer(command, *, cwd, timeout_ms):
        asked.append((command, cwd, timeout_ms))
        return "\x1b[31mred\x1b[0m\n", 4

    async def later(command, *, cwd, timeout_ms):
        return answer(command, cwd=cwd, timeout_ms=timeout_ms)

    async with model(tmp_path) as m:
        outcome = await m.bash(Bash(runner=answer if sync else later), command="paint", timeout_ms=50)
    assert asked == [("paint", tmp_path, 50)]
    assert outcome.text == "red\n[exit status 4]"
    assert outcome.result.structured_content == {"ending": "exited", "exit_status": 4}


async def test_ba_5_time_limit_bounds_and_errors(tmp_path):
    ended = []

    async def hangs(command, *, cwd, timeout_ms):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(command)

    def fails(command, *, cwd, timeout_ms):
        raise ConnectionError("the container is gone")

    clock = ManualClock()
    async with model(tmp_path, clock) as m:
        call_ = asyncio.create_task(m.bash(Bash(runner=hangs), command="x", timeout_ms=70))
        await clock.await_timer(lambda ms: ms == 70)
        await clock.advance(70)
        assert (await call_).result.structured_content == {"ending": "timed_out", "timeout_ms": 70}
        assert ended == ["x"]
        flood = await m.bash(Bash(runner=lambda command, **options: (b"x" * 9_000_000, 0)), command="x")
        assert flood.result.structured_content["ending"] == "output_limit"
        assert flood.result.structured_content["output_bytes"] == 9_000_000 and len(flood.text) < 30_500
        broken = await m.bash(Bash(runner=fails), command="x")
        assert broken.outcome == "crashed" and broken.result is None
        assert (await m.bash(Bash(runner=lambda command, **options: "no pair"), command="x")).outcome == "crashed"


async def test_ba_5_a_call_that_goes_away_cancels_the_runner(tmp_path):
    begun, ended = asyncio.Event(), []

    async def hangs(command, *, cwd, timeout_ms):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(command)

    async with model(tmp_path) as m:
        call_ = asyncio.create_task(m.bash(Bash(runner=hangs), command="x"))
        await begun.wait()
        call_.cancel()
        await asyncio.wait({call_})
        assert ended == ["x"]
        started = await m.bash(Bash(runner=hangs), command="y", background=True)
        id = started.result.structured_content["task_id"]
        assert "was stopped" in (await m.bash(task_id=id, cancel=True)).text and ended == ["x", "y"]


async def test_the_environment_is_asked_for_the_same_start_in_front_and_behind(tmp_path):
    """One way to start a command: what an environment does to it, such as a sandbox, holds for both."""
    asked = []

    class Told(LocalEnvironment):
        async def run(self, command, **options):
            asked.append((command, options["cwd"], options["env"]))
            yield Exit(0)

    async with model(tmp_path, environment=Told()) as m:
        await m.bash(command="x")
        await m.bash(command="x", background=True)
    assert asked[0] == asked[1]


@confined
async def test_en_8_a_confined_server_is_reached_by_the_next_command_and_ended_whole(tmp_path):
    """EN-8, BG-1: the commands of one environment share one network, which is not that of the machine."""
    listen = (
        "import http.server,os; s=http.server.HTTPServer(('127.0.0.1', 8765), http.server.SimpleHTTPRequestHandler); "
        "print('ready', flush=True); s.serve_forever()"
    )
    ask = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8765/found.txt').read().decode())"
    (tmp_path / "found.txt").write_text("it is here")
    before = {pid for pid in os.listdir("/proc") if pid.isdigit()}
    async with model(tmp_path, environment=Sandbox.new()) as m:
        started = await m.bash(command=f'{sys.executable} -c "{listen}"', background=True)
        id = started.result.structured_content["task_id"]
        if "ready" not in started.text:
            await m.until(id, "ready")
        assert (await m.bash(command=f'{sys.executable} -c "{ask}"')).text == "it is here\n"
        assert (await m.bash(task_id=id, cancel=True)).result.structured_content["status"] == "cancelled"
        assert "refused" in (await m.bash(command=f'{sys.executable} -c "{ask}" 2>&1 | tail -1')).text
        serving = [
            pid for pid in os.listdir("/proc") if pid.isdigit() and pid not in before and "8765" in command_of(pid)
        ]
        assert serving == []


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")
    except OSError:
        return ""
