"""Carries a plan out: takes away, makes folders, writes files and links, and sets the modes of folders last.

In this order a file can become a folder and a folder a file, a name can change its letter case where the file system does not
tell the two apart, and a folder nobody may write to can be filled before it is closed again.
"""

from __future__ import annotations

import errno
from collections.abc import Callable

from lmx_core.checkpoints import files
from lmx_core.checkpoints.files import MAX_FILE_BYTES, Change, at
from lmx_core.checkpoints.plan import CHANGED, Plan

_Step = Callable[[Change], None]

LOST = "its content is not in the store any more"
NOT_EMPTY = "it is not empty: something in it was not there before"


def put(plan: Plan, read: Callable[[bytes], bytes | None]) -> None:
    """Does what the plan says, path by path; one that fails is named in it and the others go on. `read` gives contents."""
    doing = {item.path: item for item in plan.changes if _is_still_so(plan, item)}
    taken_away = [item for item in doing.values() if item.before.kind not in ("absent", item.after.kind)]
    folders = [item for item in doing.values() if item.after.kind == "directory"]
    contained = [item for item in doing.values() if item.after.kind in ("file", "link")]
    data = {item.path: read(item.after.content) for item in contained if _needs_content(item)}
    for item in contained:
        if data.get(item.path, b"") is None:  # looked up before anything is taken away for it
            plan.unrestorable[item.path] = LOST
            del doing[item.path]
    for item in taken_away:
        if (
            item.before.kind == "directory" and item.before.mode & 0o300 != 0o300
        ):  # what is in it could not be taken away
            _try(plan, doing, item, lambda item: files.set_mode(plan.root, item.path, 0o700))
    for item in sorted(taken_away, key=lambda item: item.path, reverse=True):
        _try(plan, doing, item, lambda item: files.remove(plan.root, item.path, item.before))
    for item in folders:
        if item.before.kind != "directory":
            _try(plan, doing, item, lambda item: files.make_directory(plan.root, item.path))
    for item in contained:
        _try(plan, doing, item, lambda item: _put(plan.root, item, data.get(item.path)))
    for item in reversed(folders):
        _try(plan, doing, item, lambda item: files.set_mode(plan.root, item.path, item.after.mode))
    plan.done = list(doing.values())


def _try(plan: Plan, doing: dict[bytes, Change], item: Change, step: _Step) -> None:
    if item.path not in doing:
        return
    try:
        step(item)
    except OSError as error:
        del doing[item.path]
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            plan.conflicts[item.path] = NOT_EMPTY
        else:
            plan.unrestorable[item.path] = (error.strerror or "input/output error").lower()


def _needs_content(item: Change) -> bool:
    return item.after.kind == "file" and (item.before.kind, item.before.content) != ("file", item.after.content)


def _put(root: bytes, item: Change, data: bytes | None) -> None:
    if item.after.kind == "link":
        files.put_link(root, item.path, item.after.content)
    elif data is None:
        files.set_mode(root, item.path, item.after.mode)
    else:
        files.put_file(root, item.path, data, item.after.mode)


def _is_still_so(plan: Plan, item: Change) -> bool:
    """Whether a path is as the plan found it: the last look before something is done to it."""
    try:
        still = at(plan.root, item.path, max_bytes=max(MAX_FILE_BYTES, item.before.size)) == item.before
    except OSError:
        still = False
    if not still:
        plan.conflicts[item.path] = CHANGED
    return still
