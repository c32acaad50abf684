"""What a request cost, in one shape for every provider (US-1, US-2).

`None` for a cost means nobody knows; it is contagious in sums and never becomes 0.0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeGuard

import msgspec

STABLE_KEYS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd", "model")


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_dollars(value: Any) -> TypeGuard[float]:
    """Whether it is an amount that can be spent. A negative one would lift a ceiling, one that is no number break every sum."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= sys.float_info.max


_IS_TOLD: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(STABLE_KEYS[:4], is_count),
    "cost_usd": is_dollars,
    "model": lambda value: isinstance(value, str),
    "input_includes_cached": lambda value: isinstance(value, bool),
}


def exact(usd: float) -> Decimal:
    """An amount as it is written, to add and compare.

    As floats three times $0.10 is a bit more than $0.30, and a ceiling of $0.30 would stop a session that had not passed it.
    """
    return Decimal(repr(float(usd)))


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and dollars of one request or a sum of them.

    `input_tokens` is everything the model read, cached parts included, whenever `input_includes_cached` is true, which is
    how every lmx adapter reports it. `extra` keeps what else the provider said.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    model: str | None = None
    input_includes_cached: bool = True
    extra: dict[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        """The form written to transcripts and shown to scripts: the six stable keys first, extras after them."""
        base: dict[str, Any] = {key: getattr(self, key) for key in STABLE_KEYS}
        base["input_includes_cached"] = self.input_includes_cached
        return base | {key: value for key, value in self.extra.items() if key not in base}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Usage:
        """Reads that form back. A transcript may come from anywhere: a figure that is none counts as not told."""
        known: dict[str, Any] = {k: v for k, v in data.items() if k in _IS_TOLD and _IS_TOLD[k](v)}
        return cls(**known, extra={k: v for k, v in data.items() if k not in _IS_TOLD})

    def add(self, other: Usage) -> Usage:
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost_usd=None if unknown else float(exact(self.cost_usd or 0.0) + exact(other.cost_usd or 0.0)),
            model=other.model or self.model,
        )

    @staticmethod
    def sum(items: Iterable[Usage]) -> Usage:
        """The sum; of nothing, zero tokens and a known cost of 0.0."""
        total = Usage(cost_usd=0.0)
        for item in items:
            total = total.add(item)
        return total
