"""The packaged table of models: what a request costs, and what is known without asking."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import msgspec
import pytest
from support import model_table
from support.adapters import KEY, READ, attempt, entries, request
from support.mock_llm import MockLLM

from lmx_core.providers import base, models
from lmx_core.providers.catalog import PROVIDERS
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.models import Price
from lmx_core.providers.route import Route
from lmx_core.providers.scripted import Scripted
from lmx_core.providers.wire.base import Target
from lmx_core.providers.wire.openai_responses import OpenAIResponses
from lmx_core.request import Request
from lmx_core.usage import Usage

RATES = Price(input=3.0, cache_read=0.3, cache_write=3.75, output=15.0)
KEYS = {info.name: KEY for info in PROVIDERS}


def provider(**options: Any) -> DefaultProvider:
    return DefaultProvider(**{"api_keys": KEYS, **options})


def route(spec: str, **options: Any) -> Route:
    return provider(**options)._routes.to(spec)


# --- prices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "dollars"),
    (
        ({"input_tokens": 1_000, "cache_read_tokens": 900, "output_tokens": 10}, 0.000720),
        ({"input_tokens": 1_050, "cache_read_tokens": 900, "cache_write_tokens": 50, "output_tokens": 10}, 0.0009075),
        (
            {
                "input_tokens": 100,
                "cache_read_tokens": 900,
                "cache_write_tokens": 50,
                "output_tokens": 10,
                "input_includes_cached": False,
            },
            0.0009075,
        ),
        ({"input_tokens": 0, "output_tokens": 0}, 0.0),
    ),
)
def test_us_1_cached_tokens_are_paid_once_at_their_own_rate(usage: dict[str, Any], dollars: float) -> None:
    """US-1, case C37 a and b: inside the input or beside it, the sum is the same."""
    assert RATES.of(Usage(**usage)) == pytest.approx(dollars, abs=1e-12)


def test_a_cached_token_without_a_rate_costs_what_input_does() -> None:
    usage = Usage(input_tokens=100, cache_read_tokens=40, cache_write_tokens=10, output_tokens=0)
    assert Price(input=2.0, output=8.0).of(usage) == pytest.approx(100 * 2e-6)


def test_a_long_request_is_paid_at_its_own_rates() -> None:
    """All of it, from the first token above the mark."""
    short, long = (
        models.priced(Usage(input_tokens=n, output_tokens=10), "openai", "gpt-6-sol").cost_usd
        for n in (272_000, 272_001)
    )
    assert short == pytest.approx(272_000 * 2e-6 + 10 * 10e-6) and long == pytest.approx(272_001 * 4e-6 + 10 * 15e-6)


@pytest.mark.parametrize(
    ("name", "model"),
    (
        ("openai", "mock-model"),
        ("google", "gemma-4-31b-it"),
        ("openrouter", "anthropic/claude-sonnet-5"),
        ("zai_coding_plan", "glm-5.3"),
        ("ollama", "claude-sonnet-5"),
        ("nobody", "gpt-5"),
    ),
)
def test_c8_8_without_a_price_the_cost_is_unknown(name: str, model: str) -> None:
    """C8-8, US-1, US-3, OL-4, case C37 e: unlisted, listed at 0, told by the provider itself, or paid by the month."""
    assert models.priced(Usage(input_tokens=5), name, model).cost_usd is None


def test_bu_5_what_a_provider_charged_is_not_reckoned_again() -> None:
    """BU-5, US-2: and an unknown cost stays unknown in a sum with known ones."""
    told = Usage(input_tokens=5, cost_usd=0.25)
    assert models.priced(told, "openai", "gpt-5") is told
    known, unknown = models.priced(Usage(input_tokens=5), "openai", "gpt-5"), Usage(input_tokens=5)
    assert known.cost_usd and Usage.sum([known, models.priced(unknown, "openai", "mock-model")]).cost_usd is None


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("spec", "path", "usage", "cost"),
    (
        ("anthropic:claude-sonnet-4-6", "", {"input": 1050, "cache_read": 900, "cache_write": 50}, 0.0009075),
        ("openai:gpt-5", "/v1", {"input": 1000, "cache_read": 900}, 100 * 1.25e-6 + 900 * 0.125e-6 + 10 * 10e-6),
        ("openai-responses:gpt-5", "/v1", {"input": 1000, "cache_read": 900}, 0.0003375),
        ("openai:mock-model", "/v1", {"input": 1000}, None),
    ),
)
async def test_us_1_an_answer_says_what_it_cost(spec: str, path: str, usage: dict[str, int], cost: Any) -> None:
    """US-1, case C37 a, b, e: over each wire, in the report that the session sums."""
    with MockLLM({"turns": [{"text": "x", "usage": {"output": 10, **usage}}]}) as m:
        heard = await attempt(provider(base_url=m.url + path), request(spec, tools=(READ,)))
    assert heard.usage is not None and heard.usage.cost_usd == (cost and pytest.approx(cost))


@pytest.mark.asyncio
async def test_us_1_a_broken_attempt_is_paid_for_as_well() -> None:
    """US-1, case C37 f: what it used up until it broke."""
    turn = {"text": "x", "usage": {"input": 100, "output": 1}, "faults": [{"kind": "truncate", "after_chunks": 1}]}
    with MockLLM({"turns": [turn]}) as m:
        heard = await attempt(provider(base_url=m.url), request("anthropic:claude-sonnet-4-6"))
    assert heard.failure is not None and heard.usage is not None and heard.usage.cost_usd


# --- what else is known ----------------------------------------------------------------------------------------------


def test_the_default_models_are_listed() -> None:
    """cli.md 8.3: each with a window and an output limit; a price where requests are what is paid for."""
    for info in PROVIDERS:
        if info.default_model:
            facts = models.facts(info.name, info.default_model)
            assert facts is not None and facts.window and facts.max_output, info
            assert (facts.price is None) == (info.name in ("openrouter", "zai_coding_plan"))


@pytest.mark.parametrize(
    ("name", "model", "listed"),
    (
        ("openai", "gpt-5-2099-01-01", "gpt-5"),
        ("anthropic", "claude-sonnet-5-20990101", "claude-sonnet-5"),
        ("anthropic", "claude-sonnet-5-latest", "claude-sonnet-5"),
        ("google", "models/gemini-3.8-flash", "gemini-3.8-flash"),
        ("openai", "gpt-5-none", None),
    ),
)
def test_a_dated_name_is_the_model_itself(name: str, model: str, listed: str | None) -> None:
    assert models.facts(name, model) == (models.table().models[name][listed] if listed else None)


def test_openrouter_sells_the_models_of_others() -> None:
    """Their facts without their price, for it says itself what it charged."""
    for model, vendor, name in (
        ("anthropic/claude-sonnet-4.6:nitro", "anthropic", "claude-sonnet-4-6"),
        ("x-ai/grok-4.7", "xai", "grok-4.7"),
        ("z-ai/glm-5.3", "zai", "glm-5.3"),
    ):
        found, theirs = models.facts("openrouter", model), models.facts(vendor, name)
        assert found is not None and theirs is not None and found.window == theirs.window and theirs.price
        assert found.price is None and found.above is None


@pytest.mark.asyncio
async def test_cw_1_the_window_of_a_listed_model() -> None:
    """CW-1, PV-2: from the table, whatever server is asked; None for a model it does not list."""
    assert await base.context_window(provider(), "openai:gpt-5") == 272_000
    assert await base.context_window(provider(base_url="http://h:1"), "anthropic:claude-sonnet-5") == 1_000_000
    assert await base.context_window(provider(), "openai:mock-model") is None
    assert await base.context_window(provider(), "nonsense") is None


@pytest.mark.asyncio
async def test_pv_2_what_a_listed_model_cannot_read_is_not_sent_to_it() -> None:
    """PV-2: its family may read it; this one does not."""
    assert await base.input_modalities(provider(), "openai:gpt-5") == {"image", "document"}
    assert await base.input_modalities(provider(), "google:gemini-3.8-flash") == {"image"}
    assert await base.input_modalities(provider(), "openai:gpt-4.1-mini-unlisted") == {"image", "document"}
    assert await base.input_modalities(provider(), "xai:grok-4.7") == {"image"}
    assert await base.input_modalities(provider(), "openai:gpt-5.5-cyber") == frozenset()


def test_pv_2_what_is_known_of_a_model_without_asking() -> None:
    """PV-2: nothing is `{}`."""
    assert provider().model_metadata("openai-chat:gpt-5") == {
        "context_window": 272_000,
        "max_output_tokens": 128_000,
        "reasoning_efforts": ["minimal", "low", "medium", "high"],
        "price": {"input": 1.25, "output": 10.0, "cache_read": 0.125, "cache_write": None},
    }
    assert provider().model_metadata("openai:mock-model") == provider().model_metadata("nonsense") == {}
    assert provider().model_metadata("nobody:gpt-5") == {}
    assert base.model_metadata(provider(), "openai:gpt-5") == provider().model_metadata("openai:gpt-5")
    assert base.model_metadata(Scripted([]), "openai:gpt-5") == {}


def test_pv_5_tools_for_a_model_that_cannot_call_them() -> None:
    """PV-5: known before any request; one that is not listed is asked."""
    unable = next(name for name, facts in models.table().models["openai"].items() if facts.no_tools)
    failure = provider().check(f"openai:{unable}", (READ,))
    assert failure is not None and failure.code == "tools_unsupported" and unable in failure.message
    assert provider().check(f"openai:{unable}") is None and provider().check("openai:mock-model", (READ,)) is None


@pytest.mark.parametrize(
    ("spec", "base_url", "wire"),
    (
        ("openai:gpt-6-sol", None, "openai_responses"),
        ("openai:gpt-6-sol", "https://api.openai.com/v1/", "openai_responses"),
        ("openai:gpt-6-sol", "http://gateway/v1", "openai_chat"),
        ("openai:unlisted", None, "openai_chat"),
        ("openai:gpt-audio-1.5", None, "openai_chat"),
        ("openai-responses:unlisted", "http://gateway/v1", "openai_responses"),
        ("openai-chat:gpt-6-sol", None, "openai_chat"),
        ("xai:grok-4.7", None, "openai_chat"),
    ),
)
def test_pv_6_which_wire(spec: str, base_url: str | None, wire: str) -> None:
    """PV-6: OpenAI itself over Responses, for the models that are known to speak it; a prefix forces either."""
    assert route(spec, base_url=base_url).wire.name == wire


def test_what_a_model_refuses_is_not_asked_of_it() -> None:
    """Encrypted thinking of a model that does not think; more output than a model can give."""
    wire = OpenAIResponses()
    what = Request(model="x:y", entries=entries("hi"))
    for model, included in (("gpt-4o", False), ("gpt-5", True), ("unlisted", True)):
        to = Target(provider="openai", model=model, base_url="https://x/v1", facts=models.facts("openai", model))
        assert ("include" in json.loads(wire.body(what, to))) == included
    limits = {
        "claude-sonnet-5": 128_000,
        "claude-haiku-4-5": 50_000,
        "claude-3-haiku-20240307": 4_096,
        "claude-x": 32_000,
    }
    for model, limit in limits.items():
        to_claude = route(f"anthropic:{model}")
        body = json.loads(to_claude.wire.body(what, to_claude.target))
        assert body["max_tokens"] == limit, model


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    (
        ("gpt-5", "minimal", "minimal"),
        ("gpt-5", "max", "high"),
        ("gpt-5", "none", "minimal"),
        ("gpt-5.1", "minimal", "low"),
        ("gpt-4o", "high", None),
        ("unlisted", "max", "max"),
        ("gpt-5", "default", "default"),
        ("gpt-5", None, None),
    ),
)
def test_ll_10_a_level_that_a_model_has(model: str, asked: str | None, sent: str | None) -> None:
    """LL-10: the nearest one after a change of model; thinking is never switched off unasked."""
    assert models.effort_of(models.facts("openai", model), asked) == sent


@pytest.mark.asyncio
async def test_ll_10_a_model_that_does_not_reason_is_sent_no_effort() -> None:
    """LL-10: over the wire."""
    with MockLLM({"turns": [{"text": "ok"}]}) as m:
        for spec, sent in (("openai:gpt-4o", None), ("openai:gpt-5", "high"), ("openai:unlisted", "max")):
            await attempt(provider(base_url=m.url + "/v1"), request(spec, reasoning_effort="max"))
            assert m.requests("main")[-1]["body"].get("reasoning_effort") == sent


@pytest.mark.parametrize(
    ("spec", "effort", "sent"),
    (
        ("anthropic:claude-sonnet-5", "none", {"thinking": {"type": "disabled"}}),
        ("anthropic:claude-unlisted", "none", {}),
        (
            "anthropic:claude-sonnet-5",
            "max",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}},
        ),
        ("zai_coding_plan:glm-5.3", "none", {"thinking": {"type": "disabled"}}),
        ("zai_coding_plan:glm-5.3", "high", {"thinking": {"type": "enabled"}}),
        ("deepseek:deepseek-v4-pro", "none", {"thinking": {"type": "disabled"}}),
        ("deepseek:deepseek-v4-pro", "high", {"reasoning_effort": "high"}),
        ("openrouter:anthropic/claude-sonnet-5", "high", {"reasoning": {"effort": "high"}}),
        ("google:gemini-3.8-flash", "low", {"reasoning_effort": "low"}),
        ("openai:gpt-6-sol", "low", {"reasoning": {"effort": "low"}}),
    ),
)
def test_ll_10_how_each_provider_is_told(spec: str, effort: str, sent: dict[str, Any]) -> None:
    """LL-10: a word until here, then what the vendor's protocol has for it."""
    to = route(spec)
    plain, asked = (
        json.loads(to.wire.body(Request(model=spec, entries=entries("hi"), reasoning_effort=level), to.target))
        for level in (None, effort)
    )
    assert {key: value for key, value in asked.items() if plain.get(key) != value} == sent


# --- the table itself ------------------------------------------------------------------------------------------------


def test_the_table_is_small_and_read_only_when_asked() -> None:
    """At most 150 KB and 10 ms; importing and constructing a provider reads nothing."""
    assert model_table.TABLE.stat().st_size < 150_000
    best = 1.0
    for _ in range(3):
        models.table.cache_clear()
        start = time.process_time()
        models.table()
        best = min(best, time.process_time() - start)
    assert best < 0.010
    code = (
        "from lmx_core.providers import models, default; p = default.DefaultProvider(environ={}); "
        "raise SystemExit(models.table.cache_info().currsize)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_c8_8_no_row_gives_a_model_away() -> None:
    """C8-8: a catalogue entry whose rates are both 0 has no price."""
    for listed in models.table().models.values():
        assert all(facts.price is None or facts.price.input or facts.price.output for facts in listed.values())
    free = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
    assert model_table.price(free) is None and model_table.price({}) is None
    assert model_table.price({"input_cost_per_token": 0.0, "output_cost_per_token": 1e-6}) == {
        "input": 0.0,
        "output": 1.0,
    }


def test_how_a_row_is_made() -> None:
    """From the catalogue's words; what is unknown is left out."""
    row = {
        "litellm_provider": "openai",
        "mode": "chat",
        "max_input_tokens": 10,
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 2e-6,
        "input_cost_per_token_above_200k_tokens": 2e-6,
        "output_cost_per_token_above_200k_tokens": 4e-6,
        "supports_reasoning": True,
        "supports_none_reasoning_effort": True,
        "supports_low_reasoning_effort": False,
        "supports_xhigh_reasoning_effort": True,
        "supports_function_calling": False,
        "supported_endpoints": ["/v1/chat/completions"],
    }
    made = model_table.table({"openai/x": row, "vertex/y": {**row, "litellm_provider": "vertex_ai"}}, "here")
    assert made["models"]["openai"] == {
        "x": {
            "window": 10,
            "price": {"input": 1.0, "output": 2.0},
            "above": {"tokens": 200_000, "price": {"input": 2.0, "output": 4.0}},
            "efforts": ["none", "medium", "high", "xhigh"],
            "no_tools": True,
            "chat_only": True,
        }
    }
    assert msgspec.json.decode(model_table.text(made), type=models._Table).models["openai"]["x"].chat_only
    levels = {
        "supports_reasoning": True,
        "supports_minimal_reasoning_effort": True,
        "supports_max_reasoning_effort": True,
    }
    assert model_table.efforts("anthropic", levels) == ["none", "minimal", "low", "medium", "high", "max"]
    assert model_table.efforts("anthropic", {**levels, "thinking_always_on": True})[0] == "minimal"
    assert model_table.efforts("openai", {"supports_none_reasoning_effort": True}) == []
    assert model_table.efforts("openai", {**levels, "reasoning_effort_levels": ["medium"]}) == ["medium"]
