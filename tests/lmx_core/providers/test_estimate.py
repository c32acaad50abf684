"""What a request may cost, reckoned before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from lmx_core import ConfigError, DefaultProvider, Entry, Request, ToolSpec
from lmx_core.providers import models
from lmx_core.providers.estimate import LEAST_ANSWER
from lmx_core.providers.models import Above, ModelFacts, Price
from lmx_core.request import Forecast

SONNET = ModelFacts(
    window=200_000,
    max_output=64_000,
    price=Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
    above=Above(200_000, Price(input=6.0, output=22.5, cache_read=0.6, cache_write=7.5)),
)
PLAIN = ModelFacts(window=128_000, max_output=16_000, price=Price(input=2.0, output=8.0, cache_read=0.5))


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"anthropic": {"sonnet": SONNET}, "openai": {"plain": PLAIN, "endless": ModelFacts(price=PLAIN.price)}}
    monkeypatch.setattr(models, "table", lambda: models._Table(source="test", models=rows))


def asked(model: str = "anthropic:sonnet", forecast: Forecast | None = None, **params: Any) -> Request:
    context = {} if forecast is None else {"forecast": forecast}
    return Request(model=model, entries=(), params=params, context=context)


def dollars(request: Request, way: str = "pessimistic") -> float | None:
    return DefaultProvider(environ={}, cost_estimate=way).estimate_cost(request)


def test_bu_3_all_input_as_new_and_the_longest_answer():
    """BU-3: what is written to the cache costs more than what is read once, so that counts; no key is needed to reckon."""
    size = Forecast(input_tokens=100_000, likely_tokens=10, cached_share=1.0, largest_answer=1)
    assert dollars(asked(forecast=size)) == pytest.approx((100_000 * 3.75 + 64_000 * 15) / 1e6)
    assert dollars(asked("openai:plain", size)) == pytest.approx((100_000 * 2 + 16_000 * 8) / 1e6)


def test_bu_3_an_explicit_output_limit_counts():
    size = Forecast(input_tokens=1_000)
    assert dollars(asked("openai:plain", size, max_tokens=100)) == pytest.approx((1_000 * 2 + 100 * 8) / 1e6)
    assert dollars(asked("openai:endless", size, max_tokens=100)) == pytest.approx((1_000 * 2 + 100 * 8) / 1e6)


def test_bu_3_a_long_request_costs_more_all_of_it():
    size = Forecast(input_tokens=200_001)
    assert dollars(asked(forecast=size, max_tokens=0)) == pytest.approx(200_001 * 7.5 / 1e6)


def test_bu_4_realistic_goes_by_what_was_measured():
    """BU-4, C8-7: the observed share at the cache's price, twice the largest answer, within the model's limit."""
    size = Forecast(input_tokens=100_000, likely_tokens=50_000, cached_share=0.9, largest_answer=6_000)
    expected = (5_000 * 3.75 + 45_000 * 0.3 + 12_000 * 15) / 1e6
    assert dollars(asked(forecast=size), "realistic") == pytest.approx(expected)
    small = Forecast(input_tokens=9, likely_tokens=0, largest_answer=10)
    assert dollars(asked(forecast=small), "realistic") == pytest.approx(LEAST_ANSWER * 15 / 1e6)
    large = Forecast(input_tokens=9, likely_tokens=0, largest_answer=60_000)
    assert dollars(asked(forecast=large), "realistic") == pytest.approx(64_000 * 15 / 1e6)
    assert dollars(asked("openai:endless", small), "realistic") == pytest.approx(LEAST_ANSWER * 8 / 1e6)
    assert dollars(asked(forecast=large, max_tokens=1_000), "realistic") == pytest.approx(1_000 * 15 / 1e6)


def test_bu_4_before_anything_was_measured_nothing_is_cached():
    size = Forecast(input_tokens=8_000)
    assert dollars(asked(forecast=size), "realistic") == pytest.approx((8_000 * 3.75 + LEAST_ANSWER * 15) / 1e6)


def test_a_request_that_no_session_made_is_weighed():
    """Four bytes a token of what would be sent."""
    entry = Entry(
        id="1", seq=0, type="user", payload={"text": "x" * 400}, usage=None, meta={}, at="2026-01-01T00:00:00Z", v=1
    )
    tool = ToolSpec(name="t", description="d" * 100, schema={})
    request = Request(model="openai:plain", entries=(entry,), system="s" * 400, tools=(tool,), params={"max_tokens": 0})
    told = dollars(request)
    assert told is not None and 200 * 2 / 1e6 < told < 250 * 2 / 1e6


@pytest.mark.parametrize(
    "model", ["openai:mock", "nobody:x", "zai_coding_plan:glm-5.3", "openai:endless", "ollama:kimi-k2:1t-cloud", "?"]
)
def test_c8_8_no_price_or_no_longest_answer_is_no_estimate(model: str):
    """C8-8, BU-5: None, never 0."""
    assert dollars(asked(model, Forecast(input_tokens=10))) is None


def test_c8_8_what_runs_on_ones_own_machine_is_free():
    """C8-8, trap 15: by where it runs, never by a price of 0 in a table."""
    for model in ("ollama:qwen3:8b", "local:/models/a.gguf"):
        assert dollars(asked(model, Forecast(input_tokens=10**6))) == 0.0


def test_c8_8_what_openrouter_sells_is_estimated_at_the_vendors_price():
    """It charges what the vendors do, and says afterwards what that was."""
    size = Forecast(input_tokens=1_000)
    assert dollars(asked("openrouter:openai/plain", size)) == dollars(asked("openai:plain", size))


def test_bu_4_the_way_is_one_of_two():
    with pytest.raises(ConfigError, match="pessimistic, realistic"):
        DefaultProvider(cost_estimate="hopeful")
