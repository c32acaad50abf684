"""What was sent, on disk: `history.jsonl`, shared by every lmx of the person (CMP-21).

Appended under a lock, because several run at once; a line that cannot be read is skipped, because a crash may have torn it. All
of it is blocking and is called in threads.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from lmx.sanitize import visible

KEPT = 1_000
_TOO_LONG = 2 * KEPT


class Line(msgspec.Struct, frozen=True):
    text: str


def load(path: Path) -> list[str]:
    """The newest lines, oldest first; none when there is no such file or it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    texts: list[str] = []
    for raw in data.split(b"\n")[-KEPT - 1 :]:
        try:
            texts.append(visible(msgspec.json.decode(raw, type=Line).text))
        except msgspec.DecodeError:
            continue  # torn or foreign: the rest is still good
    return texts[-KEPT:]


def append(path: Path, text: str) -> None:
    """Adds a line, for its owner only to read. Raises OSError when the disk will not have it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    line = msgspec.json.encode(Line(text)) + b"\n"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            line = line if file.read(1) == b"\n" else b"\n" + line
        file.write(line)
        file.flush()
        _shorten(file.fileno(), path)


def _shorten(descriptor: int, path: Path) -> None:
    """Keeps the file from growing for ever: at twice its length the older half goes, in place, under the same lock."""
    lines = path.read_bytes().split(b"\n")
    if len(lines) > _TOO_LONG:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"\n".join(lines[-KEPT - 1 :]))
