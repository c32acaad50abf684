"""`local:` models: one server a file, its beginning and its end, and what can go wrong (design.md, "Local models")."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.adapters import READ, attempt, request
from support.llama_server import install, model_file
from support.sessions import Echo

from lmx_core import MemoryStore, Runtime, events, start_session
from lmx_core.clock import ManualClock
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.local import servers, start
from lmx_core.request import ContextWindow
from lmx_core.testing import prompt


class Room:
    """A provider, its fake `llama-server` and a model file."""

    def __init__(self, folder: Path):
        self.folder = folder / "server"
        self.environ = install(self.folder) | {"OPENAI_API_KEY": "sk-a-key-of-mine", "LLAMA_ARG_HOST": "0.0.0.0"}
        self.spec = f"local:{model_file(folder / 'tiny.gguf')}"
        self.provider = DefaultProvider(environ=self.environ)

    def behave(self, mode: str) -> None:
        (self.folder / "mode").write_text(mode)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def starts(self) -> list[dict[str, Any]]:
        return self._lines("starts")

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return self._lines("bodies")

    async def ask(self, **fields: Any) -> Any:
        return await attempt(self.provider, request(self.spec, **fields))


@pytest_asyncio.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    made = Room(tmp_path)
    yield made
    await made.provider.aclose()
    assert not [s["pid"] for s in made.starts if runs(s["pid"])], "a server was left behind"


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.asyncio
async def test_a_model_file_answers(room: Room) -> None:
    """OL-1, OL-3 in kind: an output limit, the window that is served, and a price of nothing because it is local."""
    assert room.provider.check(room.spec) is None
    assert await room.provider.context_window(room.spec) == 4_096 and not room.starts, "nothing starts by asking"
    heard = await room.ask()
    assert (heard.text, heard.stop, heard.usage.cost_usd) == ("hello", "stop", 0.0)
    assert ContextWindow(2_048) in heard.events
    assert await room.provider.context_window(room.spec) == 2_048
    assert room.bodies[0]["max_tokens"] == 512, "a quarter of the window at most"


@pytest.mark.asyncio
async def test_only_this_machine_and_only_who_has_the_key(room: Room) -> None:
    """The key is in no command line, a provider's key in no environment, and no setting of the person's opens the server."""
    await room.ask()
    (begun,) = room.starts
    at = begun["argv"].index("--host")
    assert begun["argv"][at + 1] == "127.0.0.1"
    key = begun["env"]["LLAMA_API_KEY"]
    assert begun["env"]["LLAMA_ARG_CACHE_RAM"] == "1024", "older releases refuse the flag and skip the variable"
    assert len(key) == 48 and key not in " ".join(begun["argv"])
    assert "OPENAI_API_KEY" not in begun["env"] and "LLAMA_ARG_HOST" not in begun["env"]
    assert key not in repr(room.provider._local()._running)


@pytest.mark.asyncio
async def test_one_server_for_all_who_ask_for_a_file(room: Room) -> None:
    """Asked at once it starts once; it is ended with the provider, and a later request starts another."""
    heard = await asyncio.gather(*(room.ask() for _ in range(3)))
    assert [h.text for h in heard] == ["hello"] * 3 and len(room.starts) == 1
    await room.provider.aclose()
    assert not runs(room.starts[0]["pid"])
    assert (await room.ask()).text == "hello" and len(room.starts) == 2


@pytest.mark.asyncio
async def test_a_template_without_tools_is_told_of_them_in_words(room: Room) -> None:
    call = {"id": "c1", "name": "read", "arguments": {"path": "a"}}
    talk = (
        "read a",
        ("assistant", {"content": [{"type": "text", "text": "Yes."}], "tool_calls": [call]}),
        ("tool_result", {"call_id": "c1", "name": "read", "arguments": {}, "output": "content of a", "error": False}),
        "and now?",
    )
    asked = request(room.spec, *talk, system="Be brief.", tools=(READ,))
    await attempt(room.provider, asked)
    room.behave("tools")
    await room.provider.aclose()
    await attempt(room.provider, asked)
    words, native = room.bodies
    assert "tools" not in words and [m["role"] for m in words["messages"]] == ["system", "user", "assistant", "user"]
    system, _, said, result = (m["content"] for m in words["messages"])
    assert system.startswith("Be brief.") and "read(path: string): The tool read" in system and "<tool_call>" in system
    assert said == 'Yes.\n<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'
    assert result == "<tool_response>\ncontent of a\n</tool_response>\nand now?"
    assert native["tools"] and native["messages"][2]["tool_calls"]


@pytest.mark.asyncio
async def test_a_session_runs_what_a_small_model_wrote_and_tells_it_the_result(room: Room) -> None:
    """Told of its tool in words, it calls in words; the person sees the call and none of its JSON."""
    room.behave("calls")
    async with Runtime():
        session = await start_session(provider=room.provider, store=MemoryStore(), model=room.spec, tools=[Echo()])
        told = await prompt(session, "Say it again.")
        await session.stop()
    assert [e.text for e in told.events if isinstance(e, events.TextDelta)] == ["hello"]
    (result,) = [entry.payload for entry in told.entries if entry.type == "tool_result"]
    assert (result["name"], result["output"]) == ("echo", "from the tool")
    asked = [message["content"] for message in room.bodies[-1]["messages"]]
    assert asked[-1] == "<tool_response>\nfrom the tool\n</tool_response>" and "<tool_call>" in asked[-2]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("mode", "code", "category", "says", "starts"),
    (
        ("refuses", "local_server", "other", "srv init: the model has an unknown shape", 1),
        ("memory", "local_memory", "server", "for want of memory", 1),
        ("crashes", "local_crash", "server", "SIGSEGV", 2),
    ),
)
async def test_a_start_that_fails_is_one_sentence(
    room: Room, mode: str, code: str, category: str, says: str, starts: int
) -> None:
    """And is not tried again, for the same file would fail the same way; a crash is, once, with more careful settings."""
    room.behave(mode)
    failure = (await room.ask()).failure
    assert (failure.code, failure.category, failure.is_transient, len(room.starts)) == (code, category, False, starts)
    assert says in failure.message and "\n" not in failure.message and "tiny.gguf" in failure.message


@pytest.mark.asyncio
async def test_a_crash_in_the_self_test_is_answered_with_careful_settings(room: Room) -> None:
    room.behave("crashes_once")
    assert (await room.ask()).text == "hello"
    assert ["--no-repack" in begun["argv"] for begun in room.starts] == [False, True]


@pytest.mark.asyncio
async def test_a_port_that_somebody_took_costs_another_start(room: Room) -> None:
    room.behave("port")
    assert (await room.ask()).text == "hello" and len(room.starts) == 2


@pytest.mark.asyncio
async def test_a_crash_while_it_answers(room: Room) -> None:
    """The attempt may be repeated once, with careful settings; a server that crashes with them is given up."""
    room.behave("dies_once")
    failure = (await room.ask()).failure
    assert failure.code == "local_crash" and "SIGABRT" in failure.message and failure.is_transient
    assert (await room.ask()).text == "hello" and "--no-repack" in room.starts[-1]["argv"]
    room.behave("dies")
    await room.provider.aclose()
    failure = (await room.ask()).failure
    assert failure.code == "local_crash" and not failure.is_transient


@pytest.mark.asyncio
async def test_a_start_has_a_bound_on_the_engine_s_clock(tmp_path: Path) -> None:
    clock = ManualClock()
    room = Room(tmp_path)
    room.behave("silent")
    room.provider = DefaultProvider(environ=room.environ, clock=clock)
    asking = asyncio.get_running_loop().create_task(room.ask())
    await clock.await_timer(lambda ms: ms == 180_000)
    while not room.starts:
        await asyncio.sleep(0.01)
    await clock.advance(180_000)
    failure = (await asking).failure
    assert (failure.code, failure.category, failure.is_transient) == ("local_timeout", "timeout", False)
    assert "180 s" in failure.message and not runs(room.starts[0]["pid"])
    await room.provider.aclose()


@pytest.mark.asyncio
async def test_who_is_cancelled_while_a_model_loads_leaves_nothing(room: Room) -> None:
    room.behave("silent")
    asking = asyncio.get_running_loop().create_task(room.ask())
    while not room.starts:
        await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not runs(room.starts[0]["pid"])


def test_a_server_serves_the_next_event_loop_too(tmp_path: Path) -> None:
    room = Room(tmp_path)
    try:
        assert asyncio.run(room.ask()).text == asyncio.run(room.ask()).text == "hello"
        assert len(room.starts) == 1
    finally:
        asyncio.run(room.provider.aclose())


@pytest.mark.asyncio
async def test_what_is_wrong_is_known_before_anything_starts(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """PV-5: a file that is not there or is none, no llama.cpp; and the same is said by a request."""
    text = room.folder / "notes.gguf"
    text.write_text("not a model")
    os.mkfifo(room.folder / "pipe.gguf")
    for spec, code, says in (
        (f"local:{room.folder / 'none.gguf'}", "model_not_found", "there is no model file"),
        (f"local:{text}", "model_not_found", "is no GGUF model file"),
        (f"local:{room.folder}", "model_not_found", "cannot be read: is a directory"),
        (f"local:{room.folder / 'pipe.gguf'}", "model_not_found", "is no GGUF model file"),
    ):
        failure = room.provider.check(spec)
        assert failure is not None and failure.code == code and says in failure.message
        assert (await attempt(room.provider, request(spec))).failure == failure
    monkeypatch.setattr(start, "find_spec", lambda name: None)
    (room.folder / "llama-server").unlink()
    failure = room.provider.check(room.spec)
    assert failure is not None and failure.code == "local_missing" and "lmx[local]" in failure.message
    assert (await room.ask()).failure == failure


@pytest.mark.asyncio
async def test_what_can_be_asked_without_naming_a_file(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """GW-5: the demonstration's weights where they are installed, and something to run them."""
    monkeypatch.setattr(servers, "is_demo_installed", lambda: True)
    assert await room.provider.available_models("local") == ["local:smollm2"]
    monkeypatch.setattr(servers, "is_demo_installed", lambda: False)
    assert await room.provider.available_models("local") == [] and not room.starts


_HOST = """
import asyncio, json, os, sys
from support.adapters import attempt, request
from lmx_core.providers.default import DefaultProvider

async def main():
    await attempt(DefaultProvider(environ=json.loads(sys.argv[1])), request(sys.argv[2]))
    print("ready", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def test_a_server_dies_with_a_host_that_was_killed(tmp_path: Path) -> None:
    """`kill -9` leaves no time for anything; the watchdog sees it."""
    room = Room(tmp_path)
    paths = os.pathsep.join(sys.path)
    host = subprocess.Popen(
        [sys.executable, "-c", _HOST, json.dumps(room.environ), room.spec],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert host.stdout is not None and host.stdout.readline() == b"ready\n"
    (begun,) = room.starts
    assert runs(begun["pid"])
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    end = time.monotonic() + 10
    while runs(begun["pid"]) and time.monotonic() < end:
        time.sleep(0.02)
    assert not runs(begun["pid"])
