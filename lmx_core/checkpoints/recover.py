"""Finishes the record of calls that lmx did not see end, because it was killed while they ran.

What is different now from before such a call may be its doing, or a person's since. So it is recorded as uncertain: an undo
names it, and takes it back only by force.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lmx_core.checkpoints import journal, looks
from lmx_core.checkpoints import tree as trees
from lmx_core.checkpoints.contents import Contents
from lmx_core.checkpoints.files import MAX_FILE_BYTES, Change, at
from lmx_core.checkpoints.journal import Closed, Opened, Places
from lmx_core.checkpoints.tree import Tree


def recover(places: Places, *, max_file_bytes: int = MAX_FILE_BYTES, avoid: Sequence[Path] = ()) -> None:
    """Closes every call that was left open. Raises OSError.

    It needs the session's lock, or a call that runs would be taken for one of them.
    """
    for turn in journal.history(journal.read(places)).turns:
        for step in turn.steps:
            if not step.over:
                changes = _since(places, step.opened, max_file_bytes, avoid)
                notes = [f"{' '.join(step.opened.what.split())[:80]}: lmx was ended before it was"]
                closed = Closed(call=step.opened.call, changes=changes, notes=notes, uncertain=True)
                journal.append(places, closed)


def _since(places: Places, opened: Opened, max_file_bytes: int, avoid: Sequence[Path]) -> list[Change]:
    """What is different now from before a call; nothing where that cannot be told any more."""
    contents = Contents(places.tree(opened.root) / "packs")
    if not opened.command:
        with contents.writer() as kept:
            now = [
                Change(item.path, item.before, at(opened.root, item.path, max_bytes=max_file_bytes, save=kept.save))
                for item in opened.before
            ]
        return [item for item in now if item.before != item.after]
    before, root = looks.before(places, opened.root), Path(os.fsdecode(opened.root))
    if before is None:
        return []
    found = trees.root_of(root)
    repository = found[1] if found[0] == root else None
    tree = Tree(root, repository, max_file_bytes=max_file_bytes, avoid=[*avoid, places.directory])
    try:
        with contents.writer() as kept:
            return trees.changes(before, tree.look(before, kept.save).entries)
    except (FileNotFoundError, NotADirectoryError, trees.TooLarge):
        return []
