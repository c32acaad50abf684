"""Where every request passes the limiter: a provider in front of a provider (AD-5, AD-6).

Around the provider, not inside it: the limits that a provider sets itself (to be connected, between two bytes) begin after
the wait, so waiting one's turn never counts as a stalled stream; and what a host's limiter raises is an attempt that failed,
as PV-1 has it of anything behind this protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec

from lmx_core.errors import AdmissionRefused, ConfigError
from lmx_core.providers.admission.base import Admission
from lmx_core.providers.base import Emit, Provider, parse_spec
from lmx_core.request import Done, Error, ProviderEvent, Request, UsageReport


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
        key: Hashable = self.key(provider, model) if callable(self.key) else self.key
        return key


def default_key(provider: Provider, model: str) -> tuple[str, str, str]:
    """The provider's class, the provider's name and the model (AD-7)."""
    kind = type(provider)
    try:
        spec = parse_spec(model)
    except ConfigError:
        return (f"{kind.__module__}.{kind.__qualname__}", "", model)
    return (f"{kind.__module__}.{kind.__qualname__}", spec.provider, spec.model)


class Admitted:
    """A provider that sends nothing before the limiter lets it.

    `tokens` is what the request is expected to come to; `send` carries it out, by default with the provider itself; `waiting`
    is entered around the wait and nothing else.
    """

    def __init__(
        self,
        provider: Provider,
        limits: Limits,
        tokens: int,
        *,
        send: Callable[[Request, Emit], Awaitable[None]] | None = None,
        waiting: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ):
        self._provider, self._limits, self._tokens = provider, limits, tokens
        self._send, self._waiting = send or provider.run, waiting

    async def run(self, request: Request, emit: Emit) -> None:
        limits, admission = self._limits, self._limits.admission
        key = limits.key_of(self._provider, request.model)
        try:
            with self._waiting():
                lease = await admission.checkout(key, limits.root_id, self._tokens)
        except AdmissionRefused as refused:
            emit(Error(refused.failure))
            return

        def hear(event: ProviderEvent) -> None:
            if isinstance(event, UsageReport):
                admission.reconcile(lease, event.usage.input_tokens + event.usage.output_tokens)
            elif isinstance(event, Done | Error):
                if isinstance(event, Error) and (ms := event.failure.retry_after_ms) is not None:
                    admission.penalize(key, min(ms, limits.longest_penalty_ms))
                admission.release(lease)  # the answer is over; a provider may still have its connection to clean up
            emit(event)

        try:
            await self._send(request, hear)
        finally:
            admission.release(lease)
