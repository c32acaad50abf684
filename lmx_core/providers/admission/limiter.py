"""The limiter that is shipped: so many requests at once and so many tokens an interval for each key (AD-2 to AD-8).

A request waits in its own task for a future, so cancelling that task is all the cleaning up there is: no session is told,
nothing polls, and a key has at most one timer, for the instant at which time alone lets its next request go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

import msgspec

from lmx_core.clock import FOREVER, Clock, Handle, SystemClock, steady_ms
from lmx_core.errors import AdmissionRefused, ConfigError, Failure
from lmx_core.providers.admission.base import Lease
from lmx_core.providers.admission.domain import Domain, Load

MANY_KEYS = 1_024
"""So many keys are remembered as they are; beyond that, those of which nothing would be lost are forgotten."""


class ProviderLimiter:
    """An Admission for sessions and runtimes of one event loop; several share an account by sharing this object and a key.

    - `max_concurrency`: requests under way at once, for each key.
    - `tokens_per_interval`: tokens that a key's requests may come to in `interval_ms`. The bucket starts full and refills
      linearly. FOREVER counts none: what an account allows cannot be found out.
    - `clock`: whose time the interval is.

    Raises ConfigError for what is no whole number above 0 (or FOREVER, but not for the interval).
    """

    def __init__(
        self,
        *,
        max_concurrency: float = 8,
        tokens_per_interval: float = FOREVER,
        interval_ms: int = 60_000,
        clock: Clock | None = None,
    ):
        _check("max_concurrency", max_concurrency, forever=True)
        _check("tokens_per_interval", tokens_per_interval, forever=True)
        _check("interval_ms", interval_ms, forever=False)
        if clock is not None and not isinstance(clock, Clock):
            raise ConfigError("clock= of a provider limiter must be a Clock with now_ms and call_later")
        self._most, self._tokens, self._interval_ms = max_concurrency, tokens_per_interval, interval_ms
        self._clock = clock or SystemClock()
        self._domains: dict[Hashable, Domain] = {}
        self._waiting: dict[Lease, asyncio.Future[None]] = {}
        self._timers: dict[Hashable, Handle] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return "ProviderLimiter"

    async def checkout(self, key: Hashable, root_id: str, estimated_tokens: int) -> Lease:
        """Returns when a request of that key may be sent.

        Raises AdmissionRefused at once where the estimate is above `tokens_per_interval`: waiting would not help (AD-4).
        """
        if estimated_tokens > self._tokens:
            raise AdmissionRefused(_too_large(estimated_tokens, int(self._tokens), self._interval_ms))
        loop = self._bind()
        lease = Lease(key=key, root_id=root_id, estimated_tokens=estimated_tokens)
        self._domain(key).ask(lease)
        ready = self._waiting[lease] = loop.create_future()
        self._serve(key)
        try:
            await ready
        except asyncio.CancelledError:
            self._give_up(lease)
            raise
        return lease

    def reconcile(self, lease: Lease, actual_tokens: int) -> None:
        if (domain := self._domains.get(lease.key)) is not None:
            domain.reconcile(lease, actual_tokens)

    def release(self, lease: Lease) -> None:
        if (domain := self._domains.get(lease.key)) is not None:
            domain.end(lease, steady_ms(self._clock))
            self._serve(lease.key)

    def penalize(self, key: Hashable, retry_after_ms: float) -> None:
        """Nothing is granted before that has passed; what is under way goes on."""
        self._domain(key).penalize(retry_after_ms, steady_ms(self._clock))
        self._serve(key)

    def snapshot(self) -> dict[Hashable, Load]:
        """How busy each key is that was asked for (AD-8)."""
        now_ms = steady_ms(self._clock)
        epoch_ms = self._clock.now_ms() - now_ms
        return {key: _since_the_epoch(domain.load(now_ms), epoch_ms) for key, domain in self._domains.items()}

    # -- one key

    def _domain(self, key: Hashable) -> Domain:
        if (domain := self._domains.get(key)) is None:
            now_ms = steady_ms(self._clock)
            if len(self._domains) >= MANY_KEYS:
                self._domains = {k: d for k, d in self._domains.items() if not d.is_as_new(now_ms)}
            domain = self._domains[key] = Domain(
                max_concurrency=self._most, tokens=self._tokens, interval_ms=self._interval_ms, now_ms=now_ms
            )
        return domain

    def _serve(self, key: Hashable) -> None:
        """Lets go who may go now, and sets the key's one timer for the next."""
        domain, now_ms = self._domains[key], steady_ms(self._clock)
        while (lease := domain.grant(now_ms)) is not None:
            ready = self._waiting.pop(lease)
            if ready.cancelled():  # its task was cancelled and has not run since
                _undo(domain, lease, now_ms)
            else:
                ready.set_result(None)
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        if (wait_ms := domain.wake_in(now_ms)) is not None:
            self._timers[key] = self._clock.call_later(wait_ms, lambda: self._serve(key))

    def _give_up(self, lease: Lease) -> None:
        """Its task was cancelled: while it waited, or after the lease was granted and before it could be used."""
        domain = self._domains[lease.key]
        self._waiting.pop(lease, None)
        _undo(domain, lease, steady_ms(self._clock))
        self._serve(lease.key)

    # -- the loop

    def _bind(self) -> asyncio.AbstractEventLoop:
        """Futures and timers belong to a loop. Another may take over when nothing is under way, or the old one is closed."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            busy = any(domain.is_busy() for domain in self._domains.values())
            if self._loop is not None and not self._loop.is_closed() and busy:
                raise ConfigError(
                    "this provider limiter is at work on another event loop; runtimes of different loops each need their own"
                )
            for domain in self._domains.values():
                domain.abandon()
            self._waiting.clear()
            self._timers.clear()
            self._loop = loop
        return loop


def _undo(domain: Domain, lease: Lease, now_ms: int) -> None:
    """As if it had never asked."""
    domain.reconcile(lease, 0)
    domain.end(lease, now_ms)


def _check(name: str, value: float, *, forever: bool) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not whole and not (forever and value == FOREVER):
        raise ConfigError(
            f"{name}= of a provider limiter must be a whole number, at least 1" + (" or FOREVER" if forever else "")
        )


def _too_large(estimate: int, limit: int, interval_ms: int) -> Failure:
    return Failure(
        code="request_exceeds_token_limit",
        message=(
            f"the request comes to about {estimate:,} tokens with the output it may have, and the limit of this host is "
            f"{limit:,} in {interval_ms / 1_000:g} s: raise tokens_per_interval, lower max_tokens or compact the conversation"
        ),
        retryable=False,
    )


def _since_the_epoch(load: Load, epoch_ms: int) -> Load:
    """As a host compares it: domains reckon in time that does not jump."""
    until = None if load.blocked_until is None else load.blocked_until + epoch_ms
    return msgspec.structs.replace(load, blocked_until=until)
