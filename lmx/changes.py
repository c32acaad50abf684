"""What has changed in a work tree, as data: what `worktree` asks git for and what the panel of /diff shows.

A room of its own, under both, for the same reason as `rows`.
"""

from __future__ import annotations

import msgspec

MOST_FILES = 256
MOST_LINES = 300
"""Files that are listed, and lines of a difference that are shown; what there is beyond is counted (tui.md 4)."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file. `where` is staged, unstaged or untracked; `how` is git's letter; `before` the old path of a rename.

    Paths are relative to the top of the work tree, with bytes that are no text as surrogates: sanitise before drawing.
    """

    where: str
    how: str
    path: str
    before: str = ""


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """At most `MOST_FILES`; `more` is how many there are beyond. `root` is the top of the work tree."""

    root: str
    files: tuple[Change, ...] = ()
    more: int = 0


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """At most `MOST_LINES` lines of a difference, sanitised; `more` is how many there are beyond."""

    lines: tuple[str, ...]
    more: int = 0
