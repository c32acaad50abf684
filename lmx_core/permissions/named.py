"""Which files a word may name that bash still changes: globs, braces, the home and the directory (RL-2, C12).

A rule about a file must not be passed by writing its name as a pattern. Patterns are looked up where the command would run, as
bash does it; what depends on anything else is None, and then somebody is asked.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MOST = 2_000
"""Files a pattern may stand for; more are not looked at one by one, and then somebody is asked."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_HERE = re.compile(r"^(?:~\+|\$PWD|\$\{PWD\})(?=/|$)")
_HOME = re.compile(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)")


_OTHER_SETS = re.compile(r"\[[!^]|\[[:=.]")
"""Brackets that Python and bash read differently, or that a locale has a say in."""


def named(text: str, base: Path) -> list[str] | None:
    """The paths that an unquoted word stands for when it is read in `base`; None where only bash knows."""
    texts = None if _OTHER_SETS.search(text) else _spread(text)
    if texts is None:
        return None
    found: list[str] = []
    for one in texts:
        place = _HERE.sub(lambda _: str(base), one)
        place = _HOME.sub(lambda _: os.path.expanduser("~"), place)  # noqa: PTH111 - a home that is not known stays "~"
        if any(char in place for char in "$`\"'\\~{}()<>"):
            return None
        found += islice(_files(place, base), MOST) if glob.has_magic(place) else [place]
        if len(found) >= MOST:
            return None
    return found


def _files(pattern: str, base: Path) -> Iterator[str]:
    return glob.iglob(pattern, root_dir=base)  # noqa: PTH207 - Path.glob finds hidden files with `*`, which bash does not


def _spread(text: str) -> list[str] | None:
    """A word with its braces written out, innermost first; None where there are too many."""
    done: list[str] = []
    todo = [text]
    while todo:
        one = todo.pop()
        match = _BRACES.search(one)
        if match is None:
            done.append(one)
        else:
            todo += [one[: match.start()] + choice + one[match.end() :] for choice in match[1].split(",")]
        if len(done) + len(todo) > MOST:
            return None
    return done


def might_name(text: str, name: str) -> bool:
    """Whether the last component of a pattern stands for this name, in whatever directory; always, if the name is one, too."""
    last = text.rpartition("/")[2]
    if glob.has_magic(name) or any(char in last for char in "$`\"'\\{"):
        return True
    return fnmatch.fnmatchcase(name, last) and not (name.startswith(".") and last[:1] in "*?[")
