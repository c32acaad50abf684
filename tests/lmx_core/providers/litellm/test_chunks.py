"""What the worker makes of litellm's chunks, and how frames travel: pure, so without a process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.providers.litellm.messages import Frames, frame
from lmx_core.providers.litellm.wire import Relayed
from lmx_core.providers.litellm.worker.chunks import Joined, plain
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.base import Target
from lmx_core.request import Message, ToolCallReady


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"delta": fields}], "model": "m"}


def arguments(index: int, text: str) -> dict[str, Any]:
    return delta(tool_calls=[{"index": index, "function": {"arguments": text}}])


texts = st.text(max_size=6).filter(bool)
chunks = st.lists(
    st.one_of(
        texts.map(lambda text: delta(content=text)),
        texts.map(lambda text: delta(reasoning_content=text)),
        st.builds(arguments, st.integers(0, 1), texts),
        st.just({"choices": [{"finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
    ),
    max_size=30,
)


def folded(made: list[bytes]) -> tuple[Any, ...]:
    """What the parent understands of chunks: the message, the calls and why it ended."""
    events: list[Any] = []
    answer = Answer(events.append)
    decoder = Relayed(answer, Target(provider="hosted_vllm", model="m", base_url=""))
    for index in range(2):
        decoder.feed(
            msgspec.json.encode(delta(tool_calls=[{"index": index, "id": f"c{index}", "function": {"name": "f"}}]))
        )
    for chunk in made:
        decoder.feed(chunk)
    stop = decoder.finish()
    answer.finish(stop or "none")
    said = [event for event in events if isinstance(event, Message | ToolCallReady)]
    return said, stop


@given(chunks, st.lists(st.integers(0, 30), max_size=5))
def test_joining_chunks_changes_nothing_that_is_said(given_chunks: list[dict[str, Any]], takes: list[int]) -> None:
    """However they are cut into frames: the parent folds the same answer out of fewer pieces."""
    joined, sent = Joined(), []
    apart = [msgspec.json.encode(chunk) for chunk in given_chunks]
    for n, chunk in enumerate(given_chunks):
        if n in takes:
            sent += [bytes(raw) for raw in joined.take()]
        joined.add(msgspec.json.decode(msgspec.json.encode(chunk)))
    sent += [bytes(raw) for raw in joined.take()]
    assert folded(sent) == folded(apart) and len(sent) <= len(apart)
    assert joined.take() == ()


def test_neighbours_of_one_kind_are_one_chunk() -> None:
    joined = Joined()
    for text in ("a", "b", "c"):
        joined.add(delta(content=text))
    joined.add(arguments(0, '{"a"'))
    joined.add(arguments(0, ":1}"))
    joined.add(arguments(1, "{}"))
    assert [msgspec.json.decode(bytes(raw)) for raw in joined.take()] == [
        delta(content="abc"),
        {"choices": arguments(0, '{"a":1}')["choices"]},
        {"choices": arguments(1, "{}")["choices"]},
    ]


def test_half_a_surrogate_pair_travels() -> None:
    """Some servers send one, and the text around it is worth keeping."""
    joined = Joined()
    joined.add(delta(content="a\ud83d"))
    (raw,) = joined.take()
    assert b"\\ud83d" in bytes(raw)


def test_a_chunk_of_litellm_becomes_what_the_wire_reads() -> None:
    """Empty fields are left out, the cost that litellm reckons as well (US-3); written cache tokens have the name we read."""
    function = SimpleNamespace(name=None, arguments='{"a":1}')
    made = SimpleNamespace(
        model="m",
        choices=[
            SimpleNamespace(
                finish_reason=None,
                delta=SimpleNamespace(
                    content="",
                    reasoning_content="hm",
                    thinking_blocks=[{"type": "thinking", "thinking": "hm"}],
                    tool_calls=[SimpleNamespace(index=0, id=None, function=function)],
                ),
            )
        ],
        usage=SimpleNamespace(
            prompt_tokens=10,
            completion_tokens=2,
            total_tokens=12,
            cost=0.5,
            prompt_tokens_details=SimpleNamespace(cached_tokens=4, cache_creation_tokens=3),
            completion_tokens_details=None,
        ),
    )
    told = plain(made)
    assert told["choices"] == [
        {
            "delta": {
                "reasoning_content": "hm",
                "reasoning_details": [{"type": "thinking", "thinking": "hm"}],
                "tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}],
            }
        }
    ]
    assert told["usage"]["prompt_tokens_details"] == {"cached_tokens": 4, "cache_write_tokens": 3}
    assert "cost" not in told["usage"] and plain(SimpleNamespace(choices=[])) == {}


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=300), max_size=3), max_size=6), st.integers(1, 50)
)
def test_frames_arrive_however_the_pipe_cuts_them(bodies: list[dict[str, str]], size: int) -> None:
    data, frames = b"".join(frame(body) for body in bodies), Frames()
    found = [body for at in range(0, len(data), size) for body in frames.feed(data[at : at + size])]
    assert [msgspec.json.decode(body) for body in found] == bodies
