"""What git keeps of a work tree, read as data: where the repository is, which commit is checked out, which files it tracks.

Asking `git` would run what the repository configures: hooks, a file system monitor, filters, a pager, whatever an alias names
(C3-51). Here no program is started at all, and nothing below `.git` is opened for writing. What cannot be read, or is of a
kind not known here, counts as not known.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from pathlib import Path

import msgspec

_LINE = 4_096
_INDEX_BYTES = 256 * 1024 * 1024
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"ref: (refs/[^\s~^:?*\[\\\x00-\x20\x7f]{1,500})")

_EXTENDED, _LONG = 0x4000, 0xFFF
_FIXED = 40
"""Bytes of an index entry before its object id."""


class Repository(msgspec.Struct, frozen=True):
    """`root` is the top of the work tree, `git` its own git directory, `common` the one it shares with linked work trees."""

    root: Path
    git: Path
    common: Path


def locate(cwd: Path) -> Repository | None:
    """The repository whose work tree holds `cwd`: the nearest directory with a `.git`, a directory or a file that points."""
    real = Path(os.path.realpath(cwd))
    for place in (real, *real.parents):
        marker = place / ".git"
        if marker.is_dir():
            return Repository(place, marker, _common(marker))
        if os.path.lexists(marker):
            line = _text(marker)
            if not line.startswith("gitdir: "):
                return None
            git = Path(os.path.normpath(place / line.removeprefix("gitdir: ")))
            return Repository(place, git, _common(git))
    return None


def _common(git: Path) -> Path:
    line = _text(git / "commondir")
    return Path(os.path.normpath(git / line)) if line else git


def revision(repository: Repository) -> str | None:
    """The id of the commit that is checked out; None before the first one, or where it cannot be told."""
    line = _text(repository.git / "HEAD")
    if _OBJECT.fullmatch(line):
        return line
    if (found := _REF.fullmatch(line)) is None or ".." in found[1]:
        return None
    for place in (repository.git, repository.common):
        if _OBJECT.fullmatch(id := _text(place / found[1])):
            return id
    packed = read(repository.common / "packed-refs", _INDEX_BYTES) or b""
    match = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(found[1].encode()) + rb"$", packed, re.MULTILINE)
    return match[1].decode() if match else None


def excludes(repository: Repository) -> bytes:
    """The repository's own `info/exclude`; b"" where there is none."""
    return read(repository.common / "info" / "exclude", 1_000_000) or b""


def tracked(repository: Repository) -> frozenset[bytes] | None:
    """Paths in the index, relative to the top; None where the index cannot be read here."""
    data = read(repository.git / "index", _INDEX_BYTES)
    if data is None:
        return frozenset() if not os.path.lexists(repository.git / "index") else None
    try:
        return _paths(data, 32 if _wide(repository) else 20)
    except (struct.error, IndexError, ValueError):
        return None


def _wide(repository: Repository) -> bool:
    """Whether object ids are SHA-256."""
    config = (read(repository.common / "config", 1_000_000) or b"").lower()
    return re.search(rb"^\s*objectformat\s*=\s*sha256\s*$", config, re.MULTILINE) is not None


def _paths(data: bytes, id_bytes: int) -> frozenset[bytes] | None:
    """gitformat-index: versions 2 to 4. None for an index that is split over two files."""
    signature, version, count = struct.unpack_from(">4sLL", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return None
    found: list[bytes] = []
    at, path = 12, b""
    for _ in range(count):
        start = at
        (flags,) = struct.unpack_from(">H", data, at + _FIXED + id_bytes)
        at += _FIXED + id_bytes + (4 if flags & _EXTENDED else 2)
        if version == 4:
            drop, at = _number(data, at)
            end = data.index(0, at)
            path = path[: len(path) - drop] + data[at:end]
            at = end + 1
        else:
            length = flags & _LONG
            end = data.index(0, at) if length == _LONG else at + length
            path = data[at:end]
            at = start + ((end - start) // 8 + 1) * 8
        found.append(path)
    return None if data[at : at + 4] == b"link" else frozenset(found)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number as pack files write offsets: seven bits a byte, each but the last with the high bit set."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _text(path: Path) -> str:
    return (read(path, _LINE) or b"").decode("utf-8", "surrogateescape").partition("\n")[0].rstrip("\r")


def read(path: Path, limit: int) -> bytes | None:
    """The bytes of a regular file; None where there is none, it is larger than `limit`, or cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > limit:
        os.close(fd)
        return None
    with os.fdopen(fd, "rb") as file:
        try:
            return file.read(limit)
        except OSError:
            return None
