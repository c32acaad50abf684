"""Files and directories that only their owner can read (JS-2), and files that appear whole.

Names are made exclusively and links are not followed: whoever plants a link where a file is about to be made must neither
learn what is written nor have another file overwritten. A filesystem that knows no modes is put up with.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
import stat
import sys
import time
from pathlib import Path

PRIVATE = 0o600
A_DAY_S = 86_400
_TEMPORARY = re.compile(r"\.[A-Za-z0-9_-]+\.(lock|jsonl)\.[0-9a-f]{16}")
"""What `create_whole` calls a file before it is in its place."""

_NO_LINKS = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES, errno.EXDEV}
)
"""What filesystems without hard links answer."""


def make_directory(path: Path) -> None:
    """Makes a missing directory 0700, its parents by the umask; one that is there keeps its mode."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:  # said of a file that stands in its place, and understood by nobody
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error


def tighten(fd: int) -> None:
    """Sets an open file to 0600 when it is looser."""
    if stat.S_IMODE(os.fstat(fd).st_mode) == PRIVATE:
        return
    try:
        os.fchmod(fd, PRIVATE)
    except OSError:
        return  # another's file, or no modes here: what can be protected is


def write_whole(fd: int, data: bytes, start: int) -> None:
    """Appends `data` in one write, or leaves the file as long as it was: `start` bytes.

    A full disk takes a part of a write and refuses the rest. That part is cut off again, unless somebody has written
    behind it meanwhile.
    """
    view = memoryview(data)
    try:
        while view:
            written = os.write(fd, view)
            view = view[written:]
    except OSError:
        taken = len(data) - len(view)
        if taken and os.fstat(fd).st_size == start + taken:
            os.ftruncate(fd, start)
        raise


def create_whole(path: Path, data: bytes) -> bool:
    """Makes the file `path`, 0600, with `data` in it, whole or not at all; False when there is one already.

    It is written without a name, so that nobody who is killed on the way leaves anything behind, and linked into place. Where
    the system has no files without a name it is written under one of its own, and those that were left are taken away later.
    Where there are no hard links it is created exclusively, and taken away again when it cannot be written.
    """
    if (made := _from_nowhere(path, data)) is not None:
        return made
    _take_away_left(path.parent)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    _create(temporary, data)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        return True
    finally:
        temporary.unlink(missing_ok=True)
    try:
        _create(path, data)
    except FileExistsError:
        return False
    return True


def _from_nowhere(path: Path, data: bytes) -> bool | None:
    """As `create_whole`, through a file without a name; None where that cannot be had."""
    if sys.platform != "linux":
        return None
    try:
        fd = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
    except OSError:
        return None
    try:
        tighten(fd)
        write_whole(fd, data, 0)
        os.link(
            f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True
        )  # with a directory it follows the link
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        return None
    finally:
        os.close(fd)
    return True


@functools.cache
def _take_away_left(directory: Path) -> None:
    """Removes what a process that was killed has left under a name of its own, a day ago or more; once a process."""
    try:
        found = [path for path in directory.iterdir() if _TEMPORARY.fullmatch(path.name)]
    except OSError:
        return
    for path in found:
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > A_DAY_S:
                path.unlink()


def _create(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, PRIVATE)
    try:
        tighten(fd)
        write_whole(fd, data, 0)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
