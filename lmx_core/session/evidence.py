"""The session's evidence: which harness snapshot is in force, and the manifest at the end of each prompt (AU-3 to AU-5).

Whether anything changed is asked before every request, so it must cost nothing where nothing did: the parts are compared, and
only other ones are digested. Evidence never decides how a prompt goes: a manifest that cannot be made is written as such.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lmx_core import events
from lmx_core.entry import Entry, format_time
from lmx_core.request import Request
from lmx_core.session.prompt.end import End
from lmx_core.transcript.manifest import degraded_evidence, harness_snapshot, run_evidence

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

log = logging.getLogger("lmx_core")

LIMITS = (
    "approval_timeout_ms",
    "context_window",
    "context_window_fallback",
    "max_cost_usd",
    "max_requests",
    "max_turns",
    "tool_output_bytes",
    "tool_timeout_ms",
)
STRATEGIES = ("compaction", "guard", "messages", "environment")

_CANNOT_BE_MADE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Evidence:
    """`snapshot` and `manifest` are the newest entries of their kind, those of a resumed transcript included."""

    def __init__(self, actor: Actor):
        self._actor, self._options = actor, actor.settings.options
        self._wanted = self._options.evidence != "off"
        self._seen: tuple[Any, ...] | None = None
        self.snapshot = self._newest("harness_snapshot") if self._wanted else None
        self.manifest = self._newest("run_evidence")

    def _newest(self, type: str) -> Entry | None:
        return next((entry for entry in reversed(self._actor.ledger.entries) if entry.type == type), None)

    async def look(self, request: Request, run_id: str) -> None:
        """Writes a snapshot if what the request is sent under is not what the newest one says (step 8)."""
        if not self._wanted:
            return
        parts = (
            request.model,
            request.reasoning_effort,
            request.params,
            request.system,
            request.tools,
            request.output_schema,
        )
        if parts == self._seen:
            return
        payload = self._snapshot(request, run_id)
        if not self._is_known(payload):
            self.snapshot = await self._actor.ledger.append("harness_snapshot", payload)
            self._actor.emit(events.HarnessSnapshot(snapshot=payload))
        self._seen = parts

    def named(self) -> dict[str, str] | None:
        """How a request names the snapshot it is sent under."""
        if self.snapshot is None:
            return None
        digest = self.snapshot.payload["manifest_sha256"]
        return {"harness_snapshot_id": self.snapshot.id, "harness_snapshot_sha256": digest}

    def _is_known(self, payload: dict[str, Any]) -> bool:
        if self.snapshot is None:
            return False
        return all(self.snapshot.payload.get(key) == payload[key] for key in ("semantic_sha256", "correlations"))

    def _snapshot(self, request: Request, run_id: str) -> dict[str, Any]:
        options = self._options
        strategies = {name: getattr(options, name, None) for name in STRATEGIES}
        strategies["environment"] = self._actor.settings.environment
        return harness_snapshot(
            request=request,
            catalog=self._actor.settings.inventory,
            settings={
                "limits": {name: getattr(options, name) for name in LIMITS},
                "hooks": self._actor.hooks.names(),
                "strategies": {name: _dotted(value) for name, value in strategies.items() if value is not None},
                "cwd": str(options.cwd),
            },
            harness_context=options.harness_context,
            correlations=options.correlation_ids,
            identity={"session_id": self._actor.id, "run_id": run_id},
            evidence=options.evidence,
            profile=self._actor.settings.profile,
        )

    async def finish(self, run_id: str, first_seq: int, end: End) -> None:
        """Writes the manifest of the prompt whose entries begin at `first_seq` (step 12)."""
        if not self._wanted:
            return
        try:
            payload = run_evidence(
                self._actor.ledger.entries[first_seq:],
                run_id=run_id,
                stop_reason=end.stop_reason,
                failure=end.failure,
                ended_at=format_time(self._actor.clock.now_ms()),
                correlations=self._options.correlation_ids,
                artifacts=self._options.evidence_artifacts,
            )
        except _CANNOT_BE_MADE as error:
            reason = f"the run's evidence could not be made ({type(error).__name__})"
            log.warning("session %s: %s", self._actor.id, reason)
            self._actor.emit(events.RunEvidenceFailed(run_id=run_id, reason=reason))
            payload = degraded_evidence(run_id=run_id, stop_reason=end.stop_reason, reason=reason)
        self.manifest = await self._actor.ledger.append("run_evidence", payload)
        self._actor.emit(events.RunEvidence(manifest=payload))


def _dotted(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
