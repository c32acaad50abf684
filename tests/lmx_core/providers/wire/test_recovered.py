"""Calls that a model wrote as text (design.md section 4, "Local models")."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.adapters import BASH, READ, attempt, request, sse
from support.raw_server import answering, response, serving

from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.wire.base import arguments
from lmx_core.providers.wire.recovered import HOLD_MOST, Sieve, recover

NAMES = ("read", "bash")
CALL = '{"name": "read", "arguments": {"path": "a {}\\" </tool_call> ```.txt"}}'
READS = [("read", {"path": 'a {}" </tool_call> ```.txt'})]


def found(text: str) -> tuple[str, list[tuple[str, dict[str, object]]]]:
    shown, calls = recover(text, NAMES)
    return shown, [(call.name, arguments(call.arguments)[0]) for call in calls]


@pytest.mark.parametrize(
    ("text", "shown"),
    (
        (CALL, ""),
        (f"\n  {CALL}\n", "\n  "),
        (f"[{CALL}]", ""),
        (f"I'll read it.\n{CALL}", "I'll read it.\n"),
        (f"```json\n{CALL}\n```", ""),
        (f"Sure:\n\n```\n{CALL}\n```\n", "Sure:\n\n"),
        (f"```xml\n<tool_call>{CALL}</tool_call>\n```", ""),
        (f"<tool_call>\n{CALL}\n</tool_call>", ""),
        (f"<tool_call>{CALL}", ""),
        (f"First <tool_call>{CALL}</tool_call>\nthen more.", "First \nthen more."),
        (f"[TOOL_CALLS][{CALL}]", ""),
        ('[TOOL_CALLS]read[ARGS]{"path": "a {}\\" </tool_call> ```.txt"}', ""),
        (f"<|python_tag|>{CALL.replace('arguments', 'parameters')}", ""),
        ('<function=read>{"path": "a {}\\" </tool_call> ```.txt"}</function>', ""),
        (
            '<tool_call>\n<function=read>\n<parameter=path>\na {}" </tool_call> ```.txt\n</parameter>\n</function></tool_call>',
            "",
        ),
        (json.dumps({"type": "function", "function": json.loads(CALL)}), ""),
        (json.dumps({"tool": "functions.read", "args": json.dumps(json.loads(CALL)["arguments"])}), ""),
    ),
)
def test_the_shapes_in_which_models_write_a_call(text: str, shown: str) -> None:
    assert found(text) == (shown, READS)


@pytest.mark.parametrize(
    "text",
    (
        f"You could write {CALL}",
        f"For example:\n{CALL}\nwould read it.",
        f"For example:\n```json\n{CALL}\n```\nwould read it.",
        f"```python\nx = 1\n{CALL}\n",
        f"Call it with `<tool_call>{CALL}</tool_call>`.",
        CALL.replace("read", "nothing"),
        f"<tool_call>{CALL.replace('read', 'nothing')}</tool_call>",
        '{"name": "read", "description": "Reads.", "parameters": {"type": "object"}}',
        '{"name": "read"}',
        CALL[:-1],
        "<|python_tag|>print(1)",
        "[TOOL_CALLS]",
        "<tool_call>",
        "<function=read",
        "<function=read>nonsense</function",
        "```",
        "```json\n{",
        "a [1] <b> {c} `d`\r\n{e}\n[f]\n",
    ),
)
def test_what_is_no_call_stays_as_it_is(text: str) -> None:
    """An example in prose or code, a tool nobody offered, a definition, half a call: byte for byte."""
    assert recover(text, NAMES) == (text, [])


def test_several_calls_come_in_their_order() -> None:
    second = '{"name": "bash", "parameters": {"command": "ls"}}'
    wanted = ("", [*READS, ("bash", {"command": "ls"})])
    assert found(f"{CALL}; {second}") == wanted
    assert found(f"[{CALL}, {second}]") == wanted
    assert found(f"<tool_call>{CALL}</tool_call>\n<tool_call>{second}</tool_call>") == wanted
    assert found(f"```json\n{CALL}\n{second}\n```") == wanted


def test_a_marked_call_that_cannot_be_read_is_a_call_the_model_hears_about() -> None:
    text = '<tool_call>{"name": "bash", "arguments": {"command": "echo "hi""}}</tool_call> done'
    shown, (call,) = recover(text, NAMES)
    assert shown == " done" and call.name == "bash"
    assert "not JSON" in (arguments(call.arguments)[1] or "")


PIECES = (
    CALL,
    f"<tool_call>{CALL}</tool_call>",
    f"```json\n{CALL}\n```",
    f"[TOOL_CALLS][{CALL}]",
    '[TOOL_CALLS]bash{"command": 1}',
    '<function=bash>{"command": "ls"}</function>',
    '<tool_call>{"name": "bash", "arguments": {"a": "x"y"}}</tool_call>',
    "<tool_call>",
    "</tool_call>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "```",
    "```py\n",
    "`",
    "<",
    "[",
    "{",
    '{"na',
    '{"name": "read"}',
    '"',
    "\\",
    "}",
    "]",
    "\n",
    " ",
    ";",
    "Word ",
    "é",
)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.lists(st.integers(0, 300), max_size=12))
def test_how_the_stream_was_cut_changes_nothing(pieces: list[str], cuts: list[int]) -> None:
    text = "".join(pieces)
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    sieve = Sieve(NAMES)
    shown = [sieve.feed(text[a:b]) for a, b in pairwise(places)]
    rest, calls = sieve.close()
    assert ("".join(shown) + rest, calls) == recover(text, NAMES)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_every_cut_of_a_stream_gives_the_same(pieces: list[str]) -> None:
    text = "".join(pieces)
    for cut in range(len(text)):
        sieve = Sieve(NAMES)
        shown = sieve.feed(text[:cut]) + sieve.feed(text[cut:])
        rest, calls = sieve.close()
        assert (shown + rest, calls) == recover(text, NAMES)


@given(st.lists(st.sampled_from((*PIECES, "\r", "\u2028")), max_size=10), st.integers(0, 200))
def test_text_in_which_nothing_is_offered_passes_and_so_does_all_that_is_released(pieces: list[str], cut: int) -> None:
    """No name of a tool, no call; and what a failed attempt holds back comes out as it went in."""
    text = "".join(pieces)
    assert recover(text, ()) == recover(text, ("other",)) == (text, [])
    sieve = Sieve(("other",))
    assert sieve.feed(text[:cut]) + sieve.release() + sieve.feed(text[cut:]) == text


def test_plain_words_are_not_held_back() -> None:
    sieve = Sieve(NAMES)
    for word in ("Hello", " there,", " [see", " this]", "\n", "- a < b", "\n\n", "print({1})"):
        assert sieve.feed(word) == word


def test_nothing_of_a_call_is_shown_while_it_streams() -> None:
    for text in (CALL, f"<tool_call>{CALL}</tool_call>", f"```json\n{CALL}\n```"):
        sieve = Sieve(NAMES)
        assert "".join(sieve.feed(char) for char in text) == ""


def test_what_is_held_back_has_a_bound() -> None:
    """A call that never ends is text, and a stream of it costs no more than its length."""
    sieve = Sieve(NAMES)
    begun = '<tool_call>{"name": "read", "arguments": {"path": "'
    shown = sieve.feed(begun) + "".join(sieve.feed("}" * 16) for _ in range(HOLD_MOST // 8))
    assert shown.startswith(begun) and len(shown) > HOLD_MOST
    assert sieve.close()[1] == []
    whole = begun + "x" * HOLD_MOST + '"}}</tool_call>'
    assert recover(whole, NAMES) == (whole, [])


@pytest.mark.parametrize(
    "half", ('{"name": {\n', "[{\n", '<tool_call>{"name": "read\n', "<function=read>\n", "```json\n{")
)
def test_a_model_that_repeats_half_a_call_costs_little(half: str) -> None:
    """And all it said is shown. A small model that lost its way does this until its limit."""
    text = half * (200_000 // len(half))
    begun = time.process_time()
    assert recover(text, NAMES) == (text, [])
    assert time.process_time() - begun < 5, "it grows with the square"


def chat(*pieces: str) -> bytes:
    chunks = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    return response(sse(*chunks, {"choices": [{"delta": {}, "finish_reason": "stop"}]}, "[DONE]"))


async def heard(data: bytes, spec: str = "ollama:m", **options: object):  # type: ignore[no-untyped-def]
    async with serving(answering(data)) as url:
        provider = DefaultProvider(base_url=url + "/v1", api_keys={}, ollama_window=False, **options)  # type: ignore[arg-type]
        said = await attempt(provider, request(spec, tools=(BASH, READ)))
        await provider.aclose()
    return said


@pytest.mark.asyncio
async def test_a_recovered_call_is_a_call_like_any_other() -> None:
    """Its words are not shown, the answer stops for a call, and the session can run it."""
    said = await heard(chat("Let me see.\n", "```json\n", CALL[:20], CALL[20:], "\n```"))
    assert (said.text, said.stop) == ("Let me see.\n", "tool_calls")
    (call,) = said.calls
    assert (call.name, call.arguments) == READS[0] and call.id and call.argument_error is None


@pytest.mark.asyncio
async def test_only_where_it_is_switched_on() -> None:
    """A hosted model's text is its text; another local server is added by name."""
    assert (await heard(chat(CALL), "openai:m")).text == CALL
    assert (await heard(chat(CALL), calls_in_text=())).text == CALL
    assert (await heard(chat(CALL), "openai:m", calls_in_text=("openai",))).calls


@pytest.mark.asyncio
async def test_a_failed_attempt_leaves_the_words_it_held_back() -> None:
    said = await heard(response(sse({"choices": [{"delta": {"content": CALL[:-2]}}]}, "{nonsense")))
    assert said.failure is not None and said.text == CALL[:-2] and not said.calls


@pytest.mark.asyncio
async def test_a_server_that_finds_calls_itself_is_believed() -> None:
    given = {"index": 0, "id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    said = await heard(
        response(
            sse(
                {"choices": [{"delta": {"content": CALL}}]},
                {"choices": [{"delta": {"tool_calls": [given]}, "finish_reason": "tool_calls"}]},
                "[DONE]",
            )
        )
    )
    assert [call.name for call in said.calls] == ["bash"] and said.text == CALL
