"""What is known of a model without asking anybody: its window, output limit, prices and abilities.

A packaged snapshot (`models.json`, made by `tests/support/model_table.py`), read when first asked for: fetching it would make a
cost depend on the network, and reading it on import would be paid by every start. What it does not list is unknown, never free
and never refused: a server of one's own may serve anything (US-3, C8-8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from lmx_core.providers.catalog import EFFORTS
from lmx_core.usage import Usage


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars a million tokens. A cached token without a rate of its own costs what any input does."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> float:
        """Dollars. Cached tokens are inside `input_tokens`, or beside it where the usage says so; each counts once (US-1)."""
        read, written = usage.cache_read_tokens, usage.cache_write_tokens
        plain = usage.input_tokens - (read + written if usage.input_includes_cached else 0)
        total = max(plain, 0) * self.input + usage.output_tokens * self.output
        total += read * (self.input if self.cache_read is None else self.cache_read)
        total += written * (self.input if self.cache_write is None else self.cache_write)
        return total / 1e6


class Above(msgspec.Struct, frozen=True):
    """The price of a request whose input is longer than `tokens`, all of it."""

    tokens: int
    price: Price


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table; None is unknown.

    `window` is the most input tokens, `max_output` the most output tokens. `reads` lists what it understands besides text:
    `image`, `document`. `efforts` are its levels of reasoning effort, least first; none: it does not reason.
    """

    window: int | None = None
    max_output: int | None = None
    price: Price | None = None
    above: Above | None = None
    reads: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    no_tools: bool = False
    chat_only: bool = False


class _Table(msgspec.Struct, frozen=True):
    source: str
    models: dict[str, dict[str, ModelFacts]]


@cache
def table() -> _Table:
    """The whole snapshot, read once a process."""
    return _read("models.json")


@cache
def through_litellm() -> _Table:
    """The same of the providers that litellm serves."""
    return _read("litellm/models.json")


def _read(name: str) -> _Table:
    return msgspec.json.decode((Path(__file__).parent / name).read_bytes(), type=_Table)


_SAME_MODEL = {"zai_coding_plan": "zai"}
"""Providers that serve another's models at a price of their own."""

_SOLD_BY_OPENROUTER = {"x-ai": "xai", "z-ai": "zai"}
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


def facts(provider: str, model: str) -> ModelFacts | None:
    """What the table says of a provider's model; None for one it does not list.

    A dated name is its undated one. OpenRouter's names are those of the vendors; what it charges it says itself, and a plan is
    paid by the month, so those have no price here.
    """
    if provider == "openrouter":
        return _unpriced(_of_openrouter(model))
    if provider in _SAME_MODEL:
        return _unpriced(_listed(_SAME_MODEL[provider], model))
    return _listed(provider, model.removeprefix("models/"))


def to_reckon_with(provider: str, model: str) -> ModelFacts | None:
    """The same, with a price to estimate by: OpenRouter passes on what the vendors charge, and says afterwards what it was."""
    return _of_openrouter(model) if provider == "openrouter" else facts(provider, model)


def _of_openrouter(model: str) -> ModelFacts | None:
    vendor, _, name = model.partition(":")[0].partition("/")
    return _listed(_SOLD_BY_OPENROUTER.get(vendor, vendor), name.replace(".", "-"), name)


def is_free(provider: str, model: str) -> bool:
    """Whether it runs on one's own machine, where an answer costs nothing. An Ollama model in the cloud is hosted (C8-8)."""
    return provider == "local" or (provider == "ollama" and "cloud" not in model)


def rates(found: ModelFacts, input_tokens: int) -> Price | None:
    """The price of a request of this length: a long one may cost more, all of it."""
    return found.above.price if found.above is not None and input_tokens > found.above.tokens else found.price


def listed(vendor: str) -> Mapping[str, ModelFacts]:
    """Every row of a provider; those that litellm serves have a file of their own, which the direct wires need not read."""
    return table().models.get(vendor) or through_litellm().models.get(vendor) or {}


def _listed(vendor: str, *names: str) -> ModelFacts | None:
    rows = listed(vendor)
    for name in names:
        if found := rows.get(name) or rows.get(_DATED.sub("", name)):
            return found
    return None


def _unpriced(found: ModelFacts | None) -> ModelFacts | None:
    return None if found is None else msgspec.structs.replace(found, price=None, above=None)


def effort_of(found: ModelFacts | None, level: str | None) -> str | None:
    """The level to send: the one asked for, or the nearest of a model that has others (a session may change its model).

    None, which sends nothing, for one that does not reason. Thinking is switched off only where that was asked for.
    """
    if found is None or level not in EFFORTS or level in found.efforts:
        return level
    offered = [effort for effort in found.efforts if effort != "none"]
    return min(offered, key=lambda effort: abs(EFFORTS.index(effort) - EFFORTS.index(level)), default=None)


def priced(usage: Usage, provider: str, model: str) -> Usage:
    """`usage` with its cost, where the provider did not tell one and the price is known."""
    found = facts(provider, model) if usage.cost_usd is None else None
    price = None if found is None else rates(found, usage.input_tokens)
    if price is None:
        return usage
    return msgspec.structs.replace(usage, cost_usd=price.of(usage))
