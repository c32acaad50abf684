"""The calls of one answer: run in their order, each with exactly one result in the transcript (DI-1, DI-2)."""

from __future__ import annotations

import asyncio
from typing import Any

from lmx_core import events
from lmx_core.calls import DEFAULT_MAX_OUTPUT_BYTES, Outcome, Receipt, ToolCall
from lmx_core.messages import SentenceFailed, dollars
from lmx_core.session.inbox import Ticket
from lmx_core.session.prompt.steps import Steps
from lmx_core.tools.output import HeadTail
from lmx_core.turn import wave as waves
from lmx_core.turn.budget import declared_maximum, fits
from lmx_core.turn.effects import RunTools, ToolAttempt
from lmx_core.turn.wave import Wave


class Calls:
    """Runs one wave at a time."""

    def __init__(self, steps: Steps):
        self._steps, self._actor, self._ledger = steps, steps.actor, steps.actor.ledger
        self._wave: Wave | None = None
        self._receipts: dict[
            str, dict[str, Any]
        ] = {}  # what the other side has acknowledged, by the id of a running call
        self._reserved: dict[str, float] = {}  # dollars that a running call may cost at most (DI-6)
        self._said: dict[str, HeadTail] = {}  # what a running call has said so far, in case it is cancelled

    def open(self, call_id: str) -> ToolCall | None:
        """The call of this id if it is running."""
        return self._wave.open.get(call_id) if self._wave is not None else None

    async def run(self, asked: RunTools) -> list[Outcome]:
        """Runs the calls of an answer in their order; each result is written as it comes (DI-1, DI-2)."""
        wave = self._wave = Wave(asked.calls, self._actor.describe)
        running: dict[Ticket, ToolCall] = {}
        outcomes: list[Outcome] = []
        while wave.open:
            for call in wave.ready():
                if call.id == asked.cut_off:
                    outcomes.append(await self._answer(waves.cut_off(call)))
                elif (refused := self._unaffordable(call)) is not None:
                    outcomes.append(await self._answer(refused))
                else:
                    running[self._start_call(call)] = call
            if running:
                ticket = await self._first(running)
                outcomes.append(await self._answer(self._result(running.pop(ticket), ticket)))
        self._wave = None
        return outcomes

    def _start_call(self, call: ToolCall) -> Ticket:
        said = self._said[call.id] = HeadTail(DEFAULT_MAX_OUTPUT_BYTES)

        def progress(item: str | Receipt) -> None:
            if isinstance(item, Receipt):
                self._receipts[call.id] = item.reported
                self._actor.emit(events.ToolReceipt(call_id=call.id, name=call.name, receipt=item.reported))
                return
            said.add(item)
            self._actor.emit(events.ToolDelta(call_id=call.id, name=call.name, text=item))

        return self._steps.start(ToolAttempt(call), call_id=call.id, progress=progress)

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
        if isinstance(error, SentenceFailed):
            raise error
        text = self._actor.messages.tool_crashed(call, type(error).__name__)
        return Outcome(call=call, outcome="crashed", text=text, arguments=call.arguments)

    async def _answer(self, outcome: Outcome) -> Outcome:
        """Writes the one result of a call; a question of it that nobody has answered yet is withdrawn (DI-4)."""
        assert self._wave is not None
        await self._actor.approvals.withdraw(outcome.call.id)
        await self._ledger.append("tool_result", outcome.to_payload())
        self._wave.answered(outcome.call.id)
        for kept in (self._said, self._receipts, self._reserved):
            kept.pop(outcome.call.id, None)
        return outcome

    def _unaffordable(self, call: ToolCall) -> Outcome | None:
        """The answer to a call that costs money under a limit, if it does not fit beside those that run already (DI-6).

        What a tool with a remote effect declares at most is set aside until its result says what it was.
        """
        cap, described = self._actor.limits.max_cost_usd, self._actor.describe(call.name)
        if cap is None or described is None or described.effects.effect != "external":
            return None
        most, spent = declared_maximum(described.effects.external_cost), self._ledger.spent.cost_usd
        if most == 0:
            return None
        if most is not None and spent is not None and fits(cap, [spent, *self._reserved.values(), most]):
            self._reserved[call.id] = most
            return None
        if most is None:
            text = f"not run: what {call.name} may cost is not known, and this session has a cost limit."
        else:
            text = (
                f"not run: {call.name} may cost up to {dollars(most)}, more than is left of the session's cost limit."
            )
        return Outcome(call=call, outcome="budget", text=text, arguments=call.arguments)

    async def interrupt(self, session_over: bool) -> None:
        """Gives every open call its one result (MET-5)."""
        if self._wave is not None:
            for call in list(self._wave.open.values()):
                await self._answer(self._unfinished(call, session_over=session_over))
        await self._actor.approvals.withdraw_all()

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
            reported=self._receipts.get(call.id),
        )
