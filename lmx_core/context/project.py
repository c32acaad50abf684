"""The one projection: which entries of a transcript a model is sent (CP-3).

Requests, forecasts, audits and resumes all read it, so a live and a resumed session build the same request (RS-1). It is
fed each entry once, as it is written; projecting the whole transcript for every request would cost the square of a
conversation's length.

Every call is followed by exactly one result, whatever the transcript holds: a provider that is sent a call without its
result, or a result without its call, refuses the conversation for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from lmx_core.calls import Outcome, ToolCall
from lmx_core.context.compaction import Compaction, Prompts, StandardCompaction
from lmx_core.context.stubs import Stubs
from lmx_core.context.window import weight
from lmx_core.entry import Entry
from lmx_core.transcript.audit import Sent
from lmx_core.transcript.replay import calls_of, in_conversation

Lost = Callable[[ToolCall], str]
"""What the model is told of a call whose result never reached the transcript."""


class Projection:
    """The sendable entries of a transcript so far.

    `open_calls` are the calls of the last answer that still have no result. `weight` is the size of what is sent, in bytes, and
    `sent` the audit's account of it, both kept up in the same step, so that a request record cannot disagree with the request.
    The first `head` entries stand for what a compaction cut.
    """

    def __init__(
        self,
        lost: Lost,
        entries: Iterable[Entry] = (),
        *,
        stubs: Stubs | None = None,
        compaction: Compaction | None = None,
    ):
        self._lost, self._stubs = lost, stubs
        self._compaction = compaction or StandardCompaction()
        self._sendable: list[Entry] = []
        self._sent: tuple[Entry, ...] | None = None
        self._answer: Entry | None = None
        self._prompts = Prompts()
        self._whole: list[int] = []  # places of results that may still become stubs, oldest first
        self._stubbed_to = -1  # seq of the newest result that was looked at for it
        self._after_gap: set[str] = set()  # ids of entries before which something was left out
        self._left_out = False
        self._mark, self._marked = 0, Sent()  # the account as it was before the entry at this place
        self.open_calls: dict[str, ToolCall] = {}
        self.head = 0
        self.weight = 0
        self.sent = Sent()
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Takes the next entry of the transcript."""
        if entry.type == "error":
            self._abandon(entry)
        elif entry.type == "compaction":
            self._close()
            self._compact(entry)
        elif entry.type == "tool_result":
            self._result(entry)
        elif in_conversation(entry):
            self._close()
            self._take(entry)
            if entry.type == "assistant":
                self._answer = entry
                self.open_calls = {call.id: call for call in calls_of(entry)}
            elif entry.type == "user":
                self._prompted(entry)
        elif entry.type == "request":
            self._close()

    def entries(self) -> tuple[Entry, ...]:
        """What to send now, in order. Ask when a wave has settled: calls still open are answered as lost."""
        self._close()
        if self._sent is None:
            self._sent = tuple(self._sendable)
        return self._sent

    def account(self, entries: Sequence[Entry]) -> Sent:
        """The audit's account of a request that carries only these of its entries, or some of somebody else's."""
        if entries is self._sent:
            return self.sent
        places = {entry.id: place for place, entry in enumerate(self._sendable)}
        sent, before = Sent(), -1
        for entry in entries:
            place = places.get(entry.id, -1)
            if place != before + 1 or entry.id in self._after_gap:
                sent.gap()
            sent.add(entry)
            before = place
        return sent

    def _take(self, entry: Entry) -> None:
        if self._left_out:
            self._after_gap.add(entry.id)
            self._left_out = False
        self._sendable.append(entry)
        self._sent = None
        self.weight += weight(entry)
        self._count(self.sent, entry)

    def _count(self, sent: Sent, entry: Entry) -> None:
        if entry.id in self._after_gap:
            sent.gap()
        sent.add(entry)

    def _prompted(self, entry: Entry) -> None:
        """Remembers the person's words: neither a hook's nor, as the message at work, a steer."""
        if entry.payload.get("stop_hook"):
            return
        latest = self._prompts.latest if entry.payload.get("steer") else entry
        self._prompts = Prompts(first=self._prompts.first or entry, latest=latest)

    def _result(self, entry: Entry) -> None:
        if self.open_calls.pop(entry.payload.get("call_id", ""), None) is None:
            self._left_out = True  # it answers nothing
            return
        self._whole.append(len(self._sendable))
        self._take(entry)
        if self._stubs is not None and len(self._whole) >= self._stubs.keep + self._stubs.batch:
            self._shrink(self._stubs)

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
            self._left_out = True
            self.weight -= weight(last)
            self.sent.retract()

    def _compact(self, compaction: Entry) -> None:
        """From here on the cut is in force: what stands for the earlier part, then what was kept (CO-7)."""
        kept = list(self._compaction.applied(self._sendable[self.head :], compaction))
        if not kept:
            unknown = compaction.payload.get("summary") is None or not self._holds(compaction.payload.get("to"))
            self._prompts = Prompts() if unknown else self._prompts
        head = list(self._compaction.with_summary(compaction, kept, self._prompts))
        self._sendable, self.head, self._sent, self._answer = [*head, *kept], len(head), None, None
        self._after_gap &= {entry.id for entry in kept}
        self._after_gap.update(entry.id for entry in kept[:1])
        self._left_out = not kept
        self.weight = sum(map(weight, self._sendable))
        self._whole = [
            place
            for place, entry in enumerate(self._sendable)
            if entry.type == "tool_result" and entry.seq > self._stubbed_to
        ]
        self._mark, self._marked = 0, Sent()
        self._recount(0)

    def _holds(self, id: object) -> bool:
        return any(entry.id == id for entry in self._sendable)

    def _shrink(self, stubs: Stubs) -> None:
        """The oldest batch of whole results: the large ones become stubs."""
        batch, self._whole = self._whole[: stubs.batch], self._whole[stubs.batch :]
        before = self.weight
        for place in batch:
            result = self._sendable[place]
            self._stubbed_to = result.seq
            self._sendable[place] = stubs.shrink(result)
            self.weight += weight(self._sendable[place]) - weight(result)
        if self.weight != before:
            self._sent = None
            self._recount(self._whole[0] if self._whole else len(self._sendable))

    def _recount(self, mark: int) -> None:
        """The account anew from the last mark on, which is all that can have changed; the next mark is set at `mark`."""
        sent = self._marked
        for place in range(self._mark, len(self._sendable)):
            if place == mark:
                self._marked = sent.copy()
            self._count(sent, self._sendable[place])
        if mark == len(self._sendable):
            self._marked = sent.copy()
        self._mark, self.sent = mark, sent
