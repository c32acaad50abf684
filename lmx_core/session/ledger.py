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
from lmx_core.context.marks import read as read_marks
from lmx_core.context.project import Projection
from lmx_core.context.window import Measured, total_input
from lmx_core.entry import Entry
from lmx_core.errors import StoreError
from lmx_core.events import EntryAppended, Event
from lmx_core.ids import UlidFactory
from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.stores.base import AsyncStore
from lmx_core.transcript.dedup import Compactor
from lmx_core.transcript.replay import is_aside
from lmx_core.usage import Usage, is_dollars


class StoreFailed(Exception):
    """The transcript could not be written: the session ends, for it could no longer tell the truth."""


class Ledger:
    """Appends entries in order, without what `secrets` masks.

    `requests` counts provider requests and `spent` sums usage, history included (RS-3). It holds what tools charged, too; once
    it is unknown, `unpriced` is the model whose request made it so. `largest_answer` is in tokens, and `answered` the weight of
    the conversation when the last answer had been written.

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
        secrets: Masker = NOTHING,
    ):
        self.session_id = session_id
        self._store, self._emit, self._clock = store, emit, clock
        self.secrets = secrets
        self._ids = UlidFactory(after=history[-1].id if history else "")
        self._compactor = Compactor(history) if dedup else None
        self.entries: list[Entry] = []
        self.projection = projection
        self.requests = 0
        self.spent = Usage(cost_usd=0.0)
        self.last_usage: Usage | None = None
        self.measured: Measured | None = None
        self._asked = 0
        self.recorded: dict[str, Any] | None = None
        self.unpriced: str | None = None
        self.largest_answer = self.answered = 0
        self._unanswered: str | None = None  # the model of a request whose usage has not come
        self.turned_away = False  # the newest request was refused before any work; the next record of it says so
        self._model: str | None = None
        for entry in history:
            self._take(entry)
        self.settle()

    def new_id(self) -> str:
        return self._ids.new(self._clock.now_ms())

    async def append(
        self, type: str, payload: dict[str, Any], *, usage: dict[str, Any] | None = None, id: str | None = None
    ) -> Entry:
        """Writes one entry, then announces it. Raises StoreFailed, and then nothing was announced."""
        payload = self.secrets.shaped(payload)
        if type == "error" and self.turned_away:
            payload = {**payload, "unbilled": True}
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
            self._take_request(entry)
        elif entry.type == "session":
            if self.recorded is not None and self.recorded.get("model") != entry.payload.get("model"):
                self.forget_measure()
            self.recorded = entry.payload
        elif entry.type == "error" and entry.payload.get("unbilled") is True:
            self._nothing_was_done()
        elif entry.usage is not None:
            self._take_usage(entry, Usage.from_dict(entry.usage))
        elif entry.type == "assistant":
            self.settle()
        elif entry.type == "tool_result":
            self._charge(entry.payload.get("cost"))
        if entry.type == "compaction" or read_marks(entry) is not None:
            self.last_usage = None  # it was measured with other words

    def _take_request(self, request: Entry) -> None:
        if request.payload.get("unbilled") is True:
            self._nothing_was_done()
        self.settle()
        self.turned_away = False
        self.requests += 1
        model = str(request.payload.get("model"))
        self._unanswered, self._asked = model, self.projection.weight
        if request.payload.get("kind", "turn") == "turn" and model != self._model:
            self._model = model
            self.forget_measure()

    def _take_usage(self, entry: Entry, usage: Usage) -> None:
        """An answer's, a summary's, or what a host metered itself and put beside a document, which answers no request."""
        if entry.type == "extension_state":
            self._spend(usage, usage.model)
            return
        self._spend(usage, self._unanswered or usage.model)
        self._unanswered = None
        if entry.type == "assistant" and not is_aside(entry):
            self._measure(usage)

    def forget_measure(self) -> None:
        """Another model counts otherwise."""
        self.measured = self.last_usage = None

    def _measure(self, usage: Usage) -> None:
        self.last_usage, self.answered = usage, self.projection.weight
        self.largest_answer = max(self.largest_answer, usage.output_tokens)
        if (tokens := total_input(usage)) > 0:
            self.measured = Measured(tokens, self._asked)

    def _charge(self, cost: Any) -> None:
        """What a tool says it has charged, `{"usd": float}`."""
        usd = cost.get("usd") if isinstance(cost, dict) else None
        if is_dollars(usd):
            self._spend(Usage(cost_usd=float(usd)), None)

    def _spend(self, usage: Usage, model: str | None) -> None:
        self.spent = self.spent.add(usage)
        if usage.cost_usd is None and self.unpriced is None:
            self.unpriced = model or "an unnamed model"

    def turn_away(self) -> None:
        """The request in flight was refused before any work: it cost nothing, which the next request or error records."""
        self.turned_away = True
        self._nothing_was_done()

    def _nothing_was_done(self) -> None:
        self._unanswered = None

    def settle(self) -> None:
        """No request is in flight any more: usage that has not come will not come. It is never counted as free (BU-5)."""
        if self._unanswered is not None:
            model, self._unanswered = self._unanswered, None
            self._spend(Usage(), model)
