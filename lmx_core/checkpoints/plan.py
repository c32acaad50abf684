"""Decides what an undo does to each path, and what it leaves: nothing is changed here.

The changes of a path are walked backwards from what is there now. A step that does not end in what is there was followed by
somebody else's, which is a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmx_core.checkpoints import tree as trees
from lmx_core.checkpoints.files import MAX_FILE_BYTES, Change, Save, State, at
from lmx_core.checkpoints.journal import Story

Chain = list[tuple[State, State, bool]]
"""The steps of one path, the newest first: what was there before, what after, and whether somebody else may have done it."""

Chains = dict[tuple[bytes, bytes], Chain]
"""By root and path."""

CHANGED = "it was changed since"
BETWEEN = "somebody else changed it in between"
UNSURE = "lmx did not see it change, so it may be somebody else's"
UNKEPT = "its content was not kept: it is too large, ignored or not readable"
IGNORED = "it is an ignored folder, so what is in it was not recorded"
REPOSITORY = "it is another repository, so what is in it was not recorded"
UNREADABLE = "it could not be looked into, so what is in it was not recorded"
SPECIAL = "it is no file, folder or link"


def chains_of(turns: Sequence[Story]) -> Chains:
    """What these turns, the newest first, did to each path.

    A root that lies in another counts as that one: a file that was recorded below both has one history, not two.
    """
    tops = _tops({step.opened.root for turn in turns for step in turn.steps})
    found: Chains = {}
    for turn in turns:
        for step in reversed(turn.steps):
            top, prefix = tops[step.opened.root]
            for change in step.changes:
                chain = found.setdefault((top, prefix + change.path), [])
                chain.append((change.before, change.after, step.uncertain))
    return found


def _tops(roots: set[bytes]) -> dict[bytes, tuple[bytes, bytes]]:
    """By root, the outermost of them that holds it, and the path from there."""
    found = {}
    for root in roots:
        top = min((other for other in roots if (root + b"/").startswith(other.rstrip(b"/") + b"/")), key=len)
        found[root] = top, root[len(top.rstrip(b"/")) + 1 :] + b"/" if top != root else b""
    return found


class Plan:
    """What is to be done below `root`: `changes`, from what is there now to what it is put back to.

    `conflicts`, `unrestorable` and `uncertain` say why a path is left, or not put back all the way. `done` is for who carries
    it out. What is there now goes to `save` before anything may be overwritten. `begun` is what the same undo was about to do
    when it was cut short.
    """

    def __init__(
        self,
        root: bytes,
        chains: dict[bytes, Chain],
        *,
        force: bool,
        save: Save | None,
        begun: dict[bytes, Change] | None = None,
    ):
        self.root, self._force, self._save, self._begun = root, force, save, begun or {}
        self.changes: list[Change] = []
        self.done: list[Change] = []
        self.now: dict[bytes, State] = {}
        self.conflicts: dict[bytes, str] = {}
        self.unrestorable: dict[bytes, str] = {}
        self.uncertain: dict[bytes, str] = {}
        for path in sorted(chains):
            self._path(path, chains[path])

    def left(self) -> list[bytes]:
        """The paths that are not as they were before."""
        return sorted({*self.conflicts, *self.unrestorable, *self.uncertain})

    @staticmethod
    def limit(chain: Chain) -> int:
        """How large a file may be to be read: as large as any of its states that was kept."""
        sizes = (state.size for before, after, _ in chain for state in (before, after) if state.content)
        return max(MAX_FILE_BYTES, *sizes, 0)

    def _path(self, path: bytes, chain: Chain) -> None:
        try:
            now = self.now[path] = at(self.root, path, max_bytes=self.limit(chain), save=self._save)
        except FileNotFoundError:
            self.unrestorable[path] = "the folder it was in is not there"
            return
        except OSError as error:
            self.unrestorable[path] = (error.strerror or "it cannot be read").lower()
            return
        if (begun := self._begun.get(path)) is not None and _half_done(now, begun):
            self.changes.append(Change(path, now, begun.after))
            return
        target = now
        for before, after, unsure in chain:
            if self._same(path, target, before):
                continue
            if (why := _unknown(before) or _unknown(after)) is not None:
                self.unrestorable[path] = why
                break
            if not self._same(path, target, after) and not self._force:
                self.conflicts[path] = CHANGED if target is now else BETWEEN
                break
            if unsure and not self._force:
                self.uncertain[path] = UNSURE
                break
            target = before
        if target is now:
            return
        if not now.known:  # it could not be done again
            self.unrestorable[path] = SPECIAL if now.kind == "other" else UNKEPT
        else:
            self.changes.append(Change(path, now, target))

    def _same(self, path: bytes, there: State, then: State) -> bool:
        """Whether a state is the one that was recorded, by size and time where its content was not read."""
        if there == then or there is not self.now[path] or then.kind != "file" or then.known or there.kind != "file":
            return there == then
        return at(self.root, path, max_bytes=-1) == then


def _half_done(now: State, begun: Change) -> bool:
    """Whether a folder has the mode it is given while it is filled or emptied."""
    return (
        now.kind == "directory" in (begun.before.kind, begun.after.kind)
        and now.mode in (0o700, begun.after.mode | 0o700)
        and now not in (begun.before, begun.after)
    )


def _unknown(state: State) -> str | None:
    if state == trees.IGNORED:
        return IGNORED
    if state == trees.REPOSITORY:
        return REPOSITORY
    if state == trees.UNREADABLE:
        return UNREADABLE
    if state.kind == "other":
        return SPECIAL
    return None if state.known else UNKEPT
