"""What is said to litellm, and how Claude's thinking comes back. Pure; over HTTP the conformance suite has it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from support.adapters import entries, request, result

from lmx_core.providers import models
from lmx_core.providers.litellm.wire import Thinking, ThroughLiteLLM
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.base import Target
from lmx_core.request import Message, ToolCallReady

MARK = {"type": "ephemeral"}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "sig"}
CALL = {"id": "c1", "name": "bash", "arguments": {"command": "ls"}}
THOUGHT = (
    "assistant",
    {"content": [{"type": "thinking", "text": "hm"}], "tool_calls": [CALL], "reasoning_details": [SIGNED]},
)
RESULT = result(ToolCallReady(id="c1", name="bash"), "ok")


def target(provider: str, model: str) -> Target:
    return Target(provider=provider, model=model, base_url="", facts=models.facts(provider, model))


def body(where: Target, *items: Any, **fields: Any) -> dict[str, Any]:
    asked = request(f"{where.provider}:{where.model}", *items, **fields)
    return msgspec.json.decode(ThroughLiteLLM().body(asked, where), type=dict)


@pytest.mark.parametrize("provider", ("bedrock", "vertex_ai", "azure_ai"))
def test_ll_11_claude_on_a_cloud_is_told_where_its_cache_may_end(provider: str) -> None:
    """LL-11: the system text and the newest two user messages, results of a wave being one of them."""
    sent = body(target(provider, "claude-x"), "one", THOUGHT, RESULT, THOUGHT, RESULT, RESULT, system="Be brief.")
    marks = [
        message.get("cache_control")
        or (message["content"][-1].get("cache_control") if isinstance(message["content"], list) else None)
        for message in sent["messages"]
    ]
    assert marks == [MARK, None, None, MARK, None, None, MARK]
    assert sent["messages"][0] == {
        "role": "system",
        "content": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
    }


def test_ll_11_nobody_else_is_sent_a_mark_or_thinking() -> None:
    """LL-5, LL-11: litellm passes both on untouched, and a strict server refuses them."""
    for provider, model in (
        ("groq", "x"),
        ("vertex_ai", "gemini-x"),
        ("openai", "claude-x"),
        ("vercel_ai_gateway", "claude-x"),
    ):
        told = str(body(target(provider, model), "one", THOUGHT, RESULT, system="s"))
        assert "cache_control" not in told and "thinking" not in told and "sig" not in told
    unmarked = body(target("bedrock", "claude-x"), "one", system="s", context={"cache": False})
    assert "cache_control" not in str(unmarked)


def test_ll_5_claudes_thinking_goes_back_only_with_its_signature() -> None:
    """LL-5: as it was signed, in its place; unsigned thinking is dropped."""
    where = target("bedrock", "anthropic.claude-x")
    (_, answer, _) = body(where, "one", THOUGHT, RESULT)["messages"]
    assert answer["thinking_blocks"] == [SIGNED]
    kind, payload = THOUGHT
    unsigned = (kind, {**payload, "reasoning_details": [{"type": "thinking", "thinking": "hm"}]})
    (_, answer, _) = body(where, "one", unsigned, RESULT)["messages"]
    assert "thinking_blocks" not in answer


def test_claude_is_always_told_how_long_it_may_be() -> None:
    """litellm would say 128,000, which many refuse."""
    assert body(target("bedrock", "claude-unheard-of"))["max_tokens"] == 32_000
    assert body(target("bedrock", "claude-x"), params={"max_tokens": 5})["max_tokens"] == 5
    assert "max_tokens" not in body(target("groq", "x"))


def test_claude_refuses_a_schema_that_is_a_choice() -> None:
    """PV-5."""
    tool = msgspec.structs.replace(request("a:b").tools[0], schema={"anyOf": []})
    assert ThroughLiteLLM().check(target("bedrock", "claude-x"), [tool]) is not None
    assert ThroughLiteLLM().check(target("groq", "x"), [tool]) is None


def test_thinking_is_kept_block_by_block_with_the_signature_that_follows() -> None:
    """A block in pieces, one that is redacted, and a second one; each has its place in the content."""
    events: list[Any] = []
    answer = Answer(events.append)
    decoder = Thinking(answer, target("bedrock", "claude-x"))
    pieces: list[dict[str, Any]] = [
        {"reasoning_content": "a", "reasoning_details": [{"type": "thinking", "thinking": "a", "index": 0}]},
        {"reasoning_content": "b", "reasoning_details": [{"type": "thinking", "thinking": "b", "index": 0}]},
        {"reasoning_details": [{"type": "thinking", "thinking": "", "signature": "s1", "index": 0}]},
        {"reasoning_details": [{"type": "redacted_thinking", "data": "xyz"}]},
        {"reasoning_content": "c", "reasoning_details": [{"type": "thinking", "thinking": "c"}]},
        {"reasoning_details": [{"type": "thinking", "thinking": "", "signature": "s2"}]},
        {"content": "done"},
    ]
    for piece in pieces:
        decoder.feed(msgspec.json.encode({"choices": [{"delta": piece}]}))
    decoder.feed(b'{"choices":[{"finish_reason":"stop"}]}')
    answer.finish(decoder.finish() or "")
    message = next(event for event in events if isinstance(event, Message))
    assert message.reasoning_details == [
        {"type": "thinking", "thinking": "ab", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "thinking", "thinking": "c", "signature": "s2"},
    ]
    assert [(part["type"], part["text"]) for part in message.content] == [
        ("thinking", "ab"),
        ("thinking", ""),
        ("thinking", "c"),
        ("text", "done"),
    ]


def test_a_conversation_is_encoded_once_for_both_kinds() -> None:
    """The same entries for Claude and for another model of one cloud are not mixed up."""
    wire, talk = ThroughLiteLLM(), entries("one", THOUGHT, RESULT)
    for _ in range(2):
        for model, thinks in (("claude-x", True), ("gemini-x", False)):
            asked = msgspec.structs.replace(request(f"vertex_ai:{model}"), entries=talk)
            assert (b"thinking_blocks" in wire.body(asked, target("vertex_ai", model))) == thinks
