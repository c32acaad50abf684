"""What the file tools share: how a file is known to the session, how a change is made, and how it and a failure are told."""

from __future__ import annotations

import hashlib
import os
from typing import Any, NoReturn

from lmx_core.calls import Result, ToolContext
from lmx_core.edits.hunks import FileEdit
from lmx_core.edits.text import Text, aligned, lines_of
from lmx_core.environment.base import FileChange, FileError, change_files
from lmx_core.errors import ToolError
from lmx_core.tasks import run_in_thread
from lmx_core.tools.plan import Plan

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


def staleness(context: ToolContext, path: str, found: bytes) -> str:
    """What is said of a file that is not any more as the session saw it; nothing for one it never saw."""
    seen = None if context.files is None else context.files.seen(key(context, path))
    if seen is None or seen == sha256(found):
        return ""
    return f"[{path} had changed since it was last read; the edit went into its present content]"


async def carry_out(plan: Plan, context: ToolContext, *, several: bool = False) -> Result:
    """Writes what the plan says, all of it or nothing, and remembers the files as seen. Raises ToolError.

    `several` says that the tool tells of its files in a list, be it of one.
    """
    changes = [change for file in plan.files for change in _changes(file)]
    if len(changes) == 1 and (data := changes[0].after) is not None:
        written = await context.environment.write_file(context.cwd, changes[0].path, data)
        if isinstance(written, FileError):
            fail(written)
    elif changes:
        changed = await change_files(context.environment, context.cwd, changes)
        if changed.failure is not None:
            raise ToolError(_failed(changed.failure, changed.left))
    for file in plan.files:
        _remember(file, context, edited=plan.edited)
    if plan.result is not None:
        return plan.result
    told = await run_in_thread(lambda: [told_of(file) for file in plan.files])
    return Result(model_text=listed(told), structured_content=in_all(told) if several else told[0])


def _remember(file: FileEdit, context: ToolContext, *, edited: bool) -> None:
    """What the model knows of a file now: what was written, unless a person wrote a part of it."""
    if context.files is None:
        return
    here = key(context, file.move_to or file.path)
    if file.after is None or edited:
        context.files.forget(here)
    else:
        context.files.record(here, sha256(file.after))
    if file.move_to:
        context.files.forget(key(context, file.path))


def _changes(file: FileEdit) -> list[FileChange]:
    if file.move_to is None:
        return [FileChange(path=file.path, before=file.before, after=file.after)] if file.changes else []
    return [
        FileChange(path=file.move_to, before=None, after=file.after, mode_of=file.path),
        FileChange(path=file.path, before=file.before, after=None),
    ]


def _failed(failure: FileError, left: tuple[str, ...]) -> str:
    """AP-1: an error midway names what stayed changed."""
    said = f"{failure.message.rstrip('.')}."
    if left:
        return f"{said} These files are changed all the same, and could not be put back: {', '.join(left)}."
    return f"{said} Nothing was changed."


def told_of(file: FileEdit) -> dict[str, Any]:
    """A file of a plan as `change` tells it: `created`, `edited`, `deleted` or `moved`, which has `to`."""
    kind = (
        "created" if file.before is None else "deleted" if file.after is None else "moved" if file.move_to else "edited"
    )
    before, after = (Text(data).shown if data is not None else "" for data in (file.before, file.after))
    told = change(kind, file.path, before, after)
    return told | {"to": file.move_to} if file.move_to else told


def in_all(files: list[dict[str, Any]]) -> dict[str, Any]:
    """The structure of a change of several files."""
    totals = {name: sum(file[name] for file in files) for name in ("added", "removed")}
    return {"change": "patched", **totals, "files": files}


def listed(files: list[dict[str, Any]]) -> str:
    """A line a file: what happened to it, and how many lines came and went."""
    verbs = {"created": "Created", "edited": "Edited", "deleted": "Deleted", "moved": "Moved"}
    names = (file["path"] + (f" to {file['to']}" if "to" in file else "") for file in files)
    return "\n".join(
        f"{verbs[file['change']]} {name} ({counts(file)})." for file, name in zip(files, names, strict=True)
    )
