"""litellm's chunks made small: what lmx reads of them, as Chat Completions chunks, neighbours joined.

A chunk costs litellm half a millisecond; handed on one by one each would wake the parent as well, and a fast answer would
make two processes busy.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")


def plain(chunk: Any) -> dict[str, Any]:
    """A `ModelResponseStream` as the chunk it stands for, without what is empty."""
    choice = next(iter(getattr(chunk, "choices", None) or ()), None)
    made: dict[str, Any] = {}
    if choice is not None:
        told: dict[str, Any] = {}
        if delta := _delta(getattr(choice, "delta", None)):
            told["delta"] = delta
        if finish := getattr(choice, "finish_reason", None):
            told["finish_reason"] = finish
        if told:
            made["choices"] = [told]
    if usage := _usage(getattr(chunk, "usage", None)):
        made["usage"] = usage
    if model := getattr(chunk, "model", None):
        made["model"] = str(model)
    return made


def _delta(delta: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("content", "reasoning_content", "refusal"):
        if isinstance(text := getattr(delta, name, None), str) and text:
            found[name] = text
    if blocks := [dict(block) for block in getattr(delta, "thinking_blocks", None) or ()]:
        found["reasoning_details"] = blocks
    if calls := [_call(call) for call in getattr(delta, "tool_calls", None) or ()]:
        found["tool_calls"] = calls
    return found


def _call(call: Any) -> dict[str, Any]:
    function = getattr(call, "function", None)
    told = {"name": getattr(function, "name", None), "arguments": getattr(function, "arguments", None)}
    made = {"index": getattr(call, "index", None), "id": getattr(call, "id", None)}
    return {key: value for key, value in made.items() if value is not None} | {
        "function": {key: value for key, value in told.items() if value is not None}
    }


def _usage(usage: Any) -> dict[str, Any]:
    """The counts. litellm's own `cost` is left out: prices have one source, the table (US-3)."""
    if usage is None:
        return {}
    read, said = getattr(usage, "prompt_tokens_details", None), getattr(usage, "completion_tokens_details", None)
    made: dict[str, Any] = {name: getattr(usage, name, None) for name in _USAGE}
    made["prompt_tokens_details"] = {
        "cached_tokens": getattr(read, "cached_tokens", None),
        "cache_write_tokens": getattr(read, "cache_creation_tokens", None),
    }
    made["completion_tokens_details"] = {"reasoning_tokens": getattr(said, "reasoning_tokens", None)}
    return made


class Joined:
    """Chunks waiting to be sent; one that only goes on with the last one's text is made one with it."""

    def __init__(self) -> None:
        self._waiting: list[dict[str, Any]] = []
        self._pieces: list[str] = []
        self._kind: str | None = None
        self._model: str | None = None

    def add(self, chunk: dict[str, Any]) -> None:
        if chunk.get("model") == self._model:  # told once an answer
            chunk.pop("model", None)
        else:
            self._model = chunk.get("model", self._model)
        if not chunk:
            return
        kind, text = _only_text(chunk)
        if kind is None or kind != self._kind:
            self._settle()
            self._waiting.append(chunk)
            self._kind = kind
        if kind is not None:
            self._pieces.append(text)

    def take(self) -> tuple[msgspec.Raw, ...]:
        """What waits, encoded; nothing waits any more."""
        self._settle()
        taken, self._waiting = self._waiting, []
        return tuple(msgspec.Raw(_encoded(chunk)) for chunk in taken)

    def _settle(self) -> None:
        if self._kind is not None:
            _set_text(self._waiting[-1], "".join(self._pieces))
        self._pieces, self._kind = [], None


def _encoded(chunk: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(chunk)
    except UnicodeEncodeError:  # half a surrogate pair; the reader of chunks knows what to do with it
        return json.dumps(chunk).encode()


def _only_text(chunk: dict[str, Any]) -> tuple[str | None, str]:
    """What kind of text a chunk holds if it holds nothing else, and the text."""
    if chunk.keys() - {"choices", "model"} or len(chunk.get("choices", ())) != 1:
        return None, ""
    (choice,) = chunk["choices"]
    delta = choice.get("delta", {})
    if choice.keys() != {"delta"} or len(delta) != 1:
        return None, ""
    ((name, value),) = delta.items()
    if name in ("content", "reasoning_content"):
        return name, value
    if name == "tool_calls" and len(value) == 1 and value[0].keys() == {"index", "function"}:
        function = value[0]["function"]
        if function.keys() == {"arguments"} and isinstance(function["arguments"], str):
            return f"arguments of {value[0]['index']}", function["arguments"]
    return None, ""


def _set_text(chunk: dict[str, Any], text: str) -> None:
    delta = chunk["choices"][0]["delta"]
    if "tool_calls" in delta:
        delta["tool_calls"][0]["function"]["arguments"] = text
    else:
        delta[next(iter(delta))] = text
