"""A question beside the conversation: one request without tools, of a kind its host names (MET-10).

It stands where a prompt would, so the session is busy and can be cancelled. It sees the conversation and leaves it as it was:
what it writes is marked with its kind and is sent with no later request. Put into the conversation instead, a title that a host
asked for would be answered again by the next turn. Retries, fallbacks and budgets are those of any request.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.calls import Outcome, ToolCall
from lmx_core.entry import Entry
from lmx_core.errors import Busy, Cancelled, Failure, HookDenied, HookFailed, SessionDown
from lmx_core.request import Request
from lmx_core.session.prompt.asking import Asking
from lmx_core.session.prompt.end import End, Ended, Interrupted, Retry, settle
from lmx_core.session.prompt.finish import Finish
from lmx_core.session.prompt.steps import Steps
from lmx_core.session.telling import of_error, of_model, watched
from lmx_core.telemetry import Span
from lmx_core.transcript.replay import is_aside, unanswered_calls
from lmx_core.turn.effects import Finished, RunTools
from lmx_core.verdict import Deny

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

CALLED_TOOLS = Failure(
    code="aside_called_tools", message="the model called a tool where an answer in words was asked for", retryable=False
)
_KIND = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_TAKEN = ("turn", "compaction")


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """A question beside the conversation. `kind` names it in records: small letters, digits and `_ . -`, at most 64.

    `params` are merged over the session's generation parameters. An `@` in `text` attaches nothing.
    """

    kind: str
    text: str
    params: dict[str, Any] = {}

    def problem(self) -> str | None:
        """What is wrong with it, or None."""
        if not isinstance(self.kind, str) or _KIND.fullmatch(self.kind) is None or self.kind in _TAKEN:
            return f"the kind of an aside is a word such as title, and not {' or '.join(_TAKEN)}"
        if not isinstance(self.text, str) or not self.text.strip():
            return "an aside must be text with something in it"
        return None if isinstance(self.params, dict) else "the params of an aside are a dict"


class _AsideAsking(Asking):
    """Asks without tools, steers, compaction or a snapshot of its own."""

    def __init__(self, steps: Steps, aside: Aside):
        super().__init__(steps, mark={"aside": aside.kind})
        self._aside = aside
        self.question: Entry | None = None

    async def _prepared(self, retry: Retry | None) -> Request:
        request = await self._built(retry)
        if (refusal := await self._steps.unaffordable(request)) is not None:
            raise Ended(self._steps.budget_end(refusal)) if retry is None else Ended(retry.failed)
        return request

    async def _built(self, retry: Retry | None) -> Request:
        """As the hooks want it, but without the tools that one may have put in."""
        return msgspec.structs.replace(await super()._built(retry), tools=())

    async def _drafted(self) -> Request:
        assert self.question is not None
        self.request_id = self._ledger.new_id()
        request = self._actor.request(self.request_id)
        return msgspec.structs.replace(
            request,
            entries=(*request.entries, self.question),
            tools=(),
            params={**request.params, **self._aside.params},
            context={**request.context, "cache": False},  # nobody will send this prefix again
        )

    async def _record(self, request: Request, retry: Retry | None) -> None:
        record = self._actor.record_of(request, retry, kind=self._aside.kind)
        await self._ledger.append("request", record, id=self.request_id)

    async def _recovered(self, answer: Finished) -> bool:
        return False


class Asiding:
    """An aside at work. `started` is what settles once it has begun, `ended` what `cancel()` waits for."""

    def __init__(self, actor: Actor, aside: Aside):
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._actor, self._ledger, self._aside = actor, actor.ledger, aside
        self._steps = Steps(actor, actor.ledger.new_id())
        self._asking = _AsideAsking(self._steps, aside)
        self._mark = {"aside": aside.kind}
        self._finish = Finish(self._steps, self._asking, mark=self._mark)

    @property
    def request_id(self) -> str | None:
        return self._asking.request_id

    def call(self, call_id: str) -> ToolCall | None:
        """No tool runs in an aside."""
        return None

    async def go(self) -> None:
        facts = {"kind": "aside", **of_model(self._actor.settings.model)}
        with watched(self._actor, self._steps.work, "session.prompt", **facts) as span:
            await self._go(span)

    async def _go(self, span: Span) -> None:
        try:
            text = await self._hook("user_prompt", self._aside.text, unless_hooked=self._aside.text)
        except (HookDenied, HookFailed, Interrupted) as refusal:
            span.note(**of_error(refusal))
            self._steps.work.abandon()
            self._actor.run = None
            settle(self.started, Cancelled() if isinstance(refusal, Interrupted) else refusal)
            settle(self.ended)
            return
        self._asking.question = await self._ledger.append("user", {"text": text, **self._mark})
        settle(self.started)
        await self._end(await self._finish.of(self._answered(), span))

    async def _hook(self, point: str, value: Any, *, unless_hooked: Any) -> Any:
        return await self._steps.hook(point, value, unless_hooked=unless_hooked, aside=self._aside.kind)

    async def _answered(self) -> End:
        answer = await self._asking.answered()
        if isinstance(answer, RunTools):
            for call in answer.calls:
                await deny(self._actor, call, self._aside.kind)
            return End(stop_reason="error", failure=CALLED_TOOLS, request_id=self.request_id)
        objection = await self._hook("stop", answer.stop_reason, unless_hooked=None)
        if isinstance(objection, Deny):
            failure = Failure(code="hook_failed", message=objection.reason)
            return End(stop_reason="hook_failed", failure=failure, request_id=self.request_id)
        return End(stop_reason=answer.stop_reason)

    async def _end(self, end: End) -> None:
        """Steers wait on for the next prompt: nothing was said to the model that they are for."""
        await self._finish.write_failure(end)
        self._actor.run = None
        self._finish.say(end)
        settle(self.ended)

    def fail(self, error: Exception) -> None:
        """The session died under it: whoever waits for it is told."""
        settle(self.started, error)
        settle(self.ended, error)


async def deny(actor: Actor, call: ToolCall, kind: str) -> None:
    """Gives a call that an aside made its one result: it was not run."""
    text = actor.messages.aside_denied(call)
    denied = Outcome(call=call, outcome="denied", text=text, arguments=call.arguments)
    await actor.ledger.append("tool_result", {**denied.to_payload(), "aside": kind})


async def heal(actor: Actor) -> None:
    """Denies the calls of an aside that a crash left without their results (RS-2); none of them can have run."""
    for answer, call in _left_open(actor.ledger.entries):
        await deny(actor, call, str(answer.payload["aside"]))


def _left_open(entries: Sequence[Entry]) -> list[tuple[Entry, ToolCall]]:
    """An answer and the results of its calls are written one right after another."""
    last = list(takewhile(is_aside, reversed(entries)))
    return unanswered_calls(reversed(last))


async def begin(actor: Actor, aside: Aside) -> asyncio.Future[None]:
    """The future of the moment it has begun. Raises Busy, SessionDown."""
    if actor.run is not None:
        raise Busy
    if actor.is_ending:
        raise SessionDown("stopped")
    actor.run = asiding = Asiding(actor, aside)
    return asiding.started
