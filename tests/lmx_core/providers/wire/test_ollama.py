"""Ollama's own protocol, without a network: what is written, and how its lines are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.adapters import BASH, Heard, entries, request

from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.base import UNANSWERED, ErrorEvent, Malformed, Target
from lmx_core.providers.wire.lines import Lines
from lmx_core.providers.wire.ollama import OllamaChat
from lmx_core.providers.wire.sse import MAX_EVENT_BYTES, EventTooLong
from lmx_core.request import ProviderEvent, Request

WIRE = OllamaChat()


def target(**fields: Any) -> Target:
    return Target(**{"provider": "ollama", "model": "m", "base_url": "http://localhost:11434", **fields})


def body(what: Request, to: Target | None = None) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(WIRE.body(what, to or target()))
    return sent


def fold(*chunks: Any, to: Target | None = None, used_ids: tuple[str, ...] = ()) -> Heard:
    heard: list[ProviderEvent] = []
    answer = Answer(heard.append, used_ids)
    decoder = WIRE.decoder(answer, to or target())
    for chunk in chunks:
        decoder.feed(chunk if isinstance(chunk, bytes) else json.dumps(chunk).encode())
        answer.flush()
    stop = decoder.finish()
    assert stop not in (None, UNANSWERED), stop
    answer.finish(stop or "")
    return Heard(heard)


def piece(**message: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", **message}, "done": False}


def calls(*arguments: Any, **more: Any) -> dict[str, Any]:
    return piece(tool_calls=[{"function": {"name": "read", "arguments": a}, **more} for a in arguments])


def end(reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    return piece(content="") | {"done": True, "done_reason": reason, **more}


# --- reading ---------------------------------------------------------------------------------------------------------


def test_ll_7_calls_come_whole_and_without_an_id() -> None:
    """LL-7: arguments are an object, each call gets an id of its own; one the server gives is kept, if it is new."""
    heard = fold(calls({"path": "a"}, {"path": "b"}), calls(None), calls('{"path":"c"}'), end())
    assert [c.arguments for c in heard.calls] == [{"path": "a"}, {"path": "b"}, {}, {"path": "c"}]
    assert len({c.id for c in heard.calls} - {""}) == 4 and heard.stop == "tool_calls"
    assert fold(calls({}, id="call_7"), end()).calls[0].id == "call_7"
    assert fold(calls({}, id="call_7"), end(), used_ids=("call_7",)).calls[0].id != "call_7"
    assert fold(calls(["a"]), end()).calls[0].argument_error is not None


@pytest.mark.parametrize(("reason", "stop"), (("stop", "stop"), ("length", "length"), (None, "stop"), ("odd", "odd")))
def test_ll_7_why_an_answer_ended(reason: str | None, stop: str) -> None:
    """LL-7: the daemon's `done_reason`; a call that the limit may have cut stays `length`."""
    assert fold(piece(content="x"), end(reason)).stop == stop
    assert fold(calls({}), end("length")).stop == "length"


@pytest.mark.parametrize("reason", ("load", "unload", None))
def test_ll_7_a_model_that_was_only_loaded_said_nothing(reason: str | None) -> None:
    decoder = WIRE.decoder(Answer(lambda event: None), target())
    decoder.feed(json.dumps(end(reason)).encode())
    assert decoder.finish() == UNANSWERED
    assert fold(end("stop")).stop == "stop"


def test_ll_7_without_its_last_line_an_answer_is_not_whole() -> None:
    decoder = WIRE.decoder(Answer(lambda event: None), target())
    for chunk in (piece(content="x"), calls({"path": "a"})):
        decoder.feed(json.dumps(chunk).encode())
    assert decoder.finish() is None and not decoder.ended


def test_ll_8_an_error_is_one_line() -> None:
    """LL-8: once the answer has begun there is no status; what broke is the server's."""
    with pytest.raises(ErrorEvent) as caught:
        fold(piece(content="x"), {"error": "model runner has unexpectedly stopped"})
    reported = caught.value.reported
    assert (reported.message, reported.codes) == ("model runner has unexpectedly stopped", ("server_error",))


@pytest.mark.parametrize("bad", (b"{", b"[]", b'"x"', b'data: {"x":1}', b'{"message":5}', b"<html>", b"1"))
def test_what_is_no_line_of_an_answer_is_malformed(bad: bytes) -> None:
    with pytest.raises(Malformed):
        fold(bad)


@pytest.mark.parametrize(("model", "cost"), (("qwen3:8b", 0.0), ("qwen3-coder:480b-cloud", None)))
def test_c8_8_what_runs_here_costs_nothing_and_says_why(model: str, cost: float | None) -> None:
    """C8-8, OL-4, US-1: the counts of the last line; times are kept as extras; a cloud model's price is unknown."""
    last = end(prompt_eval_count=7, eval_count=3, total_duration=9)
    heard = fold(piece(content="x"), last, to=target(model=model))
    assert heard.usage is not None
    told = heard.usage.to_dict()
    assert (told["input_tokens"], told["output_tokens"], told["total_duration"]) == (7, 3, 9)
    assert told["cost_usd"] == cost and (told.get("pricing") == "local") == (cost == 0.0)


# --- writing ---------------------------------------------------------------------------------------------------------


def test_ol_1_parameters_stand_in_options() -> None:
    """OL-1, OL-3: an output limit where nothing sets one; a window only if the caller set it."""
    assert "options" not in body(request("x:y"))
    assert body(request("x:y"), target(local_max_tokens=16_384))["options"] == {"num_predict": 16_384}
    params = {
        "max_tokens": 9,
        "num_ctx": 4_096,
        "keep_alive": "1h",
        "temperature": 0,
        "model": "other",
        "stream": False,
    }
    assert body(request("x:y", params=params, tools=(BASH,)), target(local_max_tokens=16_384)) == {
        "messages": [{"role": "user", "content": "hi"}],
        "model": "m",
        "stream": True,
        "keep_alive": "1h",
        "options": {"num_predict": 9, "num_ctx": 4_096, "temperature": 0},
        "tools": [
            {
                "type": "function",
                "function": {"name": "bash", "description": BASH.description, "parameters": BASH.schema},
            }
        ],
    }
    options = {"options": {"num_predict": -1}}
    assert body(request("x:y", params=options), target(local_max_tokens=5))["options"] == {"num_predict": -1}
    assert body(request("x:y", output_schema={"type": "object"}))["format"] == {"type": "object"}


@pytest.mark.parametrize(
    ("effort", "think"),
    ((None, None), ("default", None), ("none", False), ("minimal", "low"), ("medium", "medium"), ("xhigh", "high")),
)
def test_ll_10_how_hard_to_think(effort: str | None, think: Any) -> None:
    """LL-10: the daemon knows three levels and off."""
    assert body(request("x:y", reasoning_effort=effort)).get("think") == think


def test_ll_5_a_conversation_as_the_daemon_wants_it() -> None:
    """LL-5: arguments as an object, results with the tool's name; only its own thinking, and only with calls."""
    heard = fold(piece(thinking="hm"), calls({"path": "a"}, id="c"), end())
    kind, said = heard.answer()
    result = ("tool_result", {"call_id": "c", "name": "read", "output": " "})
    sent = body(Request(model="x:y", entries=entries("hi", (kind, said), result), system="S"))["messages"]
    called = [{"id": "c", "function": {"name": "read", "arguments": {"path": "a"}}}]
    assert sent == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": called, "thinking": "hm"},
        {"role": "tool", "content": "(the tool returned nothing)", "tool_name": "read", "tool_call_id": "c"},
    ]
    others = (kind, said | {"reasoning_details": [{"type": "thinking", "thinking": "hm", "signature": "s"}]})
    assert "thinking" not in body(Request(model="x:y", entries=entries(others)))["messages"][0]
    kind, said = fold(piece(thinking="hm"), piece(content="x"), end()).answer()
    assert body(Request(model="x:y", entries=entries((kind, said))))["messages"] == [
        {"role": "assistant", "content": "x"}
    ]


def test_ll_5_images_go_beside_the_words() -> None:
    """LL-5: those of a result after the last of its wave; a document is nothing the daemon reads."""
    image = {"kind": "image", "media_type": "image/png", "data": "QUJD", "path": "s.png"}
    paper = {"kind": "document", "media_type": "application/pdf", "data": "REVG", "path": "d.pdf"}
    said = ("assistant", {"content": [], "tool_calls": [{"id": n, "name": "read", "arguments": {}} for n in "ab"]})
    results = [
        ("tool_result", {"call_id": "a", "name": "read", "output": "A", "attachments": [image]}),
        ("tool_result", {"call_id": "b", "name": "read", "output": "B"}),
    ]
    prompt = ("user", {"text": "see", "attachments": [image, paper]})
    sent = body(Request(model="x:y", entries=entries(prompt, said, *results)))["messages"]
    assert [(m["role"], m.get("images")) for m in sent] == [
        ("user", ["QUJD"]),
        ("assistant", None),
        ("tool", None),
        ("tool", None),
        ("user", ["QUJD"]),
    ]
    assert "s.png" in sent[4]["content"] and sent[0]["content"].startswith("see")


# --- framing ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(alphabet="a\u2028\x0bü{ ", max_size=5)), st.lists(st.integers(0, 60)))
def test_lines_come_out_whole_wherever_they_are_cut(texts: list[str], cuts: list[int]) -> None:
    """LL-7: at LF only, blank lines skipped, the last one also without its end."""
    data = "\n".join(texts).encode()
    framing, found, at = Lines(), [], 0
    for cut in [*sorted(cut for cut in cuts if cut <= len(data)), len(data)]:
        found += framing.feed(data[at:cut])
        at = cut
    assert found + framing.close() == [text.encode() for text in texts if text.encode().strip()]


def test_a_line_that_never_ends_does_not_fill_the_memory() -> None:
    framing = Lines()
    with pytest.raises(EventTooLong):
        for _ in range(MAX_EVENT_BYTES // 1_000_000 + 2):
            framing.feed(b"x" * 1_000_000)
