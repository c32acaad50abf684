"""Path rules: which files a pattern names, by the name a call uses and by where that really leads.

A rule compared only with the name as it is written is passed by `..` and by links; compared only with the real path, it no
longer knows the file the person named. So both are tried: to deny, one is enough; to allow, both must match.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import msgspec


class Target(msgspec.Struct, frozen=True):
    """A file that a call touches. `lexical` and `real` are absolute, without `..`; `tree`: all below it is meant, too."""

    asked: str
    lexical: str
    real: str
    tree: bool = False


def target(cwd: Path, path: str, *, tree: bool = False) -> Target:
    """Resolves a path as a call means it. One that cannot be resolved stands for itself."""
    text = os.path.expanduser(path) if path.startswith("~/") else path  # noqa: PTH111 - Path would lose a trailing slash
    joined = os.path.join(str(cwd), text)  # noqa: PTH118 - as above
    try:
        real = os.path.realpath(joined)
    except (OSError, ValueError):
        real = os.path.normpath(joined)
    return Target(path, os.path.normpath(joined), real, tree)


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str, root: str, home: str, *, fold: bool) -> re.Pattern[str]:
    """The pattern as an expression over absolute paths, in `root`, the working directory."""
    if pattern.startswith("//"):
        base, rest = "", pattern[1:]
    elif pattern.startswith("~/"):
        base, rest = re.escape(home.rstrip("/")), pattern[1:]
    elif pattern.startswith("/"):
        base, rest = re.escape(root.rstrip("/")), pattern
    else:
        rest = pattern.removeprefix("./")
        floating = "/" not in rest.rstrip("/")
        base = "(?:/.*)?" if floating else re.escape(root.rstrip("/"))
        rest = "/" + rest
    expression = base + _expression(rest.rstrip("/") or "/") + "(?:/.*)?"
    return re.compile(expression, re.DOTALL | (re.IGNORECASE if fold else 0))


def _expression(glob: str) -> str:
    made, at = "", 0
    while at < len(glob):
        if glob.startswith("/**/", at):
            made, at = made + "/(?:.*/)?", at + 4
        elif glob.startswith("**", at):
            made, at = made + ".*", at + 2
        elif glob[at] == "*":
            made, at = made + "[^/]*", at + 1
        elif glob[at] == "?":
            made, at = made + "[^/]", at + 1
        elif glob[at] == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            made += "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
            at = end + 1
        else:
            made, at = made + re.escape(glob[at]), at + 1
    return made


def valid(pattern: str) -> bool:
    """Whether a pattern can be compared with anything."""
    try:
        _compiled(pattern, "/w", "/h", fold=False)
    except re.error:
        return False
    return bool(pattern.strip("/ "))


def covers(pattern: str, found: Target, cwd: Path) -> bool:
    """Whether an allow rule names the file by both its paths."""
    return _names(pattern, found.lexical, cwd) and _names(pattern, found.real, cwd)


def hits(pattern: str, found: Target, cwd: Path) -> bool:
    """Whether a deny or ask rule names the file by either of its paths; in any case of letters, where that is one file."""
    fold = os.name == "posix" and os.uname().sysname == "Darwin"
    known = (found.lexical, found.real)
    below = tuple(f"{path}/below" for path in known) if found.tree else ()  # `secrets/**` names what is in it
    return any(_names(pattern, path, cwd, fold=fold) for path in (*known, *below))


def _names(pattern: str, path: str, cwd: Path, *, fold: bool = False) -> bool:
    home = os.path.expanduser("~")  # noqa: PTH111 - a home that is not known stays "~"
    roots = {str(cwd), os.path.realpath(cwd)}
    return any(_compiled(pattern, root, home, fold=fold).fullmatch(path) for root in roots)
