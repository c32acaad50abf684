"""OpenAI Responses.

The conversation is kept here and not at the server: `store` is false. So what a model thought has to come back with every
request, encrypted as it was given, and in its place: an item of reasoning is refused without the message or the call that
followed it. One detail of the answer therefore remembers the order of its items; where the entry no longer fits that order, or
was said by another server, the words and calls go back without the thinking, which costs a little quality and never a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from lmx_core.entry import Entry
from lmx_core.errors import Failure
from lmx_core.providers.failures import read_error
from lmx_core.providers.wire import sse
from lmx_core.providers.wire.answer import Answer, CallSlot
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
from lmx_core.usage import Usage

LAYOUT = "openai_response"
"""The type of the reasoning detail that remembers an answer's items in their order."""

_ENCRYPTED = "reasoning.encrypted_content"
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


# --- writing ---------------------------------------------------------------------------------------------------------


class OpenAIResponses:
    """The wire `openai_responses`."""

    name = "openai_responses"
    path = "/responses"

    def __init__(self) -> None:
        self._encoded = Encoded()

    def root(self, base_url: str) -> str:
        return openai_root(base_url)

    def headers(self, key: str | None) -> dict[str, str]:
        return bearer(key)

    def check(self, target: Target, tools: Sequence[ToolSpec]) -> Failure | None:
        """OpenAI itself refuses a schema whose top level is a choice (PV-5); compatible servers don't."""
        return None if target.custom else refused_schema(tools, OPENAI_COMBINATORS, target.provider)

    def body(self, request: Request, target: Target) -> bytes:
        place = _place(target)
        items = self._encoded.messages(request.entries, place, lambda entry: _items(entry, place), _shown)
        return b'{"input":[' + b",".join(items) + b"]," + encode(_settings(request, target))[1:]

    def decoder(self, answer: Answer, target: Target) -> Events:
        return Events(answer, target)


def _place(target: Target) -> str:
    """Whose thinking this server can read: only what it encrypted itself."""
    return urlsplit(target.base_url).hostname or ""


def _settings(request: Request, target: Target) -> dict[str, Any]:
    """Everything of the body but its items; a generation parameter never overrides what the adapter needs."""
    own: dict[str, Any] = {"model": target.model, "stream": True, "store": False}
    params = {key: value for key, value in request.params.items() if key not in ("input", "previous_response_id")}
    for name in ("max_tokens", "max_completion_tokens"):
        if name in params:
            params["max_output_tokens"] = params.pop(name)
    if request.system:
        own["instructions"] = request.system
    if target.facts is None or target.facts.efforts:  # refused by a model that does not reason
        own["include"] = list(dict.fromkeys([*params.get("include", ()), _ENCRYPTED]))
    if request.reasoning_effort not in (None, "default"):
        own["reasoning"] = params.get("reasoning", {}) | {"effort": request.reasoning_effort}
    if request.output_schema is not None:
        shape = {"type": "json_schema", "name": "answer", "schema": request.output_schema, "strict": False}
        own["text"] = params.get("text", {}) | {"format": shape}
    if request.tools:
        own["tools"] = [_tool(tool) for tool in request.tools]
    return params | own


def _tool(tool: ToolSpec) -> dict[str, Any]:
    """`strict` is said because it defaults to true here, which rewrites a schema so that every argument is required."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,
    }


def _items(entry: Entry, place: str) -> Iterator[dict[str, Any]]:
    if entry.type == "assistant":
        yield from _answer_items(entry, place)
    elif entry.type == "tool_result":
        yield {"type": "function_call_output", "call_id": entry.payload["call_id"], "output": result_text(entry)}
    else:
        yield _shown(entry, prompt_text(entry))


def _shown(entry: Entry, text: str) -> dict[str, Any]:
    """A message of the user's, in parts where it has images or documents."""
    parts = [_part(medium) for medium in media(entry)]
    return {"role": "user", "content": [{"type": "input_text", "text": text}, *parts] if parts else text}


def _part(medium: Medium) -> dict[str, Any]:
    if medium.kind == "image":
        return {"type": "input_image", "image_url": medium.url}
    return {"type": "input_file", "filename": medium.name, "file_data": medium.url}


def _answer_items(entry: Entry, place: str) -> Iterator[dict[str, Any]]:
    texts = [part["text"] for part in entry.payload.get("content") or () if part.get("type") == "text"]
    calls = [_call(call) for call in entry.payload.get("tool_calls") or ()]
    layout = _layout(entry, place)
    kinds = [item["type"] for item in layout]
    if kinds.count("message") != len(texts) or kinds.count("function_call") != len(calls):
        if text := answer_text(entry):
            yield _said(text)
        yield from calls
        return
    last = max((n for n, kind in enumerate(kinds) if kind != "reasoning"), default=-1)
    words, made = iter(texts), iter(calls)
    for item in layout[: last + 1]:
        if item["type"] == "reasoning":
            yield item
        elif item["type"] == "message":
            yield _said(next(words)) | {key: item[key] for key in ("id", "phase") if item.get(key)}
        else:
            yield next(made)


def _layout(entry: Entry, place: str) -> list[dict[str, Any]]:
    for detail in entry.payload.get("reasoning_details") or ():
        if detail.get("type") == LAYOUT and detail.get("place") == place:
            items: list[dict[str, Any]] = detail["items"]
            return items
    return []


def _said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, "status": "completed"}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    text = msgspec.json.encode(call.get("arguments") or {}).decode()
    return {"type": "function_call", "call_id": call["id"], "name": call["name"], "arguments": text}


# --- reading ---------------------------------------------------------------------------------------------------------


class _Event(msgspec.Struct):
    type: str = ""
    output_index: int = 0
    delta: Any = None
    item: dict[str, Any] | None = None
    summary_index: int = 0
    arguments: str | None = None
    response: dict[str, Any] | None = None
    error: Any = None
    code: Any = None
    message: Any = None


_EVENT = msgspec.json.Decoder(_Event, strict=False)
_WHOLE = msgspec.json.Decoder(dict[str, Any], strict=False)
_WORDS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
}
_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))


class Events:
    """Folds the events of one answer."""

    framing = sse.Events

    def __init__(self, answer: Answer, target: Target):
        self._answer, self._target = answer, target
        self._items: dict[int, dict[str, Any]] = {}
        self._calls: dict[int, CallSlot] = {}
        self._spoken: set[int] = set()
        self._writing: int | None = None
        self._summary = 0
        self._refused = False
        self._final: dict[str, Any] = {}
        self.ended = False

    def feed(self, data: bytes) -> None:
        if data == b"[DONE]":
            return
        event = decode(_EVENT, data)
        kind = event.type
        if (what := _WORDS.get(kind)) is not None:
            self._say(event, what, event.delta if isinstance(event.delta, str) else "")
            self._refused |= kind == "response.refusal.delta"
        elif kind == "response.function_call_arguments.delta" and isinstance(event.delta, str):
            self._call(event.output_index).pieces.append(event.delta)
        elif kind == "response.function_call_arguments.done":
            self._whole_arguments(event.output_index, event.arguments)
        elif kind == "response.output_item.added":
            self._open(event.output_index, event.item or {})
        elif kind == "response.output_item.done":
            self._close(event.output_index, event.item or {})
        elif kind in _ENDS:
            self._end(event.response or {})
        elif kind == "error" or event.error is not None:
            said = event.error if event.error is not None else {"code": event.code, "message": event.message}
            raise ErrorEvent(read_error({"error": said}))
        elif event.response is not None:
            self._answer.metadata(event.response.get("model") or self._target.model)

    def whole(self, data: bytes) -> None:
        response = decode(_WHOLE, data)
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                self._open(index, item)
                self._close(index, item)
        self._end(response)

    def _say(self, event: _Event, what: str, text: str) -> None:
        if not text:
            return
        if event.output_index != self._writing:
            self._answer.open(what)
            self._writing, self._summary = event.output_index, event.summary_index
        elif event.summary_index != self._summary:
            self._summary = event.summary_index
            text = "\n\n" + text  # each part of a summary is a paragraph
        self._spoken.add(event.output_index)
        self._answer.add(what, text)

    def _open(self, index: int, item: dict[str, Any]) -> None:
        self._items[index] = item
        if item.get("type") == "function_call":
            call = self._call(index)
            call.id, call.name = str(item.get("call_id") or ""), str(item.get("name") or "")

    def _close(self, index: int, item: dict[str, Any]) -> None:
        """The whole item: what was streamed of it, and all of what was not."""
        self._open(index, item)
        if item.get("type") == "function_call":
            self._whole_arguments(index, item.get("arguments"))
        elif index not in self._spoken:
            for part, (what, text) in enumerate(_parts(item)):
                self._refused |= what == "refusal"
                self._say(
                    _Event(output_index=index, summary_index=part if what == "thinking" else 0),
                    "thinking" if what == "thinking" else "text",
                    text,
                )

    def _call(self, index: int) -> CallSlot:
        if index not in self._calls:
            self._calls[index] = self._answer.slot()
        return self._calls[index]

    def _whole_arguments(self, index: int, text: Any) -> None:
        call = self._call(index)
        if isinstance(text, str) and text and not call.pieces:
            call.pieces.append(text)

    def _end(self, response: dict[str, Any]) -> None:
        self._answer.metadata(response.get("model") or self._target.model)
        if isinstance(counted := response.get("usage"), dict):
            self._answer.usage = usage_of(counted, self._answer.resolved_model)
        if response.get("error") or response.get("status") in ("failed", "cancelled"):
            raise ErrorEvent(read_error({"error": response.get("error") or "the response failed"}))
        self._final, self.ended = response, True

    def finish(self) -> str | None:
        if not self.ended:
            return None
        status = self._final.get("status")
        why = (self._final.get("incomplete_details") or {}).get("reason")
        if self._answer.is_empty and not (status == "completed" or why in _INCOMPLETE):
            return UNANSWERED
        self._keep_layout()
        if status == "incomplete":
            return _INCOMPLETE.get(str(why), str(why or "incomplete"))
        if self._answer.calls:
            return "tool_calls"
        return "content_filter" if self._refused else "stop"

    def _keep_layout(self) -> None:
        items = [
            kept
            for index, item in sorted(self._items.items())
            if (kept := _kept(item, index in self._spoken, index in self._calls)) is not None
        ]
        order = [index for index in sorted(self._items) if index in self._calls]
        in_order = order == list(self._calls)  # calls are told in the order in which they were begun
        if in_order and any(item["type"] == "reasoning" or item.get("phase") for item in items):
            self._answer.reasoning_details.append({"type": LAYOUT, "place": _place(self._target), "items": items})


def _kept(item: dict[str, Any], spoken: bool, called: bool) -> dict[str, Any] | None:
    """What is remembered of an item: of reasoning all that may come back, of the others their place."""
    kind = item.get("type")
    if kind == "reasoning" and (item.get("encrypted_content") or item.get("content")):
        return {key: value for key, value in item.items() if key != "status" and value is not None}
    if kind == "message" and spoken:
        return {key: item[key] for key in ("type", "id", "phase") if item.get(key)}
    return {"type": "function_call"} if called else None


def _parts(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The words of a whole item: `(text | refusal | thinking, words)`."""
    reasoning = item.get("type") == "reasoning"
    parts = item.get("summary") or item.get("content") if reasoning else item.get("content")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and isinstance(refusal := part.get("refusal"), str):
            yield "refusal", refusal
        elif isinstance(part, dict) and isinstance(text := part.get("text"), str):
            yield "thinking" if reasoning else "text", text


def usage_of(raw: dict[str, Any], model: str | None) -> Usage:
    """OpenAI's input tokens include the cached ones (US-1, case C37)."""
    details, said = (
        found if isinstance(found := raw.get(key), dict) else {}
        for key in ("input_tokens_details", "output_tokens_details")
    )
    known = ("input_tokens", "output_tokens", "total_tokens", "input_tokens_details", "output_tokens_details")
    extra = {key: value for key, value in raw.items() if key not in known and value is not None}
    if thought := count(said.get("reasoning_tokens")):
        extra["reasoning_tokens"] = thought
    return Usage(
        input_tokens=count(raw.get("input_tokens")),
        output_tokens=count(raw.get("output_tokens")),
        cache_read_tokens=count(details.get("cached_tokens")),
        cache_write_tokens=count(details.get("cache_write_tokens")),
        model=model,
        extra=extra,
    )
