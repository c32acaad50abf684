"""A look at a whole tree: what is at every path, with the contents kept on the way.

What has not changed since the last look, by time, size and inode, is not read again: reading a hundred thousand files before
every command would take longer than the commands. A file that was written in the moment of the look is read again next time,
because its time could not tell a second change.

Ignored folders are not entered, nor are other repositories inside this one: they hold what is made again, or what belongs to
somebody else's history. What was left out is named, so that no undo promises what it cannot do.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from lmx_core.checkpoints import git
from lmx_core.checkpoints.files import ABSENT, Change, Save, State, looked_at, open_root, step
from lmx_core.environment.globs import SKIPPED_FOLDERS
from lmx_core.environment.ignore import IgnoreFile, judge

MAX_ENTRIES = 200_000
MAX_KEPT_BYTES = 1024 * 1024 * 1024
"""Contents that one look reads and keeps. What comes after is known by time and size only."""

MAX_DEPTH = 200
MAX_NAMED = 2_000
_IGNORE_FILE_BYTES = 1_000_000
_RACY_NS = 50_000_000

_SKIPPED = frozenset(name.encode() for name in SKIPPED_FOLDERS)


IGNORED = State("other", stamp=1)
REPOSITORY = State("other", stamp=2)
UNREADABLE = State("other", stamp=3)
"""What stands for a folder that was not entered. Without it, whatever comes to light in one that is not ignored any more would
look as if it had just been made, and an undo would delete it."""


class TooLarge(Exception):
    """The tree has more than `MAX_ENTRIES` files and folders."""


class Seen(msgspec.Struct, array_like=True):
    """A state, and what `lstat` said when it was looked at. `modified` is -1 where that cannot tell a later change."""

    state: State
    modified: int
    changed: int
    inode: int
    size: int
    mode: int

    def still(self, facts: os.stat_result) -> bool:
        return (
            self.modified == facts.st_mtime_ns
            and self.changed == facts.st_ctime_ns
            and self.inode == facts.st_ino
            and self.size == facts.st_size
            and self.mode == facts.st_mode
        )


Entries = dict[bytes, Seen]


class LeftOut(msgspec.Struct):
    """What was not looked at, as paths: ignored or dependencies, other repositories, folders that could not be read."""

    ignored: list[bytes] = []
    repositories: list[bytes] = []
    unreadable: list[bytes] = []


class Look(msgspec.Struct):
    """What was found. `fresh` says that something is not as the look before had it."""

    entries: Entries
    left_out: LeftOut
    fresh: bool


def root_of(cwd: Path) -> tuple[Path, git.Repository | None]:
    """The tree that commands in `cwd` are watched in: the work tree of its repository, else `cwd` itself."""
    repository = git.locate(cwd)
    return (Path(os.path.realpath(cwd)), None) if repository is None else (repository.root, repository)


class Tree:
    """Looks at one tree, again and again. One thread at a time. `tracked` is what the index had at the newest look, if known.

    `avoid` are directories that are not looked at wherever they are: where lmx itself writes.
    """

    def __init__(
        self,
        root: Path,
        repository: git.Repository | None,
        *,
        max_file_bytes: int,
        avoid: Sequence[Path] = (),
    ):
        self.root, self.repository = os.fsencode(root), repository
        self._max_file_bytes = max_file_bytes
        self._avoid = {os.fsencode(os.path.realpath(path)) for path in avoid}
        self.tracked: frozenset[bytes] | None = None
        self._tracked_folders: frozenset[bytes] = frozenset()
        self._index: tuple[int, int, int] | None = None
        self._judged: dict[bytes, tuple[int, dict[bytes, bool]]] = {}

    def look(self, before: Entries, save: Save) -> Look:
        """What is there now. Raises TooLarge, and OSError where the root cannot be read or `save` fails."""
        self._read_index()
        walk = _Walk(self, before, save)
        fd = open_root(self.root)
        try:
            walk.directory(fd, b"", _rules_above(self), 0)
        finally:
            os.close(fd)
        walk.fresh |= len(walk.entries) != len(before)
        return Look(walk.entries, walk.left_out, walk.fresh)

    def _read_index(self) -> None:
        if self.repository is None:
            return
        try:
            facts = (self.repository.git / "index").stat()
            now = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
        except OSError:
            now = (0, 0, 0)
        if now != self._index:
            self._index, self.tracked = now, git.tracked(self.repository)
            folders: set[bytes] = set()
            for path in self.tracked or ():
                while (path := path.rpartition(b"/")[0]) and path not in folders:
                    folders.add(path)
            self._tracked_folders = frozenset(folders)
            self._judged.clear()

    def ignores(self, path: bytes, rules: _Rules, *, folder: bool) -> bool:
        """Whether git would ignore it; a tracked file never, nor a folder that holds one."""
        if folder and path in self._tracked_folders:
            return False
        if not folder and self.tracked is not None and path in self.tracked:
            return False
        return rules.ignore(path, folder=folder)

    def avoids(self, path: bytes) -> bool:
        return bool(self._avoid) and self.root.rstrip(b"/") + b"/" + path in self._avoid

    def judged(self, folder: bytes, rules: _Rules) -> dict[bytes, bool]:
        """What is known of the names in a folder, as long as the rules are the same."""
        found = self._judged.get(folder)
        if found is None or found[0] != rules.mark:
            found = self._judged[folder] = (rules.mark, {})
        return found[1]

    def limit(self, kept: int) -> int:
        return self._max_file_bytes if kept < MAX_KEPT_BYTES else 0


class _Rules:
    """The ignore files in force in a folder, innermost first. `mark` is the same for the same rules."""

    def __init__(self, files: Sequence[IgnoreFile], mark: int):
        self._files, self.mark = files, mark

    def within(self, folder: bytes, content: bytes) -> _Rules:
        added = IgnoreFile(folder, content)
        return _Rules([added, *self._files], hash((self.mark, folder, content))) if added else self

    def ignore(self, path: bytes, *, folder: bool) -> bool:
        return judge(self._files, path, folder=folder)


def _rules_above(tree: Tree) -> _Rules:
    none = _Rules([], 0)
    return none if tree.repository is None else none.within(b"", git.excludes(tree.repository))


class _Walk:
    """One look."""

    def __init__(self, tree: Tree, before: Entries, save: Save):
        self._tree, self._before = tree, before
        self._begun = time.time_ns() - _RACY_NS
        self._kept, self._save_to = 0, save
        self.entries: Entries = {}
        self.left_out = LeftOut()
        self.fresh = False

    def _save(self, key: bytes, data: bytes) -> None:
        self._kept += len(data)
        self._save_to(key, data)

    def directory(self, fd: int, folder: bytes, rules: _Rules, depth: int) -> None:
        """All that is in an open directory, and below it."""
        with os.scandir(fd) as found:
            entries = {os.fsencode(entry.name): entry for entry in found}
        if b".git" in entries and folder:
            self._stand_in(folder, REPOSITORY, self.left_out.repositories)
            return
        if (ignore_file := entries.get(b".gitignore")) is not None and ignore_file.is_file(follow_symlinks=False):
            rules = rules.within(folder, _ignore_content(fd))
        judged = self._tree.judged(folder, rules)
        below = folder + b"/" if folder else b""
        for name, entry in entries.items():
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # gone again
            if stat.S_ISDIR(facts.st_mode):
                self._folder(fd, name, below + name, facts, rules, judged, depth)
            else:
                self._file(fd, name, below + name, facts, rules, judged)
        if len(self.entries) > MAX_ENTRIES:
            raise TooLarge

    def _file(
        self, fd: int, name: bytes, path: bytes, facts: os.stat_result, rules: _Rules, judged: dict[bytes, bool]
    ) -> None:
        before = self._before.get(path)
        if before is not None and before.still(facts) and judged.get(name) is False:
            self.entries[path] = before
            return
        if (ignored := judged.get(name)) is None:
            ignored = judged[name] = self._tree.ignores(path, rules, folder=False)
        if before is not None and before.still(facts) and _fits(before.state, ignored):
            self.entries[path] = before
            return
        limit = -1 if ignored else self._tree.limit(self._kept)
        try:
            self._see(path, looked_at(fd, name, facts, limit, self._save), facts)
        except FileNotFoundError:
            return  # gone again

    def _folder(
        self,
        fd: int,
        name: bytes,
        path: bytes,
        facts: os.stat_result,
        rules: _Rules,
        judged: dict[bytes, bool],
        depth: int,
    ) -> None:
        if name == b".git" or self._tree.avoids(path):
            return
        if (ignored := judged.get(name)) is None:
            skipped = self._tree.repository is None and name in _SKIPPED
            ignored = judged[name] = skipped or self._tree.ignores(path, rules, folder=True)
        if ignored:
            self._stand_in(path, IGNORED, self.left_out.ignored)
            return
        try:
            below = step(fd, name) if depth < MAX_DEPTH else None
        except FileNotFoundError:
            return  # gone again
        except OSError:
            below = None
        if below is None:
            self._stand_in(path, UNREADABLE, self.left_out.unreadable)
            return
        before = self._before.get(path)
        if before is not None and before.mode == facts.st_mode and before.state.kind == "directory":
            self.entries[path] = before
        else:
            self._see(path, State("directory", stat.S_IMODE(facts.st_mode)), facts)
        try:
            self.directory(below, path, rules, depth + 1)
        finally:
            os.close(below)

    def _see(self, path: bytes, state: State, facts: os.stat_result) -> None:
        racy = max(facts.st_mtime_ns, facts.st_ctime_ns) >= self._begun
        modified = -1 if racy else facts.st_mtime_ns
        self.entries[path] = Seen(state, modified, facts.st_ctime_ns, facts.st_ino, facts.st_size, facts.st_mode)
        self.fresh = True

    def _stand_in(self, path: bytes, state: State, where: list[bytes]) -> None:
        self._leave_out(where, path)
        before = self._before.get(path)
        self.fresh |= before is None or before.state != state
        self.entries[path] = Seen(state, -1, 0, 0, 0, 0)

    def _leave_out(self, where: list[bytes], path: bytes) -> None:
        if len(where) < MAX_NAMED:
            where.append(path)


def _ignore_content(fd: int) -> bytes:
    try:
        file = os.open(b".gitignore", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return b""
    try:
        return os.read(file, _IGNORE_FILE_BYTES)
    finally:
        os.close(file)


def _fits(state: State, ignored: bool) -> bool:
    """Whether a file is known as well as it should be: an ignored one by its time and size, another by its content."""
    return state.kind != "file" or ignored is not bool(state.content)


def changes(before: Entries, after: Entries) -> list[Change]:
    """What is not as it was, by path."""
    found = []
    for path, seen in after.items():
        was = before.get(path)
        if was is None:
            found.append(Change(path, _unlisted(before, path), seen.state))
        elif was is not seen and was.state != seen.state and not _only_read(was, seen):
            found.append(Change(path, was.state, seen.state))
    found += [Change(path, before[path].state, _unlisted(after, path)) for path in before.keys() - after.keys()]
    return sorted(found, key=lambda change: change.path)


def _unlisted(entries: Entries, path: bytes) -> State:
    """What is known of a path that is not in a list: that it was absent, unless it lies in a folder that was not entered."""
    while path := path.rpartition(b"/")[0]:
        if (above := entries.get(path)) is not None:
            return above.state if above.state.kind == "other" else ABSENT
    return ABSENT


def _only_read(was: Seen, now: Seen) -> bool:
    """Whether the same file is just known better, or less well, than before."""
    known = bool(was.state.content), bool(now.state.content)
    same = (was.inode, was.changed, was.size, was.mode) == (now.inode, now.changed, now.size, now.mode)
    return was.state.kind == now.state.kind == "file" and known in ((True, False), (False, True)) and same
