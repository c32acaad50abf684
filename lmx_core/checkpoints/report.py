"""What an undo, a redo or a rewind did, or would do: one value for the screen, the command line and a program.

It names every path that was not put back and why. An undo that reports only its successes is believed once.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Action = Literal["undo", "redo", "rewind"]


class Left(msgspec.Struct, frozen=True):
    """A path that was left as it is, and why, in a clause."""

    path: str
    why: str


class TurnTold(msgspec.Struct, frozen=True, kw_only=True):
    """A turn for a list. `changed` counts paths, `commands` are what ran."""

    number: int
    prompt: str
    at_ms: int
    changed: int
    undone: bool
    commands: list[str] = []
    notes: list[str] = []


class Report(msgspec.Struct, kw_only=True):
    """`preview`: nothing was done yet. Paths are relative to `root`; bytes that are no text are U+FFFD in them.

    `restored` were put back as they were, `deleted` had not been there. `conflicts` were changed since, by somebody else;
    `uncertain` perhaps by somebody else; both are overwritten only with `force`. `unrestorable` cannot be put back.
    `not_undone` are sentences about what lies outside: ignored folders, other machines, the background. `next` is the turn that
    another undo would take back.
    """

    action: Action
    preview: bool
    root: str
    turns: list[TurnTold]
    restored: list[str] = []
    deleted: list[str] = []
    conflicts: list[Left] = []
    unrestorable: list[Left] = []
    uncertain: list[Left] = []
    not_undone: list[str] = []
    next: TurnTold | None = None
    commands: list[str] = []

    @property
    def whole(self) -> bool:
        """Whether everything that was recorded is back."""
        return not (self.conflicts or self.unrestorable or self.uncertain)

    @property
    def nothing(self) -> bool:
        return not (self.restored or self.deleted)
