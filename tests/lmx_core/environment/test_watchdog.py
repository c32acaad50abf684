"""The watchdog, with a real host that is really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lmx_core.environment.watchdog import Watchdog

HOST = """
import asyncio, sys
from pathlib import Path
from lmx_core.environment.local import LocalEnvironment

async def main():
    environment = LocalEnvironment()
    async def run(command):
        async for event in environment.run(command, cwd=Path(sys.argv[1])):
            pass
    await run("true")
    await asyncio.gather(
        run("echo $$ > one; sleep 300 & sleep 300"),
        run("trap '' TERM; echo $$ > two; sleep 300; sleep 300"),
    )

asyncio.run(main())
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return held


def members(group: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(pgrp) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_en_4_a_dying_host_takes_its_commands_along(tmp_path, how):
    """EN-4: both groups end, the one that ignores SIGTERM too, and the helper itself goes."""
    host = subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path)], start_new_session=True)
    try:
        shells = [tmp_path / "one", tmp_path / "two"]
        assert wait_for(lambda: all(f.exists() and f.read_text().strip() for f in shells))
        groups = [int(f.read_text()) for f in shells]
        assert wait_for(lambda: len(members(groups[0])) == 3)
    finally:
        os.killpg(host.pid, how)
        host.wait()
    assert wait_for(lambda: not any(members(group) for group in groups))
    helpers = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"lmx-watchdog" in read(p) and parent(p) == 1]
    assert wait_for(lambda: not any(alive(int(p.parent.name)) for p in helpers))


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def parent(cmdline: Path) -> int:
    fields = read(cmdline.with_name("stat")).rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


@pytest.fixture
def helpers():
    """The helpers of this test alone: other environments of the process have theirs.

    A process just started may for a moment show the command line of its parent: wait for what is expected.
    """
    before = set(children())
    return lambda: [pid for pid in children() if pid not in before]


def test_en_4_one_helper_for_all_commands_and_none_before_the_first(helpers):
    watchdog = Watchdog()
    assert helpers() == []
    for group in (999_999_001, 999_999_002):
        watchdog.add(group)
    assert watchdog.groups == {999_999_001, 999_999_002}
    assert wait_for(lambda: len(helpers()) == 1)
    for group in (999_999_001, 999_999_002):
        watchdog.remove(group)
    watchdog.close()
    assert wait_for(lambda: helpers() == [])


def test_the_helper_ends_with_the_object_that_started_it(helpers):
    watchdog = Watchdog()
    watchdog.add(999_999_001)
    watchdog.remove(999_999_001)
    assert wait_for(lambda: len(helpers()) == 1)
    del watchdog
    assert wait_for(lambda: helpers() == [])


def test_a_helper_that_was_ended_is_replaced_and_told_again(helpers):
    watchdog = Watchdog()
    sleeper = subprocess.Popen(["sleep", "300"], start_new_session=True)
    watchdog.add(sleeper.pid)
    assert wait_for(lambda: len(helpers()) == 1)
    (helper,) = helpers()
    os.kill(helper, signal.SIGKILL)
    assert wait_for(lambda: not alive(helper))
    watchdog.add(999_999_001)
    assert wait_for(lambda: len(helpers()) == 1)
    assert helpers() != [helper]
    watchdog.close()  # as when the host dies: the groups it knows are ended
    assert sleeper.wait(timeout=10) == -signal.SIGTERM


def children() -> list[int]:
    """Our own children that are watchdogs, zombies not counted."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    found = [int(pid) for pid in pids if b"lmx-watchdog" in read(Path(f"/proc/{pid}/cmdline"))]
    return [pid for pid in found if alive(pid)]
