"""The bookkeeping of one rate-domain key, pure: no clock, no loop, no task (AD-2, AD-3).

The next in line is never passed, not even by a request that is small enough to go at once: where small ones may pass, a
large request of a shared account waits for ever. Tokens are kept as whole numbers of token-milliseconds, so that refilling in
many small steps gives exactly what one long wait gives.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from lmx_core.clock import FOREVER
from lmx_core.providers.admission.base import Lease


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """How busy a key is. `available_tokens` may be below 0 after a long answer; it is FOREVER where none are counted.

    `blocked_until` is in milliseconds since the epoch, None where the provider has not asked to be left alone.
    """

    active: int
    queued: int
    available_tokens: float
    blocked_until: int | None


class Domain:
    """Who holds a lease of this key and who waits for one. Times are milliseconds of one clock.

    `max_concurrency` and `tokens` (in `interval_ms`) are whole numbers or FOREVER.
    """

    def __init__(self, *, max_concurrency: float, tokens: float, interval_ms: int, now_ms: int):
        self._most, self._interval_ms = max_concurrency, interval_ms
        self._rate = None if tokens == FOREVER else int(tokens)
        self._level = self._full = (self._rate or 0) * interval_ms
        self._filled_at = now_ms
        self._blocked_until = 0
        self._active: dict[Lease, int | None] = {}
        self._queues: OrderedDict[str, OrderedDict[Lease, None]] = OrderedDict()

    # -- coming and going

    def ask(self, lease: Lease) -> None:
        """Puts a request at the end of its root's own queue; a root that had none goes behind the other roots."""
        self._queues.setdefault(lease.root_id, OrderedDict())[lease] = None

    def grant(self, now_ms: int) -> Lease | None:
        """The next in line, if it may go now. Its root goes behind the other roots."""
        if not self._queues or self._wait_ms(now_ms) != 0:
            return None
        root = next(iter(self._queues))
        queue = self._queues[root]
        lease, _ = queue.popitem(last=False)
        if queue:
            self._queues.move_to_end(root)
        else:
            del self._queues[root]
        self._active[lease] = None
        self._level -= self._need(lease)
        return lease

    def reconcile(self, lease: Lease, actual_tokens: int) -> None:
        if lease in self._active:
            self._active[lease] = actual_tokens

    def end(self, lease: Lease, now_ms: int) -> None:
        """Takes a request out, whether it holds a lease or waits for one. Unless it was reconciled its estimate stays spent."""
        if lease in self._active:
            actual = self._active.pop(lease)
            if actual is not None and self._rate is not None:
                self._refill(now_ms)
                self._level = min(self._full, self._level + (lease.estimated_tokens - actual) * self._interval_ms)
        elif lease in (queue := self._queues.get(lease.root_id, OrderedDict())):
            del queue[lease]
            if not queue:
                del self._queues[lease.root_id]

    def penalize(self, ms: float, now_ms: int) -> None:
        self._blocked_until = max(self._blocked_until, now_ms + int(-(-ms // 1)))

    def abandon(self) -> None:
        """Forgets who holds and who waits; what was spent stays spent."""
        self._active.clear()
        self._queues.clear()

    # -- when

    def wake_in(self, now_ms: int) -> int | None:
        """After how many milliseconds the next in line may go by itself; None where a lease must come back first."""
        return self._wait_ms(now_ms) if self._queues else None

    def _wait_ms(self, now_ms: int) -> int | None:
        """For the next in line: 0 when it may go, None when time alone does not help."""
        if len(self._active) >= self._most:
            return None
        self._refill(now_ms)
        queue = next(iter(self._queues.values()))
        short = self._need(next(iter(queue))) - self._level
        until_filled = -(-short // self._rate) if self._rate and short > 0 else 0
        return max(0, until_filled, self._blocked_until - now_ms)

    def _need(self, lease: Lease) -> int:
        return 0 if self._rate is None else lease.estimated_tokens * self._interval_ms

    def _refill(self, now_ms: int) -> None:
        """Linear: a clock that was set back gives nothing and takes nothing."""
        if self._rate is not None and now_ms > self._filled_at:
            self._level = min(self._full, self._level + (now_ms - self._filled_at) * self._rate)
        self._filled_at = now_ms

    # -- how it stands

    def load(self, now_ms: int) -> Load:
        self._refill(now_ms)
        return Load(
            active=len(self._active),
            queued=sum(map(len, self._queues.values())),
            available_tokens=FOREVER if self._rate is None else self._level // self._interval_ms,
            blocked_until=self._blocked_until if self._blocked_until > now_ms else None,
        )

    def is_busy(self) -> bool:
        return bool(self._active or self._queues)

    def is_as_new(self, now_ms: int) -> bool:
        """Whether nothing would be lost with it."""
        self._refill(now_ms)
        return not self.is_busy() and self._level == self._full and self._blocked_until <= now_ms
