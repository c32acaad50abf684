"""Keeps file operations inside the working directory: real paths first, then opening without following a link.

Comparing the path as it is written is the mistake (appendix D 14): `..`, a link, or `/proc/self/cwd` leads elsewhere. Checking
the real path and then opening by name is the next one: between the two somebody can put a link where a directory was. So the
real path is checked, and then opened one component at a time, each relative to the directory before it and never through
a link (`O_NOFOLLOW`). What was checked is what is opened.

A hard link is a second name of the same file, and nothing tells it from the first: hard links are not detected.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from lmx_core.environment.base import FileError

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)

_KINDS = {
    errno.ENOENT: ("not_found", "{} does not exist"),
    errno.EISDIR: ("is_directory", "{} is a directory"),
    errno.ENOTDIR: ("not_a_directory", "a part of {} is not a directory"),
    errno.EACCES: ("permission_denied", "permission denied: {}"),
    errno.EPERM: ("permission_denied", "permission denied: {}"),
    errno.EROFS: ("permission_denied", "{} is on a read-only file system"),
    errno.ENOSPC: ("no_space", "no space left on the device for {}"),
    errno.EDQUOT: ("no_space", "the disk quota is used up; {} was not written"),
    errno.ENAMETOOLONG: ("invalid_path", "the path is too long: {}"),
    errno.ELOOP: ("changed", "{} leads in a circle, or a link was put in its place meanwhile"),
}


class Place(msgspec.Struct, frozen=True):
    """A path inside the working directory: the real root, and the components below it (none: the root itself)."""

    root: str
    parts: tuple[str, ...]
    asked: str

    @property
    def path(self) -> Path:
        return Path(self.root, *self.parts)


def confined(cwd: Path, path: str) -> Path | FileError:
    """The real path that `path` leads to, or `outside_worktree`. The file need not exist."""
    place = locate(cwd, path)
    return place.path if isinstance(place, Place) else place


def locate(cwd: Path, path: str, *, follow_last: bool = True) -> Place | FileError:
    """Resolves links and `..` and checks that the result is in `cwd`. With `follow_last=False` a final link stays itself."""
    if "\0" in path:
        return FileError("invalid_path", path, "a path cannot contain a NUL character")
    try:
        root = os.path.realpath(cwd)
        joined = os.path.join(root, path)  # noqa: PTH118 - Path would drop a trailing slash, which says "a directory"
        if follow_last:
            real = os.path.realpath(joined)
        else:
            parent, name = os.path.split(joined.rstrip("/"))
            real = os.path.join(os.path.realpath(parent), name) if name not in ("", ".", "..") else root  # noqa: PTH118 - as above
        inside = real == root or os.path.commonpath((root, real)) == root
    except (OSError, ValueError) as error:
        return FileError("invalid_path", path, f"not a usable path: {error}")
    if not inside:
        return FileError("outside_worktree", path, f"{path} is outside the working directory")
    parts = tuple(part for part in real[len(root) :].split("/") if part)
    return Place(root, parts, path)


class Pins:
    """Where paths lead in `cwd` at the moment this is made. A path that leads elsewhere later has been exchanged."""

    def __init__(self, cwd: Path, paths: Iterable[str]):
        self._places = {
            (str(cwd), path, follow): _real(locate(cwd, path, follow_last=follow))
            for path in paths
            for follow in (True, False)
        }

    def checked(self, cwd: Path, path: str, place: Place | FileError, *, follow_last: bool = True) -> Place | FileError:
        """`place`, or the error that it is not the place any more."""
        key = (str(cwd), path, follow_last)
        if isinstance(place, FileError) or key not in self._places or self._places[key] == _real(place):
            return place
        return FileError(
            "changed", path, f"{path} leads elsewhere now than when this call was judged; nothing was done"
        )

    def confined(self, cwd: Path, path: str) -> Path | FileError:
        place = self.checked(cwd, path, locate(cwd, path))
        return place.path if isinstance(place, Place) else place


def _real(place: Place | FileError) -> str | None:
    return str(place.path) if isinstance(place, Place) else None


def open_directory(place: Place, parts: tuple[str, ...], *, create: bool = False) -> int:
    """A descriptor of the directory `parts` below the root, reached without following a link. Raises OSError."""
    fd = os.open(place.root, _DIRECTORY & ~os.O_NOFOLLOW)
    for part in parts:
        try:
            below = _step(fd, part, create=create)
        finally:
            os.close(fd)
        fd = below
    return fd


def _step(fd: int, part: str, *, create: bool) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(part, dir_fd=fd)
    except FileExistsError:
        pass  # somebody else made it meanwhile; opening it decides what it is
    return os.open(part, _DIRECTORY, dir_fd=fd)


def file_error(path: str, error: OSError) -> FileError:
    """An OSError as a value, in words that name the path as it was asked for and nothing outside the working directory."""
    kind, words = _KINDS.get(error.errno or 0, ("io_error", ""))
    return FileError(kind, path, words.format(path) if words else f"{path}: {error.strerror or 'input/output error'}")
