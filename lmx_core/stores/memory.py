"""A store that forgets when the process ends: for tests, and for sessions nobody will resume (TK-1)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any

from lmx_core.clock import SystemClock
from lmx_core.entry import Entry, format_time
from lmx_core.errors import SessionLocked, TranscriptNotFound


class MemoryStore:
    """Transcripts in a dict. It hands back what it was given, references included (SO-3), and locks like a file store."""

    blocks = False

    def __init__(self) -> None:
        self._entries: dict[str, list[Entry]] = {}
        self._locks: dict[str, str] = {}
        self._holders: dict[str, dict[str, Any]] = {}

    def __repr__(self) -> str:
        return "<MemoryStore>"

    def append(self, session_id: str, entries: Sequence[Entry]) -> None:
        if entries:
            self._entries.setdefault(session_id, []).extend(entries)

    def read(self, session_id: str) -> list[Entry]:
        if session_id not in self._entries:
            raise TranscriptNotFound(session_id)
        return list(self._entries[session_id])

    def list_sessions(self) -> list[str]:
        return list(self._entries)

    def delete(self, session_id: str) -> None:
        if self._entries.pop(session_id, None) is None:
            raise TranscriptNotFound(session_id)

    def lock(self, session_id: str) -> str:
        """A token. Raises `SessionLocked` while another is out."""
        if session_id in self._locks:
            raise SessionLocked(self._holders[session_id])
        since = format_time(SystemClock().now_ms())
        self._holders[session_id] = {
            "host": os.uname().nodename,
            "os_pid": os.getpid(),
            "process": "this one",
            "since": since,
            "path": "none: it is kept in memory",
        }
        self._locks[session_id] = secrets.token_hex(8)
        return self._locks[session_id]

    def unlock(self, session_id: str, token: str) -> None:
        if self._locks.get(session_id) == token:
            del self._locks[session_id]
