"""What every adapter does alike, over real HTTP against the scripted model. A new adapter joins as a row of `ADAPTERS`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support.adapters import ADAPTERS, BASH, KEY, READ, Adapter, attempt, request, result
from support.mock_llm import MockLLM

from lmx_core.clock import ManualClock
from lmx_core.providers import base

pytestmark = pytest.mark.asyncio
each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda a: a.name)
each_with_argument_text = pytest.mark.parametrize("adapter", [a for a in ADAPTERS if not a.plain], ids=lambda a: a.name)

EVERY_BYTE = {"chunk_tokens": 1, "crlf": True, "comments": True, "write_bytes": 1, "arg_chunk_chars": 2}


# --- an answer -------------------------------------------------------------------------------------------------------


@each_adapter
@pytest.mark.parametrize(
    "delivery", ({}, {"chunk_tokens": 1, "coalesce": 0}, EVERY_BYTE), ids=("reads", "events", "bytes")
)
async def test_ll_7_text_and_thinking_arrive_however_they_are_cut(adapter: Adapter, delivery: dict[str, Any]) -> None:
    """PV-1, LL-7: CR LF, comments, one byte a write, characters split in the middle."""
    text, thought = "Grüße 🎉 — “quoted”\ttab\r\nand  \u2028 separators.\n", "Denken: 日本語 🎉"
    with MockLLM({"defaults": delivery, "turns": [{"text": text, "reasoning": thought}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter))
    assert (heard.text, heard.thinking, heard.stop) == (text, thought, "stop")
    assert heard.message is not None and [i["type"] for i in heard.message.content] == ["thinking", "text"]
    assert heard.metadata is not None and heard.metadata.resolved_model == "mock-model" and heard.metadata.status == 200


@each_adapter
async def test_ll_7_parallel_calls_with_split_arguments(adapter: Adapter) -> None:
    """LL-7: calls are assembled by index and arguments decoded as one JSON object."""
    actions = [{"shell": f"printf '%s' 'n {n} ☃ \\n'"} for n in range(8)]
    with MockLLM({"defaults": EVERY_BYTE, "turns": [{"text": "Now.", "actions": actions}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter))
    assert [c.arguments for c in heard.calls] == [{"command": f"printf '%s' 'n {n} ☃ \\n'"} for n in range(8)]
    assert len({c.id for c in heard.calls}) == 8 and {c.name for c in heard.calls} == {"bash"}
    assert heard.stop == "tool_calls"
    assert [json.loads(text) for _, text in sorted(heard.fragments.items())] == [c.arguments for c in heard.calls]


@each_with_argument_text
@pytest.mark.parametrize(
    ("raw", "decoded"),
    (
        ('{"command": "echo trunc', None),
        ('["echo"]', None),
        ('"echo"', None),
        ("{} {}", None),
        ("", {}),
        ('{"command": "echo \\ud83d"}', {"command": "echo \ufffd"}),
        ('{"command": ' + "[" * 100_000 + "]" * 100_000 + "}", None),
        ('{"command": ' + '{"a":' * 600 + "1" + "}" * 601, None),
        ('{"command": "%s"}' % ("[{" * 600), {"command": "[{" * 600}),
    ),
)
async def test_ll_7_arguments_that_are_not_one_json_object(
    adapter: Adapter, raw: str, decoded: dict[str, Any] | None
) -> None:
    """LL-7: they are never mended; the call is handed on with the reason, and no arguments (case C15 c)."""
    action = {"tool": "bash", "args": {}, "raw_args": raw}
    with MockLLM({"turns": [{"actions": [action]}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter))
    (call,) = heard.calls
    assert call.arguments == (decoded or {}) and (call.argument_error is None) == (decoded is not None)
    assert heard.stop == "tool_calls"


@each_adapter
@pytest.mark.parametrize(("mocks", "ours"), (("length", "length"), ("refusal", "content_filter"), ("stop", "stop")))
async def test_ll_7_finish_reasons(adapter: Adapter, mocks: str, ours: str) -> None:
    if mocks == "refusal" and not adapter.told_refusal:
        ours = "stop"
    with MockLLM({"turns": [{"text": "Some words", "stop_reason": mocks}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter))
    assert (heard.stop, heard.text) == (ours, "Some words")


@each_adapter
async def test_a_call_cut_off_by_the_output_limit_is_told_as_that(adapter: Adapter) -> None:
    """Case C15 b: the reason stays `length`, so that the model can be told to split its work."""
    action = {"tool": "bash", "args": {}, "raw_args": '{"command": "rm -rf build'}
    with MockLLM({"turns": [{"actions": [action], "stop_reason": "length"}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter))
    assert heard.stop == "length" and heard.calls[0].arguments == {}
    assert adapter.plain or heard.calls[0].argument_error


@each_adapter
async def test_us_1_usage_counts_cached_tokens_inside_the_input(adapter: Adapter) -> None:
    """US-1: one shape for every wire (case C37)."""
    usage = {"input": 1050, "output": 10, "cache_read": 900, "cache_write": 50}
    with MockLLM({"turns": [{"text": "x", "usage": usage}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter))
    assert heard.usage is not None
    told = heard.usage.to_dict()
    assert list(told)[:6] == [
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost_usd",
        "model",
    ]
    assert (told["input_tokens"], told["output_tokens"], told["cache_read_tokens"]) == (
        1050,
        10,
        0 if adapter.plain else 900,
    )
    assert told["input_includes_cached"] is True and told["model"] == "mock-model"
    assert told["cost_usd"] == (0.0 if adapter.local else None)


# --- what is sent ----------------------------------------------------------------------------------------------------


@each_adapter
async def test_ll_5_a_whole_conversation_is_a_history_the_provider_accepts(adapter: Adapter) -> None:
    """LL-5, TO-3, PV-3: calls, blank results, a steer and a notice after them; the mock refuses what real APIs refuse."""
    turns = [{"text": "", "reasoning": "r", "actions": ["shell: a", "shell: b"]}, {"text": "done"}]
    with MockLLM({"turns": turns}) as m:
        provider = adapter.provider(m.url)
        first = await attempt(provider, request(adapter, "start"))
        a, b = first.calls
        note = ("system", {"text": "note"})
        tail = ["start", first.answer(), result(b, "B\0!"), note, result(a, " \n", error=True), "a steer"]
        second = await attempt(provider, request(adapter, *tail, system="Be brief.", params={"temperature": 0.5}))
        sent = m.requests("main")[1]
        await provider.aclose()
    assert second.text == "done" and not sent.get("problem")
    told = json.dumps(sent["body"], ensure_ascii=False)
    assert "B\ufffd!" in told and "failed without saying why" in told and '"temperature": 0.5' in told
    assert "a steer" in told and "note" in told and "Be brief." in told
    assert sent["tools"] == ["bash", "read", "edit"] and sent["stream"] is True and "tool_choice" not in sent["body"]


@each_adapter
async def test_an_answer_that_left_only_thinking_is_not_sent(adapter: Adapter) -> None:
    """LL-5: neither thinking alone nor a blank answer goes back."""
    only_thought = ("assistant", {"content": [{"type": "thinking", "text": "hm"}]})
    with MockLLM({"turns": [{"text": "ok"}]}) as m:
        heard = await attempt(adapter.provider(m.url), request(adapter, "a", only_thought, "b"))
        body = m.requests("main")[0]["body"]
        roles = [x["role"] for x in body.get("messages") or body["input"]]
    assert heard.text == "ok" and "assistant" not in roles


@each_adapter
async def test_ll_10_reasoning_effort_stays_a_word_until_here(adapter: Adapter) -> None:
    """LL-10: `None` and `default` send nothing."""
    with MockLLM({"turns": [{"text": "ok"}]}) as m:
        provider = adapter.provider(m.url)
        for effort in (None, "default", "high"):
            await attempt(provider, request(adapter, reasoning_effort=effort))
        bodies = [r["body"] for r in m.requests("main")]
        await provider.aclose()
    assert bodies[0] == bodies[1] != bodies[2]
    added = {key: value for key, value in bodies[2].items() if bodies[0].get(key) != value}
    assert (
        added
        == {
            "chat": {"reasoning_effort": "high"},
            "responses": {"reasoning": {"effort": "high"}},
            "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 16_384}},
            "ollama": {"think": "high"},
        }[adapter.codec]
    )


@each_adapter
async def test_gw_1_the_base_url_moves_the_address_and_nothing_else(adapter: Adapter) -> None:
    """GW-1: the protocol and its path stay; a connection serves several requests."""
    with MockLLM({"name": "one", "turns": [{"text": "ok"}]}) as m:
        provider = adapter.provider(m.url + "/s/one")
        for _ in range(3):
            assert (await attempt(provider, request(adapter))).text == "ok"
        paths = {r["path"] for r in m.requests("main")}
        hidden = m.requests()[0]["headers"]
        assert await base.available_models(provider, adapter.spec.partition(":")[0]) == [
            f"{adapter.spec.partition(':')[0]}:{name}" for name in ("mock-model", "mock-one")
        ]
        await provider.aclose()
    assert paths == {"/s/one" + adapter.route}
    assert hidden["user-agent"] == "lmx" and KEY not in json.dumps(hidden)


# --- silence and cancelling ------------------------------------------------------------------------------------------


@each_adapter
@pytest.mark.parametrize(
    "turn", ({"ttft_ms": 60_000}, {"faults": [{"kind": "stall", "after_chunks": 2, "ms": 60_000}]})
)
async def test_ll_7_a_silent_stream_ends_by_the_idle_limit_on_the_clock(adapter: Adapter, turn: dict[str, Any]) -> None:
    """LL-7, OL-2: the limit is the engine clock's, and starts over with each piece."""
    clock = ManualClock()
    limit = 900_000 if adapter.local else 120_000
    with MockLLM(
        {"defaults": {"chunk_tokens": 1, "coalesce": 0}, "turns": [{"text": "one two three four", **turn}]}
    ) as m:
        running = asyncio.create_task(attempt(adapter.provider(m.url, clock=clock), request(adapter)))
        await clock.await_timer(lambda ms: ms == limit)
        while not m.requests("main") or ("faults" in turn and m.requests("main")[0]["events"] < 2):
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        await clock.advance(limit - 1)
        assert not running.done()
        await clock.advance(limit)
        heard = await running
    failure = heard.failure
    assert failure is not None and (failure.code, failure.category, failure.is_transient) == (
        "timeout",
        "timeout",
        True,
    )
    assert f"{limit // 1_000} s" in failure.message


@each_adapter
async def test_cancelling_closes_the_connection_at_once(adapter: Adapter) -> None:
    """PV-1: nothing more is read or paid for, and nothing is emitted afterwards."""
    heard: list[Any] = []
    turn = {"text": "one two three four " * 50, "chunk_ms": 20, "chunk_tokens": 1}
    with MockLLM({"turns": [turn]}) as m:
        provider = adapter.provider(m.url)
        running = asyncio.create_task(base.run(provider, request(adapter), heard.append))
        while len(heard) < 4:
            await asyncio.sleep(0.005)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        said = list(heard)
        for _ in range(400):
            if m.requests("main")[0]["ms_done"] is not None:
                break
            await asyncio.sleep(0.01)
        assert m.requests("main")[0]["completed"] is False
        assert heard == said
        await provider.aclose()


# --- the scenarios ---------------------------------------------------------------------------------------------------

SCENARIOS = Path(__file__).parents[2] / "support" / "scenarios"


async def play(adapter: Adapter, m: MockLLM, tools: dict[str, Any]) -> tuple[str, int]:
    """A loop in miniature: runs calls, retries what is transient; the last text and the number of attempts."""
    provider, history, attempts = adapter.provider(m.url), ["go"], 0
    while True:
        attempts += 1
        assert attempts < 40
        heard = await attempt(provider, request(adapter, *history))
        if (failure := heard.failure) is not None:
            assert failure.is_transient and not failure.is_account, failure
            continue
        if not heard.calls:
            await provider.aclose()
            return heard.text, attempts
        history.append(heard.answer())
        for call in heard.calls:
            run = tools.get(call.name)
            said = call.argument_error or (run(call.arguments) if run else f"there is no tool {call.name}")
            history.append(result(call, said, error=run is None or call.argument_error is not None))


@each_adapter
async def test_wire_torture_passes(adapter: Adapter) -> None:
    """PV-1, LL-7: the scenario of legal but hostile streams, played to its end."""
    seen: list[Any] = []
    with MockLLM(SCENARIOS / "wire-torture.json") as m:
        names = [t.name for t in (BASH, READ)] + ["edit"]
        text, _ = await play(adapter, m, {n: lambda args: seen.append(args) or "ok" for n in names})
        assert not [r for r in m.requests() if r.get("problem")]
    assert text == "WIRE OK ☃"
    assert {"command": "printf '%s\\n' 'it'\"'\"'s ☃'"} in seen and {"path": "ünïcode ☃.txt"} in seen
    assert {"path": "ünïcode ☃.txt", "old": "snow ☃ man", "new": 'snow 🎉 "man" \\ \\n $HOME'} in seen


@each_adapter
async def test_ry_2_the_scenario_of_faults_is_survived(adapter: Adapter) -> None:
    """RY-2, LL-8: each fault is one failed attempt that a retry cures; nothing is run twice or by halves."""
    ran: list[str] = []
    with MockLLM(SCENARIOS / "faults.json") as m:
        text, attempts = await play(adapter, m, {"bash": lambda args: ran.append(args["command"]) or "ok"})
    assert text == "FAULTS SURVIVED" and attempts == 9 + 8
    words = "429 529 refuse disconnect truncate malformed stream-error stall".split()
    assert ran == [f"echo after-{word}" for word in words]
