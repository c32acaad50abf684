"""How whatever asks a model comes to its end, a prompt and an aside alike (core.md 4.2, 11 and 12).

In one place, for the order matters: what was said is kept, every open call gets its result, then the reason is written, and
`finished` is the last word.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lmx_core import events
from lmx_core.errors import CALLBACK_FAILED, CallbackFailed, Failure, for_log
from lmx_core.session.prompt.asking import Asking
from lmx_core.session.prompt.end import End, Ended, Interrupted, error_payload, told
from lmx_core.session.prompt.steps import Steps
from lmx_core.session.telling import of_end
from lmx_core.telemetry import Span

log = logging.getLogger("lmx_core")

NO_MARK: Mapping[str, Any] = {}
CloseCalls = Callable[[bool], Awaitable[None]]
"""Gives every open call its one result; told whether the session is over."""


async def _none_open(session_over: bool) -> None:
    """Where no tool runs."""


class Finish:
    """Of the work that `asking` does. `mark` goes into every entry that is written here."""

    def __init__(
        self, steps: Steps, asking: Asking, *, mark: Mapping[str, Any] = NO_MARK, close_calls: CloseCalls = _none_open
    ):
        self._steps, self._actor, self._asking, self._mark = steps, steps.actor, asking, mark
        self._close_calls = close_calls

    async def of(self, work: Awaitable[End], span: Span) -> End:
        """How `work` ended, whichever way; what an interruption leaves open is closed, and the entry of it written (MET-5)."""
        cancelled = False
        try:
            end = await work
        except Ended as ended:
            end = ended.end
        except CallbackFailed as error:
            log.error("%s: %s", error, for_log(error.__cause__ or error))
            await self._stop(session_over=False)
            failure = Failure(code=CALLBACK_FAILED, message=str(error), retryable=False)
            end = End(stop_reason="error", failure=failure, request_id=self._asking.request_id)
        except Interrupted as interruption:
            await self._stop(session_over=interruption.session_over)
            await self._actor.ledger.append("cancelled", {"reason": interruption.reason, **self._mark})
            end, cancelled = End(stop_reason=interruption.reason), True
        span.note(**of_end(end, cancelled=cancelled))
        return end

    async def _stop(self, *, session_over: bool) -> None:
        """Nothing of it that comes later counts."""
        self._steps.work.abandon()
        await self._asking.interrupt()
        await self._close_calls(session_over)

    async def write_failure(self, end: End) -> None:
        """Step 12: why it failed, if it did, is written, then told."""
        if end.failure is not None:
            await self._actor.ledger.append("error", {**error_payload(end), **self._mark})
            self._actor.emit(told(end.failure))
            self._actor.observe("error", end.failure)
        self._actor.ledger.settle()

    def say(self, end: End) -> None:
        """Where the window stands, and the last word."""
        self._actor.emit(self._actor.room.position())
        self._actor.emit(events.Finished(stop_reason=end.stop_reason, detail=end.detail))
