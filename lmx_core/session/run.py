"""One prompt, from the person's words to `finished`: a function a step (core.md 4.2).

It runs in the actor's task. Wherever it waits for work it serves the inbox, so a person may steer, answer, look or cancel at
any moment; it is interrupted there and nowhere else, never between an append and what follows from it. What it waits for is
always an effect of the session's host: nothing here calls a provider, a tool or a hook.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from lmx_core import events
from lmx_core.calls import DEFAULT_MAX_OUTPUT_BYTES, Outcome, ToolCall
from lmx_core.context import references
from lmx_core.errors import Cancelled, CompactionFailed, Failure, HookDenied, HookFailed
from lmx_core.request import Done, Error, ProviderEvent, Request
from lmx_core.session.compact import Summarising
from lmx_core.session.end import End, Ended, Interrupted, Retry, error_payload, forbidden, settle, stated_window, told
from lmx_core.session.inbox import Progress, Ticket
from lmx_core.tools.output import HeadTail
from lmx_core.turn import wave as waves
from lmx_core.turn.budget import Refusal
from lmx_core.turn.effects import (
    Append,
    Effect,
    EffectOutcome,
    Emit,
    Finished,
    Hook,
    ModelCall,
    ModelFacts,
    ReadReferences,
    RunTools,
    Sleep,
    ToolAttempt,
)
from lmx_core.turn.guard import Record, Stop
from lmx_core.turn.turn import INCOMPLETE_STREAM, Effects, Turn
from lmx_core.turn.wave import Wave
from lmx_core.verdict import Deny

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

log = logging.getLogger("lmx_core")


class Run:
    """The state of one prompt, and its steps. `started` is what `prompt()` waits for, `ended` what `cancel()` does."""

    def __init__(self, actor: Actor, text: str, typed: str | None = None):
        loop = asyncio.get_running_loop()
        self.id = actor.ledger.new_id()
        self.started: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.request_id: str | None = None
        self._actor, self._ledger, self._text, self._typed = actor, actor.ledger, text, typed
        self._work = actor.work(self.id)
        self._turn: Turn | None = None
        self._turns = 0
        self._first_seq = 0
        self._wave: Wave | None = None
        self._said: dict[str, HeadTail] = {}  # what a running call has said so far, in case it is cancelled
        self._record = Record()
        self._stop_hook_active = False
        self._silent = False  # the last attempt gave nothing at all, not even a bill
        self._has_recovered = False

    async def go(self) -> None:
        """Steps 1 to 12."""
        try:
            prompt = await self._expanded(await self._admitted())
        except (HookDenied, HookFailed, Interrupted) as refusal:
            self._refuse(refusal)
            return
        self._first_seq = len(self._ledger.entries)
        await self._ledger.append("user", prompt)
        settle(self.started)
        try:
            end = await self._turns_until_the_end()
        except Ended as ended:
            end = ended.end
        except Interrupted as interruption:
            end = await self._interrupted(interruption)
        await self._finish(end)

    # -- before it begins

    async def _admitted(self) -> str:
        """Step 1: `user_prompt` hooks may refuse the prompt or rewrite it."""
        text: str = await self._hook("user_prompt", self._text, unless_hooked=self._text)
        return text

    async def _expanded(self, text: str) -> dict[str, Any]:
        """Step 2: the payload of the prompt's entry, with what its `@` refer to; without, where reading that breaks."""
        if not (found := references.within(text, self._typed)):
            return {"text": text}
        outcome = await self._do(ReadReferences(references=found, model=self._actor.settings.model))
        if outcome.error is not None:
            name = type(outcome.error).__name__
            log.warning("the references of a prompt could not be read (%s); it goes without them", name)
            return {"text": text}
        return {"text": text, "attachments": outcome.value} if outcome.value else {"text": text}

    def _refuse(self, why: HookDenied | HookFailed | Interrupted) -> None:
        """Nothing was written and nothing is announced: the prompt never began."""
        self._work.abandon()
        self._actor.run = None
        settle(self.started, Cancelled() if isinstance(why, Interrupted) else why)
        settle(self.ended)

    # -- the loop

    async def _turns_until_the_end(self) -> End:
        """Ask, run what was called, ask again, until an answer is final."""
        while True:
            answer = await self._answered()
            if isinstance(answer, RunTools):
                outcomes = await self._run_tools(answer)
                self._ask_guard(outcomes)
            elif (end := await self._final(answer)) is not None:
                return end

    async def _answered(self) -> RunTools | Finished:
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
            retry = await self._backed_off(answer, answer.failure, retry)

    async def _prepared(self, retry: Retry | None) -> Request:
        """Steps 5 to 8: the next request, after at most one attempt to make room for it (CO-1)."""
        request = await self._built(retry)
        if self._actor.room.is_due(request) and await self._compacted("threshold"):
            request = await self._built(retry)
        return request

    async def _built(self, retry: Retry | None) -> Request:
        """The next request as the hooks want it, if the budget admits one."""
        if (refusal := self._refusal()) is not None:
            raise forbidden(self._budget_end(refusal), retry)
        for text in self._actor.steers.take():
            await self._ledger.append("user", {"text": text, "steer": True})
        self.request_id = self._ledger.new_id()
        request = self._actor.request(self.request_id)
        note = None if retry is None else retry.note
        try:
            prepared: Request = await self._hook("prepare_next_turn", request, unless_hooked=request, retry=note)
        except (HookDenied, HookFailed) as error:
            failure = Failure(code="hook_failed", message=str(error))
            raise forbidden(End(stop_reason="hook_failed", failure=failure), retry) from error
        await self._learn_about(prepared.model)
        self._actor.room.warn(prepared)
        return prepared

    async def _learn_about(self, model: str) -> None:
        """Asks once a model what its window is."""
        if self._actor.room.known.name == model:
            return
        outcome = await self._do(ModelFacts(model))
        window, modalities = (None, frozenset()) if outcome.error else outcome.value
        self._actor.room.learned(model, window, modalities)

    async def _compacted(self, trigger: str) -> bool:
        """Whether a summary now stands for the earlier conversation. Not tried where the budget has no request for both."""
        if self._refusal(spare=1) is not None:
            return False
        summarising = Summarising(self._actor, self._work, trigger=trigger, turn=self._turns)
        if (plan := summarising.plan()) is None:
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
        await self._actor.evidence.look(request, self.id)
        await self._ledger.append("request", self._actor.record_of(request, retry), id=self.request_id)
        self._turns += 1
        turn = Turn(entry_id=self._ledger.new_id(), request_id=str(self.request_id), model=request.model)
        self._turn = turn
        terminal = await self._streamed(request, turn)
        answer = await self._perform(turn, turn.fold(terminal))
        self._turn = None
        assert answer is not None  # a terminal event always ends the turn
        self._silent = not turn.had_output and turn.usage is None
        self._actor.room.told(served=turn.served_window, stated=stated_window(answer))
        return answer

    async def _streamed(self, request: Request, turn: Turn) -> ProviderEvent:
        """Runs the model call: deltas are folded and told where they arrive, the terminal event is returned."""
        emit = self._actor.emit

        def hear(event: ProviderEvent) -> None:
            if isinstance(event, Done | Error):
                self._work.report(ticket, EffectOutcome(value=event))
                return
            for effect in turn.fold(event):
                if isinstance(effect, Emit):
                    emit(effect.event)

        ticket = self._start(ModelCall(request), progress=hear)
        outcome = await self._actor.outcome(ticket)
        return outcome.value if outcome.error is None and outcome.value is not None else Error(INCOMPLETE_STREAM)

    async def _perform(self, turn: Turn, effects: Effects) -> RunTools | Finished | None:
        for effect in effects:
            if isinstance(effect, Append):
                await self._ledger.append("assistant", effect.payload, usage=effect.usage, id=turn.entry_id)
            elif isinstance(effect, Emit):
                self._actor.emit(effect.event)
            else:
                return effect
        return None

    async def _backed_off(self, answer: Finished, failure: Failure, retry: Retry | None) -> Retry:
        """Waits before another attempt. Ends the prompt where none is worth it or admitted, without waiting (RY-5)."""
        policy = self._actor.retry_policy
        attempt = 1 if retry is None else retry.attempt
        failed = End(stop_reason="error", failure=failure, request_id=self.request_id)
        delay = policy.delay_ms(failure, attempt=attempt, after_output=answer.after_output)
        if delay is None or self._refusal() is not None:
            raise Ended(failed)
        again = Retry(
            attempt=attempt + 1,
            failed=failed,
            note={
                "attempt": attempt + 1,
                "after_request_id": self.request_id,
                "category": failure.category,
                "reason": failure.message,
                "delay_ms": delay,
            },
        )
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
        await self._do(Sleep(delay))
        return again

    # -- a wave of calls

    async def _run_tools(self, asked: RunTools) -> list[Outcome]:
        """Runs the calls of an answer in their order; each result is written as it comes (DI-1, DI-2)."""
        wave = self._wave = Wave(asked.calls, self._actor.describe)
        running: dict[Ticket, ToolCall] = {}
        outcomes: list[Outcome] = []
        while wave.open:
            for call in wave.ready():
                if call.id == asked.cut_off:
                    outcomes.append(await self._answer(waves.cut_off(call)))
                else:
                    running[self._start_call(call)] = call
            if running:
                ticket = await self._first(running)
                outcomes.append(await self._answer(self._result(running.pop(ticket), ticket)))
        self._wave = None
        return outcomes

    def _start_call(self, call: ToolCall) -> Ticket:
        said = self._said[call.id] = HeadTail(DEFAULT_MAX_OUTPUT_BYTES)

        def progress(text: str) -> None:
            said.add(text)
            self._actor.emit(events.ToolDelta(call_id=call.id, name=call.name, text=text))

        return self._start(ToolAttempt(call), call_id=call.id, progress=progress)

    async def _first(self, running: dict[Ticket, ToolCall]) -> Ticket:
        while True:
            for ticket in running:
                if ticket.outcome is not None:
                    return ticket
            await self._actor.serve()

    def _result(self, call: ToolCall, ticket: Ticket) -> Outcome:
        """What a call came to. `tools.run` never raises, so an error is its host's: the call has its result all the same."""
        assert ticket.outcome is not None
        error = ticket.outcome.error
        if error is None:
            result: Outcome = ticket.outcome.value
            return result
        if isinstance(error, asyncio.CancelledError):
            return self._unfinished(call, session_over=False)
        text = self._actor.messages.tool_crashed(call, type(error).__name__)
        return Outcome(call=call, outcome="crashed", text=text, arguments=call.arguments)

    async def _answer(self, outcome: Outcome) -> Outcome:
        """Writes the one result of a call; a question of it that nobody has answered yet is withdrawn (DI-4)."""
        assert self._wave is not None
        self._actor.approvals.drop(outcome.call.id)
        await self._ledger.append("tool_result", outcome.to_payload())
        self._wave.answered(outcome.call.id)
        self._said.pop(outcome.call.id, None)
        return outcome

    def _ask_guard(self, outcomes: list[Outcome]) -> None:
        """Ends the prompt when it goes in circles (GU-1)."""
        self._record = self._record.settled(outcomes)
        view = self._record.view(
            turns_taken=self._turns, max_turns=self._actor.limits.max_turns, messages=self._actor.messages
        )
        verdict = self._actor.guard.decide(view)
        if isinstance(verdict, Stop):
            failure = Failure(code=verdict.reason, message=verdict.message)
            raise Ended(End(stop_reason=verdict.reason, failure=failure))

    def call(self, call_id: str) -> ToolCall | None:
        """The call of this id if it is running."""
        return self._wave.open.get(call_id) if self._wave is not None else None

    # -- the end

    async def _final(self, answer: Finished) -> End | None:
        """Step 11: the end, or None when a steer or a stop hook has more to say."""
        if self._steered():
            return None
        objection = await self._hook(
            "stop", answer.stop_reason, unless_hooked=None, stop_hook_active=self._stop_hook_active
        )
        if isinstance(objection, Deny):
            if (refusal := self._refusal()) is not None:
                return self._budget_end(refusal)
            await self._ledger.append("user", {"text": objection.reason, "stop_hook": True})
            self._stop_hook_active = True
            return None
        await self._actor.catch_up()
        return None if self._steered() else End(stop_reason=answer.stop_reason)

    def _steered(self) -> bool:
        return bool(self._actor.steers.waiting) and self._refusal() is None

    def _refusal(self, *, spare: int = 0) -> Refusal | None:
        """Why the budget admits no request, or with `spare` not so many more."""
        return self._actor.limits.refusal(turns=self._turns, requests=self._ledger.requests + spare)

    def _budget_end(self, refusal: Refusal) -> End:
        messages = self._actor.messages
        spent_turns = refusal.stop_reason == "max_turns"
        text = messages.turn_budget_spent(self._turns) if spent_turns else messages.budget_stopped(refusal.detail)
        failure = Failure(code=refusal.stop_reason, message=text)
        return End(stop_reason=refusal.stop_reason, detail=refusal.detail, failure=failure)

    async def _interrupted(self, interruption: Interrupted) -> End:
        """Cancelled: what was said is kept, every open call gets its one result, nothing that comes later counts (MET-5)."""
        self._work.abandon()
        if self._turn is not None:
            await self._perform(self._turn, self._turn.interrupt())
        if self._wave is not None:
            for call in list(self._wave.open.values()):
                await self._answer(self._unfinished(call, session_over=interruption.session_over))
        await self._ledger.append("cancelled", {"reason": interruption.reason})
        return End(stop_reason=interruption.reason)

    def _unfinished(self, call: ToolCall, *, session_over: bool) -> Outcome:
        assert self._wave is not None
        began = self._wave.began(call.id) and not self._actor.approvals.awaits_approval(call.id)
        so_far = self._said[call.id].text().rstrip("\n") if call.id in self._said else ""
        return waves.unfinished(
            call,
            self._actor.describe(call.name),
            began=began,
            session_over=session_over,
            text="\n".join(filter(None, [so_far, self._actor.messages.tool_cancelled(call)])),
        )

    async def _finish(self, end: End) -> None:
        """Step 12: failure and evidence are written; then what was not delivered, where the window stands, and the end."""
        actor = self._actor
        if end.failure is not None:
            await self._ledger.append("error", error_payload(end))
            actor.emit(told(end.failure))
            actor.observe("error", end.failure)
        self._ledger.settle()
        await actor.evidence.finish(self.id, self._first_seq, end)
        actor.run = None
        for text in actor.steers.take():
            actor.emit(events.SteerDropped(text=text))
        actor.emit(actor.room.position())
        actor.emit(events.Finished(stop_reason=end.stop_reason, detail=end.detail))
        settle(self.ended)

    def fail(self, error: Exception) -> None:
        """The session died under this prompt: whoever waits for it is told."""
        settle(self.started, error)
        settle(self.ended, error)

    # -- effects

    def _start(self, effect: Effect, *, call_id: str | None = None, progress: Progress | None = None) -> Ticket:
        return self._work.start(effect, turn=self._turns, call_id=call_id, progress=progress)

    async def _do(self, effect: Effect) -> EffectOutcome:
        return await self._actor.outcome(self._start(effect))

    async def _hook(self, point: str, value: Any, *, unless_hooked: Any, **facts: Any) -> Any:
        """What the hooks of a point decide, or `unless_hooked` where there are none. Raises HookDenied and HookFailed."""
        if not self._actor.hooks.has(point):
            return unless_hooked
        outcome = await self._do(Hook(point=point, value=value, facts=facts))
        if outcome.error is None:
            return outcome.value
        if isinstance(outcome.error, HookDenied | HookFailed):
            raise outcome.error
        raise HookFailed(f"{point} hook ended with {type(outcome.error).__name__}")
