"""OpenAI Chat Completions and everything compatible with it, Ollama's `/v1` included.

"Compatible" servers agree on the shape of an answer and on little else, so this reads leniently and writes strictly: unknown
fields are skipped, an index or an id may be missing or repeated (case C16), the end mark may be `[DONE]`, a finish reason or
both; but nothing is sent that only one vendor understands, unless that vendor is the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.errors import Failure
from lmx_core.providers.failures import read_error
from lmx_core.providers.models import is_free
from lmx_core.providers.wire import sse
from lmx_core.providers.wire.answer import EXTRA_CONTENT, Answer, CallSlot
from lmx_core.providers.wire.attached import Medium, media
from lmx_core.providers.wire.base import (
    OPENAI_COMBINATORS,
    UNANSWERED,
    ErrorEvent,
    Target,
    answer_text,
    bearer,
    count,
    decode,
    encode,
    openai_root,
    prompt_text,
    refused_schema,
    result_text,
)
from lmx_core.providers.wire.history import Encoded
from lmx_core.request import Request, ToolSpec
from lmx_core.usage import Usage, is_dollars

ECHOES_REASONING = frozenset({"deepseek", "zai_coding_plan"})
"""Want the thinking of an answer with calls back as `reasoning_content`; others refuse or ignore the field."""

THINKS_BESIDE = frozenset({"xai", "google"})
"""Count what was thought in the total only; read as OpenAI's, most of an answer would be missing from its cost."""

_STOPS = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_COUNTED = (
    "prompt_tokens completion_tokens total_tokens prompt_tokens_details completion_tokens_details "
    "prompt_cache_hit_tokens prompt_cache_miss_tokens"
).split()


# --- writing ---------------------------------------------------------------------------------------------------------


class OpenAIChat:
    """The wire `openai_chat`."""

    name = "openai_chat"
    path = "/chat/completions"

    def __init__(self) -> None:
        self._encoded = Encoded()

    def root(self, base_url: str) -> str:
        return openai_root(base_url)

    def headers(self, key: str | None) -> dict[str, str]:
        return bearer(key)

    def check(self, target: Target, tools: Sequence[ToolSpec]) -> Failure | None:
        """OpenAI itself refuses a schema whose top level is a choice (PV-5); compatible servers don't."""
        if target.provider != "openai" or target.custom:
            return None
        return refused_schema(tools, OPENAI_COMBINATORS, target.provider)

    def body(self, request: Request, target: Target) -> bytes:
        messages = b",".join(self.history(request, target))
        return b'{"messages":[' + messages + b"]," + encode(_settings(request, target))[1:]

    def history(self, request: Request, target: Target) -> list[bytes]:
        """The messages of a request, each encoded."""
        messages = self._encoded.messages(
            request.entries, self.flavour(target), lambda entry: self.messages(entry, target), _shown
        )
        if request.system:
            messages.insert(0, encode({"role": "system", "content": request.system}))
        return messages

    def flavour(self, target: Target) -> str:
        """Targets of one flavour are told an entry in the same words."""
        return target.provider

    def messages(self, entry: Entry, target: Target) -> Iterator[dict[str, Any]]:
        """The messages of one entry: one, or none for an answer that left nothing to send."""
        if entry.type == "assistant":
            message = _assistant(entry, target.provider)
            if message is not None:
                yield message
        elif entry.type == "tool_result":
            yield {"role": "tool", "tool_call_id": entry.payload["call_id"], "content": result_text(entry)}
        else:  # a later system message breaks the templates of many local models, so those are the user's as well
            yield _shown(entry, prompt_text(entry))

    def decoder(self, answer: Answer, target: Target) -> Chunks:
        return Chunks(answer, target)


def _settings(request: Request, target: Target) -> dict[str, Any]:
    """Everything of the body but its messages; a generation parameter never overrides what the adapter needs."""
    own: dict[str, Any] = {"model": target.model, "stream": True, "stream_options": {"include_usage": True}}
    params = {key: value for key, value in request.params.items() if key != "messages"}
    if target.provider == "openai" and not target.custom and "max_tokens" in params:
        params["max_completion_tokens"] = params.pop("max_tokens")
    if target.local_max_tokens is not None and not {"max_tokens", "max_completion_tokens"} & params.keys():
        params["max_tokens"] = target.local_max_tokens
    if request.reasoning_effort not in (None, "default"):
        own |= _effort(request.reasoning_effort, target.provider)
    if request.output_schema is not None:
        schema = {"name": "answer", "schema": request.output_schema}
        own["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.tools:
        own["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in request.tools
        ]
    return params | own


def _effort(effort: str | None, provider: str) -> dict[str, Any]:
    """Z.AI knows on and off only, DeepSeek levels and a switch."""
    if provider == "openrouter":
        return {"reasoning": {"effort": effort}}
    if provider == "zai_coding_plan" or (provider == "deepseek" and effort == "none"):
        return {"thinking": {"type": "disabled" if effort == "none" else "enabled"}}
    return {"reasoning_effort": effort}


def _shown(entry: Entry, text: str) -> dict[str, Any]:
    """A message of the user's. Its content is in parts only where it must be: many servers take nothing but text."""
    parts = [_part(medium) for medium in media(entry)]
    return {"role": "user", "content": [{"type": "text", "text": text}, *parts] if parts else text}


def _part(medium: Medium) -> dict[str, Any]:
    if medium.kind == "image":
        return {"type": "image_url", "image_url": {"url": medium.url}}
    return {"type": "file", "file": {"filename": medium.name, "file_data": medium.url}}


def _assistant(entry: Entry, provider: str) -> dict[str, Any] | None:
    text = answer_text(entry)
    calls = entry.payload.get("tool_calls") or ()
    if not text and not calls:
        return None
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    details = entry.payload.get("reasoning_details") or ()
    extras = {
        d["call_id"]: d["extra_content"] for d in details if d.get("type") == EXTRA_CONTENT and provider == "google"
    }
    if calls:
        message["tool_calls"] = [_call(call, extras) for call in calls]
    if provider == "openrouter" and (own := [d for d in details if str(d.get("type")).startswith("reasoning.")]):
        message["reasoning_details"] = own
    if provider in ECHOES_REASONING and calls:
        message["reasoning_content"] = "".join(
            part["text"] for part in entry.payload.get("content") or () if part.get("type") == "thinking"
        )
    return message


def _call(call: dict[str, Any], extras: dict[str, Any]) -> dict[str, Any]:
    text = msgspec.json.encode(call.get("arguments") or {}).decode()
    body: dict[str, Any] = {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": text},
    }
    if call["id"] in extras:
        body["extra_content"] = extras[call["id"]]
    return body


# --- reading ---------------------------------------------------------------------------------------------------------


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Any = None


class Delta(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(msgspec.Struct):
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None
    model: str | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk, strict=False)


class Chunks:
    """Folds the chunks of one answer."""

    framing = sse.Events

    def __init__(self, answer: Answer, target: Target):
        self._answer, self._target = answer, target
        self._calls = _Calls(answer)
        self._finish: str | None = None
        self._usage: dict[str, Any] | None = None
        self.ended = False

    def feed(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.ended = True
            return
        chunk = decode(_CHUNK, data)
        if chunk.error is not None:
            raise ErrorEvent(read_error({"error": chunk.error}))
        if chunk.choices:
            choice = chunk.choices[0]
            if (delta := choice.delta or choice.message) is not None:
                self.fold(delta)
            if choice.finish_reason:
                self._finish = choice.finish_reason
        if chunk.usage:
            self._usage = chunk.usage
        if self._answer.resolved_model is None:
            self._answer.metadata(chunk.model or self._target.model)

    def whole(self, data: bytes) -> None:
        """The same from a server that ignores `stream` and answers in one piece."""
        self.feed(data)
        self.ended = True

    def fold(self, delta: Delta) -> None:
        if (text := delta.content) and isinstance(text, str):
            self._answer.add("text", text)
        elif text:
            self._parts(text)
        if thought := delta.reasoning_content or delta.reasoning:
            self._answer.add("thinking", thought)
        if delta.tool_calls:
            for piece in delta.tool_calls:
                self._calls.fold(piece)
        if delta.refusal:
            self._answer.add("text", delta.refusal)
        if delta.reasoning_details and self._target.provider == "openrouter":
            _merge_details(self._answer.reasoning_details, delta.reasoning_details)

    def _parts(self, parts: Sequence[Any]) -> None:
        """Content in parts, as Mistral sends it."""
        for part in parts:
            if isinstance(part, dict) and isinstance(text := part.get("text"), str) and text:
                self._answer.add("text", text)
            elif isinstance(part, dict) and isinstance(inner := part.get("thinking"), list):
                for item in inner:
                    if isinstance(item, dict) and isinstance(text := item.get("text"), str) and text:
                        self._answer.add("thinking", text)

    def finish(self) -> str | None:
        if self._usage is not None:
            self._answer.usage = usage(self._usage, self._answer.resolved_model, self._target)
        if self._finish is None and not self.ended:
            return None
        stop = _STOPS.get(self._finish or "stop", self._finish or "stop")
        if self._answer.calls and stop == "stop":
            return "tool_calls"
        if self._answer.is_empty and (self._finish is None or stop == "tool_calls"):
            return UNANSWERED
        return "stop" if stop == "tool_calls" and not self._answer.calls else stop


class _Calls:
    """Tells which call a piece belongs to (case C16)."""

    def __init__(self, answer: Answer):
        self._answer = answer
        self._by_index: dict[int, CallSlot] = {}
        self._by_id: dict[str, CallSlot] = {}
        self._last: CallSlot | None = None
        self._next_name = ""

    def fold(self, piece: _CallDelta) -> None:
        function = piece.function or _Function()
        raw = function.arguments
        text = msgspec.json.encode(raw).decode() if isinstance(raw, dict) else raw or ""
        call = self._find(piece, function.name, text)
        if piece.id and not call.id:
            call.id = piece.id
            self._by_id[piece.id] = call
        if not call.name:
            call.name = function.name or self._next_name
        self._next_name = (function.name or "") if not text else ""
        if text:
            call.pieces.append(text)
        if piece.extra_content:
            call.extra = piece.extra_content
        if piece.index is not None:
            self._by_index[piece.index] = call
        self._last = call

    def _find(self, piece: _CallDelta, name: str | None, text: str) -> CallSlot:
        if piece.id and (known := self._by_id.get(piece.id)) is not None:
            elsewhere = piece.index is not None and self._by_index.get(piece.index) is not known
            another = elsewhere and name and text.strip() and known.is_whole()  # one id for every call
            return self._answer.slot() if another else known
        at = self._last if piece.index is None else self._by_index.get(piece.index)
        if at is None or (piece.id and at.id):
            return self._answer.slot()  # nothing there yet, or another id at the same index
        plain = piece.index is not None and not name
        if plain or not text.strip() or not at.is_whole():
            return at
        return self._answer.slot()  # arguments after whole arguments: a call that came without an id of its own


def _merge_details(known: list[dict[str, Any]], new: Sequence[dict[str, Any]]) -> None:
    """OpenRouter streams its reasoning details in pieces: those of one type and index are one."""
    for detail in new:
        last = known[-1] if known else {}
        if last.get("type") != detail.get("type") or last.get("index") != detail.get("index"):
            known.append(dict(detail))
            continue
        for key, value in detail.items():
            joins = key in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(key), str)
            if joins:
                last[key] += value
            elif value is not None:
                last[key] = value


def usage(raw: dict[str, Any], model: str | None, target: Target) -> Usage:
    """OpenAI's prompt tokens include the cached ones (US-1)."""
    details, said = _object(raw, "prompt_tokens_details"), _object(raw, "completion_tokens_details")
    thought = count(said.get("reasoning_tokens"))
    extra = {key: value for key, value in raw.items() if key not in _COUNTED and value is not None}
    if thought:
        extra["reasoning_tokens"] = thought
    read, output = count(raw.get("prompt_tokens")), count(raw.get("completion_tokens"))
    if target.provider in THINKS_BESIDE:
        output = max(output, count(raw.get("total_tokens")) - read)
    cost: float | None = None
    if is_free(target.provider, target.model):
        cost, extra["pricing"] = 0.0, "local"
    elif target.provider == "openrouter" and not raw.get("is_byok") and is_dollars(raw.get("cost")):
        cost = float(raw["cost"]) or None  # what it charged; a price of 0 for a hosted model is unknown
    return Usage(
        input_tokens=read,
        output_tokens=output,
        cache_read_tokens=count(details.get("cached_tokens") or raw.get("prompt_cache_hit_tokens")),
        cache_write_tokens=count(details.get("cache_write_tokens")),
        cost_usd=cost,
        model=model,
        extra=extra,
    )


def _object(raw: dict[str, Any], key: str) -> dict[str, Any]:
    found = raw.get(key)
    return found if isinstance(found, dict) else {}
