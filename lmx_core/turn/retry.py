"""Whether a failed attempt is worth another, when, and of whom (RY-1 to RY-3).

Pure: who waits, and what waiting may be interrupted by, is the session's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lmx_core.callbacks import of_host
from lmx_core.errors import CallbackFailed, Failure

VERDICTS = ("transient", "fatal", "default")
CLASSIFY = "classify of provider_retry="


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """`max_attempts` counts the first one too; `after_output` False: what had begun to answer is not asked again.

    `classify` is a host's own word on a failure, one of `VERDICTS`; `default` leaves it to the shipped rule (RY-2).
    """

    max_attempts: int = 6
    base_delay_ms: int = 2_000
    max_delay_ms: int = 60_000
    after_output: bool = True
    classify: Callable[[Failure], str] | None = None

    def delay_ms(self, failure: Failure, *, attempt: int, after_output: bool) -> int | None:
        """How long to wait before attempt `attempt + 1`, or None when `failure` ends the turn."""
        if attempt >= self.max_attempts or not self._may_pass(failure, after_output):
            return None
        backoff = self.base_delay_ms * 2 ** (attempt - 1)
        return min(failure.retry_after_ms if failure.retry_after_ms is not None else backoff, self.max_delay_ms)

    def is_spent(self, failure: Failure, *, attempt: int, after_output: bool) -> bool:
        """Whether another model is the better next attempt: this one's are used up, or it is not there or asks for long."""
        if failure.code == "unreachable" and self.classify is None and not failure.is_transient:
            return True  # nobody listens on this machine: no attempt helps here, and one elsewhere may
        asked = failure.retry_after_ms
        too_long = asked is not None and asked > self.max_delay_ms
        return (attempt >= self.max_attempts or too_long) and self._may_pass(failure, after_output)

    def is_transient(self, failure: Failure) -> bool:
        """Whether it may pass. Raises CallbackFailed where `classify` breaks or says something else than one of `VERDICTS`."""
        said = "default" if self.classify is None else of_host(CLASSIFY, self.classify, failure)
        if not isinstance(said, str) or said not in VERDICTS:
            raise CallbackFailed(CLASSIFY, f"must return one of {', '.join(VERDICTS)}")
        return failure.is_transient if said == "default" else said == "transient"

    def _may_pass(self, failure: Failure, after_output: bool) -> bool:
        return (self.after_output or not after_output) and self.is_transient(failure)


def policy(option: Mapping[str, Any] | bool) -> Policy:
    """The policy of a `provider_retry=` option: a dict of what differs from the shipped one, or False for one attempt only."""
    return Policy(**option) if isinstance(option, Mapping) else Policy(max_attempts=1)
