"""The default effect host: runs each effect at once, in a task of its own, and records nothing (EFF-2).

A crash loses the run in flight; the transcript keeps what was written and a resume heals the rest (RS-2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.calls import Outcome, Receipt, ToolCall, ToolContext
from lmx_core.clock import Clock, sleep
from lmx_core.context.attach import Attachment, attach
from lmx_core.context.outbound import Outbound
from lmx_core.context.refresh import refresh
from lmx_core.hooks.base import OBSERVED, HookChain, HookContext
from lmx_core.messages import Messages
from lmx_core.providers import base as providers
from lmx_core.providers.admission import Limits, Passage
from lmx_core.providers.base import Provider
from lmx_core.request import Queued, Request
from lmx_core.session.commands.permit import may_run
from lmx_core.session.telling import Heard, of_model, of_session, waited
from lmx_core.tasks import Spawn
from lmx_core.telemetry import Telemetry
from lmx_core.tools import run as tools
from lmx_core.tools.catalog import Catalog
from lmx_core.turn.effects import (
    CostEstimate,
    Effect,
    EffectKey,
    EffectOutcome,
    Hook,
    ModelCall,
    ModelFacts,
    ReadReferences,
    Refresh,
    Review,
    Running,
    Sleep,
    ToolAttempt,
)
from lmx_core.verdict import Allow, Deny, Rewrite

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

Progress = Callable[[Any], None]


class InlineEffectHost:
    """Carries out effects with these parts. `tool_context` makes the context of a call, by its id; `hook_context` a hook's.

    `modalities` is what every model reads besides text, where the host knows better than the provider. `limits` is what every
    request passes first; None lets each go at once.
    """

    def __init__(
        self,
        *,
        provider: Provider,
        catalog: Catalog,
        hooks: HookChain,
        messages: Messages,
        clock: Clock,
        spawn: Spawn,
        tool_context: Callable[[str], ToolContext],
        hook_context: Callable[..., HookContext],
        telemetry: Telemetry,
        limits: Limits | None,
        outbound: Outbound,
        modalities: frozenset[str] | None = None,
    ):
        self._provider, self._catalog, self._hooks = provider, catalog, hooks
        self._messages, self._clock, self._spawn = messages, clock, spawn
        self._tool_context, self._hook_context = tool_context, hook_context
        self._telemetry, self._outbound = telemetry, outbound
        self._modalities, self._limits = modalities, limits
        self._known_to_read: dict[str, frozenset[str]] = {}

    def start(
        self, key: EffectKey, effect: Effect, progress: Progress, done: Callable[[EffectOutcome], None]
    ) -> Running:
        task = self._spawn(self._carry_out(key, effect, progress), kind=key.kind, id=str(key))
        task.add_done_callback(lambda ended: done(_outcome(ended)))
        return task

    async def _carry_out(self, key: EffectKey, effect: Effect, progress: Progress) -> Any:
        match effect:
            case ModelCall(request):
                return await self._ask(key, request, progress)
            case ToolAttempt(call):
                return await self._call(key, call, progress)
            case Hook():
                return await self._hook(effect)
            case Sleep(ms):
                return await sleep(self._clock, ms)
            case ModelFacts(model):
                window = await providers.context_window(self._provider, model)
                return window, await self._reads(model)
            case CostEstimate(request):
                return await providers.estimate_cost(self._provider, request)
            case ReadReferences():
                return await self._read(effect)
            case Refresh():
                return await self._refresh(effect)
            case Review(ask=ask, text=text):
                return await ask(text)

    async def _ask(self, key: EffectKey, request: Request, progress: Progress) -> None:
        """One attempt, once the limiter lets it go. It waits here, in its own task, before anything is sent or timed (AD-5)."""
        if self._limits is None:
            await self._attempt(key, request, progress)
            return
        waiting = partial(_told_to_wait, progress, partial(waited, self._telemetry, _facts(key, request)))
        passage = Passage(self._limits, self._provider, request, waiting=waiting)
        try:
            if await providers.before(passage.enter(), progress):
                await self._attempt(key, request, progress, told=passage.hear)
        finally:
            passage.leave()

    async def _attempt(
        self, key: EffectKey, request: Request, progress: Progress, *, told: providers.Told = providers.nobody
    ) -> None:
        span = self._telemetry.start("provider.request", _facts(key, request))
        try:
            heard = Heard(span, progress) if span else progress
            await providers.run(self._provider, self._to_send(request), heard, told=told)
        finally:
            span.stop(outcome="cancelled")  # unless it has ended otherwise

    async def _call(self, key: EffectKey, call: ToolCall, progress: Progress) -> Outcome:
        known = call.name if call.name in self._catalog.names else None  # any other name is the model's own words
        facts = {**of_session(key.session_id), "call_id": call.id, "tool_name": known}
        span = self._telemetry.start("tool.call", facts)
        try:
            context = msgspec.structs.replace(
                self._tool_context(call.id), acknowledged=lambda reported: progress(Receipt(reported))
            )
            outcome = await tools.run(self._catalog, self._hooks, call, context, progress, messages=self._messages)
            span.note(outcome=outcome.outcome)
            return outcome
        except asyncio.CancelledError:
            span.note(outcome="cancelled")
            raise
        finally:
            span.stop()

    async def _read(self, asked: ReadReferences) -> list[Attachment]:
        context = self._tool_context("")
        reads = await self._reads(asked.model)
        return await attach(
            asked.references, context.environment, context.cwd, reads, context.secrets, self._hooks.unreadable
        )

    async def _refresh(self, asked: Refresh) -> list[Attachment]:
        context = self._tool_context("")
        reads = await self._reads(asked.model)
        return await refresh(
            asked.attachments, context.environment, context.cwd, reads, context.secrets, self._hooks.unreadable
        )

    def _to_send(self, request: Request) -> Request:
        """What may leave. A model nobody was asked about is sent no media."""
        reads = (
            self._modalities if self._modalities is not None else self._known_to_read.get(request.model, frozenset())
        )
        return self._outbound.request(request, reads)

    async def _reads(self, model: str) -> frozenset[str]:
        """What a model is known to read besides text (OPT-50); the provider is asked once a model."""
        if self._modalities is not None:
            return self._modalities
        if model not in self._known_to_read:
            self._known_to_read[model] = await providers.input_modalities(self._provider, model)
        return self._known_to_read[model]

    async def _hook(self, hook: Hook) -> Any:
        context = self._hook_context(**hook.facts)
        match hook.point:
            case "user_prompt":
                return await self._hooks.user_prompt(hook.value, context)
            case "prepare_next_turn":
                return await self._hooks.prepare_next_turn(hook.value, context)
            case "stop":
                return await self._hooks.stop(hook.value, context)
            case point:
                assert point in OBSERVED
                return await self._hooks.observe(point, hook.value, context)


@contextmanager
def _told_to_wait(progress: Progress, waits: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Says that a request waits, unless it is let go at once: a turn that stands still without a word looks broken."""
    told = False

    def tell() -> None:
        nonlocal told
        told = True
        progress(Queued(waiting=True))

    soon = asyncio.get_running_loop().call_soon(tell)
    try:
        with waits():
            yield
    finally:
        soon.cancel()
        if told:
            progress(Queued(waiting=False))


def _facts(key: EffectKey, request: Request) -> dict[str, object]:
    """What telemetry may say of a request."""
    id = request.context.get("request_id")
    return {**of_session(key.session_id), "request_id": id, **of_model(request.model)}


def _outcome(task: asyncio.Task[Any]) -> EffectOutcome:
    if task.cancelled():
        return EffectOutcome(error=asyncio.CancelledError())
    error = task.exception()
    return EffectOutcome(value=None if error else task.result(), error=error)


def host_of(actor: Actor) -> InlineEffectHost:
    """The default host of a session, with the provider and the tools that are in force now."""
    options = actor.settings.options
    return InlineEffectHost(
        provider=actor.provider,
        catalog=actor.settings.catalog,
        hooks=actor.hooks,
        messages=actor.messages,
        clock=actor.clock,
        spawn=actor.mount.spawn,
        tool_context=partial(_tool_context, actor),
        hook_context=partial(_hook_context, actor),
        modalities=options.input_modalities,
        telemetry=actor.mount.telemetry,
        outbound=actor.outbound,
        limits=actor.mount.limits(
            options,
            root_id=actor.id,
            estimate=actor.room.estimate,
            longest_penalty_ms=actor.retry_policy.max_delay_ms,
        ),
    )


def _tool_context(actor: Actor, call_id: str) -> ToolContext:
    async def parked(call_id: str, kind: str, payload: dict[str, Any]) -> Any:
        return await (await actor.ask(actor.park, call_id, kind, payload, None))

    options = actor.settings.options
    return ToolContext(
        cwd=options.cwd,
        environment=actor.settings.environment,
        call_id=call_id,
        clock=actor.clock,
        session_id=actor.id,
        session=actor.handle,
        runtime=actor.mount.runtime,
        tool_output_bytes=options.tool_output_bytes,
        deadline_ms=options.tool_timeout_ms,
        input_modalities=actor.room.known.modalities,
        hooks=actor.hooks,
        files=actor.files,
        park=parked,
        secrets=actor.secrets,
    )


def _hook_context(actor: Actor, **facts: Any) -> HookContext:
    return HookContext(
        cwd=actor.settings.options.cwd,
        environment=actor.settings.environment,
        session_id=actor.id,
        session=actor.handle,
        runtime=actor.mount.runtime,
        secrets=actor.secrets,
        may_run=partial(_may_run, actor) if "stop_hook_active" in facts else None,
        **facts,
    )


async def _may_run(actor: Actor, command: str, purpose: str) -> Allow | Deny | Rewrite:
    return await may_run(actor, _tool_context(actor, f"own-{actor.ledger.new_id()}"), command, purpose)
