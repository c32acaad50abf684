"""What litellm is asked and what it answers: Chat Completions, which is what it speaks to whoever uses it.

So a request is built and an answer read by that wire. Claude behind a cloud is the exception: it wants its signed thinking
back in its place, is told where its cache may end, and is given 128,000 tokens by litellm where nobody says how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.errors import Failure
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.anthropic import THINKING, is_signed, max_tokens_of
from lmx_core.providers.wire.base import UNANSWERED, Target, encode, refused_schema
from lmx_core.providers.wire.openai_chat import Chunks, Delta, OpenAIChat
from lmx_core.request import Request, ToolSpec

CLAUDE_HOSTS = frozenset("azure_ai bedrock vertex_ai vertex_ai_beta".split())
"""Where litellm turns a request for Claude into one of Anthropic's; elsewhere its marks would be passed on and refused."""

_MARK = {"cache_control": {"type": "ephemeral"}}
_LIMITS = frozenset(("max_tokens", "max_completion_tokens"))


def is_claude(target: Target) -> bool:
    return target.provider in CLAUDE_HOSTS and "claude" in target.model.lower()


class ThroughLiteLLM(OpenAIChat):
    """The wire `litellm`; its bytes go to the worker."""

    name = "litellm"
    path = ""

    def root(self, base_url: str) -> str:
        return base_url

    def check(self, target: Target, tools: Sequence[ToolSpec]) -> Failure | None:
        if not is_claude(target):
            return None
        return refused_schema(tools, ("oneOf", "anyOf", "allOf"), target.provider)

    def body(self, request: Request, target: Target) -> bytes:
        if is_claude(target) and not _LIMITS & request.params.keys():
            limited = request.params | {"max_tokens": max_tokens_of(target)}
            request = msgspec.structs.replace(request, params=limited)
        return super().body(request, target)

    def history(self, request: Request, target: Target) -> list[bytes]:
        messages = super().history(request, target)
        if is_claude(target) and request.context.get("cache", True):
            return list(_with_breakpoints(messages, system=bool(request.system)))
        return messages

    def flavour(self, target: Target) -> str:
        return "claude through litellm" if is_claude(target) else super().flavour(target)

    def messages(self, entry: Entry, target: Target) -> Iterator[dict[str, Any]]:
        for message in super().messages(entry, target):
            if message["role"] == "assistant" and is_claude(target) and (blocks := _thoughts(entry)):
                message["thinking_blocks"] = blocks
            yield message

    def decoder(self, answer: Answer, target: Target) -> Chunks:
        return Thinking(answer, target) if is_claude(target) else Relayed(answer, target)


def _thoughts(entry: Entry) -> list[dict[str, Any]]:
    """What was thought, as it was signed; without a signature Anthropic refuses it."""
    details = entry.payload.get("reasoning_details") or ()
    return [detail for detail in details if detail.get("type") in THINKING and is_signed(detail)]


def _with_breakpoints(messages: Sequence[bytes], *, system: bool) -> Iterator[bytes]:
    """Cache marks where the direct wire has them: the system text, with the tools before it, and the newest two user messages.

    Results of one wave are one user message to Anthropic, so a mark stands at the last of neighbours.
    """
    said = [b'"role":"assistant"' not in message[:64] for message in messages]
    ends = [n for n in range(len(messages)) if said[n] and (n + 1 == len(messages) or not said[n + 1])]
    marked = set(ends[-2:]) | ({0} if system else set())
    for n, message in enumerate(messages):
        yield encode(_marked(msgspec.json.decode(message))) if n in marked else message


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        return message | _MARK
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    parts[-1] = parts[-1] | _MARK
    return message | {"content": parts}


class Relayed(Chunks):
    """An answer as litellm relays it: it says `stop` for whatever it could not read."""

    def finish(self) -> str | None:
        stop = super().finish()
        usage = self._answer.usage
        nothing = self._answer.is_empty and (usage is None or not usage.output_tokens)
        return UNANSWERED if nothing and stop == "stop" else stop


class Thinking(Relayed):
    """Claude's answer: its thinking blocks are kept whole, each with the signature that comes after its text."""

    def __init__(self, answer: Answer, target: Target):
        super().__init__(answer, target)
        self._open: dict[str, Any] | None = None

    def fold(self, delta: Delta) -> None:
        for block in delta.reasoning_details or ():
            self._think(block)
        super().fold(delta)

    def _think(self, block: dict[str, Any]) -> None:
        kept = {key: value for key, value in block.items() if key != "index" and value is not None}
        if kept.get("type") != "thinking":
            self._answer.open("thinking")  # a redacted thought has its place, too
            self._answer.reasoning_details.append(kept)
            self._open = None
            return
        if self._open is None:
            self._answer.open("thinking")
            self._open = {"type": "thinking", "thinking": ""}
            self._answer.reasoning_details.append(self._open)
        self._open["thinking"] += kept.get("thinking", "")
        if signature := kept.get("signature"):
            self._open["signature"] = signature
            self._open = None
