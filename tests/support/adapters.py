"""What the provider tests share: the table of adapters under test, and what was heard from one attempt."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import pytest
from support.mock_llm import CODECS

from lmx_core.entry import Entry, make
from lmx_core.errors import Failure
from lmx_core.providers import base
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.litellm import preload
from lmx_core.request import (
    Done,
    Error,
    Message,
    ProviderEvent,
    Request,
    ResponseMetadata,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    ToolSpec,
    UsageReport,
)
from lmx_core.usage import Usage

KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Adapter:
    """One row of the conformance suite: a model spec, and where below the mock server's root the adapter's base URL is.

    `codec` names the mock's protocol, whose frames the byte-level tests cut up; `route` is where requests arrive.
    """

    name: str
    spec: str
    path: str
    codec: str
    route: str

    @property
    def vendor(self) -> str:
        """The name of the provider without the protocol that a spec may force."""
        return self.spec.partition(":")[0].partition("-")[0]

    @property
    def local(self) -> bool:
        return self.vendor == "ollama"

    @property
    def content_type(self) -> str:
        return str(CODECS[self.codec].content_type)

    @property
    def plain(self) -> bool:
        """Ollama's own API: errors are a sentence without machine words, arguments are objects, nothing is told of caches."""
        return self.codec == "ollama"

    @property
    def told_refusal(self) -> bool:
        """Whether the mock tells a refusal by the reason for which the answer ended."""
        return self.codec in ("chat", "anthropic")

    @property
    def keyed(self) -> bool:
        """Opened by one key in one variable: neither a server of one's own nor a cloud."""
        return not self.local and self.vendor != "azure_ai"

    @property
    def through_litellm(self) -> bool:
        return self.name.startswith("litellm")

    def provider(self, url: str, **options: Any) -> DefaultProvider:
        if self.through_litellm:
            worker_version()
        keys = {"openai": KEY, "anthropic": KEY, "hosted_vllm": KEY, "azure_ai": KEY}
        return DefaultProvider(base_url=url + self.path, **{"api_keys": keys, **options})


ADAPTERS = (
    Adapter("openai_chat", "openai:mock-model", "/v1", "chat", "/v1/chat/completions"),
    Adapter("openai_responses", "openai-responses:mock-model", "/v1", "responses", "/v1/responses"),
    Adapter("anthropic", "anthropic:mock-model", "", "anthropic", "/v1/messages"),
    Adapter("ollama", "ollama:mock-model", "", "ollama", "/api/chat"),
    Adapter("ollama_v1", "ollama:mock-model", "/v1", "chat", "/v1/chat/completions"),
    Adapter("litellm_chat", "hosted_vllm:mock-model", "/v1", "chat", "/v1/chat/completions"),
    Adapter("litellm_claude", "azure_ai:claude-mock-model", "/v1/messages", "anthropic", "/v1/messages"),
)


LITELLM_DIFFERS: tuple[tuple[str, str], ...] = (
    (r"test_ll_7_text_and_thinking.*litellm_claude", "it names the model that was asked, not the one that answered"),
    (r"test_us_1_usage_counts.*litellm_claude", "it names the model that was asked, not the one that answered"),
    (r"test_ll_10_.*litellm_claude", "it refuses an effort for a model that its catalogue does not list"),
    (r"test_gw_1_", "it has an address, a user agent and a list of models of its own"),
    (r"test_the_key_travels", "it asks for compression, and sends Azure's key twice"),
    (r"test_c8_16_nobody_listens", "it takes no name and password in a base URL"),
    (r"malformed", "it skips an event that cannot be read, or ends there"),
    (r"truncate-incomplete_stream-0-", "it says `stop` for a stream without an end mark"),
    (r"test_(ry_2|faults_through).*faults.*litellm_chat", "it skips an event that cannot be read"),
    (r"test_faults_through_the_engine.litellm_chat", "it skips an event that cannot be read"),
    (r"test_ll_7_an_empty_answer", "it says `stop` for whatever it could not read, so an empty answer is none"),
    (r"test_an_answer_in_one_piece", "it takes nothing but a stream for a stream"),
    (r"test_a_web_page", "its page cannot be quoted"),
)
"""What litellm makes different, by test. They are expected to fail: one that passes, passes for good and leaves this list."""


LITELLM_SLOW = re.compile(r"one_json_object.*(\[\[\[|\{\"a\":)|ends_at_any_byte|through_the_engine")
"""Thousands of chunks, at half a millisecond each, or what another test of the same suite shows: run with the long ones."""


def expect_differences(items: list[Any]) -> None:
    """Marks the collected tests of the litellm adapters that are in the list."""
    for item in items:
        adapter = item.callspec.params.get("adapter") if hasattr(item, "callspec") else None
        if isinstance(adapter, Adapter) and adapter.through_litellm:
            if LITELLM_SLOW.search(item.name):
                item.add_marker(pytest.mark.long)
            reason = next((reason for pattern, reason in LITELLM_DIFFERS if re.search(pattern, item.name)), None)
            if reason is not None:
                item.add_marker(pytest.mark.xfail(strict=True, reason=f"litellm: {reason}"))


@cache
def worker_version() -> str:
    """Starts the worker of this process of tests, once: it takes seconds."""
    return preload()


@dataclass
class Heard:
    """The events of one attempt. Making it checks what PV-1 promises of every attempt."""

    events: list[ProviderEvent]

    def __post_init__(self) -> None:
        ends = [e for e in self.events if isinstance(e, Done | Error)]
        assert len(ends) == 1 and self.events[-1] is ends[0], (
            f"not exactly one terminal event at the end: {self.events}"
        )
        if (message := self.message) is not None:
            spoken = "".join(item["text"] for item in message.content if item["type"] == "text")
            assert spoken == self.text, "the message is not what was streamed"
            assert message.tool_calls == self.calls and message.partial == (self.failure is not None)

    def _of(self, kind: type) -> list[Any]:
        return [e for e in self.events if isinstance(e, kind)]

    @property
    def text(self) -> str:
        return "".join(e.text for e in self._of(TextDelta))

    @property
    def thinking(self) -> str:
        return "".join(e.text for e in self._of(ThinkingDelta))

    @property
    def calls(self) -> list[ToolCallReady]:
        return self._of(ToolCallReady)

    @property
    def fragments(self) -> dict[int, str]:
        """Argument text by call, as it was streamed."""
        found: dict[int, str] = {}
        for e in self._of(ToolCallDelta):
            found[e.index] = found.get(e.index, "") + e.fragment
        return found

    @property
    def message(self) -> Message | None:
        return next(iter(self._of(Message)), None)

    @property
    def usage(self) -> Usage | None:
        return next((e.usage for e in self._of(UsageReport)), None)

    @property
    def metadata(self) -> ResponseMetadata | None:
        return next(iter(self._of(ResponseMetadata)), None)

    @property
    def failure(self) -> Failure | None:
        last = self.events[-1]
        return last.failure if isinstance(last, Error) else None

    @property
    def stop(self) -> str | None:
        last = self.events[-1]
        return last.stop_reason if isinstance(last, Done) else None

    def answer(self) -> tuple[str, dict[str, Any]]:
        """The `assistant` entry an engine would write."""
        assert self.message is not None
        payload: dict[str, Any] = {"content": self.message.content}
        if self.calls:
            payload["tool_calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in self.calls]
        if self.message.reasoning_details:
            payload["reasoning_details"] = self.message.reasoning_details
        return "assistant", payload


def tool(name: str, *arguments: str) -> ToolSpec:
    schema = {"type": "object", "properties": {a: {"type": "string"} for a in arguments}, "required": list(arguments)}
    return ToolSpec(name=name, description=f"The tool {name}.", schema=schema)


BASH, READ, EDIT = tool("bash", "command"), tool("read", "path"), tool("edit", "path", "old", "new")

_serial = count()


def entries(*items: str | tuple[str, dict[str, Any]]) -> tuple[Entry, ...]:
    """A conversation: a string is a user's text, otherwise `(type, payload)`."""
    found = []
    for item in items:
        kind, payload = ("user", {"text": item}) if isinstance(item, str) else item
        n = next(_serial)
        found.append(make(id=f"{n:026d}", seq=n, type=kind, payload=payload, at_ms=0))
    return tuple(found)


def request(adapter: Adapter | str, *items: str | tuple[str, dict[str, Any]], **fields: Any) -> Request:
    """A request with the tools `bash read edit` unless said otherwise."""
    model = adapter if isinstance(adapter, str) else adapter.spec
    return Request(**{"model": model, "entries": entries(*items or ("hi",)), "tools": (BASH, READ, EDIT), **fields})


async def attempt(provider: base.Provider, what: Request) -> Heard:
    events: list[ProviderEvent] = []
    await base.run(provider, what, events.append)
    return Heard(events)


def result(call: ToolCallReady, output: str, error: bool = False) -> tuple[str, dict[str, Any]]:
    return "tool_result", {"call_id": call.id, "name": call.name, "arguments": {}, "output": output, "error": error}


def sse(*chunks: Any) -> bytes:
    """A Chat Completions stream of these chunks; a string is sent as it is."""
    return b"".join(f"data: {c if isinstance(c, str) else json.dumps(c)}\n\n".encode() for c in chunks)
