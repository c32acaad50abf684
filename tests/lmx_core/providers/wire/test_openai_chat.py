"""Chat Completions, without a network: what is written for whom, and how the many dialects of an answer are read."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.adapters import BASH, Heard, entries, request, tool

from lmx_core.entry import make
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.base import UNANSWERED, ErrorEvent, Malformed, Target
from lmx_core.providers.wire.openai_chat import OpenAIChat
from lmx_core.request import Error, ProviderEvent, Request

WIRE = OpenAIChat()


def target(provider: str = "openai", **fields: Any) -> Target:
    return Target(**{"provider": provider, "model": "m", "base_url": "https://x/v1", "custom": True, **fields})


def body(what: Request, to: Target | None = None) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(WIRE.body(what, to or target()))
    return sent


def fold(*chunks: Any, to: Target | None = None, used_ids: tuple[str, ...] = ()) -> Heard:
    """The attempt that these chunks make; a string is sent as it is."""
    events: list[ProviderEvent] = []
    answer = Answer(events.append, used_ids)
    decoder = WIRE.decoder(answer, to or target())
    for chunk in chunks:
        decoder.feed(chunk if isinstance(chunk, bytes) else json.dumps(chunk).encode())
        answer.flush()
    stop = decoder.finish()
    assert stop not in (None, UNANSWERED), stop
    answer.finish(stop or "")
    return Heard(events)


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(arguments: Any = None, **fields: Any) -> dict[str, Any]:
    """A chunk with one piece of a call; `name` goes into its function."""
    function = {k: v for k, v in {"name": fields.pop("name", None), "arguments": arguments}.items() if v is not None}
    return delta(tool_calls=[{**fields, "function": function}])


END = delta("tool_calls")
A, B = '{"path":"a"}', '{"path":"b"}'

VARIANTS = {
    "a: ids and no index": [piece(A, id="c1", name="read"), piece(B, id="c2", name="read"), END],
    "a: in pieces": [
        *[piece(name="read", id="c1"), piece('{"path":'), piece('"a"}')],
        *[piece(name="read", id="c2"), piece('{"path":'), piece('"b"}'), END],
    ],
    "b: one index, two ids": [
        *[piece("", index=0, id="c1", name="read"), piece('{"path":', index=0), piece('"a"}', index=0)],
        *[piece("", index=0, id="c2", name="read"), piece('{"path":', index=0), piece('"b"}', index=0), END],
    ],
    "one id for both": [piece(A, index=0, id="c1", name="read"), piece(B, index=1, id="c1", name="read"), END],
    "c: ends with stop": [
        piece(A, index=0, id="c1", name="read"),
        piece(B, index=1, id="c2", name="read"),
        delta("stop"),
    ],
    "d: an end reason on every piece": [
        {"choices": [{"delta": chunk["choices"][0]["delta"], "finish_reason": "tool_calls"}]}
        for chunk in (piece(A, index=0, id="c1", name="read"), piece(B, index=1, id="c2", name="read"))
    ],
    "e: the name again in each piece": [
        *[piece('{"path":', index=0, id="c1", name="read"), piece('"a"}', index=0, name="read")],
        *[piece('{"path":', index=1, id="c2", name="read"), piece('"b"}', index=1, name=""), END],
    ],
    "e: id and name again in each piece, no index": [
        *[piece('{"path":', id="c1", name="read"), piece('"a"}', id="c1", name="read")],
        *[piece('{"path":', id="c2", name="read"), piece('"b"}', id="c2", name="read"), END],
    ],
    "g: arguments as an object": [
        *[
            piece({"path": "a"}, index=0, id="c1", name="read"),
            piece({"path": "b"}, index=1, id="c2", name="read"),
            END,
        ],
    ],
    "h: no id": [piece(A, index=0, name="read"), piece(B, index=1, name="read", id=None), END],
    "h: neither id nor index": [piece(A, name="read"), piece(B, name="read"), END],
    "h: neither, in pieces": [
        *[piece(name="read"), piece('{"path":'), piece('"a"}')],
        *[piece("", name="read"), piece('{"path":'), piece('"b"}'), piece("", name="read"), END],
    ],
    "h: no id and one index": [piece(A, index=0, name="read"), piece(B, index=0, name="read"), END],
    "interleaved": [
        *[piece("", index=0, id="c1", name="read"), piece("", index=1, id="c2", name="read")],
        *[piece('{"path":', index=1), piece('{"path":', index=0), piece('"b"}', index=1), piece('"a"}', index=0), END],
    ],
    "in one delta": [
        delta(
            tool_calls=[
                {"index": n, "id": f"c{n}", "function": {"name": "read", "arguments": raw}}
                for n, raw in enumerate((A, B))
            ]
        ),
        END,
    ],
}


@pytest.mark.parametrize("chunks", VARIANTS.values(), ids=VARIANTS.keys())
def test_parallel_calls_in_every_dialect(chunks: list[Any]) -> None:
    """LL-7, case C16: both calls, each with its own arguments, whatever is missing or repeated."""
    heard = fold(*chunks, {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}, b"[DONE]")
    assert [(c.name, c.arguments, c.argument_error) for c in heard.calls] == [
        ("read", {"path": "a"}, None),
        ("read", {"path": "b"}, None),
    ]
    assert len({c.id for c in heard.calls} - {""}) == 2 and heard.stop == "tool_calls"
    assert heard.usage is not None and (heard.usage.input_tokens, heard.usage.output_tokens) == (7, 3)


@given(st.lists(st.text(alphabet='a"{}\\ü🎉\n', max_size=12), min_size=1, max_size=4), st.data())
def test_calls_survive_any_split(values: list[str], data: st.DataObject) -> None:
    """LL-7: the arguments are those that were sent, wherever the server cuts them."""
    chunks = []
    for n, value in enumerate(values):
        raw = json.dumps({"value": value}, ensure_ascii=False)
        cut = data.draw(st.integers(0, len(raw)))
        chunks += [piece("", index=n, id=f"c{n}", name="f"), piece(raw[:cut], index=n), piece(raw[cut:], index=n)]
    assert [c.arguments for c in fold(*chunks, END).calls] == [{"value": value} for value in values]


def test_ids_the_conversation_already_holds_are_given_anew() -> None:
    heard = fold(
        piece(A, index=0, id="call_0", name="read"),
        piece(B, index=1, id="call_1", name="read"),
        END,
        used_ids=("call_0",),
    )
    assert heard.calls[0].id not in ("call_0", "call_1", "") and heard.calls[1].id == "call_1"


def test_us_1_the_last_usage_counts_and_not_the_sum() -> None:
    """US-1, case C37 d: usage in every chunk, growing; extras are kept, DeepSeek's cache figures understood."""
    chunks = [{**delta(content="x"), "usage": {"prompt_tokens": 100, "completion_tokens": n}} for n in (1, 2, 3)]
    last = {"prompt_tokens": 100, "completion_tokens": 4, "prompt_cache_hit_tokens": 60, "odd": 1}
    last["completion_tokens_details"] = {"reasoning_tokens": 2}
    heard = fold(*chunks, {**delta("stop"), "usage": last})
    assert heard.usage is not None
    told = heard.usage.to_dict()
    assert (told["input_tokens"], told["output_tokens"], told["cache_read_tokens"]) == (100, 4, 60)
    assert told["odd"] == 1 and told["reasoning_tokens"] == 2 and told["cost_usd"] is None


@pytest.mark.parametrize(
    ("provider", "model", "raw", "cost"),
    (
        ("openai", "m", {"cost": 1.0}, None),
        ("openrouter", "m", {"cost": 0.25}, 0.25),
        ("openrouter", "m", {"cost": 0}, None),
        ("openrouter", "m", {"cost": -5}, None),
        ("openrouter", "m", {"cost": True}, None),
        ("openrouter", "m", {"cost": 0.25, "is_byok": True}, None),
        ("ollama", "qwen3:8b", {}, 0.0),
        ("ollama", "qwen3-coder:480b-cloud", {}, None),
    ),
)
def test_c8_8_a_cost_is_what_was_charged_or_unknown(
    provider: str, model: str, raw: dict[str, Any], cost: float | None
) -> None:
    """C8-8, US-1, OL-4: never 0.0 for lack of a price; a local model costs nothing, and says why."""
    heard = fold(delta("stop", content="x"), {"usage": {"prompt_tokens": 1, **raw}}, to=target(provider, model=model))
    assert heard.usage is not None and heard.usage.cost_usd == cost
    assert (heard.usage.to_dict().get("pricing") == "local") == (cost == 0.0)


@pytest.mark.parametrize(("provider", "output"), (("xai", 40), ("google", 40), ("openai", 10), ("deepseek", 10)))
def test_us_1_thinking_that_only_the_total_counts_is_output(provider: str, output: int) -> None:
    """US-1, case C37: of vendors that count it so; elsewhere a total is a server's own affair."""
    told = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 140}
    heard = fold(delta("stop", content="x"), {"usage": told}, to=target(provider))
    assert heard.usage is not None and heard.usage.output_tokens == output
    plain = fold(delta("stop", content="x"), {"usage": {**told, "total_tokens": 0}}, to=target(provider))
    assert plain.usage is not None and plain.usage.output_tokens == 10


def test_no_usage_at_all_is_no_report() -> None:
    assert fold(delta("stop", content="x"), b"[DONE]").usage is None


def test_half_a_surrogate_pair_and_bad_utf_8_are_mended_not_retried() -> None:
    """The same bytes would come again: they are read, and the text stays valid."""
    heard = fold(
        b'{"choices":[{"delta":{"content":"a\\ud83d"}}]}',
        b'{"choices":[{"delta":{"content":"\\ude00b"}}]}',
        delta("stop"),
    )
    assert heard.text == "a😀b"
    assert fold(b'{"choices":[{"delta":{"content":"caf\xe9"}}]}', delta("stop")).text == "caf\ufffd"


@pytest.mark.parametrize(
    "chunks",
    (
        [delta(reasoning_content="hm"), delta("stop", content="x")],
        [delta(reasoning="hm"), delta("stop", content="x")],
        [
            delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
            delta("stop", content=[{"text": "x"}]),
        ],
        [{"choices": [{"message": {"reasoning_content": "hm", "content": "x"}, "finish_reason": "eos"}]}],
    ),
)
def test_dialects_of_thinking_and_text(chunks: list[Any]) -> None:
    heard = fold(*chunks)
    assert (heard.thinking, heard.text, heard.stop) == ("hm", "x", "stop")


ODD_USAGE = {
    "prompt_tokens": -5,
    "completion_tokens": 10**40,
    "prompt_tokens_details": [1],
    "completion_tokens_details": {"reasoning_tokens": "x"},
    "input_tokens": "evil",
    "kept": 10**40,
}


def test_a_server_that_tells_nonsense_harms_no_transcript() -> None:
    """LL-7: figures that are none count as not told, and what it says of itself becomes valid text."""
    heard = fold(
        {"model": "m\ud800", **delta("odd\ud800" + "!" * 200, content="x")}, {"choices": [], "usage": ODD_USAGE}
    )
    assert heard.usage is not None and heard.stop == "odd?" + "!" * 76
    told = make(id="x", seq=0, type="assistant", payload={}, at_ms=0, usage=heard.usage.to_dict())
    assert msgspec.json.encode(told) and told.usage is not None
    assert (told.usage["input_tokens"], told.usage["output_tokens"], told.usage["model"]) == (0, 0, "m\ufffd")


@pytest.mark.parametrize(
    "bad",
    (
        *(b"{", b"[]", b'"x"', b'{"choices": 5}', b"<html>", b'{"choices":[{"delta":{"tool_calls":[{"index":"x"}]}}]}'),
        b'{"choices":[],"usage":{"kept":%s}}' % (b"[" * 600 + b"]" * 600),
        b'{"choices":[],"usage":{"cost":1e999}}',
        b'{"choices":[],"skipped":%s}' % (b"[" * 100_000 + b"]" * 100_000),
    ),
    ids=lambda bad: bad[:40].decode(),
)
def test_what_is_no_chunk_is_malformed(bad: bytes) -> None:
    with pytest.raises(Malformed):
        fold(bad)


@pytest.mark.parametrize(
    "error", ("overloaded", {"code": 502, "message": "upstream"}, {"type": "server_error", "message": "m"})
)
def test_an_error_in_the_stream(error: Any) -> None:
    with pytest.raises(ErrorEvent) as caught:
        fold(delta(content="x"), {"error": error, "choices": [{"finish_reason": "error"}]})
    assert caught.value.reported.message in ("overloaded", "upstream", "m")


def test_every_prefix_of_a_stream_is_less_than_an_answer() -> None:
    """LL-7: without a finish reason or the end mark, an answer is not whole."""
    chunks = [delta(content="x"), piece("", index=0, id="c", name="f"), piece("{}", index=0)]
    for end in range(len(chunks) + 1):
        decoder = WIRE.decoder(Answer(lambda event: None), target())
        for chunk in chunks[:end]:
            decoder.feed(json.dumps(chunk).encode())
        assert decoder.finish() is None


# --- writing ---------------------------------------------------------------------------------------------------------


def test_only_the_settings_this_target_understands() -> None:
    """OL-1, C8-5: an output limit for a local model; OpenAI's own name for it; a parameter never replaces what is ours."""
    params = {"max_tokens": 9, "model": "other", "stream": False, "messages": [], "seed": 1}
    assert body(request("x:y", params=params)) | {"tools": 0} == {
        "messages": [{"role": "user", "content": "hi"}],
        "model": "m",
        "stream": True,
        "seed": 1,
        "tools": 0,
        "max_tokens": 9,
        "stream_options": {"include_usage": True},
    }
    ours = body(request("x:y", params=params), target(custom=False))
    assert ours["max_completion_tokens"] == 9 and "max_tokens" not in ours
    local = target("ollama", local_max_tokens=16_384)
    assert body(request("x:y"), local)["max_tokens"] == 16_384 and "options" not in body(request("x:y"), local)
    assert body(request("x:y", params={"max_tokens": 5}), local)["max_tokens"] == 5
    assert "max_tokens" not in body(request("x:y"), target("ollama"))
    assert "tools" not in body(request("x:y", tools=()))
    schema = body(request("x:y", output_schema={"type": "object"}))["response_format"]
    assert schema["json_schema"]["schema"] == {"type": "object"}


def test_thinking_goes_back_only_where_it_is_wanted() -> None:
    """LL-5, libraries B.5: nothing of one vendor's is sent to another."""
    details = [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "reasoning.text", "text": "t"},
        {"type": "extra_content", "call_id": "c", "extra_content": {"google": {"thought_signature": "g"}}},
    ]
    content = [{"type": "thinking", "text": "t"}, {"type": "text", "text": "x"}]
    calls = [{"id": "c", "name": "f", "arguments": {"a": 1}}]
    said = ("assistant", {"content": content, "tool_calls": calls, "reasoning_details": details})
    plain = {
        "role": "assistant",
        "content": "x",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
    }

    def sent(provider: str) -> Any:
        return body(Request(model="x:y", entries=entries(said)), target(provider))["messages"][0]

    assert sent("openai") == sent("xai") == sent("ollama") == plain
    assert sent("deepseek") == {**plain, "reasoning_content": "t"}
    assert sent("openrouter") == {**plain, "reasoning_details": [details[1]]}
    assert sent("google")["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "g"}}


def test_what_a_provider_wants_back_is_kept() -> None:
    """OpenRouter's reasoning details are joined, Google's signature stays with its call."""
    pieces = [delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": t}]) for t in ("a", "b")]
    heard = fold(*pieces, delta("stop", content="x"), to=target("openrouter"))
    assert heard.message is not None and heard.message.reasoning_details == [
        {"type": "reasoning.text", "index": 0, "text": "ab"}
    ]
    call = {
        "index": 0,
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "g"}},
    }
    heard = fold(delta(tool_calls=[call]), END, to=target("google"))
    assert heard.message is not None
    (kept,) = heard.message.reasoning_details
    assert kept == {"type": "extra_content", "call_id": heard.calls[0].id, "extra_content": call["extra_content"]}


def test_pv_5_a_schema_openai_refuses() -> None:
    choice = tool("pick")
    choice.schema["anyOf"] = []
    failure = WIRE.check(target(custom=False), (BASH, choice))
    assert failure is not None and "'pick'" in failure.message and "anyOf" in failure.message
    assert WIRE.check(target(), (choice,)) is None and WIRE.check(target("ollama"), (choice,)) is None


def test_an_entry_is_encoded_once() -> None:
    """A request of a long conversation costs what was added; an entry the projection rewrote is encoded anew."""
    wire, said = OpenAIChat(), request("x:y", "one", "two")
    first = wire.body(said, target())
    known = dict(wire._encoded._known)
    assert wire.body(said, target()) == first and wire._encoded._known == known
    stubbed = msgspec.structs.replace(said.entries[0], payload={"text": "three"})
    sent = wire.body(Request(model="x:y", entries=(stubbed, said.entries[1])), target())
    assert b"three" in sent and b"two" in sent and b"one" not in sent


def test_nothing_failed_is_silent() -> None:
    """A refusal in OpenAI's own field is words of the answer."""
    heard = fold(delta(refusal="I cannot."), delta("content_filter"))
    assert (heard.text, heard.stop) == ("I cannot.", "content_filter") and not isinstance(heard.events[-1], Error)
