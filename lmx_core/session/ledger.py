"""The transcript as its only writer sees it: what is appended, and what follows from it.

The append is finished before anything else happens with an entry: before it is announced, projected or counted (SE-2).
Counting and projecting happen here and nowhere else, one entry at a time, the same for entries read at a resume and for
those written now, so a live and a resumed session agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lmx_core import entry as entries
from lmx_core.clock import Clock
from lmx_core.context.project import Projection
from lmx_core.context.window import Measured, total_input
from lmx_core.entry import Entry
from lmx_core.errors import StoreError
from lmx_core.events import EntryAppended, Event
from lmx_core.ids import UlidFactory
from lmx_core.stores.base import AsyncStore
from lmx_core.transcript.dedup import Compactor
from lmx_core.usage import Usage


class StoreFailed(Exception):
    """The transcript could not be written: the session ends, for it could no longer tell the truth."""


class Ledger:
    """Appends entries in order. `requests` counts provider requests and `spent` sums usage, history included (RS-3).

    `last_usage` is that of the last answer to the conversation as it stands, None before there is one and after a cut;
    `measured` is what the last counted request came to, which outlives a cut as a measure of bytes.
    """

    def __init__(
        self,
        session_id: str,
        store: AsyncStore,
        emit: Callable[[Event], None],
        clock: Clock,
        *,
        projection: Projection,
        history: Sequence[Entry] = (),
        dedup: bool = True,
    ):
        self.session_id = session_id
        self._store, self._emit, self._clock = store, emit, clock
        self._ids = UlidFactory()
        self._compactor = Compactor(history) if dedup else None
        self.entries: list[Entry] = []
        self.projection = projection
        self.requests = 0
        self.spent = Usage(cost_usd=0.0)
        self.last_usage: Usage | None = None
        self.measured: Measured | None = None
        self._asked = 0
        self.recorded: dict[str, Any] | None = None
        self._unpriced: str | None = None
        for entry in history:
            self._take(entry)

    def new_id(self) -> str:
        return self._ids.new(self._clock.now_ms())

    async def append(
        self, type: str, payload: dict[str, Any], *, usage: dict[str, Any] | None = None, id: str | None = None
    ) -> Entry:
        """Writes one entry, then announces it. Raises StoreFailed, and then nothing was announced."""
        entry = entries.make(
            id=id or self.new_id(),
            seq=len(self.entries),
            type=type,
            payload=payload,
            at_ms=self._clock.now_ms(),
            parent_id=self.entries[-1].id if self.entries else None,
            usage=usage,
        )
        try:
            await self._store.append(self.session_id, [self._compactor.compact(entry) if self._compactor else entry])
        except StoreError as error:
            raise StoreFailed(str(error)) from error
        self._take(entry)
        self._emit(EntryAppended(entry=entry))
        return entry

    def _take(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.projection.add(entry)
        if entry.type == "request":
            self._count_unpriced()
            self.requests += 1
            self._unpriced = entry.id
            self._asked = self.projection.weight
        elif entry.type == "session":
            if self.recorded is not None and self.recorded.get("model") != entry.payload.get("model"):
                self.measured = None  # another model counts otherwise
            self.recorded = entry.payload
        elif entry.usage is not None:
            usage = Usage.from_dict(entry.usage)
            self.spent = self.spent.add(usage)
            self._unpriced = None
            if entry.type == "assistant":
                self._measure(usage)
        elif entry.type == "assistant":
            self._count_unpriced()
        if entry.type == "compaction":
            self.last_usage = None

    def _measure(self, usage: Usage) -> None:
        self.last_usage = usage
        if (tokens := total_input(usage)) > 0:
            self.measured = Measured(tokens, self._asked)

    def _count_unpriced(self) -> None:
        """A request whose usage never came makes the spend unknown (BU-5); it is never counted as free."""
        if self._unpriced is not None:
            self.spent = self.spent.add(Usage())
            self._unpriced = None

    def settle(self) -> None:
        """No request is in flight any more: the last one's usage will not come."""
        self._count_unpriced()
