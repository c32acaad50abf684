"""Pastes from a terminal that does not mark them: told by their speed (CMP-18). Pure.

A terminal without bracketed paste types what is pasted, and the first newline in it would send the draft. Nothing is held back
to find out, as is often done, for a letter that waits is felt and breaks input methods; only what Enter and Tab mean depends on
what came just before.

The first Enter of a burst must come with it. One that follows after a while may be the Enter of a program that types and looks
before it sends (a test, a script in tmux), and only a burst that has had a newline may have its last one late.
"""

from __future__ import annotations

GAP_S = 0.008
"""Characters that come closer than this were not typed."""

LEAST = 3
WITH_IT_S = 0.002
AFTER_S = 0.120
"""So long after a burst of several lines its last newline may still come."""


class Burst:
    """Times are seconds of one clock."""

    def __init__(self) -> None:
        self._run = 0
        self._last = float("-inf")
        self._until = float("-inf")

    def typed(self, at: float) -> None:
        """A character came."""
        self._run = self._run + 1 if at - self._last < GAP_S else 1
        self._last = at
        if self._run >= LEAST:
            self._until = max(self._until, at + WITH_IT_S)

    def holds(self, at: float) -> bool:
        """Does an Enter or a Tab that came now belong to a burst? Then it is a character of it."""
        return at <= self._until

    def newline(self, at: float) -> None:
        """It was one."""
        self.typed(at)
        self._until = at + AFTER_S
