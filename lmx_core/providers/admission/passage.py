"""One request's way past the limiter: it enters, its usage and its end are told, it leaves (AD-5, AD-6).

Before the provider, not inside it: the limits that a provider sets itself (to be connected, between two bytes) begin after the
wait, so waiting one's turn never counts as a stalled stream. And beside the stream, not around it: a delta costs nothing more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ParamSpec

import msgspec

from lmx_core.callbacks import of_host
from lmx_core.errors import ConfigError, for_log
from lmx_core.providers.admission.base import Admission, Lease
from lmx_core.providers.base import News, Provider, parse_spec
from lmx_core.request import Error, Request, UsageReport

P = ParamSpec("P")

log = logging.getLogger("lmx_core")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one session's requests are limited by.

    `key` is a value, a function of the provider and the model's spec, or None for `default_key`. `estimate` tells how many
    tokens a request will come to. `longest_penalty_ms` bounds how far a provider's retry-after is believed: no session waits
    longer for one than its retry policy says (RY-1).
    """

    admission: Admission
    root_id: str
    key: Any
    estimate: Callable[[Request], int]
    longest_penalty_ms: float

    def key_of(self, provider: Provider, model: str) -> Hashable:
        if self.key is None:
            return default_key(provider, model)
        key: Hashable = of_host("provider_limit_key=", self.key, provider, model) if callable(self.key) else self.key
        return key


def default_key(provider: Provider, model: str) -> tuple[str, str, str]:
    """The provider's class, the provider's name and the model (AD-7)."""
    kind = type(provider)
    try:
        spec = parse_spec(model)
    except ConfigError:
        return (f"{kind.__module__}.{kind.__qualname__}", "", model)
    return (f"{kind.__module__}.{kind.__qualname__}", spec.provider, spec.model)


class Passage:
    """Of one request to `provider`. `waiting` is entered around the wait and nothing else. `leave` it whatever happens."""

    def __init__(
        self,
        limits: Limits,
        provider: Provider,
        request: Request,
        *,
        waiting: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ):
        self._limits, self._provider, self._request, self._waiting = limits, provider, request, waiting
        self._lease: Lease | None = None

    async def enter(self) -> None:
        """Returns when the request may be sent. Raises AdmissionRefused, and whatever a host's own limiter or key does."""
        limits = self._limits
        key = limits.key_of(self._provider, self._request.model)
        tokens = limits.estimate(self._request)
        with self._waiting():
            self._lease = await limits.admission.checkout(key, limits.root_id, tokens)

    def hear(self, event: News) -> None:
        """What the limiter wants to know. With its end an answer is over; a provider may still have to clean up."""
        if self._lease is None:
            return
        admission, lease = self._limits.admission, self._lease
        if isinstance(event, UsageReport):
            _told(admission.reconcile, lease, event.usage.input_tokens + event.usage.output_tokens)
            return
        if isinstance(event, Error) and (ms := event.failure.retry_after_ms) is not None:
            _told(admission.penalize, lease.key, min(ms, self._limits.longest_penalty_ms))
        self.leave()

    def leave(self) -> None:
        """Idempotent."""
        lease, self._lease = self._lease, None
        if lease is not None:
            _told(self._limits.admission.release, lease)


def _told(tell: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Tells a limiter. One that breaks then has let the request go already: what came of it is paid for, and is kept (PV-1)."""
    try:
        tell(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - a host's own limiter, and an answer must not be lost by it
        log.error("the provider limiter broke in %s: %s", getattr(tell, "__name__", "a callback"), for_log(error))
