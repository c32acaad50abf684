"""The one projection: which entries of a transcript a model is sent (CP-3).

Requests, forecasts, audits and resumes all read it, so a live and a resumed session build the same request (RS-1). It is
fed each entry once, as it is written; projecting the whole transcript for every request would cost the square of a
conversation's length.

Every call is followed by exactly one result, whatever the transcript holds: a provider that is sent a call without its
result, or a result without its call, refuses the conversation for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from lmx_core.calls import Outcome, ToolCall
from lmx_core.entry import Entry
from lmx_core.transcript.audit import Sent
from lmx_core.transcript.replay import calls_of, in_conversation

Lost = Callable[[ToolCall], str]
"""What the model is told of a call whose result never reached the transcript."""


class Projection:
    """The sendable entries of a transcript so far.

    `open_calls` are the calls of the last answer that still have no result. `sent` is the audit's account of the same
    entries, kept up in the same step, so that a request record cannot disagree with the request.
    """

    def __init__(self, lost: Lost, entries: Iterable[Entry] = ()):
        self._lost = lost
        self._sendable: list[Entry] = []
        self._sent: tuple[Entry, ...] | None = None
        self._answer: Entry | None = None
        self.open_calls: dict[str, ToolCall] = {}
        self.sent = Sent()
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Takes the next entry of the transcript."""
        if entry.type == "error":
            self._abandon(entry)
        elif entry.type == "tool_result":
            self._take(entry, sendable=self.open_calls.pop(entry.payload.get("call_id", ""), None) is not None)
        elif in_conversation(entry):
            self._close()
            self._take(entry)
            if entry.type == "assistant":
                self._answer = entry
                self.open_calls = {call.id: call for call in calls_of(entry)}
        else:
            self._take(entry, sendable=False)

    def entries(self) -> tuple[Entry, ...]:
        """What to send now, in order. Ask when a wave has settled: calls still open are answered as lost."""
        self._close()
        if self._sent is None:
            self._sent = tuple(self._sendable)
        return self._sent

    def _take(self, entry: Entry, *, sendable: bool = True) -> None:
        if sendable:
            self._sendable.append(entry)
            self._sent = None
        self.sent.add(entry, sent=sendable)

    def _close(self) -> None:
        """Answers what is open with request-only results. They are never written: their ids derive from the answer's (TR-9)."""
        if self._answer is None:
            return
        for call in self.open_calls.values():
            outcome = Outcome(call=call, outcome="unknown", text=self._lost(call), arguments=call.arguments)
            stand_in = msgspec.structs.replace(
                self._answer,
                id=f"{self._answer.id}-lost-{call.id}",
                type="tool_result",
                payload=outcome.to_payload(),
                usage=None,
                meta={"synthetic": True},
            )
            self._take(stand_in)
        self.open_calls = {}

    def _abandon(self, error: Entry) -> None:
        """An answer without calls whose own request then failed is not replayed as the last word (LL-6)."""
        last = self._sendable[-1] if self._sendable else None
        if last is None or last.type != "assistant" or calls_of(last):
            return
        request_id = error.payload.get("request_id")
        if request_id is not None and request_id == last.payload.get("request_id"):
            self._sendable.pop()
            self._sent = None
            self.sent.retract()
