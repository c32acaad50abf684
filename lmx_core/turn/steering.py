"""Words that wait: for a model already at work (MET-2) until its next request is built, and for the end of its work (MET-4)."""

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


class FollowUps:
    """A queue of prompts for after the work at hand, in their order.

    `held`: somebody cancelled, so nothing more is started until a prompt is given again.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self.held = False

    def add(self, text: str) -> None:
        self._waiting.append(text)

    def next(self) -> str | None:
        """The oldest, which leaves the queue; None where there is none or the queue is held."""
        return self._waiting.pop(0) if self._waiting and not self.held else None

    def put_back(self, text: str) -> None:
        """It was taken and not begun: it is the next again."""
        self._waiting.insert(0, text)

    def take(self) -> list[str]:
        taken, self._waiting = self._waiting, []
        return taken

    @property
    def waiting(self) -> tuple[str, ...]:
        return tuple(self._waiting)
