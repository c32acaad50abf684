"""What the bridge needs of the surface it serves, whether that is a full screen or lines in a terminal."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol


class Surface(Protocol):
    """Takes messages for the reducer, runs work beside the drawing."""

    def tell(self, message: object) -> None:
        """One message to the reducer; its effects are done before this returns."""

    def tell_all(self, messages: Sequence[object]) -> None:
        """Several, drawn once."""

    def work(self, job: Coroutine[Any, Any, None], name: str) -> None:
        """Runs it beside the surface; what it raises becomes a row (GEN-4)."""

    def keys(self) -> Sequence[tuple[str, str]]:
        """(key, what it does), for /help; empty where there are none."""
