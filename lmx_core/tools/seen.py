"""Which files a session has seen, and what it saw (WR-1, WR-2).

Kept for one running session and forgotten with it: after a resume the world may have moved on, so a file must be read again
before it is replaced.
"""

from __future__ import annotations


class SeenFiles:
    """SHA-256 of the last content seen or written, by absolute path."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def seen(self, path: str) -> str | None:
        return self._seen.get(path)

    def record(self, path: str, sha256: str) -> None:
        self._seen[path] = sha256

    def forget(self, path: str) -> None:
        self._seen.pop(path, None)
