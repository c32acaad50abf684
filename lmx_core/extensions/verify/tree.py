"""A name for the files of a working directory as they are: what a check's result is bound to.

"The tests passed" is true of the files they ran on. Said of files that were changed since, it is how broken work is delivered
as checked. So a result carries the name of its tree, and whoever shows it compares that with the tree of now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from lmx_core.checkpoints.files import State
from lmx_core.checkpoints.tree import Entries, Look, TooLarge, Tree, root_of
from lmx_core.tasks import run_in_thread

MAX_FILE_BYTES = 10 * 1024 * 1024
"""A larger file counts by its time and size."""


class Trees:
    """Names trees. What was read once is not read again while it is not touched. `avoid` are places lmx itself writes to."""

    def __init__(self, avoid: Sequence[Path] = ()):
        self._avoid = avoid
        self._seen: dict[Path, Entries] = {}

    async def name(self, cwd: Path) -> str | None:
        """The tree of the repository that `cwd` is in, or of `cwd`, in 40 hex digits; None where it cannot be read.

        Ignored files are no part of it: a test run writes them.
        """
        return await run_in_thread(self._name, cwd)

    def _name(self, cwd: Path) -> str | None:
        try:
            root, repository = root_of(cwd)
            tree = Tree(root, repository, max_file_bytes=MAX_FILE_BYTES, avoid=self._avoid)
            found = tree.look(self._seen.get(root, {}), lambda key, data: None)
        except (OSError, TooLarge):
            return None
        self._seen[root] = found.entries
        return _digest(found)


def _digest(found: Look) -> str:
    whole = hashlib.blake2b(digest_size=20)
    for path, seen in sorted(found.entries.items()):
        if (state := _counted(seen.state)) is not None:
            whole.update(repr((path, state)).encode())
    return whole.hexdigest()


def _counted(state: State) -> tuple[object, ...] | None:
    """What of a path makes the tree another one. None: it is ignored, or a folder, which is known by what is in it."""
    if state.kind == "link":
        return "link", state.content
    if state.kind != "file":
        return None
    executable = bool(state.mode & 0o100)
    if state.content:
        return "file", executable, state.content
    return ("large", executable, state.size, state.stamp) if state.size > MAX_FILE_BYTES else None
