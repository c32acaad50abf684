"""One file of JSON lines a session: `<directory>/<id>.jsonl` (JS-1 to JS-4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lmx_core.entry import Entry
from lmx_core.errors import StoreError, TranscriptNotFound, TranscriptUnreadable
from lmx_core.ids import is_session_id
from lmx_core.transcript.codec import Truncated, decode, encode


class JSONLStore:
    """Transcripts as files. Survives a crash of the process; makes no claim about a crash of the machine (no fsync)."""

    def __init__(self, directory: str | os.PathLike[str]):
        self.directory = Path(directory)

    def __repr__(self) -> str:
        return "<JSONLStore>"

    def path(self, session_id: str) -> Path:
        if not is_session_id(session_id):
            raise StoreError(f"{session_id!r} is no session id: it may hold only letters, digits, `-` and `_`")
        return self.directory / f"{session_id}.jsonl"

    def append(self, session_id: str, entries: Sequence[Entry]) -> None:
        path = self.path(session_id)
        data = b"".join(encode(entry) + b"\n" for entry in entries)
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}") from error

    def read(self, session_id: str) -> list[Entry]:
        path = self.path(session_id)
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError as error:
            raise TranscriptNotFound(session_id) from error
        except OSError as error:
            raise TranscriptUnreadable(session_id, f"{path}: {error.strerror}") from error
        entries = []
        for number, line in enumerate(lines, 1):
            try:
                if line:
                    entries.append(decode(line))
            except Truncated:
                if number < len(lines):
                    raise
            except ValueError as error:
                raise TranscriptUnreadable(session_id, f"line {number} of {path}: {error}") from error
        return entries

    def list_sessions(self) -> list[str]:
        return sorted(path.stem for path in self.directory.glob("*.jsonl") if is_session_id(path.stem))
