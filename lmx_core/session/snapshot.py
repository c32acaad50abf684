"""What a session says of itself when asked, at any moment (core.md 4.5)."""

from __future__ import annotations

from typing import Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.events import ContextPosition
from lmx_core.usage import Usage


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """`status` is `idle` or `busy`. `spent_usd` is None when any request's cost is unknown. `tools` are names.

    `pending` lists parked calls as `{call_id, kind, payload}`; `usage` has `direct` and `total`; `runtime` is its name.
    """

    id: str
    status: str
    model: str
    provider: str
    reasoning_effort: str
    tools: list[str]
    cwd: str
    pending: list[dict[str, Any]]
    queued_steers: list[str]
    request_id: str | None
    spent_usd: float | None
    usage: dict[str, Usage]
    requests: int
    max_requests: int | None
    context: ContextPosition
    context_window_known: bool
    params: dict[str, Any]
    harness_context: dict[str, Any]
    runtime: str


class Snapshot(Info, frozen=True, kw_only=True):
    """The same with every entry of the transcript, in order."""

    entries: list[Entry]
