"""How a prompt ends: in order, by a step that cannot go on, or because somebody ended it."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from lmx_core.errors import Failure
from lmx_core.events import TurnError


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How a prompt ends: the stop reason, its numbers, and what went wrong, if anything did."""

    stop_reason: str
    detail: dict[str, Any] = {}
    failure: Failure | None = None
    request_id: str | None = None


class Ended(Exception):
    """Raised by a step that ends the prompt."""

    def __init__(self, end: End):
        self.end = end


class Interrupted(Exception):
    """Raised where the run waits: the prompt was cancelled, or (`session_over`) its session is being stopped."""

    def __init__(self, reason: str, *, session_over: bool = False):
        self.reason, self.session_over = reason, session_over


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """Why the next request is another attempt (HP-4, RY-5)."""

    attempt: int
    after_request_id: str
    category: str
    reason: str
    delay_ms: int


def settle(future: asyncio.Future[None], error: Exception | None = None) -> None:
    """Ends a wait, once; nobody may be waiting, and then an error is no loss."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
        future.exception()


def error_payload(end: End) -> dict[str, Any]:
    """The payload of the `error` entry (REC-6); absent parts are absent."""
    failure = end.failure
    assert failure is not None
    parts = {
        "reason": failure.message,
        "code": failure.code,
        "category": failure.category,
        "http_status": failure.http_status,
        "request_id": end.request_id,
    }
    return {key: value for key, value in parts.items() if value is not None}


def told(failure: Failure) -> TurnError:
    return TurnError(
        reason=failure.message,
        category=failure.category,
        code=failure.code,
        http_status=failure.http_status,
        provider=failure.provider,
    )
