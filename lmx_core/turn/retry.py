"""Whether a failed attempt is worth another, and when (RY-1, RY-2).

Pure: who waits, and what waiting may be interrupted by, is the session's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lmx_core.errors import Failure

KEYS = ("max_attempts", "base_delay_ms", "max_delay_ms", "after_output", "classify")
CLASSES = ("transient", "fatal", "default")


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """`max_attempts` counts the first one too. `classify(failure)` may answer `transient`, `fatal` or `default` (RY-3)."""

    max_attempts: int = 6
    base_delay_ms: int = 2_000
    max_delay_ms: int = 60_000
    after_output: bool = True
    classify: Callable[[Failure], str] | None = None

    def delay_ms(self, failure: Failure, *, attempt: int, after_output: bool) -> int | None:
        """How long to wait before attempt `attempt + 1`, or None when `failure` ends the turn."""
        if attempt >= self.max_attempts or (after_output and not self.after_output):
            return None
        if not self._transient(failure):
            return None
        backoff = self.base_delay_ms * 2 ** (attempt - 1)
        return min(failure.retry_after_ms if failure.retry_after_ms is not None else backoff, self.max_delay_ms)

    def _transient(self, failure: Failure) -> bool:
        if failure.is_account:
            return False
        verdict = self.classify(failure) if self.classify is not None else "default"
        if verdict not in CLASSES:
            raise ValueError("provider_retry's classify must answer transient, fatal or default")
        return failure.is_transient if verdict == "default" else verdict == "transient"


def policy(option: Mapping[str, Any] | bool | None) -> Policy:
    """The policy of a `provider_retry=` option: a dict with some of `KEYS`, or False for one attempt only."""
    if option is False:
        return Policy(max_attempts=1)
    return Policy(**option) if isinstance(option, Mapping) else Policy()
