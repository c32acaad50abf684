"""The seam to a limiter (AD-1): who may send a request to a provider now, and who has to wait.

Four methods, so that a host with a limiter of its own, shared by many processes perhaps, can put it in place of ours. Only
`checkout` may wait; the others are called between two pieces of an answer and return at once.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

import msgspec


class Lease(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The permission to send one request, until it is released. Compared by identity; a limiter may have a subclass of its own.

    `root_id` is the session at the root of the work the request belongs to; `estimated_tokens` is what it is expected to read
    and write.
    """

    key: Hashable
    root_id: str
    estimated_tokens: int


class Admission(Protocol):
    """A limiter. Requests of one `key` share one limit: an account's, usually."""

    async def checkout(self, key: Hashable, root_id: str, estimated_tokens: int) -> Lease:
        """Returns when the request may be sent. Raises AdmissionRefused for one that never may.

        A cancelled wait leaves nothing behind.
        """
        ...

    def reconcile(self, lease: Lease, actual_tokens: int) -> None:
        """What the request really came to, input and output together. Told before `release`, if it is known at all."""
        ...

    def release(self, lease: Lease) -> None:
        """The request is over. A second call does nothing."""
        ...

    def penalize(self, key: Hashable, retry_after_ms: float) -> None:
        """The provider asked to be left alone for so long."""
        ...


_METHODS = ("checkout", "reconcile", "release", "penalize")


def is_admission(value: Any) -> bool:
    """Whether it has an Admission's methods; a class that has them is none, it makes one."""
    return not isinstance(value, type) and all(callable(getattr(value, method, None)) for method in _METHODS)
