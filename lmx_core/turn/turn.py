"""One turn: folds what a provider says into effects (SE-3).

A `Turn` is fed every event of one attempt and answers each with what to do about it. Exactly one `RunTools` or `Finished`
ends it; whatever comes later is ignored, so that a provider's late word cannot reach the next turn. Text is collected in
pieces and joined once: joining at each delta would cost the square of the answer's length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from lmx_core import events
from lmx_core.calls import ToolCall
from lmx_core.errors import Failure
from lmx_core.request import (
    ContextWindow,
    Done,
    Error,
    Message,
    ProviderEvent,
    Queued,
    ResponseMetadata,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageReport,
)
from lmx_core.turn.effects import Append, Emit, Finished, RunTools, TurnEffect
from lmx_core.usage import Usage

HEAD_BYTES = 240
"""How much of a call's arguments is shown while the model composes it (EVT-3)."""

INCOMPLETE_STREAM = Failure(
    code="incomplete_stream",
    message="the provider's answer ended without saying how",
    category="server",
    retryable=True,
)
UNANSWERED = Failure(
    code="unanswered",
    message="the provider announced tool calls and sent neither a call nor a text",
    category="server",
    retryable=True,
)

Effects = Sequence[TurnEffect]


class _Composing:
    """A call on its way: its size and its first bytes are kept, its arguments are not (the whole call comes at the end)."""

    __slots__ = ("bytes", "head", "name")

    def __init__(self) -> None:
        self.name, self.bytes, self.head = "", 0, ""

    def add(self, delta: ToolCallDelta) -> None:
        self.name = delta.name or self.name
        self.bytes += len(delta.fragment.encode("utf-8", "replace"))
        if len(self.head) < HEAD_BYTES:
            head = (self.head + delta.fragment).encode("utf-8", "replace")[:HEAD_BYTES]
            self.head = head.decode("utf-8", "ignore")


class Turn:
    """The state of one attempt. `entry_id` is the id its answer will be written under, `request_id` what it answers."""

    def __init__(self, *, entry_id: str, request_id: str, model: str):
        self.entry_id, self.request_id, self.model = entry_id, request_id, model
        self.over = False
        self.usage: Usage | None = None
        self.served_window: int | None = None
        self._segments: list[tuple[str, list[str]]] = []
        self._composing: dict[int, _Composing] = {}
        self._calls: list[ToolCallReady] = []
        self._message: Message | None = None
        self._fold: dict[type, Callable[[Any], Effects]] = {
            TextDelta: self._text,
            ThinkingDelta: self._thinking,
            ToolCallDelta: self._call_delta,
            ToolCallReady: self._call_ready,
            Message: self._assembled,
            UsageReport: self._used,
            ResponseMetadata: self._metadata,
            ContextWindow: self._window,
            Queued: self._queued,
            Done: self._done,
            Error: self._failed,
        }

    def fold(self, event: ProviderEvent) -> Effects:
        """What to do about `event`. Raises KeyError for what is no provider event."""
        return () if self.over else self._fold[type(event)](event)

    def interrupt(self) -> Effects:
        """The person cancelled: text so far is kept, unmarked, without calls, and is sent with later requests (TR-8)."""
        if self.over:
            return ()
        self.over = True
        content = self._content()
        spoke = any(part["type"] == "text" and part["text"].strip() for part in content)
        return (self._append(content),) if spoke else ()

    def was_turned_away(self, failure: Failure | None) -> bool:
        """Whether nothing was done for this request, and so nothing will be billed."""
        return failure is not None and failure.was_turned_away and not self.had_output and self.usage is None

    @property
    def had_output(self) -> bool:
        return bool(self._segments or self._composing or self._calls or self._message)

    def _text(self, event: TextDelta) -> Effects:
        self._collect("text", event.text)
        return (Emit(events.TextDelta(id=self.entry_id, text=event.text)),)

    def _thinking(self, event: ThinkingDelta) -> Effects:
        self._collect("thinking", event.text)
        return (Emit(events.ThinkingDelta(id=self.entry_id, text=event.text)),)

    def _collect(self, kind: str, text: str) -> None:
        if not self._segments or self._segments[-1][0] != kind:
            self._segments.append((kind, []))
        self._segments[-1][1].append(text)

    def _call_delta(self, event: ToolCallDelta) -> Effects:
        call = self._composing.setdefault(event.index, _Composing())
        call.add(event)
        return (Emit(events.ToolCallDelta(id=self.entry_id, name=call.name, bytes=call.bytes, head=call.head)),)

    def _call_ready(self, event: ToolCallReady) -> Effects:
        self._calls.append(event)
        return ()

    def _assembled(self, event: Message) -> Effects:
        self._message = event
        return ()

    def _used(self, event: UsageReport) -> Effects:
        self.usage = event.usage
        return ()

    def _window(self, event: ContextWindow) -> Effects:
        self.served_window = event.tokens
        return ()

    def _queued(self, event: Queued) -> Effects:
        return (Emit(events.ProviderWait(model=self.model, waiting=event.waiting)),)

    def _metadata(self, event: ResponseMetadata) -> Effects:
        told = events.ResponseMetadata(
            request_id=self.request_id,
            requested_model=self.model,
            resolved_model=event.resolved_model,
            status=event.status,
            headers=event.headers,
        )
        return (Emit(told),)

    def _done(self, event: Done) -> Effects:
        calls = self._all_calls()
        content = self._content()
        if event.stop_reason == "tool_calls" and not calls and not content:
            return self._failed(Error(UNANSWERED))
        self.over = True
        effects: list[TurnEffect] = [self._append(content, calls), *self._tell_usage()]
        if not calls:
            reason = "stop" if event.stop_reason == "tool_calls" else event.stop_reason
            return (*effects, Finished(stop_reason=reason, after_output=True))
        effects += [Emit(_called(call)) for call in calls]
        return (*effects, RunTools(calls, _cut_off(calls, event.stop_reason)))

    def _failed(self, event: Error) -> Effects:
        """A failed attempt: what it had said is kept as a record that is never sent (RY-4)."""
        self.over = True
        end = Finished(stop_reason="error", failure=event.failure, after_output=self.had_output)
        if not self.had_output and self.usage is None:
            return (end,)
        return (self._append(self._content(), partial=True), *self._tell_usage(), end)

    def _append(
        self, content: list[dict[str, Any]], calls: tuple[ToolCall, ...] = (), *, partial: bool = False
    ) -> Append:
        payload: dict[str, Any] = {"content": content}
        if calls:
            payload["tool_calls"] = [_recorded(call) for call in calls]
        if self._message is not None and self._message.reasoning_details and not partial:
            payload["reasoning_details"] = self._message.reasoning_details
        payload["request_id"] = self.request_id
        if partial:
            payload["partial"] = True
        return Append(payload=payload, usage=None if self.usage is None else self.usage.to_dict())

    def _tell_usage(self) -> Effects:
        if self.usage is None:
            return ()
        return (Emit(events.UsageEvent(usage=self.usage.to_dict(), request_id=self.request_id)),)

    def _content(self) -> list[dict[str, Any]]:
        if self._message is not None and self._message.content:
            return self._message.content
        return [{"type": kind, "text": "".join(pieces)} for kind, pieces in self._segments]

    def _all_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the answer; ids are made distinct, because each must get exactly one result."""
        ready = (self._message.tool_calls if self._message else None) or self._calls
        calls: list[ToolCall] = []
        taken: set[str] = set()
        for number, call in enumerate(ready, 1):
            id = base = call.id or f"call-{number}"
            while id in taken:
                id = f"{base}-{number}"
                number += 1
            taken.add(id)
            calls.append(ToolCall(id=id, name=call.name, arguments=call.arguments, argument_error=call.argument_error))
        return tuple(calls)


def _recorded(call: ToolCall) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(call).items() if value is not None}


def _called(call: ToolCall) -> events.ToolCalled:
    return events.ToolCalled(id=call.id, name=call.name, arguments=call.arguments, argument_error=call.argument_error)


def _cut_off(calls: tuple[ToolCall, ...], stop_reason: str) -> str | None:
    """The id of the last call if the output limit took its arguments (DI-3)."""
    last = calls[-1]
    return last.id if stop_reason == "length" and (last.argument_error or not last.arguments) else None
