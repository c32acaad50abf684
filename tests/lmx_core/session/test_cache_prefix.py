"""What a provider's prompt cache can use again in a long conversation (LL-11, C8-15).

A cache holds beginnings: one changed byte makes everything behind it new, and a conversation of fifty requests costs many times
what it should. So what one request said must be how the next one begins, in the order in which the provider reads it: tools,
system, conversation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.adapters import ADAPTERS, Adapter
from support.mock_llm import MockLLM

from lmx_core import MemoryStore, Runtime, start_session
from lmx_core.builtin import default_tools, search_tools

PROMPTS = 25
REQUESTS = 2 * PROMPTS
ENOUGH = 0.9

Block = tuple[bytes, bool]
"""A piece of a request as the provider reads it, and whether a cache breakpoint is at its end."""


def piece(value: Any) -> Block:
    kept = {k: v for k, v in value.items() if k != "cache_control"} if isinstance(value, dict) else value
    return json.dumps(kept).encode(), isinstance(value, dict) and "cache_control" in value


def anthropic(body: dict[str, Any]) -> Iterator[Block]:
    yield from map(piece, body["tools"])
    yield from map(piece, body["system"])
    for message in body["messages"]:
        yield piece(message["role"])
        yield from map(piece, message["content"])


def chat(body: dict[str, Any]) -> Iterator[Block]:
    yield from map(piece, (*body["tools"], *body["messages"]))


def responses(body: dict[str, Any]) -> Iterator[Block]:
    yield from map(piece, (*body["tools"], body["instructions"], *body["input"]))


def ollama(body: dict[str, Any]) -> Iterator[Block]:
    yield from map(piece, (*body["tools"], *body["messages"]))


READS: dict[str, Callable[[dict[str, Any]], Iterator[Block]]] = {
    "anthropic": anthropic,
    "openai_chat": chat,
    "openai_responses": responses,
    "ollama": ollama,
}


async def conversation(adapter: Adapter, folder: Path) -> list[list[Block]]:
    """The requests of fifty turns: a prompt, a call and its result, an answer."""
    turns: list[dict[str, Any]] = []
    for n in range(PROMPTS):
        turns += [{"text": "Looking. ", "actions": [{"shell": f"echo result {n}"}]}, {"text": f"Answer {n}. " * 20}]
    with MockLLM({"turns": turns}) as m:
        async with Runtime():
            provider = adapter.provider(m.url, ollama_window=False)
            session = await start_session(
                provider=provider,
                store=MemoryStore(),
                model=adapter.spec,
                tools=[*default_tools(), *search_tools()],
                cwd=folder,
                auto_compaction=False,
            )
            for n in range(PROMPTS):
                await session.await_prompt(f"Question {n}, which is not long.")
            await session.stop()
            await provider.aclose()
        bodies = [r["body"] for r in m.requests() if r["path"] == adapter.route]
    assert len(bodies) == REQUESTS
    return [list(READS[adapter.name](body)) for body in bodies]


def whole(blocks: list[Block]) -> bytes:
    return b"".join(data for data, _ in blocks)


@pytest.mark.asyncio
@pytest.mark.parametrize("adapter", [a for a in ADAPTERS if a.name in READS], ids=lambda adapter: adapter.name)
async def test_ll_11_a_request_begins_as_the_one_before_it_ended(adapter: Adapter, tmp_path: Path) -> None:
    """LL-11: on every wire, what was sent before is sent again byte for byte, and what is new comes behind it."""
    requests = await conversation(adapter, tmp_path)
    for before, now in pairwise(requests):
        assert whole(now).startswith(whole(before))
    shares = [len(whole(before)) / len(whole(now)) for before, now in pairwise(requests)]
    assert min(shares[4:]) >= ENOUGH, "what is new is the smaller part"


@pytest.mark.asyncio
async def test_c8_15_each_request_finds_what_the_one_before_it_had_cached(tmp_path: Path) -> None:
    """C8-15, LL-11: Anthropic looks where a breakpoint is: one stands where the last request's own was, at its very end, and
    the server need not look back over blocks for it."""
    adapter = next(a for a in ADAPTERS if a.name == "anthropic")
    requests = await conversation(adapter, tmp_path)
    for before, now in pairwise(requests):
        assert before[-1][1], "the end of a request is what the next one wants to find"
        assert now[: len(before)][-1][1], "and this one looks there"
        assert sum(marked for _, marked in now) <= 4, "more are refused"
        assert [data for data, _ in now[: len(before)]] == [data for data, _ in before]
