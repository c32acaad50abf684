"""From a request to its answer: made ready, admitted, sent, and asked again where that is worth it (core.md 4.2, 5 to 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmx_core import events
from lmx_core.errors import CallbackFailed, CompactionFailed, Failure, HookDenied, HookFailed
from lmx_core.request import Done, Error, ProviderEvent, Request
from lmx_core.session.prompt.compact import Summarising
from lmx_core.session.prompt.end import End, Ended, Retry, forbidden, stated_window
from lmx_core.session.prompt.steps import Steps
from lmx_core.turn.effects import Append, EffectOutcome, Emit, Finished, ModelCall, ModelFacts, RunTools, Sleep
from lmx_core.turn.turn import INCOMPLETE_STREAM, Effects, Turn

NO_MARK: Mapping[str, Any] = {}


class Asking:
    """The requests of one prompt, one after another. `request_id` is the newest one's; answers are written with `mark`."""

    def __init__(self, steps: Steps, *, mark: Mapping[str, Any] = NO_MARK):
        self._steps, self._actor, self._ledger, self._mark = steps, steps.actor, steps.actor.ledger, mark
        self.request_id: str | None = None
        self._turn: Turn | None = None
        self._silent = False  # the last attempt gave nothing at all, not even a bill
        self._has_recovered = False
        self._failed: set[str] = set()  # models that this prompt has given up on

    async def answered(self) -> RunTools | Finished:
        """Steps 5 to 10: asks until an answer arrives whole, or no further attempt is worth it or admitted (RY-1)."""
        retry: Retry | None = None
        while True:
            request = await self._prepared(retry)
            answer = await self._attempt(request, retry)
            if isinstance(answer, RunTools) or answer.failure is None:
                return answer
            if await self._recovered(answer):
                retry = None
                continue
            retry = await self._another(request, answer, answer.failure, retry)

    async def _another(self, request: Request, answer: Finished, failure: Failure, retry: Retry | None) -> Retry:
        """The next attempt, on another model or after a wait. What a host's function would have judged is told with it."""
        try:
            switched = await self._switched(request, answer, failure, retry)
            return switched or await self._backed_off(request, answer, failure, retry)
        except CallbackFailed as error:
            raise CallbackFailed(error.callback, error.what, after=failure.message) from error.__cause__

    async def _prepared(self, retry: Retry | None) -> Request:
        """Steps 5 to 8: the next request, after at most one attempt to make room for it (CO-1)."""
        request = await self._built(retry)
        if self._actor.room.is_due(request) and await self._compacted("threshold"):
            request = await self._built(retry)
        if (refusal := await self._steps.unaffordable(request)) is not None:
            raise forbidden(self._steps.budget_end(refusal), retry)
        return request

    async def _built(self, retry: Retry | None) -> Request:
        """The next request as the hooks want it, if the budget admits one."""
        if (refusal := self._steps.refusal()) is not None:
            raise forbidden(self._steps.budget_end(refusal), retry)
        request = await self._drafted()
        note = None if retry is None else retry.note
        try:
            prepared: Request = await self._steps.hook(
                "prepare_next_turn", request, unless_hooked=request, retry=note, **self._mark
            )
        except (HookDenied, HookFailed) as error:
            failure = Failure(code="hook_failed", message=str(error))
            raise forbidden(End(stop_reason="hook_failed", failure=failure), retry) from error
        prepared = self._actor.outbound.masked(prepared)
        await self._learn_about(prepared.model)
        self._actor.room.warn(prepared)
        return prepared

    async def _drafted(self) -> Request:
        """Step 5: what the conversation asks next, with the steers that waited for it."""
        for text in self._actor.steers.take():
            await self._ledger.append("user", {"text": text, "steer": True})
        self.request_id = self._ledger.new_id()
        return self._actor.request(self.request_id)

    async def _learn_about(self, model: str) -> None:
        """Asks once a model what its window is."""
        if self._actor.room.known.name == model:
            return
        outcome = await self._steps.do(ModelFacts(model))
        window, modalities = (None, frozenset()) if outcome.error else outcome.value
        self._actor.room.learned(model, window, modalities)

    async def _compacted(self, trigger: str) -> bool:
        """Whether a summary now stands for the earlier conversation. Not tried where the budget has no request for both."""
        if self._steps.refusal(spare=1) is not None:
            return False
        summarising = Summarising(self._actor, self._steps.work, trigger=trigger, turn=self._steps.turns)
        if (plan := summarising.plan()) is None or await summarising.unaffordable(plan) is not None:
            return False
        try:
            await summarising.go(plan)
        except CompactionFailed:
            return False
        return True

    async def _recovered(self, answer: Finished) -> bool:
        """Whether a request that did not fit, before any output, may be sent once more after a compaction (10.6)."""
        failure = answer.failure
        assert failure is not None
        fits_not = failure.category == "context_limit" and self._silent
        if not fits_not or self._has_recovered or not self._actor.settings.options.auto_compaction:
            return False
        self._has_recovered = True
        self._actor.emit(events.ContextRecovery(reason=failure.message))
        return await self._compacted("overflow")

    async def _attempt(self, request: Request, retry: Retry | None) -> RunTools | Finished:
        """Steps 8 to 10: one request, recorded; its answer folded, written, then announced."""
        await self._record(request, retry)
        self._steps.turns += 1
        turn = Turn(entry_id=self._ledger.new_id(), request_id=str(self.request_id), model=request.model)
        self._turn = turn
        terminal = await self._streamed(request, turn)
        answer = await self._perform(turn, turn.fold(terminal))
        self._turn = None
        assert answer is not None  # a terminal event always ends the turn
        if turn.was_turned_away(answer.failure if isinstance(answer, Finished) else None):
            self._ledger.turn_away()
        self._ledger.settle()
        self._silent = not turn.had_output and turn.usage is None
        self._actor.room.told(served=turn.served_window, stated=stated_window(answer))
        return answer

    async def _record(self, request: Request, retry: Retry | None) -> None:
        """Step 8: under what a request is sent, where that has changed, and the request."""
        await self._actor.evidence.look(request, self._steps.work.run_id)
        await self._ledger.append("request", self._actor.record_of(request, retry), id=self.request_id)

    async def _streamed(self, request: Request, turn: Turn) -> ProviderEvent:
        """Runs the model call: deltas are folded and told where they arrive, the terminal event is returned."""
        emit = self._actor.emit

        def hear(event: ProviderEvent) -> None:
            if isinstance(event, Done | Error):
                self._steps.work.report(ticket, EffectOutcome(value=event))
                return
            for effect in turn.fold(event):
                if isinstance(effect, Emit):
                    emit(effect.event)

        ticket = self._steps.start(ModelCall(request), progress=hear)
        outcome = await self._actor.outcome(ticket)
        return outcome.value if outcome.error is None and outcome.value is not None else Error(INCOMPLETE_STREAM)

    async def _perform(self, turn: Turn, effects: Effects) -> RunTools | Finished | None:
        for effect in effects:
            if isinstance(effect, Append):
                payload = {**effect.payload, **self._mark}
                await self._ledger.append("assistant", payload, usage=effect.usage, id=turn.entry_id)
            elif isinstance(effect, Emit):
                self._actor.emit(effect.event)
            else:
                return effect
        return None

    async def _switched(
        self, request: Request, answer: Finished, failure: Failure, retry: Retry | None
    ) -> Retry | None:
        """The first attempt on another model of the list, where this failure is a reason for it and one can take over."""
        settings, fallback = self._actor.settings, self._actor.fallback
        attempt = 1 if retry is None else retry.attempt
        fits_not = failure.category == "context_limit" and self._silent
        spent = self._actor.retry_policy.is_spent(failure, attempt=attempt, after_output=answer.after_output)
        if not (fits_not or spent) or request.model != settings.model or self._steps.refusal() is not None:
            return None
        self._failed.add(settings.model)
        for model in fallback.candidates(self._failed):
            if fits_not and not await self._has_more_room(model):
                fallback.skip(model, "its context window is no larger")
                continue
            again = self._again(1, failure, delay_ms=0, previous_model=settings.model)
            fallback.switch(model, failure)
            return again
        return None

    async def _has_more_room(self, model: str) -> bool:
        """Whether a model may hold what the one in use does not. Where a window is unknown, it is worth a try."""
        outcome = await self._steps.do(ModelFacts(model))
        theirs, ours = None if outcome.error else outcome.value[0], self._actor.room.known.window.tokens
        return theirs is None or ours is None or theirs > ours

    def _again(self, attempt: int, failure: Failure, *, delay_ms: int, **more: Any) -> Retry:
        """The next attempt, because the last request failed so."""
        note = {
            "attempt": attempt,
            "after_request_id": self.request_id,
            "category": failure.category,
            "reason": failure.message,
            "delay_ms": delay_ms,
        }
        return Retry(attempt=attempt, failed=self._failed_with(failure), note={**note, **more})

    def _failed_with(self, failure: Failure) -> End:
        return End(stop_reason="error", failure=failure, request_id=self.request_id)

    async def _backed_off(self, request: Request, answer: Finished, failure: Failure, retry: Retry | None) -> Retry:
        """Waits before another attempt. Ends the prompt where none is worth it or admitted, without waiting (RY-5)."""
        policy = self._actor.retry_policy
        attempt = 1 if retry is None else retry.attempt
        delay = policy.delay_ms(failure, attempt=attempt, after_output=answer.after_output)
        refused = self._steps.refusal() or await self._steps.unaffordable(request)
        if delay is None or refused is not None:
            raise Ended(self._failed_with(failure))
        again = self._again(attempt + 1, failure, delay_ms=delay)
        self._actor.emit(
            events.ProviderRetry(
                attempt=again.attempt,
                max=policy.max_attempts,
                delay_ms=delay,
                category=failure.category,
                reason=failure.message,
                after_output=answer.after_output,
            )
        )
        await self._steps.do(Sleep(delay))
        return again

    async def interrupt(self) -> None:
        """Keeps what the answer in flight has said so far (MET-5)."""
        if self._turn is not None:
            await self._perform(self._turn, self._turn.interrupt())
