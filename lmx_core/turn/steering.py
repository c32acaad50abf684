"""Words for a model that is already at work (MET-2): they wait here until the next request is built, in their order."""

from __future__ import annotations


class Steers:
    """A queue of texts. Each leaves it exactly once: taken for a request, revoked, or dropped when the prompt ends."""

    def __init__(self) -> None:
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        self._waiting.append(text)

    def revoke(self, text: str) -> bool:
        """Takes back the newest one that says exactly this; False when none waits."""
        for index in range(len(self._waiting) - 1, -1, -1):
            if self._waiting[index] == text:
                del self._waiting[index]
                return True
        return False

    def take(self) -> list[str]:
        taken, self._waiting = self._waiting, []
        return taken

    @property
    def waiting(self) -> tuple[str, ...]:
        return tuple(self._waiting)
