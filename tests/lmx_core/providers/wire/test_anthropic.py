"""Anthropic Messages, without a network: the shape of a history, cache marks, thinking in its place, events folded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.adapters import BASH, READ, Heard, entries, request, tool

from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.anthropic import AnthropicMessages
from lmx_core.providers.wire.base import UNANSWERED, ErrorEvent, Malformed, Target
from lmx_core.request import ProviderEvent, Request

WIRE = AnthropicMessages()
MARK = {"type": "ephemeral"}


def target(model: str = "claude-sonnet-5") -> Target:
    return Target(provider="anthropic", model=model, base_url="https://x")


def body(what: Request, model: str = "claude-sonnet-5") -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(WIRE.body(what, target(model)))
    return sent


def call(id: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": "f", "arguments": arguments}


def result(id: str, output: str = "ok", **fields: Any) -> tuple[str, dict[str, Any]]:
    return "tool_result", {"call_id": id, "output": output, **fields}


def marked(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marked, value.values()))
    return sum(map(marked, value)) if isinstance(value, list) else 0


def test_c8_15_cache_breakpoints_on_tools_system_and_the_last_message() -> None:
    """C8-15, LL-11: and on the message where the request before this one ended; never more than the four that are allowed."""
    said = ("assistant", {"content": [], "tool_calls": [call("a"), call("b")]})
    sent = body(request("x:y", "one", said, result("a"), result("b"), system="S"))
    assert sent["tools"][-1]["cache_control"] == MARK and marked(sent["tools"]) == 1
    assert sent["system"] == [{"type": "text", "text": "S", "cache_control": MARK}]
    assert [marked(m) for m in sent["messages"]] == [1, 0, 1]
    assert sent["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert [marked(m) for m in body(request("x:y", "one"))["messages"]] == [1]
    items: list[Any] = ["one"]
    for n in range(5):
        items += [("assistant", {"content": [], "tool_calls": [call(str(n))]}), result(str(n))]
    assert marked(body(request("x:y", *items, system="S"))) == 4


def test_co_5_a_request_without_tools_defines_those_its_conversation_speaks_of_and_writes_no_cache() -> None:
    """CO-5: Anthropic refuses calls whose tool nobody defines; a summary's prefix is never asked for again."""
    said = ("assistant", {"content": [], "tool_calls": [call("a"), call("b")]})
    sent = body(
        request("x:y", "one", said, result("a"), result("b"), "sum up", system="S", tools=(), context={"cache": False})
    )
    assert sent["tools"] == [{"name": "f", "input_schema": {"type": "object"}}]
    assert sent["tool_choice"] == {"type": "none"} and marked(sent) == 0
    assert "tools" not in body(request("x:y", "one", tools=()))


def test_ll_5_results_stand_together_right_after_the_answer() -> None:
    """LL-5, case C14: with the error flag; a steer follows them in the same message; blank ones get a sentence."""
    said = ("assistant", {"content": [{"type": "text", "text": "x"}], "tool_calls": [call("a", n=1), call("b")]})
    sent = body(request("x:y", "one", said, result("b", "", error=True), "a steer", result("a")))
    assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "user"]
    assert sent["messages"][1]["content"] == [
        {"type": "text", "text": "x"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"n": 1}},
        {"type": "tool_use", "id": "b", "name": "f", "input": {}},
    ]
    blocks = sent["messages"][2]["content"]
    assert [b["type"] for b in blocks] == ["tool_result", "tool_result", "text"]
    assert (
        blocks[0]["is_error"] is True and "without saying why" in blocks[0]["content"] and "is_error" not in blocks[1]
    )


def test_ll_5_thinking_goes_back_verbatim_and_in_its_place() -> None:
    """LL-5: signed blocks as the wire gave them, redacted ones too; unsigned or foreign thinking never."""
    blocks = [
        {"type": "thinking", "thinking": "one", "signature": "s1", "odd": [1]},
        {"type": "redacted_thinking", "data": "xxx"},
        {"type": "thinking", "thinking": "", "signature": "s3"},
    ]
    content = [
        *[{"type": "thinking", "text": "one"}, {"type": "text", "text": "A"}, {"type": "thinking", "text": ""}],
        *[{"type": "thinking", "text": ""}, {"type": "text", "text": "B"}],
    ]
    said = {"content": content, "tool_calls": [call("a")], "reasoning_details": blocks}

    def sent(**changes: Any) -> list[dict[str, Any]]:
        what = Request(model="x:y", entries=entries("q", ("assistant", {**said, **changes}), result("a")))
        found: list[dict[str, Any]] = body(what)["messages"][1]["content"]
        return found

    text = [{"type": "text", "text": t} for t in "AB"]
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    assert sent() == [blocks[0], text[0], blocks[1], blocks[2], text[1], use]
    assert sent(reasoning_details=[{**blocks[0], "signature": ""}, *blocks[1:]])[0] == text[0]
    assert sent(reasoning_details=[]) == [*text, use]
    thought = {"content": [{"type": "thinking", "text": "one"}], "reasoning_details": blocks[:1]}
    alone = body(Request(model="x:y", entries=entries("q", ("assistant", thought), "r")))["messages"]
    assert [m["role"] for m in alone] == ["user"] and len(alone[0]["content"]) == 2
    assert sent(reasoning_details=[{"type": "reasoning.text", "text": "x"}]) == [*text, use]


def test_max_tokens_is_always_said_and_settings_are_translated() -> None:
    """C8-5, LL-10: with the limit an old model has; with thinking, no temperature."""
    assert body(request("x:y"))["max_tokens"] == 32_000
    assert body(request("x:y"), "claude-3-5-haiku-latest")["max_tokens"] == 8_192
    assert body(request("x:y"), "claude-3-opus-20240229")["max_tokens"] == 4_096
    sent = body(
        request("x:y", params={"max_tokens": 7, "stop": "X", "model": "z", "system": "z", "messages": 1, "top_p": 0.5})
    )
    assert (sent["max_tokens"], sent["stop_sequences"], sent["model"]) == (7, ["X"], "claude-sonnet-5")
    assert sent["top_p"] == 0.5 and "stop" not in sent and "system" not in sent
    sent = body(request("x:y", params={"temperature": 1.0}, reasoning_effort="high", output_schema={"type": "object"}))
    assert sent["thinking"] == {"type": "adaptive"} and "temperature" not in sent
    assert sent["output_config"] == {"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}}
    for model in ("claude-sonnet-4-20250514", "claude-opus-4-5"):
        assert body(request("x:y", reasoning_effort="low"), model)["thinking"] == {
            "type": "enabled",
            "budget_tokens": 4_096,
        }
    assert "thinking" not in body(request("x:y", reasoning_effort="none"))
    assert "thinking" not in body(request("x:y", reasoning_effort="low", params={"max_tokens": 500}), "claude-opus-4-5")


def test_blank_texts_are_never_sent() -> None:
    said = ("assistant", {"content": [{"type": "text", "text": " \n"}], "tool_calls": [call("a")]})
    sent = body(request("x:y", " ", said, result("a", "\n"), system=" "))
    texts = [b.get("text", b.get("content")) for m in sent["messages"] for b in m["content"] if b["type"] != "tool_use"]
    assert len(texts) == 2 and all(t.strip() for t in texts) and "system" not in sent


def test_pv_5_a_schema_the_wire_refuses_is_named_by_its_tool() -> None:
    """PV-5: top-level oneOf, allOf, anyOf; deeper down they are fine."""
    for word in ("oneOf", "allOf", "anyOf"):
        odd = tool("pick")
        odd.schema[word] = []
        failure = WIRE.check(target(), (BASH, odd, READ))
        assert failure is not None and failure.code == "unsupported_schema"
        assert "'pick'" in failure.message and word in failure.message
    nested = tool("fine", "a")
    nested.schema["properties"]["a"] = {"anyOf": [{"type": "string"}]}
    assert WIRE.check(target(), (nested,)) is None


# --- reading ---------------------------------------------------------------------------------------------------------


def fold(*events: Any) -> Heard:
    heard: list[ProviderEvent] = []
    answer = Answer(heard.append)
    decoder = WIRE.decoder(answer, target())
    for event in events:
        decoder.feed(event if isinstance(event, bytes) else json.dumps(event).encode())
        answer.flush()
    stop = decoder.finish()
    assert stop not in (None, UNANSWERED), stop
    answer.finish(stop or "")
    return Heard(heard)


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def ending(reason: str, **usage: int) -> list[dict[str, Any]]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, {"type": "message_stop"}]


def test_interleaved_thinking_is_kept_block_by_block() -> None:
    heard = fold(
        {
            "type": "message_start",
            "message": {"model": "m", "usage": {"input_tokens": 10, "cache_read_input_tokens": 90}},
        },
        *[start(0, type="thinking", thinking="", signature=""), delta(0, type="thinking_delta", thinking="o")],
        *[delta(0, type="thinking_delta", thinking="ne"), delta(0, type="signature_delta", signature="s1")],
        {"type": "ping"},
        *[
            start(1, type="text", text=""),
            delta(1, type="text_delta", text="A"),
            {"type": "content_block_stop", "index": 1},
        ],
        *[start(2, type="redacted_thinking", data="xxx"), start(3, type="thinking", thinking="")],
        *[delta(3, type="signature_delta", signature="s3"), {"type": "an event of tomorrow", "index": 9}],
        *[
            start(4, type="tool_use", id="t", name="f", input={}),
            delta(4, type="input_json_delta", partial_json='{"a"'),
        ],
        *[
            delta(4, type="input_json_delta", partial_json=":1}"),
            start(5, type="tool_use", id="u", name="g", input={"b": 2}),
        ],
        *ending("tool_use", output_tokens=7),
    )
    assert heard.message is not None
    kinds = [(item["type"], item["text"]) for item in heard.message.content]
    assert kinds == [("thinking", "one"), ("text", "A"), ("thinking", ""), ("thinking", "")]
    assert heard.message.reasoning_details == [
        {"type": "thinking", "thinking": "one", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xxx"},
        {"type": "thinking", "thinking": "", "signature": "s3"},
    ]
    assert [(c.id, c.name, c.arguments) for c in heard.calls] == [("t", "f", {"a": 1}), ("u", "g", {"b": 2})]
    sent = body(Request(model="x:y", entries=entries("q", heard.answer(), result("t"), result("u"))))["messages"][1]
    assert [b["type"] for b in sent["content"]] == [
        "thinking",
        "text",
        "redacted_thinking",
        "thinking",
        *["tool_use"] * 2,
    ]


def test_us_1_the_figures_are_cumulative_and_cached_tokens_are_inside() -> None:
    """US-1, case C37 b: 100 beside 900 read and 50 written are 1050; `message_delta` corrects `message_start`."""
    first = {"input_tokens": 100, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50, "output_tokens": 1}
    heard = fold(
        {"type": "message_start", "message": {"model": "m", "usage": {**first, "service_tier": "standard"}}},
        *[start(0, type="text", text=""), delta(0, type="text_delta", text="x")],
        *ending("end_turn", output_tokens=10),
    )
    assert heard.usage is not None
    told = heard.usage.to_dict()
    assert (told["input_tokens"], told["cache_read_tokens"], told["cache_write_tokens"]) == (1050, 900, 50)
    assert told["output_tokens"] == 10 and told["service_tier"] == "standard" and told["cost_usd"] is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    (
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause_turn"),
    ),
)
def test_stop_reasons(theirs: str, ours: str) -> None:
    assert fold(start(0, type="text", text="words"), *ending(theirs)).stop == ours


def test_an_answer_is_whole_only_with_its_stop_reason() -> None:
    decoder = WIRE.decoder(Answer(lambda event: None), target())
    for event in (
        start(0, type="tool_use", id="t", name="f", input={}),
        delta(0, type="input_json_delta", partial_json="{}"),
    ):
        decoder.feed(json.dumps(event).encode())
        assert decoder.finish() is None


def test_what_is_no_event_is_malformed_and_an_error_event_is_its_error() -> None:
    for bad in (b"{", b"[]", b"{}", b'{"type": 5, "index": []}'):
        with pytest.raises(Malformed):
            fold(bad)
    with pytest.raises(ErrorEvent) as caught:
        fold({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    assert caught.value.reported.codes == ("overloaded_error",)
