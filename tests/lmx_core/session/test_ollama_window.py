"""A session on a local daemon: the window is the daemon's to say, and it may change between two answers (C8-3, OL-3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.raw_server import read_request, response, serving

from lmx_core import MemoryStore, Runtime, Session, events, start_session
from lmx_core.providers.default import DefaultProvider
from lmx_core.testing import prompt


class Daemon:
    """What `/api` of a daemon says: `windows` of loaded models, `settings` of the others; a model is loaded by asking it."""

    def __init__(self) -> None:
        self.windows: dict[str, int] = {}
        self.settings: dict[str, int] = {}
        self.loads: dict[str, int] = {}
        self.asked: list[str] = []
        self.broken = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, body = await read_request(reader)
        what = head.split(b" ")[1].decode().removeprefix("/api/")
        self.asked.append(what)
        if self.broken and what != "chat":
            writer.write(response(b"{nonsense", status="500 Oops", kind="application/json"))
        else:
            writer.write(response(self._answer(what, json.loads(body or b"{}")), kind="application/x-ndjson"))
        await writer.drain()

    def _answer(self, what: str, body: dict[str, Any]) -> bytes:
        model = str(body.get("model"))
        if what == "ps":
            loaded = [{"name": name, "context_length": tokens} for name, tokens in self.windows.items()]
            return json.dumps({"models": loaded}).encode()
        if what == "show":
            number = self.settings.get(model)
            return json.dumps({"parameters": f"temperature 0.7\nnum_ctx    {number}" if number else ""}).encode()
        self.windows |= {name: tokens for name, tokens in self.loads.items() if name == model}
        done = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 1}
        return b"\n".join(json.dumps(line).encode() for line in ({"message": {"content": "ok"}}, done)) + b"\n"


@asynccontextmanager
async def talking(daemon: Daemon, **options: Any) -> AsyncIterator[Session]:
    async with serving(daemon) as url, Runtime():
        provider = DefaultProvider(base_url=url, environ={})
        session = await start_session(provider=provider, store=MemoryStore(), model="ollama:a", tools=[], **options)
        yield session
        await session.stop()
        await provider.aclose()


async def window(session: Session, text: str | None = "hi") -> int | None:
    """The window in force, after a prompt."""
    if text is not None:
        await session.await_prompt(text)
    return (await session.info()).context.window


@pytest.mark.asyncio
async def test_c8_3_the_window_is_read_again_after_every_answer() -> None:
    """C8-3: the model's own settings before it is loaded, what it is served with afterwards, whatever that is by then."""
    daemon = Daemon()
    daemon.settings, daemon.loads = {"a": 32_768}, {"a": 4_096}
    async with talking(daemon) as session:
        assert await window(session) == 4_096, "loaded with less than its settings say"
        assert daemon.asked[:2] == ["ps", "show"] and daemon.asked[-2:] == ["chat", "ps"]
        daemon.loads = {"a": 65_536}
        assert await window(session) == 65_536, "somebody restarted the daemon with a larger one"
        assert daemon.asked[-2:] == ["chat", "ps"]


@pytest.mark.asyncio
async def test_c8_3_it_caps_a_configured_window_and_never_widens_it() -> None:
    daemon = Daemon()
    daemon.loads = {"a": 8_192}
    async with talking(daemon, context_window=32_000) as session:
        assert await window(session) == 8_192
        daemon.loads = {"a": 131_072}
        assert await window(session) == 32_000


@pytest.mark.asyncio
async def test_c8_3_a_change_of_model_forgets_it() -> None:
    daemon = Daemon()
    daemon.loads, daemon.settings = {"a": 8_192}, {"b": 16_384}
    async with talking(daemon) as session:
        assert await window(session) == 8_192
        await session.set_model("ollama:b")
        assert await window(session, None) is None
        assert await window(session) == 16_384, "not that of the model before"


@pytest.mark.asyncio
async def test_c8_3_a_window_nobody_knows_is_said_and_planned_for() -> None:
    """C8-3, OL-3: a lookup that fails costs no request; the person hears that the window is not known."""
    daemon = Daemon()
    daemon.broken = True
    async with talking(daemon) as session:
        said = await prompt(session, "hi")
        assert said.stop_reason == "stop" and (await session.info()).context.window is None
        assert events.ContextWindowUnknown(model="ollama:a", fallback=128_000) in said.events
