"""How a prompt ends: in order, by a step that cannot go on, or because somebody ended it."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from lmx_core.errors import Failure
from lmx_core.events import TurnError
from lmx_core.turn.effects import Finished, RunTools


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
    """The next request is attempt number `attempt`, because of `failed`. Hooks hear `note`, the record keeps it (HP-4)."""

    attempt: int
    failed: End
    note: dict[str, Any]


def forbidden(end: End, retry: Retry | None) -> Ended:
    """The end of a request that may not be sent. Of a retry, the failure that was to be cured stays the reason (RY-5)."""
    return Ended(end if retry is None else retry.failed)


def settle(future: asyncio.Future[None], error: Exception | None = None) -> None:
    """Ends a wait, once; nobody may be waiting, and then an error is no loss."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
        future.exception()


def stated_window(answer: RunTools | Finished) -> int | None:
    """The window, in tokens, that a provider's refusal stated."""
    failure = answer.failure if isinstance(answer, Finished) else None
    return failure.stated_context_window if failure is not None else None


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
