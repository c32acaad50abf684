"""Whether one more request may be sent (BU-1, BU-2): asked before every request, retries and summaries included.

Turns are counted for a prompt, requests and money for the whole life of the transcript, so that a resume does not start again
at 0. What nobody knows is never taken for nothing: under a cost ceiling an unknown spend, price or estimate admits no request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from lmx_core.usage import exact, is_dollars


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why not: the stop reason, and for `budget` the numbers.

    Of `kind` `requests`: `used`, `limit`. Of `kind` `cost`: `spent`, `estimate` and `cap` in dollars, None where nobody knows,
    and `model`, whose price is meant.
    """

    stop_reason: str
    detail: dict[str, Any] = {}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    max_turns: int = 400
    max_requests: int | None = None
    max_cost_usd: float | None = None

    def refusal(self, *, turns: int, requests: int) -> Refusal | None:
        """What forbids another request after `turns` of this prompt and `requests` of the session, or None."""
        if turns >= self.max_turns:
            return Refusal(stop_reason="max_turns", detail={"used": turns, "limit": self.max_turns})
        if self.max_requests is not None and requests >= self.max_requests:
            detail = {"kind": "requests", "used": requests, "limit": self.max_requests}
            return Refusal(stop_reason="budget", detail=detail)
        return None

    def unaffordable(self, *, spent: float | None, estimate: float | None, model: str) -> Refusal | None:
        """What forbids a request that may cost `estimate` dollars after `spent`, or None (BU-2).

        `model` is the one whose price is meant.
        """
        cap = self.max_cost_usd
        if cap is None:
            return None
        if spent is not None and estimate is not None and exact(spent) + exact(estimate) <= exact(cap):
            return None
        detail = {"kind": "cost", "spent": spent, "estimate": estimate, "cap": cap, "model": model}
        return Refusal(stop_reason="budget", detail=detail)


def declared_maximum(external_cost: Any) -> float | None:
    """The most that a call declares it may cost, `{"maximum_usd": 0.5}`, in dollars; None where it is not known."""
    usd = external_cost.get("maximum_usd") if isinstance(external_cost, dict) else None
    return float(usd) if is_dollars(usd) else None


def fits(cap: float, parts: Iterable[float]) -> bool:
    """Whether amounts of dollars come to no more than `cap`, as they are written."""
    return sum(map(exact, parts)) <= exact(cap)
