"""OpenAI Responses, without a network: what comes back to the server, and how its events are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.adapters import BASH, Heard, entries, request, tool

from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.base import UNANSWERED, ErrorEvent, Malformed, Target
from lmx_core.providers.wire.openai_responses import OpenAIResponses
from lmx_core.request import ProviderEvent, Request

WIRE = OpenAIResponses()


def target(**fields: Any) -> Target:
    return Target(**{"provider": "openai", "model": "m", "base_url": "https://api.openai.com/v1", **fields})


def body(what: Request, to: Target | None = None) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(WIRE.body(what, to or target()))
    return sent


def fold(*events: Any, to: Target | None = None, whole: Any = None) -> Heard:
    """The attempt that these events make, or an answer in one piece."""
    heard: list[ProviderEvent] = []
    answer = Answer(heard.append)
    decoder = WIRE.decoder(answer, to or target())
    for event in events:
        decoder.feed(event if isinstance(event, bytes) else json.dumps(event).encode())
        answer.flush()
    if whole is not None:
        decoder.whole(json.dumps(whole).encode())
    stop = decoder.finish()
    assert stop not in (None, UNANSWERED), stop
    answer.finish(stop or "")
    return Heard(heard)


def added(index: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, **item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, index: int, text: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text, **more}


def end(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"status": status, "model": "m-1", **fields}}


def call(index: int, arguments: str, **more: Any) -> list[dict[str, Any]]:
    fields = {"type": "function_call", "call_id": f"call_{index}", "name": "read"} | more
    return [
        added(index, **fields, arguments=""),
        delta("function_call_arguments", index, arguments),
        done(index, **fields, arguments=arguments),
    ]


THOUGHTS = [
    {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"secret {n}", "status": "completed"}
    for n in range(3)
]
KEPT = [{key: value for key, value in thought.items() if key != "status"} for thought in THOUGHTS]
NOTE = {"type": "message", "id": "msg_1", "phase": "commentary"}
THINKING = [
    *[added(0, type="reasoning", id="rs_0", summary=[]), done(0, **THOUGHTS[0])],
    *[added(1, **NOTE), delta("output_text", 1, "Looking."), done(1, **NOTE)],
    *[done(2, **THOUGHTS[1]), *call(3, '{"path":"a"}'), *call(4, '{"path":"b"}'), done(5, **THOUGHTS[2]), end()],
]


def sent_back(heard: Heard, to: Target | None = None) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = body(Request(model="x:y", entries=entries(heard.answer())), to)["input"]
    return items


def plain(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, "status": "completed"}


CALLS = [
    {"type": "function_call", "call_id": f"call_{n}", "name": "read", "arguments": f'{{"path":"{path}"}}'}
    for n, path in ((3, "a"), (4, "b"))
]


def test_ll_5_thinking_comes_back_verbatim_and_in_its_place() -> None:
    """LL-5: encrypted, before what followed it, for `store` is false; nothing after the last word or call."""
    heard = fold(*THINKING)
    assert (heard.text, heard.stop, len(heard.calls)) == ("Looking.", "tool_calls", 2)
    said = plain("Looking.") | {"id": "msg_1", "phase": "commentary"}
    assert sent_back(heard) == [KEPT[0], said, KEPT[1], *CALLS]
    assert body(request("x:y"))["store"] is False and body(request("x:y"))["include"] == ["reasoning.encrypted_content"]


def test_ll_5_another_server_gets_the_words_and_calls_only() -> None:
    """LL-5: what one server encrypted, another refuses; so too where the entry was changed meanwhile."""
    heard = fold(*THINKING)
    assert sent_back(heard, target(base_url="http://localhost:1/v1")) == [plain("Looking."), *CALLS]
    kind, payload = heard.answer()
    changed = (kind, payload | {"tool_calls": payload["tool_calls"][:1]})
    items = body(Request(model="x:y", entries=entries(changed)))["input"]
    assert items == [plain("Looking."), CALLS[0]]


def test_reasoning_that_cannot_come_back_is_not_sent() -> None:
    """Without its content an item is an id that nobody stored."""
    bare = {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "hm"}]}
    heard = fold(done(0, **bare), *call(1, "{}"), end())
    assert heard.thinking == "hm" and [item["type"] for item in sent_back(heard)] == ["function_call"]
    only = ("assistant", {"content": [{"type": "thinking", "text": "hm"}], "reasoning_details": []})
    assert body(Request(model="x:y", entries=entries(only)))["input"] == []


def test_parallel_calls_whose_pieces_are_mixed() -> None:
    """LL-7: pieces belong to the item they name."""
    a, b = (call(n, text) for n, text in ((0, '{"path":"a"}'), (1, '{"path":"b"}')))
    mixed = [a[0], b[0], *[delta("function_call_arguments", n, '{"path":') for n in (1, 0)]]
    mixed += [delta("function_call_arguments", n, f'"{path}"}}') for n, path in ((0, "a"), (1, "b"))]
    heard = fold(*mixed, a[2], b[2], end())
    assert [(c.id, c.arguments) for c in heard.calls] == [("call_0", {"path": "a"}), ("call_1", {"path": "b"})]


def test_what_came_without_pieces_is_in_the_whole_item() -> None:
    """A server may leave out every delta; what it did stream is not repeated."""
    words = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Words"}]}
    calls = {"type": "function_call", "call_id": "c", "name": "read", "arguments": '{"path":"a"}'}
    for events in (
        [done(0, **words), done(1, **calls), end()],
        [delta("output_text", 0, "Words"), done(0, **words), *call(1, '{"path":"a"}'), end()],
    ):
        heard = fold(*events)
        assert heard.text == "Words" and [c.arguments for c in heard.calls] == [{"path": "a"}]
    last = {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"path":"a"}'}
    assert fold(added(0, **calls), last, end()).calls[0].arguments == {"path": "a"}


def test_paragraphs_of_a_summary_stay_apart() -> None:
    kind = "reasoning_summary_text"
    heard = fold(delta(kind, 0, "One", summary_index=0), delta(kind, 0, "Two", summary_index=1), end())
    parts = [{"type": "summary_text", "text": text} for text in ("One", "Two")]
    whole = fold(whole={"status": "completed", "output": [{"type": "reasoning", "summary": parts}]})
    assert heard.thinking == whole.thinking == "One\n\nTwo"
    raw = fold(delta("reasoning_text", 0, "raw"), delta("output_text", 1, "x"), end())
    assert (raw.thinking, raw.text) == ("raw", "x")


@pytest.mark.parametrize(
    ("status", "details", "stop"),
    (
        ("completed", None, "stop"),
        ("incomplete", {"reason": "max_output_tokens"}, "length"),
        ("incomplete", {"reason": "content_filter"}, "content_filter"),
        ("incomplete", {"reason": "tired"}, "tired"),
        ("incomplete", None, "incomplete"),
    ),
)
def test_ll_7_how_a_response_ends(status: str, details: Any, stop: str) -> None:
    """LL-7: an answer that is not complete says why."""
    assert fold(delta("output_text", 0, "x"), end(status, incomplete_details=details)).stop == stop


def test_ll_7_a_refusal_is_words_and_a_reason() -> None:
    """LL-7: streamed or whole, the refusal is read and told as a filtered answer."""
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    for heard in (fold(delta("refusal", 0, "I cannot."), end()), fold(done(0, **item), end())):
        assert (heard.text, heard.stop) == ("I cannot.", "content_filter")


@pytest.mark.parametrize("events", ([], [added(0, type="message")], [delta("output_text", 0, "x")], call(0, "{}")))
def test_ll_7_without_its_end_an_answer_is_not_whole(events: list[Any]) -> None:
    decoder = WIRE.decoder(Answer(lambda event: None), target())
    for event in [*events, b"[DONE]"]:
        decoder.feed(event if isinstance(event, bytes) else json.dumps(event).encode())
    assert decoder.finish() is None and not decoder.ended


@pytest.mark.parametrize(
    ("event", "code", "message"),
    (
        (end("failed", error={"code": "server_error", "message": "m"}), "server_error", "m"),
        (end("completed", error={"code": "rate_limit_exceeded", "message": "m"}), "rate_limit_exceeded", "m"),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "m"}, "rate_limit_exceeded", "m"),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}, "invalid_request_error", "m"),
        ({"error": {"message": "m", "code": "context_length_exceeded"}}, "context_length_exceeded", "m"),
        (end("failed"), None, "the response failed"),
    ),
)
def test_ll_8_an_error_in_the_stream(event: Any, code: str | None, message: str) -> None:
    """LL-8: in each of the shapes that carry one, with its machine word."""
    with pytest.raises(ErrorEvent) as caught:
        fold(delta("output_text", 0, "x"), event)
    assert caught.value.reported.message == message and (code is None or code in caught.value.reported.codes)


@pytest.mark.parametrize("bad", (b"{", b"[]", b'"x"', b'{"output_index":"x"}', b'{"response":5}', b"<html>"))
def test_what_is_no_event_is_malformed(bad: bytes) -> None:
    with pytest.raises(Malformed):
        fold(bad)


def test_us_1_cached_tokens_are_inside_the_input() -> None:
    """US-1, case C37 a: once, and what else was told is kept."""
    usage = {"input_tokens": 1_000, "output_tokens": 10, "total_tokens": 1_010, "odd": 1}
    usage |= {"input_tokens_details": {"cached_tokens": 900}, "output_tokens_details": {"reasoning_tokens": 4}}
    heard = fold(delta("output_text", 0, "x"), end(usage=usage))
    assert heard.usage is not None
    told = heard.usage.to_dict()
    assert (told["input_tokens"], told["output_tokens"], told["cache_read_tokens"]) == (1_000, 10, 900)
    assert (told["reasoning_tokens"], told["odd"], told["model"]) == (4, 1, "m-1")


def test_what_this_protocol_calls_otherwise() -> None:
    """The system prompt, the output limit, a shape for the answer, tools; a parameter never replaces what is ours."""
    params = {
        "max_tokens": 9,
        "model": "other",
        "store": True,
        "input": [],
        "reasoning": {"summary": "auto"},
        "seed": 1,
    }
    what = request(
        "x:y",
        params=params,
        system="Be brief.",
        tools=(BASH,),
        reasoning_effort="low",
        output_schema={"type": "object"},
    )
    assert body(what) == {
        "input": [{"role": "user", "content": "hi"}],
        "model": "m",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "max_output_tokens": 9,
        "reasoning": {"summary": "auto", "effort": "low"},
        "seed": 1,
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": False}},
        "tools": [
            {
                "type": "function",
                "name": "bash",
                "description": BASH.description,
                "parameters": BASH.schema,
                "strict": False,
            }
        ],
    }


def test_pv_5_a_schema_openai_refuses() -> None:
    """PV-5: by tool name; another server is asked."""
    choice = tool("pick")
    choice.schema["anyOf"] = []
    failure = WIRE.check(target(), (BASH, choice))
    assert failure is not None and "'pick'" in failure.message and "anyOf" in failure.message
    assert WIRE.check(target(custom=True), (choice,)) is None
