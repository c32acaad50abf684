"""Cases from the field as whole stories: the loop and its store over real HTTP, or the program as a process.

Their single rules are held where each lives; here is what only shows when the parts meet. The scripted server answers 400 to an
invalid list of messages, as real providers do.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.mock_llm import MockLLM
from support.program import LMX, Program, serve
from support.raw_server import read_request, response, serving

from lmx_core import (
    DefaultProvider,
    JSONLStore,
    Runtime,
    Session,
    UnsafeFork,
    events,
    fork,
    resume_session,
    start_session,
)
from lmx_core.testing import assert_valid_transcript, collect


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def calls(request: dict[str, Any]) -> list[str]:
    """The ids of the calls of a Chat Completions request in order, a `=` before those of results."""
    found = []
    for message in request["body"]["messages"]:
        found += [call["id"] for call in message.get("tool_calls") or ()]
        found += [f"={message['tool_call_id']}"] if message["role"] == "tool" else []
    return found


# --- C14: interrupted tool calls ---------------------------------------------------------------------------------------

THREE = {"actions": ["shell: touch began; sleep 30", "shell: echo b", "shell: echo c"]}


async def opened(runtime: Runtime, m: MockLLM, store: JSONLStore, work: Path, **more: Any) -> Session:
    return await start_session(
        runtime=runtime,
        provider=DefaultProvider(base_url=f"{m.url}/v1", api_keys={"openai": "k"}),
        store=store,
        model="openai:mock-model",
        cwd=work,
        provider_retry=False,
        **more,
    )


@pytest.mark.asyncio
@pytest.mark.parametrize("how", ["cancel", "steer", "stop"])
async def test_c14_however_three_calls_are_interrupted_the_next_request_is_answered(tmp_path, how):
    """C14 (a), (b), (d): each call has its one result right after it; what was written stays; a fork goes on too."""
    store, work = JSONLStore(tmp_path / "s"), tmp_path / "work"
    work.mkdir()
    with MockLLM({"turns": [THREE, {"text": "gone on"}, {"text": "and on"}]}, workspace=str(work)) as m:
        async with Runtime() as runtime:
            session = await opened(runtime, m, store, work)
            heard = session.subscribe()
            await session.prompt("run three")
            while not (work / "began").exists():
                await asyncio.sleep(0.01)
            if how == "steer":
                await session.steer("hurry")
            before = store.path(session.id).read_bytes()
            await (session.stop() if how == "stop" else session.cancel())
            if how != "stop":
                await collect(heard, events.Finished)
            else:
                given = {"runtime": runtime, "store": store, "resume": session.id, "cwd": work}
                session = await resume_session(provider=DefaultProvider(base_url=f"{m.url}/v1"), **given)
            ended = await session.await_prompt("continue")
            assert ended.text == "gone on" and store.path(session.id).read_bytes().startswith(before)
            entries = store.read(session.id)
            assert_valid_transcript(entries)
            asked = next(entry for entry in entries if entry.type == "assistant" and entry.payload.get("tool_calls"))
            with pytest.raises(UnsafeFork):
                await fork(store, session.id, at=asked.id)
            copy = await fork(store, session.id, at=asked.id, unsafe=True)
            forked = await resume_session(
                runtime=runtime, provider=DefaultProvider(base_url=f"{m.url}/v1"), store=store, resume=copy, cwd=work
            )
            assert (await forked.await_prompt("from the middle")).text == "gone on"
        answered = m.requests("main")
        assert [request["status"] for request in answered] == [200, 200, 200]
        for request in answered[1:]:
            one, two, three, *results = calls(request)
            assert results == [f"={one}", f"={two}", f"={three}"]
    outputs = [entry.payload["output"] for entry in entries if entry.type == "tool_result"]
    assert len(outputs) == 3 and "may have run in part" in outputs[0]


# --- C15: cut-off arguments --------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("fault", ["disconnect", "truncate"])
async def test_c15_what_was_cut_is_not_run_nor_what_came_with_it(tmp_path, fault):
    """C15 (a), (d), (e): the whole batch is treated alike, asked for again, and then run once."""
    turn = {"actions": ["shell: echo ran >> ran.txt", "shell: echo ran >> ran.txt; rm -rf build"], "arg_chunk_chars": 4}
    turn["faults"] = [{"kind": fault, "after_chunks": 12}]
    (tmp_path / "build").mkdir()
    with MockLLM({"turns": [turn, {"text": "done"}]}, workspace=str(tmp_path)) as m:
        async with Runtime() as runtime:
            session = await start_session(
                runtime=runtime,
                provider=DefaultProvider(base_url=f"{m.url}/v1"),
                store=JSONLStore(tmp_path / "s"),
                model="openai:mock-model",
                cwd=tmp_path,
                provider_retry={"base_delay_ms": 1},
            )
            heard = session.subscribe()
            ended = await session.await_prompt("go")
            retried = [event for event in heard.get_nowait_all() if isinstance(event, events.ProviderRetry)]
        assert ended.text == "done" and len(m.requests("main")) == 3
    assert (
        len(retried) == 1 and (tmp_path / "ran.txt").read_text() == "ran\nran\n" and not (tmp_path / "build").exists()
    )


# --- C17: one bad line -------------------------------------------------------------------------------------------------

BAD = {
    "cut at the end": lambda lines: [*lines[:-1], lines[-1][: len(lines[-1]) // 2]],
    "NUL": lambda lines: [*lines[:3], b"\0" * 300 + b"\n", *lines[4:]],
    "glued": lambda lines: [*lines[:3], lines[3][:40] + lines[4], *lines[5:]],
    "empty": lambda lines: [*lines[:3], b"\n", *lines[3:]],
    "another type": lambda lines: [*lines[:3], lines[3].replace(b'"type":"', b'"type":"odd_'), *lines[4:]],
    "no first line": lambda lines: lines[1:],
}
HARMLESS = {"cut at the end", "empty"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[bytes]]:
    """The name and the lines of a transcript of two prompts."""
    program = Program(tmp_path_factory.mktemp("recorded"))
    with serve(program, {"text": "one"}, {"text": "two"}) as model:
        for prompt in ("first", "second"):
            program.ask(model, "-c", "--print", prompt)
    (path,) = program.transcripts()
    return path.name, path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("kind", BAD)
def test_c17_one_bad_line_is_told_and_touched_by_nobody(
    program: Program, recorded: tuple[str, list[bytes]], kind: str
) -> None:
    """C17: what a crash leaves is put up with; damage is a sentence with its line, never a hole and never a traceback."""
    name, lines = recorded
    path, bad = program.sessions / name, b"".join(BAD[kind](lines))
    program.sessions.mkdir(parents=True)
    path.write_bytes(bad)
    with serve(program, {"text": "one"}, {"text": "two"}, {"text": "three"}) as model:
        listed = program.run("sessions")
        done = program.ask(model, "--resume", path.stem, "--print", "third")
        asked = model.requests("main")
    assert "Traceback" not in done.stderr + listed.stderr and listed.returncode == 0
    if kind in HARMLESS:
        assert (done.returncode, done.stdout) == (0, "three\n")
        whole = bad if bad.endswith(b"\n") else bad[: bad.rfind(b"\n") + 1]
        assert path.read_bytes().startswith(whole)
        assert all(json.loads(line) for line in path.read_bytes().split(b"\n") if line)
        assert [m["content"] for m in asked[-1]["body"]["messages"] if m["role"] == "user"] == [
            "first",
            "second",
            "third",
        ]
    else:
        assert done.returncode == 1 and asked == [], "no model was asked with half a conversation"
        assert path.stem in done.stderr and path.read_bytes() == bad


# --- C18: two processes ------------------------------------------------------------------------------------------------


def test_c18_of_two_that_continue_at_once_none_mixes_in(program: Program) -> None:
    """C18: one goes on and the other is refused with a way out, or they came one after the other; every line is whole."""
    slow = {"text": "late", "ttft_ms": 1_500}
    with serve(program, {"text": "one"}, slow, slow) as model:
        program.ask(model, "--print", "seed")
        both = [program.start(program.line(model, "-c", "--print", word)) for word in ("ONE", "TWO")]
        ends = [(process, *process.communicate(timeout=60)) for process in both]
        last = [m["content"] for m in model.requests("main")[-1]["body"]["messages"] if m["role"] == "user"]
    refused = [err.decode() for process, _, err in ends if process.returncode == 1]
    assert sorted(process.returncode for process, _, _ in ends) == [0] * (2 - len(refused)) + [1] * len(refused), ends
    assert len(refused) <= 1 and all("fork" in sentence or "another" in sentence for sentence in refused)
    assert sorted(last[1:]) in (["ONE"], ["TWO"], ["ONE", "TWO"]) and len(last) == 3 - len(refused)
    said = [entry["payload"]["text"] for entry in program.entries() if entry["type"] == "user"]
    assert said == last, "each saw what stands before its own"


# --- C21: a summary that is cut by SIGKILL -------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_c21_killed_while_it_waits_for_a_summary(program: Program) -> None:
    """C21, MET-7: nothing was dropped, the resume waits for no summary, and the old history is what is sent."""
    window = program.home / "small.toml"
    window.write_text("context_window = 3000\n")
    window.chmod(0o600)
    said: list[list[str]] = []
    asked = asyncio.Event()

    async def model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, body = await read_request(reader)
        request = json.loads(body)
        if "tools" not in request:
            asked.set()
            await reader.read()  # until whoever asked is gone
            return
        said.append([m["content"] for m in request["messages"] if m["role"] == "user"])
        writer.write(response(streamed("word " * 600)))
        await writer.drain()

    async def lmx(url: str, *words: str) -> asyncio.subprocess.Process:
        line = [*LMX, "-c", "--print", *words, "--model", "openai-chat:m", "--base-url", f"{url}/v1"]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        return await asyncio.create_subprocess_exec(*line, cwd=program.work, env=program.env, **pipes)

    talk = ["the five points of my plan", "second", "third", "fourth"]
    async with serving(model) as url:
        for word in talk:
            assert await (await lmx(url, word)).wait() == 0
        process = await lmx(url, "fifth", "--config", str(window))
        async with asyncio.timeout(30):
            await asked.wait()
        process.kill()
        await process.wait()
        assert await (await lmx(url, "hi")).wait() == 0
    assert said[-1] == [*talk, "fifth", "hi"]
    assert not [entry for entry in program.entries() if entry["type"] == "compaction"]


def streamed(text: str, usage: dict[str, int] | None = None) -> bytes:
    """A Chat Completions answer."""
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = [{"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}]
    said += [] if usage is None else [{"choices": [], "usage": usage}]
    return b"".join(f"data: {json.dumps(chunk | each)}\n\n".encode() for each in said) + b"data: [DONE]\n\n"


# --- C37: what it costs --------------------------------------------------------------------------------------------------

CLAUDE = ["--model", "anthropic:claude-sonnet-4-6"]
AS_IN_B = {"input": 1_050, "cache_read": 900, "cache_write": 50, "output": 10}
"""In all, of which cached: 100 beside them."""


def claude(program: Program, model: MockLLM, *words: str) -> subprocess.CompletedProcess[str]:
    line = [*LMX, *words, *CLAUDE, "--base-url", model.url, "--output-format", "json"]
    return program.finish([*line, "--permission-mode", "full_auto"], ANTHROPIC_API_KEY="sk-ant-none-0123456789")


def test_c37_g_a_ceiling_of_a_seventh_of_a_cent(program: Program) -> None:
    """C37 g, BU-2: it ends after the second turn of $0.0009075 at the latest, says why, and has a status of its own."""
    turn = {"actions": ["shell: true"], "repeat": 20, "usage": AS_IN_B}
    with serve(program, turn) as model:
        done = claude(program, model, "run", "go", "--max-cost-usd", "0.0015")
        asked = len(model.requests("main"))
    told = json.loads(done.stdout)
    assert asked <= 2 and (done.returncode, told["stop_reason"], told["error"]["category"]) == (4, "budget", "limit")
    assert "$0.0015" in told["error"]["message"] and "--max-cost-usd" in told["error"]["message"]


def test_c37_the_totals_agree_also_after_a_resume(program: Program) -> None:
    """C37 b, f: in the JSON result, in the transcript's usage, and in a resumed session, whose total has both."""
    with serve(program, {"text": "one", "usage": AS_IN_B}, {"text": "two", "usage": AS_IN_B}) as model:
        first = json.loads(claude(program, model, "run", "a").stdout)
        second = json.loads(claude(program, model, "-c", "run", "b").stdout)
    assert first["usage"]["cost_usd"] == pytest.approx(0.0009075)
    recorded = [entry["usage"]["cost_usd"] for entry in program.entries() if entry["type"] == "assistant"]
    assert sum(recorded) == pytest.approx(0.001815)
    assert second["usage"]["cost_usd"] in (pytest.approx(0.0009075), pytest.approx(0.001815))


@pytest.mark.asyncio
async def test_c37_c_without_usage_the_position_is_an_estimate_and_the_cost_unknown(tmp_path: Path) -> None:
    """C37 c, CW-4, BU-5, EVT-13: it is marked as one, and never $0.00; the next turn, with usage, is measured."""
    answers = [streamed("word " * 400)]
    answers += [streamed("two", {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010})]

    async def model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(answers.pop(0)))
        await writer.drain()

    async with serving(model) as url, Runtime() as runtime:
        session = await start_session(
            runtime=runtime,
            provider=DefaultProvider(base_url=f"{url}/v1"),
            store=JSONLStore(tmp_path),
            model="openai-chat:gpt-5",
            tools=[],
        )
        await session.await_prompt("hello")
        without = await session.info()
        await session.await_prompt("again")
        measured = await session.info()
    assert without.context.tokens > 400 and not without.context.measured
    assert without.spent_usd is None and measured.spent_usd is None, "what is unknown stays so"
    assert measured.context.measured and measured.context.tokens >= 1_000
