"""Two records beside the conversation: under what a request was sent, and what a prompt came to (AU-4, AU-5).

Both are for whoever asks later and was not there: they hold digests, sizes, names and counts, and nothing that a model is ever
shown. A copy of the settings in every request, the obvious record, would be most of a transcript; so a snapshot is written when
what it says has changed, and requests name it.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmx_core import __version__
from lmx_core.calls import digest
from lmx_core.entry import Entry, parse_time
from lmx_core.errors import Failure
from lmx_core.request import Request
from lmx_core.transcript.audit import canonical, catalog_record, recordable, text_digest
from lmx_core.transcript.replay import requests, untold
from lmx_core.usage import Usage

SCHEMA_VERSION = 1

OUTCOMES = ("succeeded", "failed", "canceled", "timed_out", "budget_stopped", "stopped")
"""How a prompt may end. `stopped`: by its session's end, by a guard, or in the middle of an answer (`length`)."""

_NOT_BEHAVIOUR = frozenset({"identity", "correlations"})
_BY_REASON = {
    "stop": "succeeded",
    "error": "failed",
    "hook_failed": "failed",
    "budget": "budget_stopped",
    "max_turns": "budget_stopped",
}
_BY_CANCEL = {"stopped": "stopped", "timed_out": "timed_out"}


def harness_snapshot(
    *,
    request: Request,
    catalog: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    harness_context: Mapping[str, Any],
    correlations: Mapping[str, Any],
    identity: Mapping[str, Any],
    evidence: str,
    profile: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The payload of a `harness_snapshot` entry.

    `settings` are the session's limits, hooks and strategies by name; `evidence` `full` keeps the tools' descriptors, anything
    less their digest. `semantic_sha256` covers what decides behaviour, so two sessions of one setup share it;
    `manifest_sha256` covers all.
    """
    context = dict(harness_context)
    told = context.pop("extensions", {})
    extensions = dict(told) if isinstance(told, Mapping) else {}
    applied = extensions.pop("applied", [])
    if extensions:  # what a host says of them beside, such as from where it loaded some
        context["extensions"] = extensions
    payload: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "model": request.model,
        "reasoning_effort": request.reasoning_effort,
        "params": recordable(request.params),
        "system_sha256": text_digest(request.system),
        "output_schema_sha256": None if request.output_schema is None else digest(request.output_schema),
        "tools": catalog_record(catalog, evidence, profile),
        **recordable(settings),
        "harness_context": recordable(context),
        "extensions": recordable(applied),
        "versions": {"lmx": __version__, "python": ".".join(map(str, sys.version_info[:3])), "platform": sys.platform},
        "correlations": dict(correlations),
        "identity": dict(identity),
    }
    payload["semantic_sha256"] = digest({key: payload[key] for key in payload if key not in _NOT_BEHAVIOUR})
    return payload | {"manifest_sha256": digest(payload)}


def outcome(stop_reason: str, entries: Iterable[Entry], failure: Failure | None) -> str:
    """Which of `OUTCOMES` a prompt came to; every stop reason, a guard's own word included, has one."""
    if any(entry.type == "cancelled" for entry in entries):
        return _BY_CANCEL.get(stop_reason, "canceled")
    if failure is not None and failure.category == "timeout":
        return "timed_out"
    return _BY_REASON.get(stop_reason, "stopped")


def run_evidence(
    entries: Sequence[Entry],
    *,
    run_id: str,
    stop_reason: str,
    failure: Failure | None,
    ended_at: str,
    correlations: Mapping[str, Any],
    artifacts: Sequence[Any],
) -> dict[str, Any]:
    """The payload of a `run_evidence` entry about the prompt whose entries these are, its `user` entry first.

    Each fact about money and tokens says how complete it is: `complete`, `partial`, `unknown` or `not_applicable`.
    """
    asked = requests(entries)
    payload: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "outcome": outcome(stop_reason, entries, failure),
        "stop_reason": stop_reason,
        "failure": None if failure is None else {"code": failure.code, "category": failure.category},
        "timing": _timing(entries[0].at, ended_at),
        **_consumption(entries, len(asked)),
        "retries": dict(Counter(str(e.payload["retry"].get("category")) for e in asked if e.payload.get("retry"))),
        "observations": _observations(entries),
        "artifacts": list(artifacts),
        "requests": [entry.payload["id"] for entry in asked],
        "harness_snapshots": _distinct(e.payload.get("harness_snapshot_id") for e in asked),
        "transcript": {"first_seq": entries[0].seq, "last_seq": entries[-1].seq, "sha256": range_digest(entries)},
        "correlations": dict(correlations),
    }
    return payload | {"sha256": digest(payload)}


def degraded_evidence(*, run_id: str, stop_reason: str, reason: str) -> dict[str, Any]:
    """What is written in place of a manifest that could not be made."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "stop_reason": stop_reason,
        "degraded": True,
        "reason": reason,
    }


def range_digest(entries: Iterable[Entry]) -> str:
    """SHA-256 over entries, a canonical line each; the same whether the file holds references or not (DD-2)."""
    found = hashlib.sha256()
    for entry in entries:
        found.update(canonical(entry) + b"\n")
    return found.hexdigest()


def _timing(started_at: str, ended_at: str) -> dict[str, Any]:
    spent = parse_time(ended_at) - parse_time(started_at)
    return {"started_at": started_at, "ended_at": ended_at, "duration_ms": round(spent.total_seconds() * 1_000)}


def _consumption(entries: Sequence[Entry], asked: int) -> dict[str, Any]:
    """Usage, cost and cache. A request nobody answered, or whose price nobody knows, makes the cost unknown (BU-5)."""
    told = [Usage.from_dict(entry.usage) for entry in entries if entry.usage is not None]
    total = Usage.sum(told)
    completeness = _completeness(asked, untold(entries))
    priced = completeness == "complete" and total.cost_usd is not None
    return {
        "usage": {
            "completeness": completeness,
            "input_tokens": total.input_tokens,
            "output_tokens": total.output_tokens,
        },
        "cache": {
            "completeness": completeness,
            "read_tokens": total.cache_read_tokens,
            "write_tokens": total.cache_write_tokens,
        },
        "cost": {
            "completeness": "complete" if priced else "unknown" if asked else "not_applicable",
            "usd": total.cost_usd if priced else None,
        },
    }


def _completeness(asked: int, untold: int) -> str:
    if asked == 0:
        return "not_applicable"
    return "complete" if untold == 0 else "partial" if untold < asked else "unknown"


def _observations(entries: Sequence[Entry]) -> dict[str, Any]:
    """What happened, counted: calls by outcome, approvals by how they ended, and what else stands beside the answers."""
    of = {
        type: [e for e in entries if e.type == type]
        for type in ("assistant", "tool_result", "approval", "compaction", "user")
    }
    return {
        "models": _distinct(entry.usage.get("model") for entry in entries if entry.usage is not None),
        "tool_calls": dict(Counter(str(entry.payload.get("outcome")) for entry in of["tool_result"])),
        "approvals": dict(Counter(s for e in of["approval"] if (s := str(e.payload.get("status"))) != "pending")),
        "compactions": len(of["compaction"]),
        "steers": sum(1 for entry in of["user"] if entry.payload.get("steer")),
        "partial_answers": sum(1 for entry in of["assistant"] if entry.payload.get("partial")),
    }


def _distinct(values: Iterable[Any]) -> list[Any]:
    """In the order in which they came, None left out."""
    return list(dict.fromkeys(value for value in values if value is not None))
