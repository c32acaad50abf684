"""What branch a work tree is on, read from its files.

Asking `git` would be shorter and would run what the repository configured: a file system monitor, a pager, a filter (C31). So
the one line of `HEAD` is read as data, and anything but a plain branch or commit in it counts as unknown.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from lmx_core.workspace.files import Head, read_anywhere, repository_root

_BRANCH = re.compile(r"ref: refs/heads/([^\s~^:?*\[\\<>\"\x00-\x20\x7f-\x9f]{1,100})")
_COMMIT = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})")
_LIMIT = 4_096


def head_of(cwd: Path) -> str | None:
    """`branch NAME` or `commit 0123456789` of the work tree that holds `cwd`; None without one, or where it cannot be told."""
    root = repository_root(cwd)
    if root is None:
        return None
    line = _first_line((_git_directory(root) or root / ".git") / "HEAD")
    if branch := _BRANCH.fullmatch(line):
        return f"branch {branch[1]}"
    return f"commit {commit[1][:10]}" if (commit := _COMMIT.fullmatch(line)) else None


def _git_directory(root: Path) -> Path | None:
    """Where the `.git` file of a linked work tree points; None when `.git` is the directory itself."""
    place = root / ".git"
    if place.is_dir():
        return None
    line = _first_line(place)
    return Path(os.path.normpath(root / line.removeprefix("gitdir: "))) if line.startswith("gitdir: ") else None


def _first_line(path: Path) -> str:
    found = read_anywhere(path, _LIMIT)
    if not isinstance(found, Head):
        return ""
    return found.data.decode("utf-8", "replace").partition("\n")[0].rstrip("\r")
