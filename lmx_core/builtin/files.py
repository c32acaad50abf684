"""What `read`, `write` and `edit` share: how a file is known to the session, and how a failure is told to the model."""

from __future__ import annotations

import hashlib
import os
from difflib import SequenceMatcher
from typing import Any, NoReturn

from lmx_core.calls import ToolContext
from lmx_core.edits.text import lines_of
from lmx_core.environment.base import FileError
from lmx_core.errors import ToolError

REGION_BYTES = 20_000
"""A changed region of more than this is not repeated in a result: the call's own arguments show it."""

CONTEXT_LINES = 2
COMPARED_LINES = 2_000


def key(context: ToolContext, path: str) -> str:
    """The absolute path under which the session knows a file, links resolved where the environment can."""
    confined = getattr(context.environment, "confined", None)
    place = confined(context.cwd, path) if confined is not None else None
    if place is None or isinstance(place, FileError):
        return os.path.normpath(context.cwd / path)
    return str(place)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fail(failure: FileError) -> NoReturn:
    """The model hears what the environment said."""
    raise ToolError(f"{failure.message.rstrip('.')}.")


def change(kind: str, path: str, before: str, after: str) -> dict[str, Any]:
    """What a screen needs to draw a change: `change`, `path`, how many lines were `added` and `removed`, the changed region.

    The region is `before` and `after` from line `line` on, with two lines around it, both as text with LF; absent where it is
    larger than `REGION_BYTES`.
    """
    old, new = lines_of(before), lines_of(after)
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    tail = next((n for n in range(shortest - head) if old[-1 - n] != new[-1 - n]), shortest - head)
    added, removed = _counted(old[head : len(old) - tail], new[head : len(new) - tail])
    told: dict[str, Any] = {"change": kind, "path": path, "added": added, "removed": removed}
    start, kept = max(0, head - CONTEXT_LINES), max(0, tail - CONTEXT_LINES)
    region = "".join(old[start : len(old) - kept]), "".join(new[start : len(new) - kept])
    if len(region[0].encode()) + len(region[1].encode()) <= REGION_BYTES:
        told |= {"line": start + 1, "before": region[0], "after": region[1]}
    return told


def _counted(old: list[str], new: list[str]) -> tuple[int, int]:
    """Lines added and removed; too many to compare count as all of them."""
    if max(len(old), len(new)) > COMPARED_LINES:
        return len(new), len(old)
    same = sum(block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    return len(new) - same, len(old) - same


def counts(told: dict[str, Any]) -> str:
    return f"+{told['added']} -{told['removed']}"
