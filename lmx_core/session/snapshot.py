"""What a session says of itself when asked, at any moment (core.md 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.events import ContextPosition
from lmx_core.providers import base as providers
from lmx_core.transcript.audit import recordable
from lmx_core.usage import Usage

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """`status` is `idle` or `busy`. `tools` are names. `reasoning_efforts` are the levels the model is known to have.

    `spent_usd` is what the session's own requests, tools and host spent, None when any of it is unknown, and `usage["direct"]`
    the same in tokens; `inclusive_spent_usd` and `usage["total"]` are with what sessions below it spent, `usage["delegated"]`.

    `pending` lists parked calls as `{call_id, kind, payload}`; `runtime` is its name.
    Of `params`, those shaped like a credential or an address are kept as their names only.
    `harness_snapshot` and `run_evidence` are the newest records of their kind, None where none was written.
    """

    id: str
    status: str
    model: str
    provider: str
    reasoning_effort: str
    reasoning_efforts: list[str]
    tools: list[str]
    cwd: str
    pending: list[dict[str, Any]]
    queued_steers: list[str]
    queued_follow_ups: list[str]
    request_id: str | None
    spent_usd: float | None
    inclusive_spent_usd: float | None
    usage: dict[str, Usage]
    requests: int
    max_requests: int | None
    max_cost_usd: float | None
    context: ContextPosition
    context_window_known: bool
    params: dict[str, Any]
    harness_context: dict[str, Any]
    runtime: str
    harness_snapshot: dict[str, Any] | None
    run_evidence: dict[str, Any] | None


class Snapshot(Info, frozen=True, kw_only=True):
    """The same with every entry of the transcript, in order."""

    entries: list[Entry]


def facts(actor: Actor) -> dict[str, Any]:
    """The fields of `Info`, as they are now."""
    options, spent = actor.settings.options, actor.ledger.spent
    delegated = Usage.sum(())  # a session starts none below it
    total = spent.add(delegated)
    return {
        "id": actor.id,
        "status": "idle" if actor.run is None else "busy",
        "model": actor.settings.model,
        "provider": type(actor.provider).__name__,
        "reasoning_effort": options.reasoning_effort or "default",
        "reasoning_efforts": providers.reasoning_efforts(actor.provider, actor.settings.model),
        "tools": list(actor.settings.catalog.names),
        "cwd": str(options.cwd),
        "pending": actor.approvals.pending(),
        "queued_steers": list(actor.steers.waiting),
        "queued_follow_ups": list(actor.follow_ups.waiting),
        "request_id": None if actor.run is None else actor.run.request_id,
        "spent_usd": spent.cost_usd,
        "inclusive_spent_usd": total.cost_usd,
        "usage": {"direct": spent, "delegated": delegated, "total": total},
        "requests": actor.ledger.requests,
        "max_requests": options.max_requests,
        "max_cost_usd": options.max_cost_usd,
        "context": actor.room.position(),
        "context_window_known": actor.room.known.window.tokens is not None,
        "params": recordable(options.params),
        "harness_context": options.harness_context,
        "runtime": actor.mount.name,
        "harness_snapshot": _payload(actor.evidence.snapshot),
        "run_evidence": _payload(actor.evidence.manifest),
    }


def _payload(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else entry.payload
