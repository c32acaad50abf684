"""Several files of this machine changed together: all of them, or none (AP-1).

Written one after the other, a full disk or a directory that forbids it would leave the first half changed. So all new content
is on the disk, beside its files, before the first file is replaced; then there are only renames, and what was renamed is put
back if one fails. A machine that stops between two renames leaves whole files, some of them new.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from lmx_core.environment import files
from lmx_core.environment.base import Changed, FileChange, FileError
from lmx_core.environment.confine import Place, file_error, locate, open_directory


class Locate(Protocol):
    """Where an environment lets a path lead."""

    def __call__(self, cwd: Path, path: str, *, follow_last: bool = True) -> Place | FileError: ...


def change_files(cwd: Path, changes: Sequence[FileChange], find: Locate = locate) -> Changed:
    """Blocking. Writes before it deletes. Each path is looked up once, by `find`, and what was found is what is changed."""
    places: list[tuple[FileChange, Place]] = []
    for change in sorted(changes, key=lambda change: change.after is None):
        place = find(cwd, change.path, follow_last=change.after is not None)
        if isinstance(place, FileError):
            return Changed(place)
        places.append((change, place))
    missing = [directory for _, place in places for directory in _missing(place)]
    with ExitStack() as stack:
        steps = _prepare(cwd, places, stack)
        changed = Changed(steps) if isinstance(steps, FileError) else _carry_out(steps)
    if changed.failure is not None:
        _remove_empty(missing)
    return changed


class _Write:
    def __init__(self, place: Place, change: FileChange, staged: files.Staged):
        self.place, self._change, self._staged = place, change, staged

    def do(self) -> None:
        self._staged.put()

    def undo(self) -> bool:
        if self._change.before is None:
            return files.delete(self.place) is None
        return not isinstance(files.write_whole(self.place, self._change.before), FileError)

    def finish(self) -> None:
        """Nothing is left to do."""


class _Delete:
    """First out of the way under another name, so that it can come back as it was; then gone."""

    def __init__(self, place: Place, parent: int):
        self.place, self._parent = place, parent
        self._aside = f".lmx-{os.urandom(8).hex()}"

    def do(self) -> None:
        os.rename(self.place.parts[-1], self._aside, src_dir_fd=self._parent, dst_dir_fd=self._parent)

    def undo(self) -> bool:
        try:
            os.rename(self._aside, self.place.parts[-1], src_dir_fd=self._parent, dst_dir_fd=self._parent)
        except OSError:
            return False
        return True

    def finish(self) -> None:
        os.unlink(self._aside, dir_fd=self._parent)


def _prepare(
    cwd: Path, places: Sequence[tuple[FileChange, Place]], stack: ExitStack
) -> list[_Write | _Delete] | FileError:
    """Everything that can be done without changing a file. `stack` lets go of it again."""
    steps: list[_Write | _Delete] = []
    for change, place in places:
        try:
            if change.after is None:
                steps.append(_delete(place, stack))
                continue
            like = _status(cwd, change.mode_of) if change.mode_of is not None else None
        except OSError as error:
            return file_error(place.asked, error)
        staged = files.stage(place, change.after, like)
        if isinstance(staged, FileError):
            return staged
        stack.callback(staged.discard)
        steps.append(_Write(place, change, staged))
    return steps


def _delete(place: Place, stack: ExitStack) -> _Delete:
    if not place.parts:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    parent = open_directory(place, place.parts[:-1])
    stack.callback(os.close, parent)
    if stat.S_ISDIR(os.stat(place.parts[-1], dir_fd=parent, follow_symlinks=False).st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return _Delete(place, parent)


def _status(cwd: Path, path: str) -> os.stat_result | None:
    """The mode and owner of the file a path leads to."""
    place = locate(cwd, path)
    if isinstance(place, FileError):
        return None
    fd = files.open_file(place)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def _carry_out(steps: Sequence[_Write | _Delete]) -> Changed:
    done: list[_Write | _Delete] = []
    for step in steps:
        try:
            step.do()
        except OSError as error:
            left = [before.place.asked for before in reversed(done) if not before.undo()]
            return Changed(file_error(step.place.asked, error), tuple(left))
        done.append(step)
    for step in done:
        step.finish()
    return Changed()


def _missing(place: Place) -> list[Path]:
    """The directories above a file that are not there, the highest first."""
    above = [Path(place.root, *place.parts[:n]) for n in range(1, len(place.parts))]
    return [directory for directory in above if not os.path.lexists(directory)]


def _remove_empty(directories: Sequence[Path]) -> None:
    """Takes away directories that were made for files that did not come."""
    for directory in sorted(set(directories), key=lambda path: -len(path.parts)):
        try:
            directory.rmdir()
        except OSError:
            continue  # never made, or somebody else uses it by now
