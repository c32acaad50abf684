"""Commands as a real shell runs them: how they end, what they leave behind, what they may see and how much they may say."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from pathlib import Path

import pytest

from lmx_core.clock import FOREVER, ManualClock
from lmx_core.environment import local, process
from lmx_core.environment.base import Data, Exit, Failed, OutputLimit, TimedOut, closing
from lmx_core.environment.local import LocalEnvironment

pytestmark = pytest.mark.asyncio


async def outcome(command: str, cwd: Path, environment: LocalEnvironment | None = None, **options):
    """The output and the last event of a command."""
    output = []
    async with closing((environment or LocalEnvironment()).run(command, cwd=cwd, **options)) as events:
        async for event in events:
            if isinstance(event, Data):
                output.append(event.data)
            else:
                return b"".join(output), event
    raise AssertionError("a command must say how it ended")


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def gone(pid: int, within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while alive(pid) and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return not alive(pid)


async def test_en_1_output_and_exit_status(tmp_path):
    assert await outcome("printf out; printf err >&2; exit 3", tmp_path) == (b"outerr", Exit(3))


async def test_a_signal_is_told_as_128_and_its_number(tmp_path):
    assert (await outcome("kill -9 $$", tmp_path))[1] == Exit(137)


async def test_en_1_what_cannot_start_is_a_value_with_a_reason(tmp_path):
    assert (await outcome("true", tmp_path / "gone"))[1] == Failed(
        f"the working directory {tmp_path / 'gone'} does not exist"
    )
    assert "NUL" in (await outcome("a\0b", tmp_path))[1].reason
    assert "longer than this system accepts" in (await outcome("#" + "x" * 3_000_000, tmp_path))[1].reason


async def test_a_command_that_looks_like_an_option_is_a_command(tmp_path):
    output, event = await outcome("-c 'echo no'", tmp_path)
    assert event == Exit(127) and b"no\n" not in output


async def test_ba_1_no_terminal_no_input_own_session(tmp_path):
    """BA-1, EN-3: reading gets end-of-file, opening the terminal fails, the shell leads its own session."""
    output, _ = await outcome("cat; (: < /dev/tty) 2>/dev/null || echo none; ps -o sid= -p $$; echo $$", tmp_path)
    none, session, shell = output.split()
    assert none == b"none" and session == shell != str(os.getsid(0)).encode()


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & echo done",
        "sleep 300 </dev/null >/dev/null & echo done",
        "(while :; do echo tick; sleep 0.05; done) & echo done",
        "nohup sleep 300 & disown; echo done",
        "trap '' TERM; (trap '' TERM; sleep 300) & echo done",
    ],
)
async def test_en_3_a_background_process_neither_holds_the_call_nor_outlives_it(tmp_path, command):
    """EN-3, C05: whoever holds the pipe, the call returns within about a second of the shell's end; the group is ended."""
    begun = time.monotonic()
    output, event = await outcome(f"{{ {command}; }} 2>/dev/null", tmp_path)
    assert time.monotonic() - begun < 100  # of the 300 s that some of them would hold it
    assert output.startswith(b"done\n") or b"done\n" in output
    assert event.status == 0 and event.ended and not event.left
    pids = [int(name.rpartition("pid ")[2].rstrip(")")) for name in event.ended]
    assert not any(map(alive, pids))


async def test_a_short_background_process_may_finish_and_is_not_mentioned(tmp_path):
    _, event = await outcome("echo data | tee >(sleep 0.05; cat > copy) > /dev/null; true & :", tmp_path)
    assert event == Exit(0)
    assert (tmp_path / "copy").read_bytes() == b"data\n"


async def test_en_3_a_process_in_its_own_session_is_left_and_named(tmp_path):
    """EN-3, C05: it may survive; it does not hold the call, and the result says that it runs."""
    begun = time.monotonic()
    output, event = await outcome("setsid sleep 300 & echo done", tmp_path)
    assert time.monotonic() - begun < 100 and output == b"done\n"
    (name,) = event.left
    assert "sleep 300" in name
    pid = int(name.rpartition("pid ")[2].rstrip(")"))
    assert alive(pid)
    os.kill(pid, 9)


async def test_en_3_the_time_limit_ends_the_whole_group(tmp_path):
    """EN-3, C06 (a): a grandchild that would act later is gone, the output up to then is kept."""
    begun = time.monotonic()
    output, event = await outcome(
        "echo before; sh -c 'echo $$ > child; sleep 5; touch late' & sleep 600", tmp_path, timeout_ms=300
    )
    assert time.monotonic() - begun < 100 and output == b"before\n"  # of the 600 s it sleeps
    assert event == TimedOut(300)
    assert await gone(int((tmp_path / "child").read_text()))
    assert not (tmp_path / "late").exists()


async def test_en_3_what_ignores_sigterm_is_killed_after_two_seconds(tmp_path):
    """EN-3, C06 (d)."""
    begun = time.monotonic()
    _, event = await outcome("trap '' TERM; echo $$ > shell; sleep 600 & wait; sleep 600", tmp_path, timeout_ms=200)
    assert event == TimedOut(200)
    assert 1.9 < time.monotonic() - begun < 100  # of the 600 s it sleeps
    assert not alive(int((tmp_path / "shell").read_text()))


async def test_en_3_a_pipeline_over_a_fifo_is_ended(tmp_path):
    """EN-3, C06 (b)."""
    output, event = await outcome(
        "mkfifo p; (while :; do echo c; sleep 0.05; done) > p & cat p", tmp_path, timeout_ms=300
    )
    assert isinstance(event, TimedOut) and b"c\n" in output


async def test_the_time_limit_names_who_escaped(tmp_path):
    """C06 (c)."""
    _, event = await outcome("setsid sleep 300 & sleep 600", tmp_path, timeout_ms=300)
    assert isinstance(event, TimedOut) and "sleep 300" in event.left[0]
    os.kill(int(event.left[0].rpartition("pid ")[2].rstrip(")")), 9)


async def test_en_3_cancelling_the_reader_ends_the_group(tmp_path):
    """EN-3, C06 (e): the same as the time limit, and the cancellation is not swallowed."""
    task = asyncio.create_task(outcome("sleep 600 & echo $! > child; sleep 600", tmp_path))
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(int((tmp_path / "child").read_text()))


@pytest.mark.long
async def test_cancelling_twice_kills_at_once(tmp_path):
    task = asyncio.create_task(outcome("trap '' TERM; echo $$ > shell; while :; do sleep 600; done", tmp_path))
    while not (tmp_path / "shell").exists() or not (tmp_path / "shell").read_text().strip():
        await asyncio.sleep(0.01)
    begun = time.monotonic()
    task.cancel()
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - begun < 1.5
    assert not alive(int((tmp_path / "shell").read_text()))


async def test_closing_the_iterator_ends_the_command(tmp_path):
    events = LocalEnvironment().run("echo $$; sleep 600", cwd=tmp_path)
    first = await anext(events)
    await events.aclose()
    assert not alive(int(first.data))


async def test_no_child_is_left_defunct(tmp_path):
    """C06: fifty commands with a background child each."""
    environment = LocalEnvironment()
    for _ in range(50):
        await outcome("true & true", tmp_path, environment)
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    states = {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in children}
    assert "Z" not in states


async def test_the_time_limit_runs_on_the_given_clock(tmp_path):
    clock = ManualClock()
    task = asyncio.create_task(outcome("sleep 600", tmp_path, LocalEnvironment(clock=clock), timeout_ms=50_000))
    await clock.await_timer(lambda ms: ms == 50_000)
    await clock.advance(49_999)
    assert not task.done()
    await clock.advance(1)
    assert (await task)[1] == TimedOut(50_000)


async def test_en_2_the_output_cap_ends_the_command(tmp_path):
    output, event = await outcome("echo $$ > shell; yes", tmp_path, max_output_bytes=100_000)
    assert event == OutputLimit(100_000, written=event.written) and len(output) == 100_000 < event.written
    assert not alive(int((tmp_path / "shell").read_text()))


async def test_en_2_the_default_cap_is_eight_million_bytes(tmp_path):
    output, event = await outcome("yes", tmp_path)
    assert event == OutputLimit(8_000_000, written=event.written) and len(output) == 8_000_000 < event.written


async def test_en_2_the_cap_holds_for_what_is_read_after_the_end(tmp_path, monkeypatch):
    """The shell may be gone before its output is read: what is over the cap is not dropped silently."""
    monkeypatch.setattr(process.Child, "read", read_when_ended(process.Child.read))
    assert await outcome("printf 123456789", tmp_path, max_output_bytes=5) == (b"12345", OutputLimit(5, written=9))
    assert await outcome("printf 12345", tmp_path, max_output_bytes=5) == (b"12345", Exit(0))


def read_when_ended(read):
    return lambda child: read(child) if child.status is not None else None


async def test_a_limit_that_passes_while_the_background_is_ended_is_no_time_out(tmp_path):
    clock = ManualClock()
    task = asyncio.create_task(
        outcome("sleep 300 & echo $$ > shell", tmp_path, LocalEnvironment(clock=clock), timeout_ms=9)
    )
    while not (tmp_path / "shell").exists() or alive(int((tmp_path / "shell").read_text() or 1)):
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.02)
    await clock.advance(9)
    assert isinstance((await task)[1], Exit)


async def test_en_2_without_a_cap_all_of_it_comes(tmp_path):
    output, event = await outcome("head -c 9000000 /dev/zero", tmp_path, max_output_bytes=FOREVER)
    assert event == Exit(0) and len(output) == 9_000_000


async def test_en_2_reading_is_demand_driven(tmp_path):
    """EN-2: a producer nobody reads is held up by its pipe, and a flood read at leisure costs no memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = 0
    script = "i=0; while :; do head -c 1000000 /dev/zero; i=$((i+1)); echo $i > produced; done"
    async with closing(LocalEnvironment().run(script, cwd=tmp_path, max_output_bytes=FOREVER)) as events:
        await anext(events)
        while not (tmp_path / "produced").exists():
            await asyncio.sleep(0.01)
        produced = -1
        while produced != (produced := int((tmp_path / "produced").read_text() or 0)):
            await asyncio.sleep(0.3)
        assert produced <= 3  # the pipe holds at most 1 MiB, and this much had been read
        async for event in events:
            count += len(event.data)
            if count > 100_000_000:
                break
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000, f"{grown} KB"


async def test_the_time_limit_works_while_output_floods(tmp_path):
    """C07: nothing in the flood keeps the loop from turning."""
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    beating = asyncio.create_task(beat())
    _, event = await outcome("yes", tmp_path, timeout_ms=500, max_output_bytes=FOREVER)
    beating.cancel()
    assert event == TimedOut(500) and beats > 10


async def test_en_2_entries_apply_over_what_is_inherited(tmp_path):
    environment = LocalEnvironment(environ={"PATH": os.environ["PATH"], "KEPT": "1", "GONE": "1", "CHANGED": "old"})
    output, _ = await outcome(
        'echo "$KEPT.$GONE.$CHANGED.$NEW"',
        tmp_path,
        environment,
        env=[("GONE", False), ("CHANGED", "new"), ("NEW", "x")],
    )
    assert output == b"1..new.x\n"


async def test_commands_inherit_the_snapshot_and_nothing_since(tmp_path, monkeypatch):
    """C7-3: what an import put into os.environ after the host's snapshot does not leak."""
    environment = LocalEnvironment(environ={"PATH": os.environ["PATH"]})
    monkeypatch.setenv("LITELLM_MODE", "PRODUCTION")
    assert (await outcome('echo "[$LITELLM_MODE]"', tmp_path, environment))[0] == b"[]\n"
    assert (await outcome('echo "[$LITELLM_MODE]"', tmp_path))[0] == b"[PRODUCTION]\n"


async def test_en_3_without_a_descriptor_of_the_process_it_is_looked_after(tmp_path, monkeypatch):
    """On macOS there is no pidfd; the same endings, found by looking."""
    monkeypatch.setattr(process, "_exit_descriptor", lambda pid: None)
    assert await outcome("echo hi; exit 3", tmp_path) == (b"hi\n", Exit(3))
    assert (await outcome("sleep 600", tmp_path, timeout_ms=200))[1] == TimedOut(200)
    _, event = await outcome("exec >/dev/null 2>&1; sleep 0.1; exit 4", tmp_path)
    assert event == Exit(4)


async def test_a_status_collected_by_somebody_else_is_not_made_up(tmp_path):
    async with closing(LocalEnvironment().run("echo $$; sleep 0.2; exit 5", cwd=tmp_path)) as events:
        pid = int((await anext(events)).data)
        os.waitpid(pid, 0)
        last = [event async for event in events][-1]
    assert isinstance(last, Failed) and "collected" in last.reason


async def test_find_bash_prefers_bash_and_never_takes_one_from_the_project(tmp_path):
    """EN-3: says which shell is used; a relative PATH entry is not searched; without one the diagnosis is the failure."""
    (tmp_path / "bin").mkdir()
    for shell in ("bash", "sh"):
        (tmp_path / "bin" / shell).write_text("#!/bin/sh\necho fake\n")
        (tmp_path / "bin" / shell).chmod(0o755)
    assert LocalEnvironment.find_bash({"PATH": f"{tmp_path}/bin"}) == f"{tmp_path}/bin/bash"
    assert LocalEnvironment.find_bash({"PATH": "bin:."}) in ("/usr/bin/bash", "/bin/bash", "/usr/bin/sh", "/bin/sh")


async def test_without_a_shell_commands_fail_with_that_diagnosis(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "_SYSTEM_PATH", ())
    _, event = await outcome("true", tmp_path, LocalEnvironment(environ={"PATH": f"{tmp_path}:bin"}))
    assert event == Failed("there is neither bash nor sh on this machine, so no command can be run")


@pytest.mark.long
@pytest.mark.parametrize("command", ["sleep 300 & echo done", "setsid sleep 30 & echo done", "sleep 600"])
async def test_en_3_a_call_returns_within_about_a_second(tmp_path, command):
    """EN-3, C05, C06: of the shell's end, or of the time limit."""
    begun = time.monotonic()
    await outcome(command, tmp_path, timeout_ms=300)
    assert time.monotonic() - begun < 1.5


@pytest.mark.long
async def test_a_command_is_cheap(tmp_path):
    """The host's own share of a command is well under 5 ms of CPU."""
    environment = LocalEnvironment()
    await outcome("true", tmp_path, environment)
    begun = time.process_time()
    for _ in range(20):
        await outcome("true", tmp_path, environment)
    assert (time.process_time() - begun) / 20 < 0.005
