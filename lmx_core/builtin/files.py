"""What `read`, `write` and `edit` share: how a file is known to the session, and how a failure is told to the model."""

from __future__ import annotations

import hashlib
import os
from typing import Any, NoReturn

from lmx_core.calls import ToolContext
from lmx_core.edits.text import aligned, lines_of
from lmx_core.environment.base import FileError
from lmx_core.errors import ToolError

REGION_BYTES = 20_000
"""A changed region of more than this is not repeated in a result: the call's own arguments show it."""

CONTEXT_LINES = 2


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
    changed = [part for part in aligned(old, new) if not part[0]]
    added, removed = sum(part[4] - part[3] for part in changed), sum(part[2] - part[1] for part in changed)
    told: dict[str, Any] = {"change": kind, "path": path, "added": added, "removed": removed}
    start = max(0, min((part[1] for part in changed), default=0) - CONTEXT_LINES)
    kept = max(0, len(old) - max((part[2] for part in changed), default=0) - CONTEXT_LINES)
    region = "".join(old[start : len(old) - kept]), "".join(new[start : len(new) - kept])
    if len(region[0].encode()) + len(region[1].encode()) <= REGION_BYTES:
        told |= {"line": start + 1, "before": region[0], "after": region[1]}
    return told


def counts(told: dict[str, Any]) -> str:
    return f"+{told['added']} -{told['removed']}"
