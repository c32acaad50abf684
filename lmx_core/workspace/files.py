"""Reads the small files a repository may contain, as data, whatever the repository is.

A checkout may hold anything under a well-known name: a link to a key, a pipe that never answers, a device, a gigabyte. Plain
`open()` follows, waits and reads it all. Here the real path is checked, opened without following a link and without
waiting, and read up to a limit. No program is ever run, git included (C31).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec

from lmx_core.environment.base import FileError
from lmx_core.environment.confine import Place, locate
from lmx_core.environment.files import open_file

CREDENTIAL_LOCATIONS = tuple(
    ".ssh .aws .gnupg .netrc .git-credentials .config/git/credentials .pypirc .config/gh .config/gcloud .azure .docker "
    ".kube .codex/auth.json .claude/.credentials.json .lmx .npmrc".split()
)
"""Files and directories under a home that no instruction file may lead to (cli.md 6 and 7.5)."""

_REASONS = {
    "outside_worktree": "it leads outside the repository",
    "credentials": "it leads to where credentials are kept",
    "dangling": "it is a link to nothing",
}


class Head(msgspec.Struct, frozen=True):
    """The first bytes of a file, and the size of the whole."""

    data: bytes
    size: int


class Skipped(msgspec.Struct, frozen=True):
    """Why a file that is there was not read, in a clause that begins with "it"."""

    reason: str


def repository_root(cwd: Path) -> Path | None:
    """The top of the work tree that holds `cwd`: the nearest directory with a `.git`, a directory or (worktrees) a file."""
    real = Path(os.path.realpath(cwd))
    return next((place for place in (real, *real.parents) if os.path.lexists(place / ".git")), None)


def read_inside(root: Path, path: Path, limit: int, home: Path) -> Head | Skipped | None:
    """The start of a file of the repository, None when there is none. Links inside the repository are followed."""
    place = locate(root, str(path))
    if isinstance(place, FileError):
        return Skipped(_REASONS.get(place.kind, "its path cannot be used")) if os.path.lexists(path) else None
    if _holds_credentials(place.path, home):
        return Skipped(_REASONS["credentials"]) if os.path.lexists(path) else None
    return _read(place, path, limit)


def read_personal(path: Path, limit: int, home: Path) -> Head | Skipped | None:
    """The start of a file of the person, which may link anywhere but to where credentials are kept."""
    real = Path(os.path.realpath(path))
    own = Path(os.path.realpath(path.parent)) / path.name
    if real != own and _holds_credentials(real, home):
        return Skipped(_REASONS["credentials"])
    return read_anywhere(path, limit)


def read_anywhere(path: Path, limit: int) -> Head | Skipped | None:
    """The start of a regular file wherever it leads, for a path the repository did not choose."""
    place = locate(Path("/"), str(path.absolute()))
    return None if isinstance(place, FileError) else _read(place, path, limit)


def _read(place: Place, path: Path, limit: int) -> Head | Skipped | None:
    try:
        with os.fdopen(open_file(place), "rb") as file:
            return Head(file.read(limit), os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        return Skipped(_REASONS["dangling"]) if os.path.lexists(path) else None
    except NotADirectoryError:
        return None
    except OSError as error:
        return Skipped(_why(error)) if os.path.lexists(path) else None


def _why(error: OSError) -> str:
    if isinstance(error, IsADirectoryError):
        return "it is a directory"
    if error.errno == errno.ENXIO:
        return "it is a pipe or a device"
    return f"it cannot be read ({error.strerror or 'input/output error'})"


def _holds_credentials(real: Path, home: Path) -> bool:
    """Whether `real` is, or lies in, a credential location, in any letter case: file systems differ in that."""
    below = _folded(real)
    base = _folded(Path(os.path.realpath(home)))
    if below[: len(base)] != base:
        return False
    return any(below[len(base) :][: len(parts)] == parts for parts in map(_folded, map(Path, CREDENTIAL_LOCATIONS)))


def _folded(path: Path) -> tuple[str, ...]:
    return tuple(part.casefold() for part in path.parts)
