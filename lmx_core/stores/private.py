"""Files and directories that only their owner can read (JS-2), and files that appear whole.

Names are made exclusively and links are not followed: whoever plants a link where a file is about to be made must neither
learn what is written nor have another file overwritten. A filesystem that knows no modes is put up with.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

PRIVATE = 0o600

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

    It is written under a name of its own and linked into place. Where there are no hard links it is created exclusively
    under its own name, and taken away again when it cannot be written.
    """
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
