"""Routing, keys and base URLs: where a request would go and with what, before anything is sent."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from support.adapters import ADAPTERS, BASH, KEY, attempt, request, tool
from support.mock_llm import MockLLM
from support.raw_server import answering, closed_port, read_request, response, serving

from lmx_core.errors import ConfigError
from lmx_core.providers import base
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.route import Route
from lmx_core.request import ContextWindow


def route(spec: str = "openai:m", **options: Any) -> Route:
    provider = DefaultProvider(**{"environ": {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}, **options})
    return provider._routes.to(spec)


@pytest.mark.parametrize(
    ("spec", "base_url", "address"),
    (
        ("openai:m", None, "https://api.openai.com/v1/chat/completions"),
        ("openai:m", "http://h:1", "http://h:1/v1/chat/completions"),
        ("openai:m", "http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("openai:m", "https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
        ("anthropic:m", None, "https://api.anthropic.com/v1/messages"),
        ("anthropic:m", "http://h:1", "http://h:1/v1/messages"),
        ("anthropic:m", "http://h:1/x/v1", "http://h:1/x/v1/messages"),
        ("anthropic/m", "http://[::1]:1", "http://[::1]:1/v1/messages"),
        ("ollama:qwen3:8b", None, "http://localhost:11434/api/chat"),
        ("ollama:q", "http://h:1/", "http://h:1/api/chat"),
        ("ollama:q", "http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("ollama:q", {"openai": "http://other"}, "http://localhost:11434/api/chat"),
        ("openai:m", {"openai": "http://other"}, "http://other/v1/chat/completions"),
        ("openai-responses:m", None, "https://api.openai.com/v1/responses"),
        ("openai-responses:m", {"openai": "http://other"}, "http://other/v1/responses"),
        ("openai-chat:m", None, "https://api.openai.com/v1/chat/completions"),
    ),
)
def test_gw_1_both_spellings_of_a_base_url(spec: str, base_url: Any, address: str) -> None:
    """GW-1, PV-6: the provider's own protocol under the given address; a mapping gives one a provider."""
    to = route(spec, base_url=base_url)
    assert to.wire.root(to.target.base_url) + to.wire.path == address


@pytest.mark.parametrize(
    ("value", "origin"),
    (
        ("", "http://localhost:11434"),
        ("0.0.0.0", "http://localhost:11434"),
        ("gpu-box", "http://gpu-box:11434"),
        ("gpu-box:8080", "http://gpu-box:8080"),
        ("http://gpu-box", "http://gpu-box:80"),
        ("https://ollama.example", "https://ollama.example:443"),
        ("[::]:11434", "http://localhost:11434"),
        ("http://[::1]:5", "http://[::1]:5"),
        ("nonsense:port", "http://localhost:11434"),
    ),
)
def test_c8_1_ollama_host(value: str, origin: str) -> None:
    """C8-1: with or without scheme and port, as its own client reads it; a base URL goes before it."""
    assert route("ollama:m", environ={"OLLAMA_HOST": value}).place.origin == origin
    assert route("ollama:m", environ={"OLLAMA_HOST": value}, base_url="http://b:1").place.origin == "http://b:1"


@pytest.mark.parametrize(
    "url", ("ftp://h", "http:///x", "h:1/v1", "http://h:99999", "http://h/v1?key=1", "http://h/#x", "http://[::1")
)
def test_a_base_url_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    for given in (url, {"openai": url}):
        with pytest.raises(ConfigError) as caught:
            DefaultProvider(base_url=given)
        assert url not in str(caught.value) and "base_url" in str(caught.value)


def failing(spec: str = "openai:m", **options: Any) -> Any:
    return DefaultProvider(**{"environ": {}, **options}).check(spec, (BASH,))


def test_pv_5_a_missing_key_is_known_before_any_request() -> None:
    """PV-5, C10-3, cli.md 8.4: it names every variable that would do; an empty one is none."""
    failure = failing("google:m", environ={"GOOGLE_API_KEY": " "})
    assert failure is not None and (failure.code, failure.category, failure.is_account) == (
        "missing_api_key",
        "auth",
        True,
    )
    assert "GOOGLE_API_KEY" in failure.message and "GEMINI_API_KEY" in failure.message
    assert failing("google:m", environ={"GEMINI_API_KEY": KEY}) is None
    assert failing("ollama:m") is None
    assert failing("openai:m", base_url="http://gateway/v1").code == "missing_api_key"


def test_a_server_on_this_machine_needs_no_key() -> None:
    assert failing("openai:m", base_url="http://127.0.0.1:1234/v1") is None
    assert route(environ={}, base_url="http://localhost:8080").wire.headers(None) == {}


def test_ll_9_given_keys_do_not_fall_through_to_the_environment() -> None:
    """LL-9: an absent entry is a missing key."""
    environ = {"OPENAI_API_KEY": KEY}
    for keys in ({"anthropic": "other"}, {"openai": ""}, {}):
        assert failing(environ=environ, api_keys=keys).code == "missing_api_key"
    assert route(environ=environ, api_keys={"openai": " mine \n"}).key == "mine"
    assert route(environ=environ).key == KEY


@pytest.mark.parametrize("key", ("sk-ü", "sk-a\nb", "sk-\x00", "sk-a\x7f"))
def test_ll_9_a_key_no_header_can_carry_is_not_repeated(key: str) -> None:
    failure = failing(api_keys={"openai": key})
    assert failure.code == "invalid_api_key" and key not in failure.message and "sk-" not in failure.message


def test_ll_9_no_repr_shows_a_key() -> None:
    """LL-9, appendix D 9: neither the provider's nor that of anything it is made of."""
    provider = DefaultProvider(api_keys={"openai": KEY}, base_url=f"https://u:{KEY}@h/v1")
    assert repr(provider) == str(provider) == "DefaultProvider"
    assert KEY not in repr(provider._routes.to("openai:m")) and KEY not in repr(provider._routes.to("openai:m").place)


@pytest.mark.parametrize(
    ("spec", "say"), (("nonsense", "PROVIDER:MODEL"), ("antropic:m", "'anthropic'"), ("zzz:m", "ollama"))
)
def test_pv_5_a_spec_nobody_serves(spec: str, say: str) -> None:
    failure = failing(spec)
    assert failure is not None and say in failure.message and failure.is_transient is False


def test_a_forced_protocol_is_the_same_vendor() -> None:
    """Its key, and its name in what is sent and priced; nobody is offered the alias."""
    to = route("openai-responses:m", environ={}, api_keys={"openai": "mine"})
    assert (to.key, to.target.provider, to.place.provider) == ("mine", "openai", "openai-responses")
    assert failing("openai-chat:m").code == "missing_api_key"
    assert "openai-chat" not in failing("zzz:m").message


def test_pv_5_a_schema_the_wire_refuses() -> None:
    odd = tool("pick")
    odd.schema["oneOf"] = []
    failure = DefaultProvider(environ={"ANTHROPIC_API_KEY": KEY}).check("anthropic:m", (BASH, odd))
    assert failure is not None and "'pick'" in failure.message


@pytest.mark.asyncio
async def test_pv_5_what_check_finds_is_also_what_run_says() -> None:
    heard = await attempt(DefaultProvider(environ={}), request("openai:m"))
    assert heard.failure is not None and heard.failure.code == "missing_api_key"


@pytest.mark.asyncio
@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda a: a.name)
async def test_the_key_travels_as_a_header_and_only_there(adapter: Any) -> None:
    """LL-9, PV-3: an adapter never sends the session's own context."""
    heads: list[bytes] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, body = await read_request(reader)
        heads.append(head)
        assert KEY.encode() not in body and b"hidden" not in body
        writer.write(response(b"", status="500 No"))

    async with serving(handler) as url:
        context = {"request_id": "hidden", "session_id": "hidden"}
        await attempt(adapter.provider(url, ollama_window=False), request(adapter, context=context))
    (head,) = heads
    assert head.count(KEY.encode()) == (0 if adapter.local else 1)
    assert (b"x-api-key: " + KEY.encode() in head.lower()) == (adapter.name == "anthropic")
    assert (b"anthropic-version: 2023-06-01" in head.lower()) == (adapter.name == "anthropic")
    assert b"accept-encoding: identity" in head.lower()


@pytest.mark.asyncio
async def test_environment_variables_for_proxies_that_are_no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, not a traceback, and no retry."""
    monkeypatch.setenv("ALL_PROXY", "nonsense://u:secret@x")
    heard = await attempt(DefaultProvider(api_keys={"openai": KEY}), request("openai:m"))
    assert heard.failure is not None and heard.failure.code == "config" and not heard.failure.is_transient
    assert "proxy" in heard.failure.message and "secret" not in heard.failure.message


@pytest.mark.asyncio
@pytest.mark.parametrize("proxy", ("nonsense://x", "http://127.0.0.1:{port}"))
async def test_a_server_on_this_machine_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    """A model file's server, a local Ollama: a proxy could not reach them, and would be told every prompt and the key."""
    monkeypatch.setenv("ALL_PROXY", proxy.format(port=closed_port()))
    with MockLLM({"turns": [{"text": "ok"}]}) as m:
        provider = ADAPTERS[0].provider(m.url)
        assert (await attempt(provider, request(ADAPTERS[0]))).text == "ok"
        await provider.aclose()
    elsewhere = DefaultProvider(api_keys={"openai": KEY}, base_url="http://gateway.invalid/v1")
    assert (await attempt(elsewhere, request("openai:m"))).failure is not None


@pytest.mark.asyncio
async def test_one_provider_serves_one_loop_after_another() -> None:
    """Connections belong to a loop; a second `asyncio.run` must not trip over those of the first."""
    with MockLLM({"turns": [{"text": "ok"}]}) as m:
        provider = ADAPTERS[0].provider(m.url)
        assert (await attempt(provider, request(ADAPTERS[0]))).text == "ok"
        said = await asyncio.to_thread(lambda: asyncio.run(attempt(provider, request(ADAPTERS[0]))))
        assert said.text == "ok"
        await provider.aclose()
        await provider.aclose()
        assert (await attempt(provider, request(ADAPTERS[0]))).text == "ok"
        await provider.aclose()


# --- Ollama's own questions ------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_ol_3_the_daemon_tells_the_window_before_and_after_an_answer() -> None:
    """OL-3: `/api/ps` for a loaded model, else `/api/show`; never a failed request, and off with `ollama_window=False`."""
    with MockLLM({"model": "loaded", "context_window": 40_960, "turns": [{"text": "ok"}]}) as m:
        provider = DefaultProvider(base_url=m.url + "/v1", environ={})
        assert await base.context_window(provider, "ollama:loaded:latest") == 40_960
        assert await base.context_window(provider, "ollama:other") == 40_960
        assert [r["path"] for r in m.requests()] == ["/api/ps", "/api/ps", "/api/show"]
        heard = await attempt(provider, request("ollama:loaded"))
        assert ContextWindow(40_960) in heard.events
        off = DefaultProvider(base_url=m.url, environ={}, ollama_window=False)
        assert await base.context_window(off, "ollama:loaded") is None
        assert "ContextWindow" not in str((await attempt(off, request("ollama:loaded"))).events)
        assert await base.context_window(DefaultProvider(api_keys={"openai": KEY}), "openai:m") is None
    dead = DefaultProvider(base_url=f"http://127.0.0.1:{closed_port()}", environ={})
    assert await base.context_window(dead, "ollama:x") is None
    assert await base.available_models(dead, "ollama") == []


@pytest.mark.asyncio
async def test_c8_2_models_that_can_call_tools_newest_first() -> None:
    """C8-2: embedding models never, those that tell nothing of themselves yes."""
    listed = b"""{"models": [
        {"name": "old:1b", "modified_at": "2024-01-01T00:00:00Z", "capabilities": ["completion", "tools"]},
        {"name": "new:2b", "modified_at": "2026-01-01T00:00:00Z"},
        {"name": "words:3b", "modified_at": "2026-02-01T00:00:00Z", "capabilities": ["completion"]},
        {"name": "nomic-embed-text", "modified_at": "2026-03-01T00:00:00Z"},
        {"name": "x", "modified_at": "2026-03-01T00:00:00Z", "details": {"family": "bert"}}]}"""
    async with serving(answering(response(listed, kind="application/json"))) as url:
        provider = DefaultProvider(base_url=url, environ={})
        assert await base.available_models(provider, "ollama") == ["ollama:new:2b", "ollama:old:1b"]


# --- what importing costs --------------------------------------------------------------------------------------------


def test_httpx2_is_imported_by_the_first_request_only() -> None:
    """Importing and constructing starts nothing and loads no network library."""
    code = (
        "import sys; from lmx_core.providers.default import DefaultProvider; p = DefaultProvider(environ={}); "
        "p.check('anthropic:m'); bad = {'httpx2', 'httpcore2', 'h11', 'ssl', 'pydantic', 'httpx'} & set(sys.modules); "
        "sys.exit(str(bad) if bad - {'ssl'} else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
