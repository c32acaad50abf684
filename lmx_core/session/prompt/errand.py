"""What stands where a prompt would and is none: a compaction that was asked for, a reading of attached files again.

The session is busy with it and can be cancelled; whoever asked waits for what comes of it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from lmx_core.session.prompt.end import settle

if TYPE_CHECKING:
    from lmx_core.calls import ToolCall
    from lmx_core.session.actor import Actor

T = TypeVar("T")


class Errand(Generic[T]):
    """`result` is what its asker waits for, `ended` what `cancel()` does."""

    def __init__(self, actor: Actor):
        loop = asyncio.get_running_loop()
        self._actor = actor
        self._work = actor.work(actor.ledger.new_id())
        self.result: asyncio.Future[T] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    @property
    def request_id(self) -> str | None:
        """The newest request's, where it makes any."""
        return None

    def call(self, call_id: str) -> ToolCall | None:
        """No tool runs meanwhile."""
        return None

    def over(self, outcome: T | Exception) -> None:
        """It has come to this."""
        self._actor.run = None
        if isinstance(outcome, Exception):
            self.fail(outcome)
            return
        settle(self.ended)
        if not self.result.done():
            self.result.set_result(outcome)

    def fail(self, error: Exception) -> None:
        """Whoever waits for it is told."""
        settle(self.ended)
        if not self.result.done():
            self.result.set_exception(error)
            self.result.exception()
