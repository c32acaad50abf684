"""Looks at a tree as they are kept on the disk: for the next session, and for what a kill has cut short.

One file serves both, under two names: `before` of the session, the look that its newest command began with, and `seen` of the
tree, the newest look of any session. Each takes the place of the one before it whole.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

import msgspec

from lmx_core.checkpoints.contents import Contents
from lmx_core.checkpoints.files import private_directory
from lmx_core.checkpoints.journal import Places
from lmx_core.checkpoints.tree import Entries, Seen


class Kept(msgspec.Struct, array_like=True):
    root: bytes
    entries: Entries


_kept = msgspec.msgpack.Decoder(Kept)


def before(places: Places, root: bytes) -> Entries | None:
    """What was there before the newest command of the session; None where that is not kept, or was of another tree."""
    return _read(places.before, root)


def newest(places: Places, root: bytes, contents: Contents) -> Entries:
    """The newest look at the tree, less what was forgotten since; empty where there is none."""
    entries, known = _read(places.tree(root) / "seen", root) or {}, contents.keys()
    return {path: seen for path, seen in entries.items() if not _is_content(seen) or seen.state.content in known}


def contents_before(path: Path) -> set[bytes]:
    """Every content that a session's `before` speaks of."""
    kept = _load(path)
    return set() if kept is None else {seen.state.content for seen in kept.entries.values() if _is_content(seen)}


def keep(places: Places, root: bytes, entries: Entries) -> None:
    """Keeps a look, for this session and for the tree. Raises OSError."""
    data = msgspec.msgpack.encode(Kept(root, entries))
    private_directory(places.session)
    temporary = places.session / f".before.{secrets.token_hex(8)}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        _share(temporary, places.tree(root))
        temporary.rename(places.before)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _share(file: Path, tree: Path) -> None:
    """Makes a look known to other sessions, as a second name of the file; where that cannot be, they look for themselves."""
    private_directory(tree)
    name = tree / f".seen.{secrets.token_hex(8)}"
    try:
        os.link(file, name)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        return
    name.rename(tree / "seen")


def _read(path: Path, root: bytes) -> Entries | None:
    kept = _load(path)
    return None if kept is None or kept.root != root else kept.entries


def _load(path: Path) -> Kept | None:
    try:
        return _kept.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def _is_content(seen: Seen) -> bool:
    return seen.state.kind == "file" and bool(seen.state.content)
