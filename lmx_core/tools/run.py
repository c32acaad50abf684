"""Runs one call, from what the model sent to what it reads (TO-8). There is no other way to run a tool.

Decode check, lookup, descriptor, argument check, before hooks, around hooks, the tool itself, bound, after hooks: in this
order and in one place, so that no kind of tool can leave one out. Whatever happens there is an outcome; only cancellation
passes through, because a swallowed cancellation leaves a call running that nobody waits for (appendix D 17).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import msgspec

from lmx_core.calls import Descriptor, Outcome, Result, Tool, ToolCall, ToolContext
from lmx_core.clock import Deadline, deadline, steady_ms
from lmx_core.errors import ConfigError, LmxError, ToolError, for_log
from lmx_core.messages import Messages
from lmx_core.secrets.masker import Masker
from lmx_core.tasks import run_apart, run_in_thread
from lmx_core.tools import arguments
from lmx_core.tools.asking import ask
from lmx_core.tools.base import is_async
from lmx_core.tools.catalog import Catalog
from lmx_core.tools.output import MAX_STREAM_BYTES, HeadTail, bound, bound_attachments, bound_evidence, clean
from lmx_core.tools.pinning import pinned
from lmx_core.tools.plan import Choice, Plans
from lmx_core.turn.wave import may_still_land, quoted, receipt
from lmx_core.verdict import Allow, Decision, Deny, Pending

log = logging.getLogger("lmx_core")

ABANDON_AFTER_MS = 5_000
"""How long a cancelled tool has to end, in real time. A command needs up to 3 s of it to end its process group."""

MAY_HAVE_HAPPENED = "Its effect may have happened, or may still happen: check before you repeat it."

_ENDING_BYTES = 65_536
"""Over the limit of a stream, so that a tool that stops by itself can still say why."""

_PARTS = ("structured_content", "content", "artifacts", "attachments", "metadata")

SECRETS_NOTE = (
    "[What begins with lmx-secret- stands for a credential that is kept from you. Write it just so where you mean the value: "
    "it is put back in what edit, write, apply_patch and grep are given, and in commands that a person allows]"
)

Emit = Callable[[str], None]


class Before(Protocol):
    """What the hooks say about a call: `call` is the one to run, `rewritten` whether it differs from the model's."""

    @property
    def call(self) -> ToolCall: ...

    @property
    def verdict(self) -> Allow | Deny | Pending: ...

    @property
    def rewritten(self) -> bool: ...


class CallHooks(Protocol):
    """The policy of a session over its calls. `before` raises LmxError when a hook fails: the call must not run then.

    What `around` returns is called once the call is over, however it ended, and does not block.
    """

    async def before(self, call: ToolCall, context: ToolContext) -> Before: ...

    async def around(self, call: ToolCall, context: ToolContext) -> Callable[[], None]: ...

    async def after(self, call: ToolCall, outcome: Outcome, context: ToolContext) -> str | None: ...


async def run(
    catalog: Catalog,
    hooks: CallHooks,
    call: ToolCall,
    context: ToolContext,
    emit: Emit,
    *,
    messages: Messages | None = None,
) -> Outcome:
    """The outcome of `call`. Raises nothing but CancelledError, and ConfigError for a context without an environment (TO-5).

    `emit` is called with pieces of text while a streaming tool runs, never after this has returned.
    """
    if context.environment is None:
        raise ConfigError("a ToolContext needs an environment; nothing falls back to the local machine")
    begun = steady_ms(context.clock)
    attempt = _Attempt(catalog, hooks, call, context, emit, messages or Messages())
    try:
        outcome = await attempt.run()
    finally:
        attempt.open = False
        attempt.over()
    outcome = _without_secrets(outcome, context.secrets)
    return msgspec.structs.replace(
        outcome, duration_ms=steady_ms(context.clock) - begun, descriptor_digest=catalog.digest(call.name)
    )


class _Said(msgspec.Struct, frozen=True):
    """What a tool said, before it is bounded. `total` counts the bytes of its whole text."""

    text: str
    total: int
    outcome: str = "ok"
    result: Result | None = None


class _Attempt:
    """One call on its way. `call` is the one that runs, after rewrites; `started` says that the tool has been entered."""

    def __init__(
        self, catalog: Catalog, hooks: CallHooks, call: ToolCall, context: ToolContext, emit: Emit, messages: Messages
    ):
        self.catalog, self.hooks, self.call, self.messages = catalog, hooks, call, messages
        self.open, self.started, self.abandoned, self.rewritten = True, False, False, False
        self.decision: Decision | None = None
        self.choice: Choice | None = None
        self._emit = emit
        self._timer: Deadline | None = None
        self.over: Callable[[], None] = lambda: None
        self.receipt: dict[str, Any] | None = None
        self._loop = asyncio.get_running_loop()
        self._session_park, self._evidence_bytes = context.park, context.tool_output_bytes
        self._tell_receipt = context.acknowledged
        self.context = context

    def emit(self, text: str) -> None:
        if self.open and text:
            self._emit(text)

    def ended(self, outcome: str, text: str, **more: Any) -> Outcome:
        return Outcome(
            call=self.call,
            outcome=outcome,
            text=text,
            arguments=self.call.arguments,
            output_bytes=more.pop("output_bytes", len(text.encode("utf-8", "replace"))),
            rewritten=self.rewritten,
            decision=None if self.decision is None else msgspec.to_builtins(self.decision),
            receipt=receipt(self.receipt, more.pop("lost", None)),
            **more,
        )

    def _acknowledged(self, reported: dict[str, Any]) -> None:
        """In whatever thread the tool runs. What comes after the call is over is nobody's any more."""
        if not self.open:
            return
        self.receipt = {**(self.receipt or {}), **self.context.secrets.shaped(reported)}
        if (tell := self._tell_receipt) is not None:
            self._loop.call_soon_threadsafe(self._tell, tell, dict(self.receipt))

    def _tell(self, tell: Callable[[dict[str, Any]], None], reported: dict[str, Any]) -> None:
        if self.open:
            tell(reported)

    async def run(self) -> Outcome:
        if self.call.argument_error is not None:
            return self.ended("invalid_arguments", _undecodable(self.call))
        tool, descriptor = self.catalog.get(self.call.name), self.catalog.descriptor(self.call.name)
        if tool is None or descriptor is None:
            return self.ended("unavailable", _unknown(self.call, self.catalog.names))
        if (wrong := arguments.problem(self.call.arguments, descriptor.input_schema)) is not None:
            return self.ended("invalid_arguments", _invalid(self.call, wrong))
        self.context = context = self._own_context(descriptor)
        self._hold(descriptor)
        try:
            async with deadline(context.clock, context.deadline_ms) as self._timer:
                refused = await self._refused(tool, descriptor)
                if refused is not None:
                    return refused
                await self._bracket()
                said = await self._invoke(tool, descriptor)
        except TimeoutError:
            return self._timed_out(descriptor)
        if said.outcome == "crashed":
            return self._crashed(descriptor, said.text)
        return await self._finish(said)

    def _own_context(self, descriptor: Descriptor) -> ToolContext:
        """The context as this call has it: its descriptor, its deadline (the smaller one), its bound, its pausing `park`."""
        given = self.context
        own = descriptor.runtime.timeout_ms
        return msgspec.structs.replace(
            given,
            descriptor=descriptor,
            deadline_ms=given.deadline_ms if own is None else min(own, given.deadline_ms),
            tool_output_bytes=min(descriptor.runtime.max_output_bytes, given.tool_output_bytes),
            hooks=given.hooks if given.hooks is not None else self.hooks,
            park=None if given.park is None else self._park,
            acknowledged=self._acknowledged,
        )

    def _hold(self, descriptor: Descriptor) -> None:
        """What the call's paths lead to now is what the tool opens, however long somebody thinks about it."""
        self.context = pinned(self.context, self.call, descriptor)

    async def _park(self, call_id: str, kind: str, payload: dict[str, Any]) -> Any:
        """Parks with the deadline held (DI-4)."""
        assert self._timer is not None and self._session_park is not None
        self._timer.pause()
        try:
            return await self._session_park(call_id, kind, payload)
        finally:
            self._timer.resume()

    async def _bracket(self) -> None:
        """Lets hooks look before the tool runs. That takes nothing from its deadline: it is no work of the tool's."""
        assert self._timer is not None
        self._timer.pause()
        try:
            self.over = await self.hooks.around(self.call, self.context)
        finally:
            self._timer.resume()

    async def _refused(self, tool: Tool, descriptor: Descriptor) -> Outcome | None:
        """Asks the hooks, and where they want it a person. None: go on, with `self.call`."""
        try:
            before = await self.hooks.before(self.call, self.context)
            self.call, self.rewritten = before.call, before.rewritten
            if self.rewritten:
                self._hold(descriptor)
            verdict = before.verdict
            self.decision = verdict.decision
            if isinstance(verdict, Pending):
                answer = await ask(self.call, verdict, tool, self._given(descriptor), self.context)
                self.call, self.rewritten = answer.call, self.rewritten or answer.rewritten
                if answer.rewritten:
                    self._hold(descriptor)
                verdict, self.decision, self.choice = answer.verdict, answer.decision, answer.choice
        except Exception as error:  # noqa: BLE001 - the border of a hook: one that fails has not consented
            why = str(error) if isinstance(error, LmxError) else f"a hook raised {type(error).__name__}"
            return self.ended("error", f"The call was not run: {why}.")
        if isinstance(verdict, Deny):
            return self.ended("denied", f"denied: {verdict.reason}")
        if self.rewritten and (wrong := arguments.problem(self.call.arguments, descriptor.input_schema)) is not None:
            return self.ended("invalid_arguments", f"rewritten by a hook or a person: {_invalid(self.call, wrong)}")
        return None

    def _given(self, descriptor: Descriptor) -> dict[str, Any]:
        """The arguments as the tool gets them."""
        empty = descriptor.origin.get("type") == "built_in"
        return arguments.without_absent(self.call.arguments, descriptor.input_schema, empty=empty)

    async def _invoke(self, tool: Tool, descriptor: Descriptor) -> _Said:
        self.started = True
        given = self._given(descriptor)
        task = asyncio.current_task()
        return await run_apart(
            self._guarded(tool, given),
            name=f"{task.get_name() if task else 'lmx'}/{self.call.name}",
            grace_ms=ABANDON_AFTER_MS,
            abandoned=self._abandon,
        )

    def _abandon(self) -> None:
        self.abandoned = True
        log.warning(
            "the tool %s went on %d ms after its cancellation; it is left behind", self.call.name, ABANDON_AFTER_MS
        )

    async def _guarded(self, tool: Tool, given: dict[str, Any]) -> _Said:
        """The border of a tool call: whatever the tool raises becomes an outcome here."""
        try:
            if self.choice is not None and isinstance(tool, Plans):
                return _said_of(self.choice, await self._part(tool, given, self.choice))
            return await self._collect(await _call(tool, given, self.context))
        except ToolError as error:
            return _said(str(error), "error")
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return self._crash(error)  # the tool's own: nobody cancelled the call
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the border of a tool call
            return self._crash(error)

    async def _part(self, tool: Plans, given: dict[str, Any], choice: Choice) -> Result:
        """Carries out what a person left of the call, if its files still are what they were shown."""
        choice.check(await tool.plan(given, self.context))
        return await tool.carry_out(choice.plan, self.context)

    def _crash(self, error: BaseException) -> _Said:
        log.error("the tool %s crashed with %s", self.call.name, for_log(error))
        return _said(self.messages.tool_crashed(self.call, type(error).__name__), "crashed")

    async def _collect(self, returned: Any) -> _Said:
        if isinstance(returned, Result):
            return _said(returned.model_text, "error" if returned.error else "ok", returned)
        if returned is None or isinstance(returned, str):
            return _said(returned or "", "ok")
        if isinstance(returned, AsyncIterator):
            return await self._stream(returned)
        raise TypeError(f"a tool returned {type(returned).__name__}")

    async def _stream(self, chunks: AsyncIterator[Any]) -> _Said:
        """Passes text on as it comes and keeps what fits. A `Result` at the end replaces the text if it has one."""
        kept, masks = HeadTail(self.context.tool_output_bytes), self.context.secrets.stream()
        result: Result | None = None

        def keep(text: str) -> None:
            kept.add(text)
            self.emit(text)

        try:
            async for chunk in chunks:
                if isinstance(chunk, str):
                    keep(masks.feed(clean(chunk)))
                    if kept.total > MAX_STREAM_BYTES + _ENDING_BYTES:
                        text = f"{kept.text()}\n[stopped after {MAX_STREAM_BYTES:,} bytes of output]"
                        return _Said(text, kept.total)
                elif isinstance(chunk, Result):
                    result = chunk
                elif isinstance(chunk, ToolError):
                    keep(masks.end())
                    return _broken_off(kept, chunk)
                elif isinstance(chunk, Exception):
                    raise chunk
                else:
                    raise TypeError(f"a tool yielded {type(chunk).__name__}")
        except ToolError as error:
            keep(masks.end())
            return _broken_off(kept, error)
        finally:
            if hasattr(chunks, "aclose"):
                await chunks.aclose()
        keep(masks.end())
        if result is None:
            return _Said(kept.text(), kept.total)
        text = result.model_text or kept.text()
        return _Said(text, max(kept.total, len(text.encode())), "error" if result.error else "ok", result)

    def _timed_out(self, descriptor: Descriptor) -> Outcome:
        text = self.messages.tool_timed_out(self.call, self.context.deadline_ms)
        return self._given_up(descriptor, "timeout", text)

    def _given_up(self, descriptor: Descriptor, outcome: str, text: str) -> Outcome:
        readonly = descriptor.effects.effect == "read" or descriptor.effects.idempotent
        if self.receipt is not None:
            text = f"{text} {quoted(self.receipt)}"
        lost = self.receipt is not None or may_still_land(descriptor) or (self.abandoned and not readonly)
        if self.started and lost:
            return self.ended("unknown", f"{text} {MAY_HAVE_HAPPENED}", lost=outcome)
        return self.ended(outcome, text)

    def _crashed(self, descriptor: Descriptor, text: str) -> Outcome:
        # A thread that crashed has ended: only a remote effect can still land (RE-5).
        ended = msgspec.structs.replace(descriptor.runtime, cancellation="cancel_task")
        return self._given_up(msgspec.structs.replace(descriptor, runtime=ended), "crashed", text)

    async def _finish(self, said: _Said) -> Outcome:
        limit, secrets = self.context.tool_output_bytes, self.context.secrets
        text, result = bound(secrets.mask(said.text), limit), said.result
        if not text.strip():
            how = "returned nothing" if said.outcome == "ok" else "failed without saying why"
            text = f"The tool {self.call.name} {how}."
        if result is not None:
            result, notes = bound_evidence(result, self._evidence_bytes)
            result, left_out = bound_attachments(result, self.context.input_modalities)
            text = "\n".join([text, *notes, *left_out])
        outcome = self.ended(said.outcome, text, result=result, output_bytes=said.total)
        feedback = await self._feedback(outcome)
        if feedback:
            said_by_hooks = bound(secrets.mask(feedback), limit)
            outcome = msgspec.structs.replace(outcome, text=f"{text}\n[hook]\n{said_by_hooks}")
        return outcome

    async def _feedback(self, outcome: Outcome) -> str | None:
        try:
            return await self.hooks.after(self.call, outcome, self.context)
        except Exception as error:  # noqa: BLE001 - the border of a hook: the call has run, its result stands
            log.warning("an after_tool_call hook failed with %s", type(error).__name__)
            return None


def _without_secrets(outcome: Outcome, secrets: Masker) -> Outcome:
    """The outcome as it may be told: nothing of it holds a credential. The first placeholder is explained."""
    if not secrets.active:
        return outcome
    text, result = secrets.mask(outcome.text), outcome.result
    if not secrets.explained and secrets.named(text):
        secrets.explained = True
        text = f"{text}\n{SECRETS_NOTE}"
    if result is not None:
        parts = {part: secrets.shaped(value) for part in _PARTS if (value := getattr(result, part)) is not None}
        result = msgspec.structs.replace(result, **parts)
    arguments, decision = secrets.shaped(outcome.arguments), secrets.shaped(outcome.decision)
    return msgspec.structs.replace(outcome, text=text, result=result, arguments=arguments, decision=decision)


async def _call(tool: Tool, given: dict[str, Any], context: ToolContext) -> Any:
    """What `run` returns, awaited: on the loop if it is async, otherwise in a thread, because it may block (SE-8)."""
    if is_async(tool):
        returned: Any = tool.run(given, context)
    else:
        returned = await run_in_thread(tool.run, given, context)
    return await returned if inspect.isawaitable(returned) else returned


def _said(text: str, outcome: str, result: Result | None = None) -> _Said:
    return _Said(text, len(text.encode("utf-8", "replace")), outcome, result)


def _said_of(choice: Choice, result: Result) -> _Said:
    """The result of a part of a call, with what the part is: for the model in words, for the record in numbers."""
    metadata = {**(result.metadata or {}), "hunks": choice.chosen.record()}
    text = f"{result.model_text}\n[approval] {choice.told()}"
    result = msgspec.structs.replace(result, model_text=text, metadata=metadata)
    return _said(text, "error" if result.error else "ok", result)


def _broken_off(kept: HeadTail, error: ToolError) -> _Said:
    """What a tool had written before it failed, and why it did."""
    return _Said(_joined(kept.text(), str(error)), kept.total + len(str(error).encode("utf-8", "replace")), "error")


def _joined(*texts: str) -> str:
    return "\n".join(text.rstrip("\n") for text in texts if text.strip())


def _undecodable(call: ToolCall) -> str:
    return (
        f"The call was not run: its arguments are not one JSON object ({call.argument_error}). "
        f"Send one JSON object that matches the schema of {call.name}."
    )


def _unknown(call: ToolCall, names: list[str]) -> str:
    return f"There is no tool {call.name!r}. The available tools are: {', '.join(names) or 'none'}."


def _invalid(call: ToolCall, wrong: str) -> str:
    return f"The call was not run: {wrong}. Send one JSON object that matches the schema of {call.name}."
