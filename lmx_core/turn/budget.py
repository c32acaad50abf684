"""Whether one more request may be sent (BU-1): asked before every request, retries included.

Turns are counted for a prompt, requests for the whole life of the transcript, so that a resume does not start again at 0.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why not: the stop reason, and for `budget` the numbers (`kind`, `used`, `limit`)."""

    stop_reason: str
    detail: dict[str, Any] = {}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    max_turns: int = 400
    max_requests: int | None = None

    def refusal(self, *, turns: int, requests: int) -> Refusal | None:
        """What forbids another request after `turns` of this prompt and `requests` of the session, or None."""
        if turns >= self.max_turns:
            return Refusal(stop_reason="max_turns", detail={"used": turns, "limit": self.max_turns})
        if self.max_requests is not None and requests >= self.max_requests:
            detail = {"kind": "requests", "used": requests, "limit": self.max_requests}
            return Refusal(stop_reason="budget", detail=detail)
        return None
