"""What a request may cost, before it is sent (BU-3, BU-4).

Two ways to reckon. The pessimistic one takes all input as new and the answer as long as it may become: what it admits stays
within the limit. The realistic one goes by what the session has measured: a long conversation is mostly read from the cache, at
a tenth of its price, and answered in a few hundred tokens, so the pessimistic one would end it with most of the money unspent.
What has no price has no estimate; None is never 0.
"""

from __future__ import annotations

import msgspec

from lmx_core.providers import models
from lmx_core.providers.models import ModelFacts, Price
from lmx_core.request import Forecast, Request
from lmx_core.transcript.weight import overhead, tokens_of, weight

PESSIMISTIC, REALISTIC = WAYS = ("pessimistic", "realistic")

LEAST_ANSWER = 8_192
"""Tokens that a realistic estimate leaves for an answer at least."""


class _Input(msgspec.Struct, frozen=True):
    """Tokens of input, and how many of them the cache will hold."""

    tokens: int
    cached: int = 0


def estimate(request: Request, provider: str, model: str, way: str = PESSIMISTIC) -> float | None:
    """Dollars, or None where the price or the longest answer is unknown. `provider` and `model` are its spec's parts."""
    if models.is_free(provider, model):
        return 0.0
    facts = models.to_reckon_with(provider, model)
    if facts is None or facts.price is None:
        return None
    known = request.context.get("forecast")
    forecast = known if isinstance(known, Forecast) else Forecast(input_tokens=_weighed(request))
    output = _output(request, facts, forecast, way)
    if output is None:
        return None
    read = _likely(forecast) if way == REALISTIC else _Input(forecast.input_tokens)
    return _dollars(models.rates(facts, read.tokens) or facts.price, read, output)


def _weighed(request: Request) -> int:
    return tokens_of(sum(map(weight, request.entries)) + overhead(request.system, request.tools))


def _likely(forecast: Forecast) -> _Input:
    if forecast.likely_tokens is None:
        return _Input(forecast.input_tokens)
    return _Input(forecast.likely_tokens, int(forecast.likely_tokens * forecast.cached_share))


def _output(request: Request, facts: ModelFacts, forecast: Forecast, way: str) -> int | None:
    for name in ("max_tokens", "max_completion_tokens"):
        if isinstance(asked := request.params.get(name), int):
            return asked
    if way == PESSIMISTIC:
        return facts.max_output
    usual = max(LEAST_ANSWER, 2 * forecast.largest_answer)
    return usual if facts.max_output is None else min(usual, facts.max_output)


def _dollars(price: Price, read: _Input, output: int) -> float:
    """What is not in the cache may be written to it, and that costs more than reading it does."""
    new = max(price.input, price.cache_write or 0.0)
    cached = price.input if price.cache_read is None else price.cache_read
    return ((read.tokens - read.cached) * new + read.cached * cached + output * price.output) / 1e6
