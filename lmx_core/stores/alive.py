"""Is the process that claimed a session provably gone? (LK-2)

Neither the age of a claim nor its pid alone answers that: a session may be open for a week, and a pid is given out again.
A process is known by its pid together with when it started, on a machine that we can see. Every doubt counts as alive,
because the price of a wrong "gone" is two writers in one transcript.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from lmx_core.entry import parse_time


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a session. `os_started` is what `Machine.started` says of the process; "" when it could not be told."""

    token: str
    host: str
    os_pid: int
    os_started: str
    process: str
    since: str


class Machine(Protocol):
    """What is to be known about processes here."""

    host: str
    pid: int

    def exists(self, pid: int) -> bool: ...

    def started(self, pid: int) -> str: ...


def provably_gone(claim: Claim, here: Machine, in_use: Callable[[str], bool]) -> bool:
    """Can the claim be taken over? `in_use` says whether a session of this very process still holds a token."""
    if claim.host != here.host or claim.os_pid <= 0:
        return False
    ourselves = here.started(here.pid)
    if ourselves and (claim.os_pid, claim.os_started) == (here.pid, ourselves):
        return not in_use(claim.token)
    if claim.os_started.startswith("linux "):
        return _gone_on_linux(claim, here, ourselves)
    if not here.exists(claim.os_pid):
        return True
    return _started_after(here.started(claim.os_pid), claim)


def _gone_on_linux(claim: Claim, here: Machine, ourselves: str) -> bool:
    """`linux BOOT NAMESPACE TICKS`: another boot has ended all its processes; another pid namespace hides them from us."""
    boot, namespace, _ = _parts(claim.os_started)
    our_boot, our_namespace, _ = _parts(ourselves)
    if not boot or not our_boot:
        return False
    if boot != our_boot:
        return True
    if namespace != our_namespace:
        return False
    if not here.exists(claim.os_pid):
        return True
    now = here.started(claim.os_pid)
    return now != "" and now != claim.os_started


def _parts(started: str) -> tuple[str, str, str]:
    words = started.split(" ")
    return (words[1], words[2], words[3]) if len(words) == 4 else ("", "", "")


def _started_after(started: str, claim: Claim) -> bool:
    """Has the pid another start time now, and one that lies after the claim? (`ps` knows it to the second.)"""
    if not started or not claim.os_started or started == claim.os_started:
        return False
    try:
        moment = datetime.strptime(started, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
        return moment > parse_time(claim.since)
    except ValueError:
        return False


class ThisMachine:
    """The one we run on."""

    def __init__(self) -> None:
        self.host = os.uname().nodename
        self.pid = os.getpid()

    def exists(self, pid: int) -> bool:
        """Is there such a process? One that only waits to be reaped can write no more and counts as none."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            return True
        return _stat(pid)[:1] not in (["Z"], ["X"])

    def started(self, pid: int) -> str:
        """When a process started, as text to compare; "" when that cannot be told."""
        return _started_linux(pid) if sys.platform == "linux" else started_ps(pid)


def _started_linux(pid: int) -> str:
    facts = _stat(pid)
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return ""
    return f"linux {boot} {namespace} {facts[19]}" if len(facts) > 19 else ""


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third, the state, on; the name before them may hold spaces and brackets."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return []
    return text.rpartition(b")")[2].decode("ascii", "replace").split()


def started_ps(pid: int) -> str:
    """The start time by `ps`, in the C locale and UTC so that it reads the same for everybody."""
    try:
        done = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            env={"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", os.defpath)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return " ".join(done.stdout.decode("ascii", "replace").split()) if done.returncode == 0 else ""
