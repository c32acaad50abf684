"""Naming what outlived a command, from /proc and, where there is none, from ps."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lmx_core.environment import survivors


@pytest.fixture
def group():
    """A process group of a shell and seven sleepers."""
    script = "for i in 1 2 3 4 5 6 7; do sleep 300 & done; echo ready; wait"
    shell = subprocess.Popen(["sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE)
    assert shell.stdout.readline() == b"ready\n"
    yield shell
    os.killpg(shell.pid, 9)
    shell.wait()
    shell.stdout.close()


@pytest.mark.parametrize("proc", [True, False])
def test_a_group_by_name_with_a_count_of_the_rest(group, monkeypatch, proc):
    monkeypatch.setattr(survivors, "HAS_PROC", proc)
    names = survivors.in_group(group.pid)
    assert len(names) == survivors.MAX_NAMED + 1 and names[-1] == "3 more"
    assert any("sleep 300" in name and "(pid " in name for name in names)
    assert len(survivors.running(group.pid)) == 8 and group.pid in survivors.running(group.pid)


def test_while_a_known_process_runs_nothing_else_is_looked_at(group):
    (first, *_) = members = survivors.running(group.pid)
    assert survivors.running(group.pid, (first,)) == (first,)
    assert survivors.running(group.pid, (999_999_999,)) == members


@pytest.mark.parametrize("proc", [True, False])
def test_a_zombie_is_not_running(monkeypatch, proc):
    monkeypatch.setattr(survivors, "HAS_PROC", proc)
    child = subprocess.Popen(["true"], start_new_session=True)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert survivors.in_group(child.pid) == ()
    child.wait()


def test_who_holds_a_pipe_but_not_ourselves():
    read, write = os.pipe()
    holder = subprocess.Popen(["sh", "-c", "echo ready >&2; exec sleep 300"], stdout=write, stderr=subprocess.PIPE)
    assert holder.stderr.readline() == b"ready\n"
    while not Path(f"/proc/{holder.pid}/cmdline").read_bytes().startswith(b"sleep\0"):
        os.sched_yield()
    inode = os.fstat(read).st_ino
    assert survivors.holding_pipe(inode) == (f"sleep 300 (pid {holder.pid})",)
    holder.kill()
    holder.communicate()
    assert survivors.holding_pipe(inode) == ()
    os.close(read)
    os.close(write)


def test_long_command_lines_are_shortened():
    script = "echo ready; sleep 300; : " + "x" * 500
    sleeper = subprocess.Popen(["sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE)
    try:
        assert sleeper.stdout.readline() == b"ready\n"
        names = " ".join(survivors.in_group(sleeper.pid))
        assert "…" in names and len(names) < 2 * (survivors.MAX_NAME_CHARS + 20)
    finally:
        os.killpg(sleeper.pid, 9)
        sleeper.communicate()
