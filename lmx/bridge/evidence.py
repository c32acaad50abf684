"""What a file holds before a call would change it, so that a card can show the real difference (APR-2)."""

from __future__ import annotations

from pathlib import Path

BEFORE_LIMIT = 2_000_000
"""Bytes of a file that is read for the difference on a card."""


def read_before(cwd: Path, path: str) -> str | None:
    """What a file inside the working directory holds, "" when it is not there, None when it cannot be told."""
    try:
        real, root = (cwd / path).resolve(), cwd.resolve()
        if not real.is_relative_to(root):
            return None
        if not real.exists():
            return ""
        if not real.is_file() or real.stat().st_size > BEFORE_LIMIT:
            return None
        return real.read_bytes().decode("utf-8")
    except (OSError, ValueError):
        return None
