"""Shortening a conversation: a summary is asked for, judged, written, and only then in force (CO-5 to CO-7).

A function a step, in the actor's task, before a request of a prompt or, for `compact()`, in place of one. Until the
`compaction` entry is on disk nothing is cut: whatever goes wrong before leaves the conversation whole, and a crash needs no
repair.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core import events
from lmx_core.callbacks import of_host
from lmx_core.context.compaction import closing_message
from lmx_core.entry import Entry
from lmx_core.errors import BudgetExceeded, CallbackFailed, Cancelled, CompactionFailed, Failure, NothingToDo
from lmx_core.request import Done, Error, Forecast, ProviderEvent, Request
from lmx_core.session.inbox import Work
from lmx_core.session.prompt.end import Interrupted
from lmx_core.session.prompt.errand import Errand
from lmx_core.session.telling import watched
from lmx_core.transcript.weight import overhead, tokens_of
from lmx_core.turn.budget import Refusal
from lmx_core.turn.effects import Append, EffectOutcome, Emit, Finished, ModelCall, Review, RunTools, Sleep, TurnEffect
from lmx_core.turn.turn import INCOMPLETE_STREAM, Turn
from lmx_core.usage import Usage

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

OUTPUT_TOKENS, MOST_OUTPUT_TOKENS = 8_192, 16_384
"""What a summary may take where nobody says, and the most that is taken over from the session's `max_tokens`."""
RETRY_MS, LONGEST_RETRY_MS = 2_000, 60_000
NOT_FOR_SUMMARIES = ("max_tokens", "stop")
TOLD = (events.UsageEvent, events.ResponseMetadata, events.ProviderWait)
"""What is told of a summary while it is made."""


Reviewing = Callable[[str], Awaitable[str | None]]
"""Whether a summary may stand: the text that is to, or None."""


class NotTaken(Exception):
    """Whoever asked for a summary did not want it."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`elders` are to be summarised, an earlier summary among them; `cut` are those that will no longer be sent."""

    elders: tuple[Entry, ...]
    cut: tuple[Entry, ...]
    forecast: int
    weight: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a summary request. `refusal` says why it is no summary; `failure` is the provider's reason, if any."""

    text: str = ""
    usage: dict[str, Any] | None = None
    sections: dict[str, list[str]] | None = None
    refusal: str | None = None
    failure: Failure | None = None


class Summarising:
    """One compaction. `trigger` is `threshold`, `overflow` or `request`; `turn` the turn it precedes."""

    def __init__(self, actor: Actor, work: Work, *, trigger: str, turn: int = 0, review: Reviewing | None = None):
        self._actor, self._ledger, self._options = actor, actor.ledger, actor.settings.options
        self._work, self._trigger, self._turn = work, trigger, turn
        self.request_id: str | None = None
        self._review = review
        self.unwritten: dict[str, Any] | None = None
        """What a summary has cost that is still looked at."""

    def plan(self) -> Plan | None:
        """What to cut, or None where there is too little or no safe place (CO-3, CO-4)."""
        pending = self._actor.request("")
        head = self._ledger.projection.head
        if not self._strategy("has_conversation", pending.entries):
            return None
        forecast = self._actor.room.forecast(pending)
        rest = pending.entries[head:]
        if not (count := self._strategy("plan", rest, self._actor.room.keep(pending, forecast))):
            return None
        return Plan(
            elders=pending.entries[: head + count],
            cut=rest[:count],
            forecast=forecast,
            weight=self._ledger.projection.weight,
        )

    def _strategy(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Asks the session's strategy. Raises CallbackFailed where it breaks."""
        return of_host(f"{method}() of compaction=", getattr(self._options.compaction, method), *args, **kwargs)

    async def go(self, plan: Plan) -> events.Compacted:
        """Raises CompactionFailed, and then nothing was cut, or Interrupted."""
        with watched(self._actor, self._work, "compaction", kind=self._trigger) as span:
            self._actor.emit(events.CompactionPlanned(trigger=self._trigger, forecast=plan.forecast))
            answer = await self._reviewed(await self._answered(plan))
            summarised = await self._written(plan, answer)
            span.note(outcome="ok", request_id=self.request_id)
            return summarised

    async def _answered(self, plan: Plan) -> Answer:
        """Asks, and once more where the failure may pass (CO-6)."""
        answer = await self._asked(plan)
        if answer.failure is not None and answer.failure.is_transient and await self._admitted(plan, answer):
            await self._record(answer, retrying=True)
            await self._actor.outcome(self._work.start(Sleep(_delay(answer.failure)), turn=self._turn))
            answer = await self._asked(plan)
        if answer.refusal is None:
            return answer
        await self._record(answer, retrying=False)
        self._actor.room.failed()
        self._actor.emit(events.CompactionFailed(reason=answer.refusal))
        raise CompactionFailed(answer.refusal)

    async def _reviewed(self, answer: Answer) -> Answer:
        """The summary as whoever asked for it lets it stand. Raises NotTaken, CompactionFailed for a text that is none."""
        if self._review is None:
            return answer
        self.unwritten = answer.usage
        outcome = await self._actor.outcome(self._work.start(Review(ask=self._review, text=answer.text)))
        if outcome.error is not None:
            raise CallbackFailed("review=", f"raised {type(outcome.error).__name__}")
        if outcome.value is None:
            raise NotTaken
        changed = await self._read(msgspec.structs.replace(answer, text=str(outcome.value)))
        if changed.refusal is not None:
            self.unwritten = None
            await self._record(changed, retrying=False)
            raise CompactionFailed(changed.refusal)
        return changed

    async def _admitted(self, plan: Plan, failed: Answer) -> bool:
        """Whether the budget has another request after one that failed, whose usage is not written yet."""
        counted = self._actor.limits.refusal(turns=0, requests=self._ledger.requests)
        unwritten = None if self._ledger.turned_away else Usage.from_dict(failed.usage or {})
        return counted is None and await self.unaffordable(plan, unwritten) is None

    async def unaffordable(self, plan: Plan, unwritten: Usage | None = None) -> Refusal | None:
        """Why the summary does not fit into the session's cost."""
        request, closing = self._request(plan)
        size = Forecast(input_tokens=plan.forecast + tokens_of(len(closing.encode())))
        return await self._actor.spending.refusal(request, size, self._work, turn=self._turn, unwritten=unwritten)

    async def _asked(self, plan: Plan) -> Answer:
        """One request, recorded, and what came of it. Its words are not shown as they come: they are nobody's answer."""
        self.request_id = self._ledger.new_id()
        request, closing = self._request(plan)
        record = self._actor.record_of(request, kind="compaction", closing=closing)
        await self._ledger.append("request", record, id=self.request_id)
        turn = Turn(entry_id=self.request_id, request_id=self.request_id, model=request.model)
        effects = turn.fold(await self._streamed(request, turn))
        self._tell(effects)
        answer = _judged(effects)
        if turn.was_turned_away(answer.failure):
            self._ledger.turn_away()
        if request.model == self._actor.settings.model and answer.failure is not None:
            self._actor.room.told(served=None, stated=answer.failure.stated_context_window)
        if answer.refusal is not None:
            return answer
        if not answer.text.strip():
            return msgspec.structs.replace(answer, refusal=self._actor.messages.summary_empty())
        return await self._read(answer)

    async def _read(self, answer: Answer) -> Answer:
        """What the strategy finds in it. Where that breaks, what the answer has cost is written all the same."""
        try:
            text = self._strategy("summary", answer.text, self._options.summary_max_bytes)
            sections = self._strategy("sections", text) if self._options.summary_sections else None
        except CallbackFailed as error:
            refused = msgspec.structs.replace(answer, refusal=str(error.__cause__ or error))
            if isinstance(error.__cause__, ValueError):  # how a strategy says that there is none
                return refused
            await self._record(msgspec.structs.replace(refused, refusal=str(error)), retrying=False)
            raise
        return msgspec.structs.replace(answer, text=text, sections=sections)

    def _request(self, plan: Plan) -> tuple[Request, str]:
        """The summary request (CO-5) and the words that close it."""
        options, last = self._options, plan.elders[-1]
        closing = self._strategy("instructions", sections=options.summary_sections)
        wanted = options.params.get("max_tokens")
        limit = min(wanted, MOST_OUTPUT_TOKENS) if isinstance(wanted, int) else OUTPUT_TOKENS
        params = {name: value for name, value in options.params.items() if name not in NOT_FOR_SUMMARIES}
        request = Request(
            model=options.summary_model or self._actor.settings.model,
            entries=(*plan.elders, closing_message(last, closing)),
            system=options.system,
            params={**params, "max_tokens": limit, **options.summary_params},
            reasoning_effort=None if options.reasoning_effort in (None, "none") else "low",
            context={
                "request_id": self.request_id,
                "session_id": self._actor.id,
                "cwd": str(options.cwd),
                "cache": False,  # nobody will send this prefix again
            },
        )
        return request, closing

    async def _streamed(self, request: Request, turn: Turn) -> ProviderEvent:
        def hear(event: ProviderEvent) -> None:
            if isinstance(event, Done | Error):
                self._work.report(ticket, EffectOutcome(value=event))
            else:
                self._tell(turn.fold(event))

        ticket = self._work.start(ModelCall(request), turn=self._turn, progress=hear)
        outcome = await self._actor.outcome(ticket)
        return outcome.value if outcome.error is None and outcome.value is not None else Error(INCOMPLETE_STREAM)

    def _tell(self, effects: Sequence[TurnEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Emit) and isinstance(effect.event, TOLD):
                self._actor.emit(effect.event)

    async def _record(self, answer: Answer, *, retrying: bool) -> None:
        """The `error` entry of a summary that is none, with what it cost (REC-6)."""
        failure = answer.failure
        parts: dict[str, Any] = {
            "reason": answer.refusal,
            "code": failure.code if failure else None,
            "category": failure.category if failure else None,
            "http_status": failure.http_status if failure else None,
            "request_id": self.request_id,
            "trigger": self._trigger,
            "retrying": retrying or None,
        }
        payload = {name: value for name, value in parts.items() if value is not None}
        await self._ledger.append("error", payload, usage=answer.usage)

    async def _written(self, plan: Plan, answer: Answer) -> events.Compacted:
        """The `compaction` entry; with it, and not before, the cut is in force (CO-7)."""
        payload: dict[str, Any] = {
            "summary": answer.text,
            **_slice(plan.cut),
            "request_id": self.request_id,
            "trigger": self._trigger,
        }
        if answer.sections is not None:
            payload["sections"] = answer.sections
        await self._ledger.append("compaction", payload, usage=answer.usage)
        fixed = overhead(self._options.system, self._actor.settings.specs)
        after = plan.forecast * (self._ledger.projection.weight + fixed) // max(1, plan.weight + fixed)
        told = events.Compacted(
            summary=answer.text,
            entries=[entry.id for entry in plan.cut],
            sections=answer.sections,
            tokens={"before": plan.forecast, "after": after},
            usage=answer.usage,
            trigger=self._trigger,
        )
        self._actor.room.compacted(automatic=self._trigger != "request")
        self._actor.emit(told)
        return told


class Compacting(Errand[events.Compacted]):
    """`compact()` at work."""

    def __init__(self, actor: Actor, review: Reviewing | None = None):
        super().__init__(actor)
        self._summarising = Summarising(actor, self._work, trigger="request", review=review)
        self.plan = self._plan()

    def _plan(self) -> Plan:
        """Raises NothingToDo or BudgetExceeded."""
        if (plan := self._summarising.plan()) is None:
            raise NothingToDo("the conversation is too short to be summarised")
        refusal = self._actor.limits.refusal(turns=0, requests=self._actor.ledger.requests)
        if refusal is not None:
            raise self._exceeded(refusal)
        return plan

    def _exceeded(self, refusal: Refusal) -> BudgetExceeded:
        return BudgetExceeded(self._actor.messages.budget_stopped(refusal.detail), refusal.detail)

    async def _summarised(self) -> events.Compacted:
        if (refusal := await self._summarising.unaffordable(self.plan)) is not None:
            raise self._exceeded(refusal)
        return await self._summarising.go(self.plan)

    @property
    def request_id(self) -> str | None:
        return self._summarising.request_id

    async def go(self) -> None:
        try:
            told = await self._summarised()
        except CallbackFailed as error:
            await self._nothing_cut("review_failed" if self._summarising.unwritten else None)
            self._finish(error)
        except (CompactionFailed, BudgetExceeded) as error:
            self._work.abandon()
            self._finish(error)
        except Interrupted as interruption:
            await self._nothing_cut(interruption.reason)
            self._finish(Cancelled("the compaction was cancelled; nothing was cut"))
        except NotTaken:
            await self._nothing_cut("summary_not_taken")
            self._finish(Cancelled("the summary was not taken; nothing was cut"))
        else:
            self._finish(told)

    async def _nothing_cut(self, reason: str | None) -> None:
        """Records why, with what a summary has cost that nobody took."""
        self._work.abandon()
        if reason is not None:
            payload = {"reason": reason, "trigger": "request"}
            await self._actor.ledger.append("cancelled", payload, usage=self._summarising.unwritten)

    def _finish(self, outcome: events.Compacted | Exception) -> None:
        actor = self._actor
        actor.ledger.settle()
        actor.run = None
        actor.emit(actor.room.position())
        self.over(outcome)


async def clear(actor: Actor) -> int:
    """Cuts everything so far without a summary and returns how many entries that were (MET-8). Raises NothingToDo."""
    sent = actor.ledger.projection.entries()
    if not sent:
        raise NothingToDo("there is no conversation to clear")
    await actor.ledger.append("compaction", {"summary": None, **_slice(sent), "trigger": "clear"})
    actor.room.cleared()
    actor.emit(events.Cleared(entries=len(sent)))
    actor.emit(actor.room.position())
    return len(sent)


def _slice(cut: Sequence[Entry]) -> dict[str, Any]:
    """How a `compaction` entry names what it cuts (REC-8): by entries of the transcript, never by request-only ones."""
    written = [entry.id for entry in cut if not entry.meta.get("synthetic")]
    return {"from": written[0], "to": written[-1], "entries": len(cut)}


def _delay(failure: Failure) -> int:
    asked = failure.retry_after_ms
    return RETRY_MS if asked is None else min(asked, LONGEST_RETRY_MS)


def _judged(effects: Sequence[TurnEffect]) -> Answer:
    """Only an answer in words that ended by itself can be a summary (CO-6)."""
    text, usage = "", None
    for effect in effects:
        match effect:
            case Append():
                usage = effect.usage
                content = effect.payload["content"]
                text = "".join(part["text"] for part in content if part.get("type") == "text")
            case RunTools():
                return Answer(usage=usage, refusal="the model called a tool instead of writing a summary")
            case Finished(failure=Failure() as failure):
                return Answer(usage=usage, refusal=failure.message, failure=failure)
            case Finished(stop_reason=reason) if reason != "stop":
                return Answer(usage=usage, refusal=f"the summary was cut off ({reason})")
    return Answer(text=text, usage=usage)
