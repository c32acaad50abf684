"""The provider-neutral request, and what a provider says while it answers (PV-1, PV-3).

A `Request` is a pure function of transcript and settings. A provider's `run(request, emit)` calls `emit` with the events
below, in order, and ends with exactly one `Done` or `Error`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.errors import Failure
from lmx_core.usage import Usage


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the model sees of a tool."""

    name: str
    description: str
    schema: dict[str, Any]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model.

    `model` is a spec in `provider:model` form. `entries` is the projected conversation: `user`, `assistant`, `tool_result`
    and `system` entries in order, every call followed by its results. `params` are generation parameters
    (`temperature`, `max_tokens`, ...). `context` is the session's own: `request_id`, `session_id`, `cwd`, ...; an adapter
    never sends it.
    """

    model: str
    entries: tuple[Entry, ...]
    system: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    params: dict[str, Any] = {}
    reasoning_effort: str | None = None
    output_schema: dict[str, Any] | None = None
    context: dict[str, Any] = {}


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a session knows of a request's size before it is sent: `Request.context["forecast"]`, for whoever prices it.

    `input_tokens` is what it may come to (CW-4). `likely_tokens` goes by what was counted: the last request, its answer and
    what was added since; None where nothing was. `cached_share` is the part of the last input that was read from the cache, 0
    to 1, and `largest_answer` the most tokens an answer of this session took.
    """

    input_tokens: int
    likely_tokens: int | None = None
    cached_share: float = 0.0
    largest_answer: int = 0


class TextDelta(msgspec.Struct, frozen=True):
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True):
    text: str


class ToolCallDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a call being composed; `index` numbers the calls of one answer."""

    index: int = 0
    name: str | None = None
    fragment: str = ""


class ToolCallReady(msgspec.Struct, frozen=True, kw_only=True):
    """A whole call. `argument_error` says why the arguments are not one JSON object; then `arguments` is `{}`."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    argument_error: str | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The authoritative assembled answer; the deltas before it were only a preview.

    `content` is a list of `{"type": "text"|"thinking", "text": str}` in order. `reasoning_details` is what the provider needs
    back verbatim (for Anthropic the thinking blocks with their signatures, in order, as the wire gave them).
    """

    content: list[dict[str, Any]] = []
    tool_calls: list[ToolCallReady] = []
    reasoning_details: list[dict[str, Any]] = []
    partial: bool = False


class UsageReport(msgspec.Struct, frozen=True):
    usage: Usage


class ResponseMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of one attempt; `headers` are lowercase and never carry a credential."""

    resolved_model: str | None = None
    status: int | None = None
    headers: dict[str, str] = {}


class ContextWindow(msgspec.Struct, frozen=True):
    """The window, in tokens, that the server says it serves."""

    tokens: int


class Queued(msgspec.Struct, frozen=True):
    """The request waits for its turn, or (`waiting` False) has got it. A session's limiter says so, never a provider."""

    waiting: bool


class Done(msgspec.Struct, frozen=True):
    """The answer ended: `stop`, `length`, `tool_calls`, `content_filter` or the provider's own word."""

    stop_reason: str


class Error(msgspec.Struct, frozen=True):
    """The attempt failed."""

    failure: Failure


ProviderEvent = (
    TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | ToolCallReady
    | Message
    | UsageReport
    | ResponseMetadata
    | ContextWindow
    | Queued
    | Done
    | Error
)
