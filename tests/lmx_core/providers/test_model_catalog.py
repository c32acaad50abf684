"""What a picker may offer (GW-5, PV-2): the servers are asked, and each answers for itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from support.adapters import KEY
from support.raw_server import Handler, closed_port, read_request, response, serving

from lmx_core.clock import ManualClock
from lmx_core.errors import ConfigError
from lmx_core.providers import base, model_catalog
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.model_catalog import provider_options


def listing(*names: str, seen: list[bytes] | None = None) -> Handler:
    """A server that lists models and nothing else; `seen` gets the heads of what it was asked."""
    body = json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]}).encode()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await read_request(reader)
        if seen is not None:
            seen.append(head)
        writer.write(response(body, kind="application/json"))
        await writer.drain()

    return handler


def provider(**options: Any) -> DefaultProvider:
    return DefaultProvider(**{"environ": {}, **options})


@pytest.mark.asyncio
async def test_gw_5_each_protocol_is_asked_its_own_way_with_its_own_key() -> None:
    """GW-5: the key map of requests; Anthropic's whole list and not its first page."""
    openai, anthropic = [], []  # type: ignore[var-annotated]
    async with (
        serving(listing("gpt-x", seen=openai)) as one,
        serving(listing("claude-x", "claude-y", seen=anthropic)) as two,
    ):
        asked = provider(
            base_url={"openai": one, "anthropic": two}, api_keys={"openai": "key-of-openai", "anthropic": "key-of-ant"}
        )
        assert asked.available_providers() == ["anthropic", "openai", "ollama"]
        assert await asked.available_models("openai") == ["openai:gpt-x"]
        assert await asked.available_models("anthropic") == ["anthropic:claude-x", "anthropic:claude-y"]
        await asked.aclose()
    assert b"GET /v1/models HTTP" in openai[0] and b"Bearer key-of-openai" in openai[0]
    assert b"GET /v1/models?limit=1000 HTTP" in anthropic[0] and b"key-of-ant" in anthropic[0]
    assert b"key-of-ant" not in openai[0] and b"key-of-openai" not in anthropic[0]


@pytest.mark.asyncio
async def test_gw_5_other_keys_can_be_tried_and_each_belongs_to_somebody() -> None:
    """GW-5: a scalar key is no valid discovery: it would have to be shown to every server."""
    seen: list[bytes] = []
    async with serving(listing("gpt-x", seen=seen)) as url:
        asked = provider(base_url={"openai": url}, api_keys={"openai": "key-it-has"})
        assert await asked.available_models("openai") == ["openai:gpt-x"]
        assert b"Bearer key-it-has" in seen[-1]
        assert await asked.available_models("openai", api_keys={"openai": "pasted-key"}) == ["openai:gpt-x"]
        assert b"Bearer pasted-key" in seen[-1]
        with pytest.raises(ConfigError, match="by provider name"):
            await asked.available_models("openai", api_keys="pasted-key")  # type: ignore[arg-type]
        await asked.aclose()
    with pytest.raises(ConfigError, match="by provider name") as caught:
        provider(api_keys="sk-one-for-all")
    assert "sk-one" not in str(caught.value)


@pytest.mark.asyncio
async def test_gw_5_one_that_fails_takes_nobody_with_it() -> None:
    """GW-5: refused, broken, silent: its models are missing, those of the others are there, and all within one bound."""
    clock = ManualClock()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response(b"<html>", kind="text/html"))

    async with serving(silent) as mute, serving(broken) as odd, serving(listing("grok-x")) as fine:
        where = {
            "anthropic": mute,
            "openai": mute,
            "google": odd,
            "xai": fine,
            "ollama": f"http://127.0.0.1:{closed_port()}",
        }
        keys = {name: KEY for name in where if name != "ollama"}
        asked = provider(base_url=where, api_keys=keys, clock=clock)
        asking = asyncio.get_running_loop().create_task(base.available_models(asked))
        while clock.pending().count(5_000) < 2 or len(clock.pending()) > 2:
            await asyncio.sleep(0.005)
        await clock.advance(5_000)
        assert await asking == ["xai:grok-x"]
        await asked.aclose()


@pytest.mark.asyncio
async def test_gw_5_a_verified_model_is_offered_beside_a_reachable_one_only() -> None:
    """GW-5: `catalog_fallbacks` adds what a server does not list, where that server is there at all."""
    fallbacks = {"openai": ["gpt-x", "gpt-hidden"], "xai": ["grok-hidden"]}
    async with serving(listing("gpt-x")) as there, serving(listing()) as empty:
        asked = provider(
            base_url={"openai": there, "xai": empty, "deepseek": f"http://127.0.0.1:{closed_port()}"},
            api_keys={"openai": KEY, "xai": KEY, "deepseek": KEY},
            catalog_fallbacks={**fallbacks, "deepseek": ["x"]},
            ollama_window=False,
        )
        assert await asked.available_models("openai") == ["openai:gpt-x", "openai:gpt-hidden"]
        assert await asked.available_models("xai") == await asked.available_models("deepseek") == []
        await asked.aclose()
    for wrong in ("gpt-x", {"openai": "gpt-x"}, {"openai": [1]}, {1: []}):
        with pytest.raises(ConfigError, match="catalog_fallbacks="):
            provider(catalog_fallbacks=wrong)


@pytest.mark.asyncio
async def test_gw_5_the_options_lmx_itself_uses() -> None:
    options = provider_options()
    assert (
        options["catalog_fallbacks"]["anthropic"] == ["claude-sonnet-5"]
        and "ollama" not in options["catalog_fallbacks"]
    )
    async with serving(listing("claude-old")) as url:
        asked = provider(base_url={"anthropic": url}, api_keys={"anthropic": KEY}, **options)
        assert await asked.available_models("anthropic") == ["anthropic:claude-old", "anthropic:claude-sonnet-5"]
        await asked.aclose()


@pytest.mark.asyncio
async def test_a_vendor_s_list_is_offered_without_what_cannot_answer() -> None:
    """One's own server lists what it serves, whatever it is called."""
    names = ("gpt-x", "text-embedding-3-small", "gpt-image-1", "gpt-audio", "whisper-1", "omni-moderation-latest")
    async with serving(listing(*names)) as url:
        own = provider(base_url={"openai": url}, api_keys={"openai": KEY})
        assert await own.available_models("openai") == [f"openai:{name}" for name in names]
        await own.aclose()
    vendor = provider(api_keys={"openai": KEY})._routes.to("openai:-")
    assert await model_catalog.listed(_Answers(names), vendor, {}) == ["openai:gpt-x"]  # type: ignore[arg-type]
    assert await provider(api_keys={}).available_models("openai") == [], "without a key nobody is asked"


class _Answers:
    def __init__(self, names: tuple[str, ...]):
        self._body = json.dumps({"data": [{"id": name} for name in names]}).encode()

    async def get(self, *asked: Any) -> bytes:
        return self._body


def test_pv_2_levels_and_facts_of_a_model() -> None:
    """PV-2: without asking anybody; what is not known is nothing."""
    asked = provider()
    assert (
        asked.reasoning_efforts("anthropic:claude-sonnet-5")
        == asked.model_metadata("anthropic:claude-sonnet-5")["reasoning_efforts"]
    )
    assert asked.reasoning_efforts("anthropic:nothing") == asked.reasoning_efforts("nonsense") == []
    assert provider(api_keys={"xai": KEY}).available_providers() == ["xai", "ollama"]
    assert base.available_providers(provider(environ={"GEMINI_API_KEY": "k"})) == ["google", "ollama"]
