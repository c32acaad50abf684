"""Whether a failed attempt is worth another, and when (RY-1, RY-2).

Pure: who waits, and what waiting may be interrupted by, is the session's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lmx_core.errors import Failure


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """`max_attempts` counts the first one too; `after_output` False: what had begun to answer is not asked again."""

    max_attempts: int = 6
    base_delay_ms: int = 2_000
    max_delay_ms: int = 60_000
    after_output: bool = True

    def delay_ms(self, failure: Failure, *, attempt: int, after_output: bool) -> int | None:
        """How long to wait before attempt `attempt + 1`, or None when `failure` ends the turn."""
        if attempt >= self.max_attempts or (after_output and not self.after_output):
            return None
        if not failure.is_transient:
            return None
        backoff = self.base_delay_ms * 2 ** (attempt - 1)
        return min(failure.retry_after_ms if failure.retry_after_ms is not None else backoff, self.max_delay_ms)


def policy(option: Mapping[str, Any] | bool) -> Policy:
    """The policy of a `provider_retry=` option: a dict of what differs from the shipped one, or False for one attempt only."""
    return Policy(**option) if isinstance(option, Mapping) else Policy(max_attempts=1)
