"""How long automatic compaction holds back after it did not help (CO-2).

Without it a session whose summary fails, or whose instructions alone fill the window, would pay for a summary before every
request and go on for a night.
"""

from __future__ import annotations

import msgspec

LONGEST = 32
"""Requests: after an ineffective compaction, and the most after failures."""


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """`failures` in a row, and how many requests are still to pass before the threshold is looked at again."""

    failures: int = 0
    wait: int = 0

    def failed(self) -> Patience:
        """2, 4, 8, 16, then always 32 requests."""
        failures = self.failures + 1
        return Patience(failures=failures, wait=min(2**failures, LONGEST))

    def ineffective(self) -> Patience:
        return Patience(failures=self.failures, wait=LONGEST)

    def passed(self) -> Patience:
        """After one more request."""
        return Patience(failures=self.failures, wait=max(0, self.wait - 1))
