"""One prompt, from the person's words to `finished`: a function a step (core.md 4.2).

It runs in the actor's task. Wherever it waits for work it serves the inbox, so a person may steer, answer, look or cancel at
any moment; it is interrupted there and nowhere else, never between an append and what follows from it. What it waits for is
always an effect of the session's host: nothing here calls a provider, a tool or a hook.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from lmx_core import events
from lmx_core.callbacks import of_host
from lmx_core.calls import Outcome, ToolCall
from lmx_core.context import references
from lmx_core.context.attach import Attachment
from lmx_core.errors import Busy, Cancelled, Failure, HookDenied, HookFailed, NothingToRetry, SessionDown
from lmx_core.session.prompt.asking import Asking
from lmx_core.session.prompt.calls import Calls
from lmx_core.session.prompt.end import End, Ended, Interrupted, settle
from lmx_core.session.prompt.finish import Finish
from lmx_core.session.prompt.steps import Steps
from lmx_core.session.telling import of_answer, of_error, of_model, watched
from lmx_core.telemetry import Span
from lmx_core.transcript.replay import ends_in_failure
from lmx_core.turn.effects import Finished, ReadReferences, RunTools
from lmx_core.turn.guard import Record, Stop
from lmx_core.verdict import Deny

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

log = logging.getLogger("lmx_core")


class Run:
    """The state of one prompt, and its steps. `started` is what `prompt()` waits for, `ended` what `cancel()` does.

    With `attachments` it has what it refers to already, and no `@` in it is looked at. `text` None: what the transcript ends
    with is asked again (MET-6).
    """

    def __init__(
        self,
        actor: Actor,
        text: str | None,
        typed: str | None = None,
        *,
        follow_up: bool = False,
        attachments: list[Attachment] | None = None,
    ):
        loop = asyncio.get_running_loop()
        self.id = actor.ledger.new_id()
        self.started: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._actor, self._ledger, self._text, self._typed = actor, actor.ledger, text or "", typed
        self._asks_again = text is None
        self._follow_up, self._attachments = follow_up, attachments
        self._steps = Steps(actor, self.id)
        self._asking, self._calls = Asking(self._steps), Calls(self._steps)
        self._finish = Finish(self._steps, self._asking, close_calls=self._calls.interrupt)
        self._first_seq = 0
        self._record = Record()
        self._stop_hook_active = False

    @property
    def request_id(self) -> str | None:
        """The newest request's."""
        return self._asking.request_id

    def call(self, call_id: str) -> ToolCall | None:
        """The call of this id if it is running."""
        return self._calls.open(call_id)

    async def go(self) -> None:
        """Steps 1 to 12."""
        kind = "retry" if self._asks_again else "follow_up" if self._follow_up else "prompt"
        with self._watched("session.prompt", kind=kind, **of_model(self._actor.settings.model)) as span:
            await self._go(span)

    def _watched(self, what: str, **facts: object) -> AbstractContextManager[Span]:
        return watched(self._actor, self._steps.work, what, **facts)

    async def _go(self, span: Span) -> None:
        self._actor.fallback.begin()
        try:
            prompt = None if self._asks_again else await self._expanded(await self._admitted())
        except (HookDenied, HookFailed, Interrupted) as refusal:
            span.note(**of_error(refusal))
            await self._refuse(refusal)
            return
        self._first_seq = len(self._ledger.entries)
        if prompt is not None:
            await self._ledger.append("user", prompt)
        settle(self.started)
        await self._end(await self._finish.of(self._turns_until_the_end(), span))

    # -- before it begins

    async def _admitted(self) -> str:
        """Step 1: `user_prompt` hooks may refuse the prompt or rewrite it."""
        text: str = await self._steps.hook("user_prompt", self._text, unless_hooked=self._text)
        return text

    async def _expanded(self, text: str) -> dict[str, Any]:
        """Step 2: the payload of the prompt's entry, with what its `@` refer to; without, where reading that breaks."""
        if self._attachments is not None:
            return {"text": text, "attachments": self._attachments}
        if not (found := references.within(text, self._typed)):
            return {"text": text}
        outcome = await self._steps.do(ReadReferences(references=found, model=self._actor.settings.model))
        if outcome.error is not None:
            name = type(outcome.error).__name__
            log.warning("the references of a prompt could not be read (%s); it goes without them", name)
            return {"text": text}
        return {"text": text, "attachments": outcome.value} if outcome.value else {"text": text}

    async def _refuse(self, why: HookDenied | HookFailed | Interrupted) -> None:
        """Nothing was written and nothing is announced: the prompt never began. Of a follow-up nobody waits for that."""
        self._steps.work.abandon()
        if self._follow_up and isinstance(why, Interrupted):
            self._actor.follow_ups.put_back(self._text)
        elif self._follow_up:
            code = "hook_denied" if isinstance(why, HookDenied) else "hook_failed"
            await self._ledger.append("error", {"reason": str(why), "code": code, "follow_up": self._text})
            self._actor.emit(events.FollowUpDropped(text=self._text, reason=str(why)))
        self._actor.run = None
        settle(self.started, Cancelled() if isinstance(why, Interrupted) else why)
        settle(self.ended)

    # -- the loop

    async def _turns_until_the_end(self) -> End:
        """Ask, run what was called, ask again, until an answer is final."""
        while True:
            answer = await self._turn()
            if isinstance(answer, Finished) and (end := await self._final(answer)) is not None:
                return end

    async def _turn(self) -> RunTools | Finished:
        """One answer, and what it called."""
        with self._watched("turn") as span:
            answer = await self._asking.answered()
            span.note(request_id=self.request_id, **of_answer(answer))
            if isinstance(answer, RunTools):
                outcomes = await self._calls.run(answer)
                self._ask_guard(outcomes)
            return answer

    def _ask_guard(self, outcomes: list[Outcome]) -> None:
        """Ends the prompt when it goes in circles (GU-1)."""
        self._record = self._record.settled(outcomes)
        view = self._record.view(
            turns_taken=self._steps.turns, max_turns=self._actor.limits.max_turns, messages=self._actor.messages
        )
        verdict = of_host("guard=", self._actor.guard.decide, view)
        if isinstance(verdict, Stop):
            failure = Failure(code=verdict.reason, message=verdict.message)
            raise Ended(End(stop_reason=verdict.reason, failure=failure))

    # -- the end

    async def _final(self, answer: Finished) -> End | None:
        """Step 11: the end, or None when a steer or a stop hook has more to say."""
        if self._steered():
            return None
        objection = await self._steps.hook(
            "stop", answer.stop_reason, unless_hooked=None, stop_hook_active=self._stop_hook_active
        )
        if isinstance(objection, Deny):
            if (refusal := self._steps.refusal()) is not None:
                return self._steps.budget_end(refusal)
            await self._ledger.append("user", {"text": objection.reason, "stop_hook": True})
            self._stop_hook_active = True
            return None
        await self._actor.catch_up()
        return None if self._steered() else End(stop_reason=answer.stop_reason)

    def _steered(self) -> bool:
        return bool(self._actor.steers.waiting) and self._steps.refusal() is None

    async def _end(self, end: End) -> None:
        """Step 12: failure and evidence are written; then what was not delivered, where the window stands, and the end."""
        actor = self._actor
        await self._finish.write_failure(end)
        await actor.evidence.finish(self.id, self._first_seq, end)
        actor.run = None
        for text in actor.steers.take():
            actor.emit(events.SteerDropped(text=text))
        self._finish.say(end)
        settle(self.ended)

    def fail(self, error: Exception) -> None:
        """The session died under this prompt: whoever waits for it is told."""
        if self._follow_up and not self.started.done():
            self._actor.follow_ups.put_back(self._text)
        settle(self.started, error)
        settle(self.ended, error)


async def again(actor: Actor) -> asyncio.Future[None]:
    """Asks once more what the transcript ends with; the future of the moment the work has begun (MET-6).

    Raises Busy, SessionDown, NothingToRetry.
    """
    if actor.run is not None:
        raise Busy
    if actor.is_ending:
        raise SessionDown("stopped")
    if not ends_in_failure(actor.ledger.entries):
        raise NothingToRetry
    actor.run = run = Run(actor, None)
    return run.started
