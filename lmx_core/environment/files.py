"""File operations of the local machine, blocking, on places that confinement has checked.

A file is written beside itself and renamed into place. Truncating and writing would leave half a file when the disk is full
or the machine stops, and every reader in between would see it. The price: a file with hard links becomes a file of its own.
"""

from __future__ import annotations

import errno
import os
import stat

from lmx_core.environment.base import STREAM_CHUNK_BYTES, DirEntry, FileError, Written
from lmx_core.environment.confine import Place, file_error, open_directory

MAX_WHOLE_FILE_BYTES = 256 * 1024 * 1024
"""What `read_file` takes into memory at once; larger files are read in pieces."""


class OpenFile:
    """A file that is read in pieces. It is closed when the last who uses it lets go.

    Closing it expressly would be wrong: a thread that was given up may still be about to read, and by then the descriptor
    may belong to something else.
    """

    def __init__(self, place: Place):
        self._fd = open_file(place)

    def read(self) -> bytes:
        return os.read(self._fd, STREAM_CHUNK_BYTES)

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)


def open_file(place: Place) -> int:
    """A descriptor for reading a regular file. Raises OSError, EISDIR for a directory, ENXIO for a pipe or a device."""
    if not place.parts or place.asked.endswith("/"):
        raise IsADirectoryError(errno.EISDIR, "is a directory")
    parent = open_directory(place, place.parts[:-1])
    try:
        # O_NONBLOCK: opening a named pipe that nobody writes would wait for ever.
        fd = os.open(place.parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    finally:
        os.close(parent)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO
    raise OSError(code, os.strerror(code))


def read_whole(place: Place) -> bytes | FileError:
    try:
        with os.fdopen(open_file(place), "rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_WHOLE_FILE_BYTES:
                return FileError("too_large", place.asked, f"{place.asked} is larger than {MAX_WHOLE_FILE_BYTES} bytes")
            return file.read()
    except OSError as error:
        return read_error(place, error)


def read_error(place: Place, error: OSError) -> FileError:
    if error.errno == errno.ENXIO:
        return FileError("not_a_file", place.asked, f"{place.asked} is a pipe or a device, not a file")
    return file_error(place.asked, error)


def write_whole(place: Place, data: bytes) -> Written | FileError:
    """Replaces the whole file or changes nothing. Keeps the mode, and where allowed the owner, of the file it replaces."""
    staged = stage(place, data)
    if isinstance(staged, FileError):
        return staged
    try:
        staged.put()
    except OSError as error:
        return file_error(place.asked, error)
    finally:
        staged.discard()
    return "created" if staged.before is None else "overwritten"


class Staged:
    """The new content of a file, complete and beside it. `put` renames it into place; `discard`, always called, lets go."""

    def __init__(self, parent: int, temporary: str, name: str, before: os.stat_result | None):
        self._parent, self._temporary, self._name, self.before = parent, temporary, name, before
        self._is_put = False

    def put(self) -> None:
        os.rename(self._temporary, self._name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
        self._is_put = True

    def discard(self) -> None:
        try:
            if not self._is_put:
                os.unlink(self._temporary, dir_fd=self._parent)
        finally:
            os.close(self._parent)


def stage(place: Place, data: bytes, like: os.stat_result | None = None) -> Staged | FileError:
    """Writes what is to replace the file beside it. A new file gets the mode of `like`, a replaced one keeps its own."""
    if not place.parts or place.asked.endswith("/"):
        return FileError("is_directory", place.asked, f"{place.asked} is a directory")
    try:
        parent = open_directory(place, place.parts[:-1], create=True)
    except OSError as error:
        return file_error(place.asked, error)
    staged: Staged | FileError | None = None
    try:
        staged = _staged(parent, place, data, like)
    except OSError as error:
        staged = file_error(place.asked, error)
    finally:
        if not isinstance(staged, Staged):
            os.close(parent)
    return staged


def _staged(parent: int, place: Place, data: bytes, like: os.stat_result | None) -> Staged | FileError:
    name = place.parts[-1]
    before = _status(parent, name)
    if before is not None and (refusal := _unwritable(parent, place, before)):
        return refusal
    temporary = f".lmx-{os.urandom(8).hex()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            if (identity := before or like) is not None:
                _keep_identity(file.fileno(), identity)
    except BaseException:
        os.unlink(temporary, dir_fd=parent)
        raise
    return Staged(parent, temporary, name, before)


def _status(parent: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _unwritable(parent: int, place: Place, before: os.stat_result) -> FileError | None:
    if stat.S_ISDIR(before.st_mode):
        return FileError("is_directory", place.asked, f"{place.asked} is a directory")
    if stat.S_ISLNK(before.st_mode):
        return FileError("changed", place.asked, f"{place.asked} was replaced by a link while it was being written")
    if not stat.S_ISREG(before.st_mode):
        return FileError("not_a_file", place.asked, f"{place.asked} is a pipe or a device, not a file")
    if not os.access(place.parts[-1], os.W_OK, dir_fd=parent, effective_ids=os.access in os.supports_effective_ids):
        return FileError("permission_denied", place.asked, f"{place.asked} is read-only")
    return None


def _keep_identity(fd: int, before: os.stat_result) -> None:
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(fd, before.st_uid, before.st_gid)
        except PermissionError:
            pass  # only root may give a file away; the content matters more than its owner
    os.fchmod(fd, stat.S_IMODE(before.st_mode))


def entries(place: Place) -> list[DirEntry] | FileError:
    try:
        anchor = open_directory(place, place.parts)
        try:
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=anchor)
        finally:
            os.close(anchor)
        try:
            with os.scandir(fd) as found:
                listed = [DirEntry(entry.name, _kind(entry)) for entry in found]
        finally:
            os.close(fd)
    except OSError as error:
        return file_error(place.asked, error)
    return sorted(listed, key=lambda entry: entry.name)


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def delete(place: Place) -> FileError | None:
    """Removes a file or a link (not what it points to). Absent is success; a directory is refused."""
    if not place.parts:
        return FileError("is_directory", place.asked, f"{place.asked} is a directory")
    try:
        parent = open_directory(place, place.parts[:-1])
        try:
            before = _status(parent, place.parts[-1])
            if before is not None and stat.S_ISDIR(before.st_mode):
                return FileError("is_directory", place.asked, f"{place.asked} is a directory")
            os.unlink(place.parts[-1], dir_fd=parent)
        finally:
            os.close(parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        return file_error(place.asked, error)
    return None
