"""The claim file beside a transcript: one writer a session, across processes (LK-1 to LK-3).

The file appears whole (a hard link to a finished one), because an empty claim cannot be judged. It survives a killed
process; the next claim judges whether its writer is provably gone. Judging and removing are two steps, and between them
somebody else may have done both: so a stale file is removed only while we hold a lock on that very file, still unchanged.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import sys
import weakref
from pathlib import Path
from typing import Any

import msgspec

from lmx_core.clock import SystemClock
from lmx_core.entry import format_time
from lmx_core.errors import SessionLocked
from lmx_core.stores.alive import Claim, ThisMachine, provably_gone
from lmx_core.stores.private import create_whole, make_directory

ATTEMPTS = 3
_LIMIT = 65_536

_held: weakref.WeakValueDictionary[str, Lock] = weakref.WeakValueDictionary()
"""The locks of this process that are in use. Weak: a session that died without a word has dropped its lock."""


class Lock:
    """A session held. Whoever has it keeps it until `release`; when it is dropped, the session counts as gone."""

    def __init__(self, path: Path, token: str):
        self.path, self.token = path, token

    def __repr__(self) -> str:
        return f"<Lock {self.path.name}>"


def claim(path: Path, process: str) -> Lock:
    """Claims the session whose lock file `path` is; raises `SessionLocked`, or OSError when the file cannot be made.

    `process` is told to whoever is refused, such as "lmx 0.1.0".
    """
    here = ThisMachine()
    make_directory(path.parent)
    lock, ours = prepare(path, process)
    seen = b""
    for _ in range(ATTEMPTS):
        if create_whole(path, msgspec.json.encode(ours) + b"\n"):
            return lock
        seen = _read(path)
        if not seen and not path.exists():
            continue
        theirs = claim_in(seen)
        if theirs is None or not provably_gone(theirs, here, in_use):
            break
        _remove_unchanged(path, seen)
    raise SessionLocked(holder(path, claim_in(seen)))


def prepare(path: Path, process: str) -> tuple[Lock, Claim]:
    """A lock that counts as held from now on, and the claim to write down for it.

    It is held before the claim is written, because another thread may judge that at once.
    """
    here = ThisMachine()
    ours = Claim(
        token=secrets.token_hex(16),
        host=here.host,
        os_pid=here.pid,
        os_started=here.started(here.pid),
        process=process,
        since=format_time(SystemClock().now_ms()),
    )
    lock = _held[ours.token] = Lock(path, ours.token)
    return lock, ours


def in_use(token: str) -> bool:
    """Does a session of this process hold the lock of this token?"""
    return token in _held


def forget(lock: Lock) -> None:
    """The session of this lock is over; its claim may still be written somewhere."""
    _held.pop(lock.token, None)


def release(lock: Lock) -> None:
    """Gives the session free. Removes only a file that still carries our token; one it cannot remove is judged later."""
    forget(lock)
    found = claim_in(_read(lock.path))
    if found is None or found.token != lock.token or found.os_pid != os.getpid():
        return
    try:
        lock.path.unlink(missing_ok=True)
    except OSError:
        return  # the next claim sees that this process, or its session, is gone


def default_process() -> str:
    """The program that runs, by the name it was started with."""
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"


def _read(path: Path) -> bytes:
    """What the file holds; nothing when it is not there or not to be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _LIMIT)
    except OSError:
        return b""
    finally:
        os.close(fd)


def claim_in(data: bytes) -> Claim | None:
    """The claim that was written down; None for what is none."""
    try:
        return msgspec.json.decode(data, type=Claim)
    except msgspec.DecodeError:
        return None


def holder(path: Path, found: Claim | None) -> dict[str, Any]:
    """What is told of the holder; of a claim that cannot be read (None), that."""
    if found is None:
        unknown = "unknown"
        return {"host": unknown, "os_pid": unknown, "process": unknown, "since": unknown, "path": str(path)}
    return {
        "host": found.host,
        "os_pid": found.os_pid,
        "process": found.process,
        "since": found.since,
        "path": str(path),
    }


def _remove_unchanged(path: Path, seen: bytes) -> None:
    """Removes a stale claim, unless somebody else is doing so or has already put a new one in its place."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not _flock(fd):
            return
        facts = os.fstat(fd)
        now = path.stat()
        if (facts.st_dev, facts.st_ino) == (now.st_dev, now.st_ino) and os.read(fd, _LIMIT) == seen:
            path.unlink()
    except FileNotFoundError:
        return
    finally:
        os.close(fd)


def _flock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a filesystem without such locks: the comparison alone must do
    return True
