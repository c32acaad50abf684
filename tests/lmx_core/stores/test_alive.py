"""When is the holder of a claim provably gone? A table over machines that never were, and this one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC
from pathlib import Path

import msgspec
import pytest

from lmx_core.stores.alive import Claim, ThisMachine, provably_gone, started_ps

BOOT, NAMESPACE = "boot-1", "pid:[1]"


def linux(ticks: int, boot: str = BOOT, namespace: str = NAMESPACE) -> str:
    return f"linux {boot} {namespace} {ticks}"


class Machine:
    def __init__(self, running: dict[int, str], host: str = "here", pid: int = 100):
        self.host, self.pid, self.running = host, pid, running

    def exists(self, pid: int) -> bool:
        return pid in self.running

    def started(self, pid: int) -> str:
        return self.running.get(pid, "")


OURS = linux(50)
CLAIM = Claim(token="t", host="here", os_pid=7, os_started=linux(10), process="p", since="2026-01-02T03:04:05.000Z")


@pytest.mark.parametrize(
    ("running", "claim", "gone"),
    [
        # the pid
        ({7: linux(10)}, {}, False),
        ({}, {}, True),
        ({7: linux(11)}, {}, True),
        ({7: linux(9)}, {}, True),
        # doubt
        ({7: ""}, {}, False),
        ({7: linux(11)}, {"host": "there"}, False),
        ({}, {"host": "there"}, False),
        ({7: linux(11)}, {"os_started": ""}, False),
        ({}, {"os_pid": 0}, False),
        ({}, {"os_pid": -1}, False),
        # another boot of this machine; another container, whose processes we cannot see
        ({7: linux(10)}, {"os_started": linux(10, boot="boot-0")}, True),
        ({7: linux(10)}, {"os_started": linux(10, boot="boot-0", namespace="pid:[2]")}, True),
        ({}, {"os_started": linux(10, namespace="pid:[2]")}, False),
        ({}, {"os_started": "linux half"}, False),
        # no pid and no start time either: what can be seen is that nobody has that pid
        ({}, {"os_started": ""}, True),
        # ourselves
        ({}, {"os_pid": 100, "os_started": OURS, "token": "in use"}, False),
        ({}, {"os_pid": 100, "os_started": OURS, "token": "dropped"}, True),
        ({}, {"os_pid": 100, "os_started": linux(49), "token": "in use"}, True),
    ],
)
def test_lk_2_a_holder_is_gone_only_when_that_is_proved(running, claim, gone):
    """LK-2, D-12: same host and no such pid, or another start time, or our own session that is gone; never by age alone."""
    here = Machine({100: OURS} | running)
    assert provably_gone(msgspec.structs.replace(CLAIM, **claim), here, lambda token: token == "in use") is gone


def test_lk_2_a_machine_that_cannot_say_when_it_was_started_refuses():
    """LK-2"""
    assert not provably_gone(CLAIM, Machine({}), lambda token: False)


@pytest.mark.parametrize(
    ("now", "gone"),
    [
        ("Fri Jan 2 03:00:00 2026", False),  # the recorded one
        ("Fri Jan 2 03:00:01 2026", False),  # another, yet before the claim: `ps` may be a second off
        ("Fri Jan 2 03:05:00 2026", True),
        ("Thu Jan 1 00:00:00 2026", False),
        ("", False),
        ("nonsense", False),
    ],
)
def test_lk_2_without_start_ticks_the_time_of_ps_must_lie_after_the_claim(now: str, gone: bool):
    """LK-2"""
    claim = msgspec.structs.replace(CLAIM, os_started="Fri Jan 2 03:00:00 2026")
    here = Machine({100: "Fri Jan 2 01:00:00 2026", 7: now})
    assert provably_gone(claim, here, lambda token: False) is gone
    assert provably_gone(claim, Machine({100: "Fri Jan 2 01:00:00 2026"}), lambda token: False) is True


def test_this_machine_knows_its_processes():
    here = ThisMachine()
    assert here.exists(os.getpid())
    assert here.started(os.getpid()) == here.started(os.getpid()) != ""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert here.exists(child.pid)
        assert here.started(child.pid) != here.started(os.getpid())
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not here.exists(child.pid), "killed and not yet reaped: it can write no more"
    finally:
        child.kill()
        child.communicate()
    assert not here.exists(child.pid)
    assert here.exists(10**30), "no such pid can be asked about, so it is not proved gone"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_lk_2_linux_start_times_name_boot_namespace_and_ticks():
    """LK-2"""
    started = ThisMachine().started(os.getpid())
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    assert started == f"linux {boot} {os.readlink('/proc/self/ns/pid')} {ticks}"


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_lk_2_ps_tells_the_start_time_in_utc_and_english(monkeypatch):
    """LK-2"""
    from datetime import datetime

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    started = datetime.strptime(started_ps(os.getpid()), "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    assert abs((datetime.now(UTC) - started).total_seconds()) < 3_600, "this process is young"
    assert started_ps(2**22 + 1) == ""
