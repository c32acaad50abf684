"""What of an answer's headers a host gets to see: what it named, of every attempt, and never a credential."""

from __future__ import annotations

from typing import Any

import pytest
from support.adapters import ADAPTERS, KEY, Adapter, attempt, request
from support.mock_llm import MockLLM
from support.raw_server import answering, response, serving
from support.sessions import world

from lmx_core import events
from lmx_core.errors import ConfigError
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.headers import disclosed
from lmx_core.testing import prompt

WANTED = (
    "X-Request-Id",
    "x-ratelimit-remaining-tokens",
    "set-cookie",
    "authorization",
    "x-amz-security-token",
    "x-absent",
)
each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda a: a.name)


def failing(status: int) -> bytes:
    headers = (
        "X-Request-ID: r1",
        "X-RateLimit-Remaining-Tokens: 7",
        "Set-Cookie: s=1",
        f"Authorization: Bearer {KEY}",
        "X-Amz-Security-Token: t",
        f"X-Echo: you sent {KEY}",
        "X-Unnamed: u",
        "Content-Length: 2",
    )
    return response(b"{}", status=f"{status} X", kind="application/json", headers=headers)


@pytest.mark.asyncio
@each_adapter
async def test_ll_12_named_headers_of_a_failed_attempt_and_no_credential(adapter: Adapter) -> None:
    """LL-12, EVT-23: lowercase, before the terminal event; a key that a server echoes is struck out."""
    async with serving(answering(failing(503))) as url:
        provider = adapter.provider(url, response_headers=[*WANTED, "x-echo"])
        heard = await attempt(provider, request(adapter))
    assert heard.failure is not None and heard.metadata is not None and heard.metadata.status == 503
    shown = dict(heard.metadata.headers)
    echo = shown.pop("x-echo")
    assert shown == {"x-request-id": "r1", "x-ratelimit-remaining-tokens": "7"}
    assert KEY not in echo or adapter.local  # a local one was given no key
    assert [type(event).__name__ for event in heard.events] == ["ResponseMetadata", "Error"]


@pytest.mark.asyncio
@each_adapter
async def test_ll_12_none_unless_named_and_once_an_answer(adapter: Adapter) -> None:
    with MockLLM({"turns": [{"text": "hi", "reasoning": "hm"}]}) as m:
        plain = await attempt(adapter.provider(m.url), request(adapter))
        named = await attempt(adapter.provider(m.url, response_headers=["Content-Type"]), request(adapter))
    assert plain.metadata is not None and plain.metadata.headers == {}
    assert named.metadata is not None and list(named.metadata.headers) == ["content-type"]
    for heard in (plain, named):
        assert [type(e).__name__ for e in heard.events].count("ResponseMetadata") == 1
        assert type(heard.events[0]).__name__ == "ResponseMetadata" and heard.metadata.status == 200


@pytest.mark.asyncio
async def test_ll_12_a_gateway_says_in_a_header_which_model_answered() -> None:
    """LL-12: `model_header` is believed before the body, and is no header that is shown."""
    chunk = b'data: {"model":"alias","choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    async with serving(answering(response(chunk, headers=["X-Model: real-1"]))) as url:
        provider = DefaultProvider(base_url=url + "/v1", api_keys={"openai": KEY}, model_header="X-Model")
        heard = await attempt(provider, request("openai-chat:m"))
    assert heard.metadata is not None and (heard.metadata.resolved_model, heard.metadata.headers) == ("real-1", {})


@pytest.mark.asyncio
async def test_ll_12_no_answer_has_no_metadata() -> None:
    provider = DefaultProvider(base_url="http://127.0.0.1:9/v1", api_keys={"openai": KEY}, response_headers=["date"])
    heard = await attempt(provider, request("openai-chat:m"))
    assert heard.failure is not None and heard.metadata is None


@pytest.mark.asyncio
async def test_evt_23_a_session_tells_each_attempt_before_its_end() -> None:
    """EVT-23: of a failed attempt and of the one after it, each with its request, the model asked and the status."""
    async with serving(answering(failing(400))) as url:
        provider = DefaultProvider(base_url=url + "/v1", api_keys={"openai": KEY}, response_headers=["x-request-id"])
        async with world(provider=provider, model="openai-chat:m") as w:
            done = await prompt(w.session, "hi")
    told = [event for event in done.events if isinstance(event, events.ResponseMetadata)]
    (one,) = told
    assert (one.status, one.headers, one.requested_model) == (400, {"x-request-id": "r1"}, "openai-chat:m")
    kinds = [event.type for event in done.events]
    assert one.request_id and kinds.index("response_metadata") < kinds.index("error") < kinds.index("finished")


@pytest.mark.parametrize(
    "options", ({"response_headers": "x-id"}, {"response_headers": ["x id"]}, {"model_header": "a:b"})
)
def test_names_that_are_none_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="header names"):
        DefaultProvider(**options)


@pytest.mark.parametrize(
    ("name", "shown"),
    (
        ("x-request-id", True),
        ("x-ratelimit-limit-tokens", True),
        ("x-api-version", True),
        ("cf-ray", True),
        ("authorization", False),
        ("proxy-authorization", False),
        ("www-authenticate", False),
        ("cookie", False),
        ("set-cookie", False),
        ("api-key", False),
        ("x-api-key", False),
        ("x-goog-api-key", False),
        ("x-auth-token", False),
        ("x-amz-security-token", False),
        ("x-csrf-token", False),
        ("x-client-secret", False),
    ),
)
def test_ll_12_which_headers_carry_a_credential(name: str, shown: bool) -> None:
    """LL-12: always removed, even where it was asked for."""
    assert (disclosed([name.upper()], None).of({name: "v"}) == {name: "v"}) == shown
    assert disclosed(["x"], None).of({"x": "a" * 5_000})["x"] == "a" * 1_000
