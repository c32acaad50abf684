"""What is at a path, and putting it back: below one root, never through a link.

A restore that wrote `root / path` would follow a link that a command has put where a directory was, and overwrite a file of
another project. So every step down is opened relative to the directory above it, without following. A file is written
beside itself and renamed into place: whoever reads it meanwhile, or a kill, finds the old one or the new one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

Kind = Literal["absent", "file", "link", "directory", "other"]

MAX_FILE_BYTES = 10_000_000
"""What is kept of a file unless a host says otherwise; a larger one is named as changed."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_TEMPORARY = b".lmx-undo-"


class State(msgspec.Struct, frozen=True, array_like=True):
    """What is at a path. `content` is the digest of a file's bytes, or where a link points; `mode` the permission bits.

    A file whose content was not read (too large, not readable) has none; `stamp`, its time of change, then tells whether it
    is still the same. Two states are equal when nobody can tell them apart.
    """

    kind: Kind
    mode: int = 0
    size: int = 0
    content: bytes = b""
    stamp: int = 0

    @property
    def known(self) -> bool:
        """Whether it can be put back as far as its content goes."""
        return self.kind in ("absent", "directory", "link") or (self.kind == "file" and bool(self.content))


ABSENT = State("absent")


class Change(msgspec.Struct, frozen=True, array_like=True):
    """What happened to a path, relative to its root."""

    path: bytes
    before: State
    after: State


Save = Callable[[bytes, bytes], None]
"""Keeps the bytes of a file under their digest."""


def digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=20).digest()


def at(root: bytes, path: bytes, *, max_bytes: int, save: Save | None = None) -> State:
    """What is at `path`. A file's content goes to `save` on the way. Raises OSError for what cannot be looked at.

    A name counts as there only when the directory spells it so: on a file system that does not tell `a` from `A`, a file that
    was renamed from one to the other is not still there under its old name.
    """
    try:
        with _parent(root, path) as (parent, name):
            facts = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if _goes_by_another_name(parent, name, facts):
                return ABSENT
            return looked_at(parent, name, facts, max_bytes, save)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link stands where a directory was: below it there is nothing of ours
            return ABSENT
        raise


def _goes_by_another_name(parent: int, name: bytes, facts: os.stat_result) -> bool:
    """Whether a file system that does not tell upper case from lower found a name that is spelt otherwise."""
    try:
        other = os.stat(name.swapcase(), dir_fd=parent, follow_symlinks=False)
    except OSError:
        return False
    return name != name.swapcase() and os.path.samestat(facts, other) and os.fsdecode(name) not in os.listdir(parent)


def looked_at(parent: int, name: bytes, facts: os.stat_result, max_bytes: int, save: Save | None) -> State:
    """The state of a name in an open directory, with what `lstat` said of it."""
    mode, kind = stat.S_IMODE(facts.st_mode), stat.S_IFMT(facts.st_mode)
    if kind == stat.S_IFLNK:
        return State("link", content=os.readlink(name, dir_fd=parent))
    if kind == stat.S_IFDIR:
        return State("directory", mode)
    if kind != stat.S_IFREG:
        return State("other", mode, stamp=kind)
    unread = State("file", mode, facts.st_size, stamp=facts.st_mtime_ns)
    if facts.st_size > max_bytes:
        return unread
    try:
        data = _read(parent, name, max_bytes)
    except FileNotFoundError:
        raise
    except OSError:
        return unread
    if data is None:
        return unread
    key = digest(data)
    if save is not None:
        save(key, data)
    return State("file", mode, len(data), key)


def _read(parent: int, name: bytes, max_bytes: int) -> bytes | None:
    """The bytes of a regular file; None where it has grown beyond the limit or is no such file any more."""
    fd = os.open(name, _READ, dir_fd=parent)
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            return None
        pieces = []
        left = max_bytes + 1
        while left > 0 and (piece := os.read(fd, min(left, max(facts.st_size + 1, 65_536)))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces) if left > 0 else None
    finally:
        os.close(fd)


def private_directory(path: Path) -> None:
    """Makes a directory only its owner can enter, and those above it that are missing alike. Raises OSError."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        private_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def open_root(root: bytes) -> int:
    return os.open(root, _DIRECTORY & ~os.O_NOFOLLOW)


@contextmanager
def _parent(root: bytes, path: bytes, *, create: bool = False) -> Iterator[tuple[int, bytes]]:
    """A descriptor of the directory that holds `path`, reached without following a link, and the name in it. Raises OSError."""
    *folders, name = path.split(b"/")
    fd = open_root(root)
    try:
        for part in folders:
            below = step(fd, part, create=create)
            os.close(fd)
            fd = below
        yield fd, name
    finally:
        os.close(fd)


def step(fd: int, part: bytes, *, create: bool = False) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        if not create:
            raise
    os.mkdir(part, dir_fd=fd)
    return os.open(part, _DIRECTORY, dir_fd=fd)


# --- putting back -------------------------------------------------------------------------------------------------------


def remove(root: bytes, path: bytes, now: State) -> None:
    """Takes away what is at `path`; a directory only when it is empty. Raises OSError."""
    with _parent(root, path) as (parent, name):
        if now.kind == "directory":
            os.rmdir(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)


def make_directory(root: bytes, path: bytes) -> None:
    """Makes a directory that can be filled; `set_mode` gives it its own mode when that is done. Raises OSError."""
    with _parent(root, path, create=True) as (parent, name):
        os.mkdir(name, 0o700, dir_fd=parent)


def set_mode(root: bytes, path: bytes, mode: int) -> None:
    """Sets the permission bits of a file or a directory, not of what a link points to. Raises OSError."""
    with _parent(root, path) as (parent, name):
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        os.chmod(name, mode, dir_fd=parent)


def put_file(root: bytes, path: bytes, data: bytes, mode: int) -> None:
    """Replaces or makes a file, whole or not at all. Raises OSError."""
    with _parent(root, path, create=True) as (parent, name):
        temporary = _cleared(parent, path)
        fd = os.open(temporary, _CREATE, 0o600, dir_fd=parent)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), mode)
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            os.unlink(temporary, dir_fd=parent)
            raise


def _cleared(parent: int, path: bytes) -> bytes:
    """The name beside `path` under which it is prepared, which is free: what a kill has left there is taken away."""
    name = _TEMPORARY + digest(path).hex()[:16].encode()
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass  # as it should be
    return name


def sweep(root: bytes, path: bytes) -> None:
    """Takes away what a kill may have left beside `path`. Raises OSError."""
    try:
        with _parent(root, path) as (parent, _):
            _cleared(parent, path)
    except (FileNotFoundError, NotADirectoryError):
        return


def put_link(root: bytes, path: bytes, target: bytes) -> None:
    """Replaces or makes a symbolic link. Raises OSError."""
    with _parent(root, path, create=True) as (parent, name):
        temporary = _cleared(parent, path)
        os.symlink(target, temporary, dir_fd=parent)
        try:
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            os.unlink(temporary, dir_fd=parent)
            raise
