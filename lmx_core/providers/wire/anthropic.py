"""Anthropic Messages.

Stricter than Chat Completions in ways that cost a whole session when missed: results of calls stand in one user message right
after the answer that made them; thinking comes back verbatim, with its signature, in its place, or the request is refused;
no text block may be blank; `max_tokens` is always said. The prefix that does not change is marked for the prompt cache: tools,
system, and the newest two user messages, for the older of them is where the request before this one ended, and the server
looks back only twenty blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from lmx_core.entry import Entry, valid_text
from lmx_core.errors import Failure
from lmx_core.providers.failures import read_error
from lmx_core.providers.wire import sse
from lmx_core.providers.wire.answer import Answer, CallSlot
from lmx_core.providers.wire.attached import media
from lmx_core.providers.wire.base import (
    UNANSWERED,
    ErrorEvent,
    Target,
    count,
    decode,
    encode,
    prompt_text,
    refused_schema,
    result_text,
)
from lmx_core.providers.wire.history import Encoded, in_wire_order
from lmx_core.request import Request, ToolSpec
from lmx_core.usage import Usage

VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 32_000
_OLD_LIMITS = (("claude-3-5", 8_192), ("claude-3-7", 32_000), ("claude-3", 4_096))
"""Models that refuse a larger limit, most specific prefix first."""

_BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 24_576}
_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_MARK = b',"cache_control":{"type":"ephemeral"}}'
THINKING = ("thinking", "redacted_thinking")


# --- writing ---------------------------------------------------------------------------------------------------------


class AnthropicMessages:
    """The wire `anthropic`."""

    name = "anthropic"
    path = "/messages"

    def __init__(self) -> None:
        self._encoded = Encoded()

    def root(self, base_url: str) -> str:
        """The base URL is the root; one that ends in `/v1` is understood as well."""
        return base_url.rstrip("/").removesuffix("/v1") + "/v1"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    def check(self, target: Target, tools: Sequence[ToolSpec]) -> Failure | None:
        return refused_schema(tools, ("oneOf", "anyOf", "allOf"), target.provider)

    def body(self, request: Request, target: Target) -> bytes:
        mark = _marked if request.context.get("cache", True) else _unmarked
        messages = b",".join(self._messages(request, mark))
        parts = [encode(_settings(request, target))[:-1], b'"messages":[' + messages + b"]"]
        if request.system and request.system.strip():
            parts.append(b'"system":[' + mark(encode({"type": "text", "text": request.system})) + b"]")
        if request.tools:
            tools = [
                encode({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
                for tool in request.tools
            ]
            tools[-1] = mark(tools[-1])
            parts.append(b'"tools":[' + b",".join(tools) + b"]")
        elif spoken_of := _tools_spoken_of(request.entries):
            parts.append(b'"tools":' + encode(spoken_of) + b',"tool_choice":{"type":"none"}')
        return b",".join(parts) + b"}"

    def _messages(self, request: Request, mark: Callable[[bytes], bytes]) -> Iterator[bytes]:
        entries = in_wire_order(request.entries)
        groups = _grouped([(_role(entry), self._encoded.of(entry, "anthropic", _blocks)) for entry in entries])
        marked = [n for n, (role, _) in enumerate(groups) if role == "user"][-2:]
        for n, (role, blocks) in enumerate(groups):
            if n in marked:
                blocks[-1] = mark(blocks[-1])
            yield b'{"role":"' + role.encode() + b'","content":[' + b",".join(blocks) + b"]}"

    def decoder(self, answer: Answer, target: Target) -> Events:
        return Events(answer, target)


def _role(entry: Entry) -> str:
    return "assistant" if entry.type == "assistant" else "user"


def _grouped(parts: Sequence[tuple[str, tuple[bytes, ...]]]) -> list[tuple[str, list[bytes]]]:
    """Blocks of neighbours with one role in one message: all results of a wave, and a steer after them."""
    groups: list[tuple[str, list[bytes]]] = []
    for role, blocks in parts:
        if not blocks:
            continue
        if groups and groups[-1][0] == role:
            groups[-1][1].extend(blocks)
        else:
            groups.append((role, list(blocks)))
    return groups


def _tools_spoken_of(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Bare definitions of the tools that a conversation calls: Anthropic refuses one whose tools nobody defines, even where
    none may be called any more."""
    names = (call["name"] for entry in entries for call in entry.payload.get("tool_calls") or ())
    return [{"name": name, "input_schema": {"type": "object"}} for name in dict.fromkeys(names)]


def _unmarked(block: bytes) -> bytes:
    return block


def _marked(block: bytes) -> bytes:
    """An encoded object with a cache breakpoint."""
    return block[:-1] + _MARK


def _settings(request: Request, target: Target) -> dict[str, Any]:
    """The body but its messages, system and tools; a generation parameter never overrides what the adapter needs."""
    params = {key: value for key, value in request.params.items() if key not in ("messages", "system", "tools")}
    params.setdefault("max_tokens", max_tokens_of(target))
    if "stop" in params:
        stop = params.pop("stop")
        params["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if request.reasoning_effort == "none" and target.facts is not None and "none" in target.facts.efforts:
        params["thinking"] = {"type": "disabled"}  # newer models think unless told not to
    elif request.reasoning_effort not in (None, "default", "none"):
        params |= _effort(request.reasoning_effort or "", target.model, params["max_tokens"])
        params.pop("temperature", None)  # refused together with thinking
        params.pop("top_k", None)
    if request.output_schema is not None:
        shape = {"format": {"type": "json_schema", "schema": request.output_schema}}
        params["output_config"] = params.get("output_config", {}) | shape
    return params | {"model": target.model, "stream": True}


def max_tokens_of(target: Target) -> int:
    """What the model can say, but a quarter of its window at most: some refuse a prompt that leaves less room than that."""
    if (facts := target.facts) is not None and facts.max_output:
        return min(facts.max_output, (facts.window or facts.max_output * 4) // 4)
    return next((limit for prefix, limit in _OLD_LIMITS if target.model.startswith(prefix)), DEFAULT_MAX_TOKENS)


def _effort(effort: str, model: str, max_tokens: int) -> dict[str, Any]:
    """Newer models think as they see fit, guided by an effort; older ones are given a budget of tokens."""
    version = re.search(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model)
    if version and (int(version[1]), int(version[2] or 0)) >= (4, 6):
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low" if effort == "minimal" else effort}}
    budget = min(_BUDGETS.get(effort, 8_192), max_tokens - 1_024)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= 1_024 else {}


def _blocks(entry: Entry) -> list[dict[str, Any]]:
    """The content blocks of one entry; none for an answer that left nothing but thinking."""
    if entry.type == "assistant":
        return _assistant(entry)
    if entry.type == "tool_result":
        block: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": entry.payload["call_id"],
            "content": result_text(entry),
        }
        if entry.payload.get("error"):
            return [block | {"is_error": True}]  # with which the server takes text alone
        if shown := _media(entry):
            block["content"] = [{"type": "text", "text": block["content"]}, *shown]
        return [block]
    return [*_media(entry), {"type": "text", "text": prompt_text(entry)}]


def _media(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "type": medium.kind,
            "source": {"type": "base64", "media_type": medium.media_type, "data": medium.data},
        }
        for medium in media(entry)
    ]


def _assistant(entry: Entry) -> list[dict[str, Any]]:
    content = entry.payload.get("content") or ()
    details = entry.payload.get("reasoning_details") or ()
    thoughts = [detail for detail in details if detail.get("type") in THINKING]
    if len(thoughts) != sum(item.get("type") == "thinking" for item in content):
        thoughts = []  # another provider's thinking: it has no signature here
    left = iter(thoughts)
    blocks: list[dict[str, Any]] = []
    for item in content:
        if item.get("type") == "thinking":
            if (block := next(left, None)) is not None and is_signed(block):
                blocks.append(block)
        elif (text := item.get("text") or "").strip():
            blocks.append({"type": "text", "text": text})
    for call in entry.payload.get("tool_calls") or ():
        arguments = call.get("arguments") or {}
        blocks.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": arguments})
    return blocks if any(block["type"] not in THINKING for block in blocks) else []


def is_signed(block: dict[str, Any]) -> bool:
    return bool(block.get("signature") or block.get("data"))


# --- reading ---------------------------------------------------------------------------------------------------------


class _Delta(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str
    index: int = 0
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


class _Whole(msgspec.Struct):
    content: list[dict[str, Any]] = []
    model: str | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_EVENT = msgspec.json.Decoder(_Event, strict=False)
_WHOLE = msgspec.json.Decoder(_Whole, strict=False)


class Events:
    """Folds the events of one answer."""

    framing = sse.Events

    def __init__(self, answer: Answer, target: Target):
        self._answer, self._target = answer, target
        self._blocks: dict[int, dict[str, Any]] = {}
        self._thoughts: dict[int, list[str]] = {}
        self._calls: dict[int, CallSlot] = {}
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None
        self.ended = False

    def feed(self, data: bytes) -> None:
        event = decode(_EVENT, data)
        if (delta := event.delta) is not None and event.type == "content_block_delta":
            if text := delta.text:
                self._answer.add("text", text)
            elif delta.partial_json is not None:
                self._call(event.index).pieces.append(delta.partial_json)
            else:
                self._think(event.index, delta)
            return
        if event.type == "error":
            raise ErrorEvent(read_error({"error": event.error}))
        if event.type == "content_block_start":
            self._start(event.index, event.content_block or {})
        elif event.type == "message_start":
            self._count((event.message or {}).get("usage"))
            self._answer.metadata((event.message or {}).get("model") or self._target.model)
        elif event.type == "message_delta":
            self._count(event.usage)
            if delta is not None and delta.stop_reason:
                self._stop = delta.stop_reason
        elif event.type == "message_stop":
            self.ended = True

    def whole(self, data: bytes) -> None:
        message = decode(_WHOLE, data)
        if message.error is not None:
            raise ErrorEvent(read_error({"error": message.error}))
        self._answer.metadata(message.model or self._target.model)
        for index, block in enumerate(message.content):
            self._start(index, block)
        self._count(message.usage)
        self._stop, self.ended = message.stop_reason, message.stop_reason is not None

    def _start(self, index: int, block: dict[str, Any]) -> None:
        self._blocks[index] = block
        kind = block.get("type")
        if kind in THINKING:
            self._answer.open("thinking")
            self._answer.reasoning_details.append(block)
            self._think(index, _Delta(thinking=block.get("thinking")))
        elif kind == "text":
            self._answer.open("text")
            if text := block.get("text"):
                self._answer.add("text", text)
        elif kind == "tool_use":
            call = self._call(index)
            call.id, call.name = str(block.get("id") or ""), str(block.get("name") or "")

    def _think(self, index: int, delta: _Delta) -> None:
        if delta.thinking:
            self._thoughts.setdefault(index, []).append(delta.thinking)
            self._answer.add("thinking", delta.thinking)
        if delta.signature and (block := self._blocks.get(index)) is not None:
            block["signature"] = (block.get("signature") or "") + delta.signature

    def _call(self, index: int) -> CallSlot:
        if index not in self._calls:
            self._calls[index] = self._answer.slot()
        return self._calls[index]

    def _count(self, usage: dict[str, Any] | None) -> None:
        """The figures are cumulative: the last word counts (case C37)."""
        self._usage |= {key: value for key, value in (usage or {}).items() if value is not None}
        if self._usage:
            self._answer.usage = usage_of(self._usage, self._answer.resolved_model or self._target.model)

    def finish(self) -> str | None:
        for index, pieces in self._thoughts.items():
            if index in self._blocks:
                self._blocks[index]["thinking"] = valid_text("".join(pieces))
        for index, call in self._calls.items():
            if not call.raw.strip() and (whole := self._blocks.get(index, {}).get("input")):
                call.pieces.append(msgspec.json.encode(whole).decode())  # sent at once instead of in pieces
        if self._stop is None and not self.ended:
            return None
        stop = _STOPS.get(self._stop or "end_turn", self._stop or "stop")
        if self._answer.calls and stop == "stop":
            return "tool_calls"
        if self._answer.is_empty and (self._stop is None or stop == "tool_calls"):
            return UNANSWERED
        return stop


def usage_of(raw: dict[str, Any], model: str) -> Usage:
    """Anthropic counts cached tokens beside the input; here they are inside, as for everyone (US-1)."""
    read, written = count(raw.get("cache_read_input_tokens")), count(raw.get("cache_creation_input_tokens"))
    known = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(
        input_tokens=count(raw.get("input_tokens")) + read + written,
        output_tokens=count(raw.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        model=model,
        extra={key: value for key, value in raw.items() if key not in known},
    )
