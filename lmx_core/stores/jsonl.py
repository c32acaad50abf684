"""One file of JSON lines a session: `<directory>/<id>.jsonl` (JS-1 to JS-4).

A crash in the middle of a write leaves half a line at the end. Reading ignores that half; appending behind it, the obvious
way, would glue the next entry to it and damage the file in its middle for good. So every append first seals the tail.
Damage anywhere earlier is reported and touched by nobody: a conversation with a hole in it is worse than none.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from lmx_core.entry import Entry
from lmx_core.errors import StoreError, TranscriptNotFound, TranscriptUnreadable
from lmx_core.ids import SESSION_ID_TAKES, is_session_id
from lmx_core.stores.lock import Lock, claim, default_process, release
from lmx_core.stores.private import create_whole, make_directory, tighten, write_whole
from lmx_core.transcript.codec import Truncated, decode, encode
from lmx_core.transcript.dedup import expand

CHUNK = 65_536
"""How many bytes are read at a time when the last line is searched from the end."""


class JSONLStore:
    """Transcripts as files, a batch of entries a write. What was appended survives a crash of the process; about a crash
    of the machine it claims nothing, for it never calls `fsync`. Errors are `StoreError`s that name the path and the reason.
    """

    def __init__(self, directory: str | os.PathLike[str], *, process: str | None = None):
        """`process` is what the lock file tells others about this program, such as "lmx 0.1.0"."""
        self.directory = Path(directory)
        self._process = process or default_process()
        self._sealed: dict[str, tuple[int, int]] = {}  # inode and size that our last append left

    def __repr__(self) -> str:
        return "<JSONLStore>"

    def path(self, session_id: str) -> Path:
        """Where a session's transcript is. An id that could be anything but a file name is refused, never rewritten."""
        if not is_session_id(session_id):
            raise StoreError(f"{session_id!r} is no session id: that is {SESSION_ID_TAKES}")
        return self.directory / f"{session_id}.jsonl"

    def append(self, session_id: str, entries: Sequence[Entry]) -> None:
        """Adds a batch in one write; when it fails, nothing of the batch is left."""
        path = self.path(session_id)
        data = _lines(entries)
        if not data:
            return
        try:
            if not path.exists():
                make_directory(self.directory)
                if create_whole(path, data):
                    return
            self._extend(session_id, path, data)
        except OSError as error:
            self._sealed.pop(session_id, None)
            raise StoreError(f"{path} cannot be written: {_reason(error)}") from error

    def _extend(self, session_id: str, path: Path, data: bytes) -> None:
        fd = _open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        try:
            tighten(fd)
            facts = os.fstat(fd)
            size = facts.st_size
            if self._sealed.get(session_id) != (facts.st_ino, size):
                size, data = self._seal(session_id, fd, size, data)
            write_whole(fd, data, size)
            self._sealed[session_id] = (facts.st_ino, size + len(data))
        finally:
            os.close(fd)

    def _seal(self, session_id: str, fd: int, size: int, data: bytes) -> tuple[int, bytes]:
        """Makes the file end with a whole line (JS-3). Returns its size, and what to write behind it."""
        tail = last_line(fd, size)
        if not tail.strip():
            return size, data
        try:
            decode(tail)
        except Truncated:
            size -= len(tail)
            os.ftruncate(fd, size)
        except ValueError as error:
            raise TranscriptUnreadable(session_id, f"{error} (its last line; the file is untouched)") from error
        else:
            if not tail.endswith(b"\n"):
                data = b"\n" + data
        return size, data

    def read(self, session_id: str) -> list[Entry]:
        """Every entry, references expanded. A transcript that no whole entry was ever written to does not exist."""
        path = self.path(session_id)
        try:
            lines = _bytes(path).split(b"\n")
        except FileNotFoundError as error:
            raise TranscriptNotFound(session_id) from error
        except OSError as error:
            raise TranscriptUnreadable(session_id, f"{path}: {_reason(error)}") from error
        entries = []
        last = len(lines) if lines[-1] else len(lines) - 1
        for number, line in enumerate(lines, 1):
            try:
                if line:  # an empty line holds nothing that could be missing
                    entries.append(decode(line))
            except ValueError as error:
                if number == last and isinstance(error, Truncated):
                    break
                where = f"line {number} of {path}"
                raise TranscriptUnreadable(session_id, f"{where}: {error} (the file is untouched)") from error
        if not entries:
            raise TranscriptNotFound(session_id)
        return expand(entries)

    def list_sessions(self) -> list[str]:
        """The ids that have a file, sorted by name, which for ULIDs is oldest first."""
        try:
            names = [path.name for path in self.directory.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self.directory} cannot be read: {_reason(error)}") from error
        stems = (name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))
        return sorted(stem for stem in stems if is_session_id(stem))

    def lock(self, session_id: str) -> Lock:
        """Claims the session for this process. Raises `SessionLocked` while another holder may be alive."""
        path = self.path(session_id).with_suffix(".lock")
        try:
            return claim(path, self._process)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {_reason(error)}") from error

    def unlock(self, session_id: str, lock: Lock) -> None:
        self._sealed.pop(session_id, None)
        release(lock)

    def delete(self, session_id: str) -> None:
        path = self.path(session_id)
        self._sealed.pop(session_id, None)
        try:
            path.unlink()
        except FileNotFoundError as error:
            raise TranscriptNotFound(session_id) from error
        except OSError as error:
            raise StoreError(f"{path} cannot be removed: {_reason(error)}") from error


def last_line(fd: int, size: int) -> bytes:
    """The last line of an open file of `size` bytes, with its newline if it has one; searched from the end."""
    start = end = size
    parts: list[bytes] = []
    while start > 0:
        start = max(0, end - CHUNK)
        chunk = os.pread(fd, end - start, start)
        newline = chunk.rfind(b"\n", 0, len(chunk) - 1 if end == size else len(chunk))
        if newline >= 0:
            parts.append(chunk[newline + 1 :])
            break
        parts.append(chunk)
        end = start
    return b"".join(reversed(parts))


def _lines(entries: Sequence[Entry]) -> bytes:
    try:
        return b"".join(encode(entry) + b"\n" for entry in entries)
    except ValueError as error:
        raise StoreError(str(error)) from error


def _open(path: Path, flags: int) -> int:
    """Opens a regular file; whatever else stands there, such as a pipe, would hold us up for ever."""
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("it is no regular file")
    return fd


def _bytes(path: Path) -> bytes:
    with os.fdopen(_open(path, os.O_RDONLY), "rb") as file:
        return file.read()


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
