"""What the steps of one prompt share: its work, how many turns it took, its hooks, and whether the budget admits more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lmx_core.errors import Failure, HookDenied, HookFailed
from lmx_core.request import Request
from lmx_core.session.inbox import Progress, Ticket
from lmx_core.session.prompt.end import End
from lmx_core.turn.budget import Refusal
from lmx_core.turn.effects import Effect, EffectOutcome, Hook

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor


class Steps:
    """`turns` counts the requests of this prompt, retries included."""

    def __init__(self, actor: Actor, run_id: str):
        self.actor, self.work = actor, actor.work(run_id)
        self.turns = 0

    def start(self, effect: Effect, *, call_id: str | None = None, progress: Progress | None = None) -> Ticket:
        return self.work.start(effect, turn=self.turns, call_id=call_id, progress=progress)

    async def do(self, effect: Effect) -> EffectOutcome:
        return await self.actor.outcome(self.start(effect))

    async def hook(self, point: str, value: Any, *, unless_hooked: Any, **facts: Any) -> Any:
        """What the hooks of a point decide, or `unless_hooked` where there are none. Raises HookDenied and HookFailed."""
        if not self.actor.hooks.has(point):
            return unless_hooked
        outcome = await self.do(Hook(point=point, value=value, facts=facts))
        if outcome.error is None:
            return outcome.value
        if isinstance(outcome.error, HookDenied | HookFailed):
            raise outcome.error
        raise HookFailed(f"{point} hook ended with {type(outcome.error).__name__}")

    def refusal(self, *, spare: int = 0) -> Refusal | None:
        """Why the budget admits no request, or with `spare` not so many more."""
        counted = self.actor.limits.refusal(turns=self.turns, requests=self.actor.ledger.requests + spare)
        return counted or self.actor.spending.exhausted()

    async def unaffordable(self, request: Request) -> Refusal | None:
        """Why this request does not fit into the session's cost."""
        spending = self.actor.spending
        return await spending.refusal(request, spending.forecast(request), self.work, turn=self.turns)

    def budget_end(self, refusal: Refusal) -> End:
        messages = self.actor.messages
        spent_turns = refusal.stop_reason == "max_turns"
        text = messages.turn_budget_spent(self.turns) if spent_turns else messages.budget_stopped(refusal.detail)
        failure = Failure(code=refusal.stop_reason, message=text)
        return End(stop_reason=refusal.stop_reason, detail=refusal.detail, failure=failure)
