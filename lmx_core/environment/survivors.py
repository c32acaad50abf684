"""Names of processes that outlive a command: told to the model, so that it knows what still runs or what was ended.

Read from `/proc` where there is one, else from `ps`. Both are a snapshot: a process may be gone when its name is read.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_PROC = Path("/proc")
HAS_PROC = sys.platform == "linux"
MAX_NAMED = 5
MAX_NAME_CHARS = 80
_WALLS = "bwrap"
"""What stands around a confined command is in its group, and is nothing it left behind."""


def running(group: int, known: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The processes of a group that are no zombies. While one of the `known` is among them, nothing else is looked at."""
    return tuple(pid for pid in known if _group_of(pid) == group) or tuple(
        pid for pid in _pids() if _group_of(pid) == group
    )


def in_group(group: int) -> tuple[str, ...]:
    """The processes of a group that are no zombies, by name."""
    if not HAS_PROC:
        return _listed([f"{_short(command)} (pid {pid})" for pid, command in _by_ps(group)])
    members = running(group)
    walls = {pid for pid in members if _name(pid) == _WALLS}
    return _named(pid for pid in sorted({*members, *_below(walls)}) if pid not in walls)


def holding_pipe(inode: int) -> tuple[str, ...]:
    """The other processes that have this pipe open. Empty where the system does not tell."""
    target = f"pipe:[{inode}]"
    return _named(pid for pid in _pids() if pid != os.getpid() and _holds(pid, target))


def _below(pids: set[int]) -> set[int]:
    """What was started by these, and by those; a process that made a group of its own is found as well."""
    parents = {pid: row[1] for pid in _pids() if (row := _stat(pid))} if pids else {}
    found: set[int] = set()
    new = pids
    while new := {pid for pid, parent in parents.items() if parent in new} - found:
        found |= new
    return found


def _pids() -> Iterator[int]:
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 - names are all that is wanted, and there are many
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())


def _group_of(pid: int) -> int | None:
    row = _stat(pid)
    return None if row is None else row[2]


def _name(pid: int) -> str | None:
    row = _stat(pid)
    return None if row is None else row[0]


def _stat(pid: int) -> tuple[str, int, int] | None:
    """Name, parent and group of a process; None for a zombie, or where there is none."""
    try:
        # The name, field 2, is in parentheses and may contain anything; what follows the last one is regular.
        before, _, after = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")
        state, parent, group = after.split()[:3]
    except (OSError, ValueError):
        return None
    return None if state == b"Z" else (before.partition(b"(")[2].decode("utf-8", "replace"), int(parent), int(group))


def _holds(pid: int, target: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{fd}") == target for fd in os.listdir(folder))  # noqa: PTH115, PTH208 - hot
    except OSError:
        return False


def _named(pids: Iterable[int]) -> tuple[str, ...]:
    return _listed([f"{_command(pid)} (pid {pid})" for pid in pids])


def _listed(names: list[str]) -> tuple[str, ...]:
    more = len(names) - MAX_NAMED
    return (*names[:MAX_NAMED], f"{more} more") if more > 0 else tuple(names)


def _command(pid: int) -> str:
    try:
        line = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        line = b""
    return _short(line.replace(b"\0", b" ").decode("utf-8", "replace"))


def _short(command: str) -> str:
    words = " ".join(command.split()) or "a process"
    return words if len(words) <= MAX_NAME_CHARS else words[: MAX_NAME_CHARS - 1] + "…"


def _by_ps(group: int) -> list[tuple[int, str]]:
    try:
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,pgid=,stat=,args="], capture_output=True, text=True, errors="replace", timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = (line.split(None, 3) for line in listed.stdout.split("\n") if line.strip())
    return [
        (int(pid), rest[0] if rest else "") for pid, of, state, *rest in rows if of == str(group) and state[0] != "Z"
    ]
