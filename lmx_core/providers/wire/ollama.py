"""Ollama's own `/api/chat`: one JSON object a line.

Its `/v1` is a translation that cannot set a window or a level of thinking for every model. What differs from Chat Completions:
arguments are objects and come whole, a call may have no id, generation parameters stand in `options`, and an error is one line.
`num_ctx` is sent only if the caller set it: another window than the one the daemon serves makes it load the model again, which
takes a minute and evicts what others use (OL-3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.errors import Failure
from lmx_core.providers.failures import Reported
from lmx_core.providers.wire import lines
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.attached import media
from lmx_core.providers.wire.base import (
    UNANSWERED,
    ErrorEvent,
    Target,
    answer_text,
    bearer,
    count,
    decode,
    encode,
    prompt_text,
    result_text,
)
from lmx_core.providers.wire.history import Encoded
from lmx_core.request import Request, ToolSpec
from lmx_core.usage import Usage

THOUGHT_HERE = "ollama_thinking"
"""The type of the reasoning detail that marks thinking as Ollama's own, which alone goes back."""

_BESIDE_OPTIONS = frozenset("format keep_alive logprobs shift think top_logprobs truncate".split())
"""Parameters with a place of their own; all others are `options`."""

_THINK: dict[str, bool | str] = {"none": False, "minimal": "low", "xhigh": "high", "max": "high"}
_TIMES = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")


# --- writing ---------------------------------------------------------------------------------------------------------


class OllamaChat:
    """The wire `ollama`."""

    name = "ollama"
    path = "/api/chat"

    def __init__(self) -> None:
        self._encoded = Encoded()

    def root(self, base_url: str) -> str:
        """The daemon's root."""
        return base_url.rstrip("/")

    def headers(self, key: str | None) -> dict[str, str]:
        return bearer(key)

    def check(self, target: Target, tools: Sequence[ToolSpec]) -> Failure | None:
        return None

    def body(self, request: Request, target: Target) -> bytes:
        messages = self._encoded.messages(request.entries, "ollama", _messages, _shown)
        if request.system:
            messages.insert(0, encode({"role": "system", "content": request.system}))
        return b'{"messages":[' + b",".join(messages) + b"]," + encode(_settings(request, target))[1:]

    def decoder(self, answer: Answer, target: Target) -> Chunks:
        return Chunks(answer, target)


def _settings(request: Request, target: Target) -> dict[str, Any]:
    """Everything of the body but its messages; a generation parameter never overrides what the adapter needs."""
    own: dict[str, Any] = {"model": target.model, "stream": True}
    params = {k: v for k, v in request.params.items() if k not in ("messages", "model", "stream", "tools", "options")}
    options = {k: v for k, v in params.items() if k not in _BESIDE_OPTIONS} | request.params.get("options", {})
    for name in ("max_tokens", "max_completion_tokens"):
        if name in options:
            options["num_predict"] = options.pop(name)
    if target.local_max_tokens is not None:
        options.setdefault("num_predict", target.local_max_tokens)
    if options:
        own["options"] = options
    if (effort := request.reasoning_effort) not in (None, "default"):
        own["think"] = _THINK.get(effort or "", effort)
    if request.output_schema is not None:
        own["format"] = request.output_schema
    if request.tools:
        own["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in request.tools
        ]
    return {key: value for key, value in params.items() if key in _BESIDE_OPTIONS} | own


def _messages(entry: Entry) -> Iterator[dict[str, Any]]:
    """The messages of one entry: one, or none for an answer that left nothing to send."""
    if entry.type == "assistant":
        message = _assistant(entry)
        if message is not None:
            yield message
    elif entry.type == "tool_result":
        call = {"tool_name": entry.payload["name"], "tool_call_id": entry.payload["call_id"]}
        yield {"role": "tool", "content": result_text(entry), **call}
    else:
        yield _shown(entry, prompt_text(entry))


def _shown(entry: Entry, text: str) -> dict[str, Any]:
    """A message of the user's, with its images; the daemon takes no documents."""
    images = [medium.data for medium in media(entry) if medium.kind == "image"]
    return {"role": "user", "content": text} | ({"images": images} if images else {})


def _assistant(entry: Entry) -> dict[str, Any] | None:
    """Thinking goes back with calls only: templates keep it until the calls are answered, and drop it afterwards."""
    text = answer_text(entry)
    calls = entry.payload.get("tool_calls") or ()
    if not text and not calls:
        return None
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call.get("arguments") or {}}}
            for call in calls
        ]
        if any(detail.get("type") == THOUGHT_HERE for detail in entry.payload.get("reasoning_details") or ()):
            thoughts = (part for part in entry.payload.get("content") or () if part.get("type") == "thinking")
            message["thinking"] = "".join(part["text"] for part in thoughts)
    return message


# --- reading ---------------------------------------------------------------------------------------------------------


class _Function(msgspec.Struct):
    name: str = ""
    arguments: Any = None


class _Call(msgspec.Struct):
    function: _Function = msgspec.field(default_factory=_Function)
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Chunk(msgspec.Struct):
    model: str | None = None
    message: _Message | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: Any = None
    eval_count: Any = None
    total_duration: Any = None
    load_duration: Any = None
    prompt_eval_duration: Any = None
    eval_duration: Any = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk, strict=False)


class Chunks:
    """Folds the lines of one answer."""

    framing = lines.Lines

    def __init__(self, answer: Answer, target: Target):
        self._answer, self._target = answer, target
        self._reason: str | None = None
        self._thought = False
        self.ended = False

    def feed(self, data: bytes) -> None:
        chunk = decode(_CHUNK, data)
        if chunk.error is not None:
            raise ErrorEvent(Reported(message=str(chunk.error), codes=("server_error",)))
        if self._answer.resolved_model is None:
            self._answer.metadata(chunk.model or self._target.model)
        if (message := chunk.message) is not None:
            self._fold(message)
        if chunk.done:
            self._reason, self.ended = chunk.done_reason, True
            self._answer.usage = usage_of(chunk, self._answer.resolved_model, self._target)

    def whole(self, data: bytes) -> None:
        """The same from a server that ignores `stream` and answers in one piece."""
        self.feed(data)

    def _fold(self, message: _Message) -> None:
        if message.thinking:
            self._thought = True
            self._answer.add("thinking", message.thinking)
        if message.content:
            self._answer.add("text", message.content)
        for piece in message.tool_calls or ():
            call = self._answer.slot()
            call.id, call.name = piece.id or "", piece.function.name
            raw = piece.function.arguments
            call.pieces.append(raw if isinstance(raw, str) else msgspec.json.encode(raw or {}).decode())

    def finish(self) -> str | None:
        if not self.ended:
            return None
        if self._answer.is_empty and self._reason not in ("stop", "length"):
            return UNANSWERED  # such as `load`: the model was loaded and said nothing
        if self._thought:
            self._answer.reasoning_details.append({"type": THOUGHT_HERE})
        if self._answer.calls and self._reason != "length":
            return "tool_calls"
        return self._reason or "stop"


def usage_of(chunk: _Chunk, model: str | None, target: Target) -> Usage:
    """The counts of the last line. What ran on one's own machine costs nothing, and says why; a cloud model is hosted."""
    extra = {name: value for name in _TIMES if (value := getattr(chunk, name)) is not None}
    cost = None if "cloud" in target.model else 0.0
    if cost is not None:
        extra["pricing"] = "local"
    return Usage(
        input_tokens=count(chunk.prompt_eval_count),
        output_tokens=count(chunk.eval_count),
        cost_usd=cost,
        model=model,
        extra=extra,
    )
