"""The bytes of files, kept by their digest, in packs that never change.

One file for each content would be simpler, and the first look at a tree of a hundred thousand files would make as many again.
So what one look has found goes into one pack. A pack gets its name only when it is complete and on the disk, so a kill at
any moment leaves a temporary file that nobody reads, and every earlier pack as it was.

A pack: the contents one after another, each compressed where that helps; a MessagePack table `{digest: (offset, length,
compressed)}`; the offset of the table in eight bytes; eight bytes that say what it is.
"""

from __future__ import annotations

import os
import secrets
import struct
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import msgspec

from lmx_core.checkpoints.files import digest, private_directory

_MAGIC = b"lmxpack1"
_END = struct.Struct(">Q8s")
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_STALE_S = 24 * 3_600
"""How old a temporary file of a dead process must be before it is taken away."""

SMALLEST_COMPRESSED = 256

Place = tuple[int, int, bool]
_table = msgspec.msgpack.Decoder(dict[bytes, Place])


class Pack(NamedTuple):
    path: Path
    places: dict[bytes, Place]


class Contents:
    """The packs of one directory, made when something is first kept. One thread at a time."""

    def __init__(self, directory: Path):
        self.directory = directory
        self._packs: dict[str, Pack] = {}

    def read(self, key: bytes) -> bytes | None:
        """The content of this digest; None where it is not kept, or what is kept is damaged."""
        for pack in self.current():
            place = pack.places.get(key)
            if place is not None and (data := _content(pack.path, place)) is not None and digest(data) == key:
                return data
        return None

    def keys(self) -> set[bytes]:
        return {key for pack in self.current() for key in pack.places}

    def writer(self) -> Writer:
        return Writer(self)

    def keep_only(self, keys: set[bytes]) -> None:
        """Takes away packs that hold none of `keys`. What else lies in a pack that stays, stays."""
        for pack in self.current():
            if not keys & pack.places.keys():
                pack.path.unlink(missing_ok=True)
                del self._packs[pack.path.name]

    def current(self) -> list[Pack]:
        """The packs there are. A damaged one counts as none: what it held is missing, the others are not."""
        try:
            names = sorted(entry.name for entry in os.scandir(self.directory))
        except FileNotFoundError:
            return []
        for name in names:
            if name.endswith(".pack") and name not in self._packs:
                path = self.directory / name
                self._packs[name] = Pack(path, _read_table(path))
        return [self._packs[name] for name in names if name in self._packs]


class Writer:
    """Collects contents for one new pack, which is there, whole, once the block has been left without an error."""

    def __init__(self, contents: Contents):
        self._contents, self._packs = contents, contents.current()
        self._places: dict[bytes, Place] = {}
        self._path: Path | None = None
        self._end = 0
        self.written = 0

    def __enter__(self) -> Writer:
        return self

    def save(self, key: bytes, data: bytes) -> None:
        """Keeps `data`, whose digest is `key`. Raises OSError where it cannot be written."""
        if key in self._places or any(key in pack.places for pack in self._packs):
            return
        if self._path is None:
            self._open()
        packed = zlib.compress(data, 1) if len(data) >= SMALLEST_COMPRESSED else data
        smaller = len(packed) < len(data)
        body = packed if smaller else data
        self._file.write(body)
        self._places[key] = (self._end, len(body), smaller)
        self._end += len(body)
        self.written += len(data)

    def _open(self) -> None:
        directory = self._contents.directory
        private_directory(directory)
        _sweep(directory)
        self._path = directory / f".{os.getpid()}-{secrets.token_hex(8)}.tmp"
        self._file = os.fdopen(os.open(self._path, _CREATE, 0o600), "wb", buffering=1 << 20)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is None:
            return
        try:
            with self._file:
                if kind is None:
                    self._file.write(msgspec.msgpack.encode(self._places) + _END.pack(self._end, _MAGIC))
                    self._file.flush()
                    os.fsync(self._file.fileno())
            if kind is None:
                # The time first, so that a list by name is a list by age.
                name = f"{time.time_ns():020d}-{secrets.token_hex(4)}.pack"
                self._path.rename(self._path.with_name(name))
        finally:
            self._path.unlink(missing_ok=True)


def _read_table(path: Path) -> dict[bytes, Place]:
    try:
        with path.open("rb") as file:
            end = file.seek(-_END.size, os.SEEK_END)
            start, magic = _END.unpack(file.read(_END.size))
            if magic != _MAGIC or start > end:
                return {}
            file.seek(start)
            return _table.decode(file.read(end - start))
    except (OSError, msgspec.DecodeError):
        return {}


def _content(path: Path, place: Place) -> bytes | None:
    start, length, compressed = place
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(length)
        return zlib.decompress(data) if compressed else data
    except (OSError, zlib.error):
        return None


def _sweep(directory: Path) -> None:
    """Takes away what writers that were killed have left."""
    old: Iterable[os.DirEntry[str]] = os.scandir(directory)
    for entry in old:
        if entry.name.endswith(".tmp") and time.time() - entry.stat(follow_symlinks=False).st_mtime > _STALE_S:
            Path(entry.path).unlink(missing_ok=True)
