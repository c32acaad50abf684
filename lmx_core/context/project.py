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
from lmx_core.context.marks import Marks, kept_message
from lmx_core.context.marks import read as read_marks
from lmx_core.context.stubs import Rules, sorts
from lmx_core.entry import Entry
from lmx_core.transcript.audit import Sent
from lmx_core.transcript.replay import calls_of, in_conversation, is_aside
from lmx_core.transcript.weight import weight

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
        rules: Rules | None = None,
        compaction: Compaction | None = None,
    ):
        self._lost, self._rules = lost, rules or Rules()
        self._compaction = compaction or StandardCompaction()
        self._marks_in_force = Marks()
        self._added: list[Entry] = []
        self._begin()
        for entry in entries:
            self.add(entry)

    def _begin(self) -> None:
        self._old = sorts(self._rules)
        self._kept: list[Entry] = []  # what stands in the head word for word
        self._sendable: list[Entry] = []
        self._sent: tuple[Entry, ...] | None = None
        self._answer: Entry | None = None
        self._prompts = Prompts()
        self._after_gap: set[str] = set()  # ids of entries before which something was left out
        self._left_out = False
        self._marks = {0: Sent()}  # the account as it was before the entry at some place
        self.open_calls: dict[str, ToolCall] = {}
        self.head = 0
        self.weight = 0
        self.sent = Sent()

    def add(self, entry: Entry) -> None:
        """Takes the next entry of the transcript. One that marks others has all of them taken anew, which is rare."""
        if (marks := read_marks(entry)) is None:
            self._added.append(entry)
            self._add(self._marks_in_force.applied(entry) if in_conversation(entry) else entry)
        elif marks != self._marks_in_force:
            self._marks_in_force = marks
            self._begin()
            for before in self._added:
                self._add(marks.applied(before) if in_conversation(before) else before)

    @property
    def marks(self) -> Marks:
        """What was decided about single entries."""
        return self._marks_in_force

    def _add(self, entry: Entry) -> None:
        if entry.id in self._marks_in_force.undone:
            return
        if is_aside(entry):
            self._left_out = self._left_out or in_conversation(entry)
        elif entry.type == "error":
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
                self._shrink()
        elif entry.type == "request":
            self._close()

    def entries(self) -> tuple[Entry, ...]:
        """What to send now, in order. Ask when a wave has settled: calls still open are answered as lost."""
        self._close()
        if self._sent is None:
            self._sent = tuple(self._sendable)
        return self._sent

    def so_far(self) -> tuple[Entry, ...]:
        """The same while a wave runs: its open calls stay open."""
        return tuple(self._sendable)

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
        for old in self._old:
            old.add(len(self._sendable) - 1, entry)

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
        self._take(entry)
        self._shrink()

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
        before = self._sendable[self.head :]
        kept = list(self._compaction.applied(before, compaction))
        if not kept:
            unknown = compaction.payload.get("summary") is None or not self._holds(compaction.payload.get("to"))
            self._prompts = Prompts() if unknown else self._prompts
        head = list(self._compaction.with_summary(compaction, kept, self._prompts))
        head = self._with_kept(head, before, kept) if head else head
        self._sendable, self.head, self._sent, self._answer = [*head, *kept], len(head), None, None
        self._after_gap &= {entry.id for entry in kept}
        self._after_gap.update(entry.id for entry in kept[:1])
        self._left_out = self._left_out or not kept
        self.weight = sum(map(weight, self._sendable))
        for old in self._old:
            old.restart()
            for place, entry in enumerate(self._sendable[self.head :], self.head):
                old.add(place, entry)
        self._marks = {0: Sent()}
        self._recount(0)

    def _with_kept(self, head: list[Entry], before: Sequence[Entry], kept: Sequence[Entry]) -> list[Entry]:
        """The head with what the person wants kept word for word, before the words that lead on to the rest."""
        there = {entry.id for entry in (*head, *kept)}
        wanted = self._marks_in_force.kept - there
        self._kept += [entry for entry in before if entry.id in wanted]
        leads_on = len(head) - head[-1].id.endswith("-continued")
        return [*head[:leads_on], *map(kept_message, self._kept), *head[leads_on:]]

    def _holds(self, id: object) -> bool:
        return any(entry.id == id for entry in self._sendable)

    def _shrink(self) -> None:
        """What has grown old shrinks, where it is its turn (CP-1, CP-2)."""
        changed = []
        for old in self._old:
            for place in old.due(self._sendable):
                before = self._sendable[place]
                if before.id in self._marks_in_force.kept:
                    continue
                if (after := old.shrink(before)) is not before:
                    self._sendable[place] = after
                    self.weight += weight(after) - weight(before)
                    changed.append(place)
        if changed:
            self._sent = None
            self._recount(min(changed))

    def _recount(self, place: int) -> None:
        """The account anew from `place` on, and with it the marks from which the next one can begin.

        Marks stand where the next change can come. Counting from the beginning each time would cost the square of a session.
        """
        start = max(mark for mark in self._marks if mark <= place)
        wanted = {0, *(old.oldest for old in self._old if old.oldest is not None)}
        sent = self._marks[start].copy()
        self._marks = {mark: kept for mark, kept in self._marks.items() if mark <= start and mark in wanted}
        for place in range(start, len(self._sendable)):
            if place in wanted:
                self._marks[place] = sent.copy()
            self._count(sent, self._sendable[place])
        self.sent = sent
