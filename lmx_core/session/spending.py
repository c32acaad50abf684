"""What a session has spent, and whether its next request still fits under the ceiling (BU-2, BU-5).

Asked immediately before each request, whoever makes it: a turn, a retry, a summary. Asked once a prompt, the obvious way, a
prompt of four hundred requests would be stopped after the money is gone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from lmx_core.clock import steady_ms
from lmx_core.context.window import total_input
from lmx_core.request import Forecast, Request
from lmx_core.session.inbox import Work
from lmx_core.transcript.weight import tokens_of
from lmx_core.turn.budget import Refusal
from lmx_core.turn.effects import CostEstimate
from lmx_core.usage import Usage

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """What of a session's budgets is used. `spent_usd` None: nobody knows. `time_left_ms` is 0 once the deadline has passed."""

    spent_usd: float | None
    max_cost_usd: float | None
    requests: int
    max_requests: int | None
    deadline_ms: int | None
    time_left_ms: int | None


class Spending:
    def __init__(self, actor: Actor):
        self._actor, self._started_ms = actor, steady_ms(actor.clock)

    async def budget(self) -> Budget:
        actor, options = self._actor, self._actor.settings.options
        allowed = options.deadline_ms
        left = None if allowed is None else max(0, int(self._started_ms + allowed - steady_ms(actor.clock)))
        return Budget(
            spent_usd=actor.ledger.spent.cost_usd,
            max_cost_usd=options.max_cost_usd,
            requests=actor.ledger.requests,
            max_requests=options.max_requests,
            deadline_ms=allowed,
            time_left_ms=left,
        )

    def exhausted(self, unwritten: Usage | None = None) -> Refusal | None:
        """Why no request fits, however little it costs. `unwritten` is usage of an answer that no entry has yet."""
        return self._refusal(0.0, "", unwritten)

    async def refusal(
        self, request: Request, size: Forecast, work: Work, *, turn: int, unwritten: Usage | None = None
    ) -> Refusal | None:
        """Why this request does not fit, or None. The provider is asked what it may cost; what it cannot tell is unknown."""
        if self._actor.limits.max_cost_usd is None:
            return None
        if (refusal := self.exhausted(unwritten)) is not None:
            return refusal
        asked = msgspec.structs.replace(request, context={**request.context, "forecast": size})
        outcome = await self._actor.outcome(work.start(CostEstimate(asked), turn=turn))
        return self._refusal(None if outcome.error else _amount(outcome.value), request.model, unwritten)

    def _refusal(self, estimate: float | None, model: str, unwritten: Usage | None) -> Refusal | None:
        ledger = self._actor.ledger
        spent = ledger.spent if unwritten is None else ledger.spent.add(unwritten)
        unpriced = (ledger.unpriced or model or self._actor.settings.model) if spent.cost_usd is None else model
        return self._actor.limits.unaffordable(spent=spent.cost_usd, estimate=estimate, model=unpriced)

    def forecast(self, request: Request) -> Forecast:
        """How large the next request of the conversation is, as far as the session has measured."""
        ledger, room = self._actor.ledger, self._actor.room
        size, last = room.forecast(request), ledger.last_usage
        if last is None or (read := total_input(last)) == 0:
            return Forecast(input_tokens=size, largest_answer=ledger.largest_answer)
        added = max(0, room.conversation(request) - ledger.answered)
        return Forecast(
            input_tokens=size,
            likely_tokens=read + last.output_tokens + tokens_of(added),
            cached_share=min(1.0, last.cache_read_tokens / read),
            largest_answer=ledger.largest_answer,
        )


def _amount(told: object) -> float | None:
    right = isinstance(told, int | float) and math.isfinite(told) and told >= 0
    return float(told) if right and isinstance(told, int | float) else None
