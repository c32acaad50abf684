"""One answer being put together: the same for every wire.

Deltas go out as they come, joined per network read; calls go out only at the end. A call announced while its stream may still
break would be run with half its arguments (case C15).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lmx_core.entry import valid_text
from lmx_core.errors import clean_message
from lmx_core.providers.base import Emit
from lmx_core.providers.headers import Disclosed
from lmx_core.providers.wire.base import arguments
from lmx_core.request import (
    ContextWindow,
    Done,
    Message,
    ResponseMetadata,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageReport,
)
from lmx_core.usage import Usage

if TYPE_CHECKING:
    from lmx_core.providers.wire.recovered import Sieve

NOTHING = Disclosed()

EXTRA_CONTENT = "extra_content"
"""The type of the reasoning detail that keeps what came beside a call."""


def _sieve(tools: Collection[str]) -> Sieve:
    from lmx_core.providers.wire.recovered import Sieve  # most providers' calls come as calls

    return Sieve(tools)


class CallSlot:
    """A call being composed: its pieces in order, and how many were already emitted as deltas.

    `extra` is what the server put beside it and wants back with it (Google's thought signatures).
    """

    def __init__(self, index: int):
        self.index = index
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.sent = 0
        self.extra: Any = None

    @property
    def raw(self) -> str:
        return "".join(self.pieces)

    def is_whole(self) -> bool:
        """Whether the pieces already make one JSON object, so that more of them must belong to another call."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        return arguments(self.raw)[1] is None


class Answer:
    """Collects content in order, calls, usage and what must be sent back verbatim; emits on `flush` and `finish`."""

    def __init__(
        self,
        emit: Emit,
        used_ids: Iterable[str] = (),
        price: Callable[[Usage], Usage] = lambda usage: usage,
        tools: Collection[str] = (),
        disclosed: Disclosed = NOTHING,
    ):
        """With `tools`, the names of the request's, calls that were written as text are recovered."""
        self._emit = emit
        self._disclosed = disclosed
        self._status: int | None = None
        self._headers: dict[str, str] = {}
        self._told = False
        self._sieve = _sieve(tools) if tools else None
        self._price = price
        self._used_ids = used_ids
        self._items: list[tuple[str, list[str]]] = []
        self._kind = ""
        self._pieces: list[str] = []
        self._pending: list[str] = []
        self.calls: list[CallSlot] = []
        self.reasoning_details: list[dict[str, Any]] = []
        self.usage: Usage | None = None
        self.resolved_model: str | None = None

    # --- while it streams

    @property
    def wanted_headers(self) -> tuple[str, ...]:
        """Names of response headers that somebody asked for."""
        return self._disclosed.wanted

    def answered(self, status: int, headers: Mapping[str, str], secrets: tuple[str, ...] = ()) -> None:
        """The server has answered; `headers` are looked up by lowercase names. Said before anything of the answer itself."""
        self._status, self._headers = status, self._disclosed.of(headers, secrets)
        self.metadata(self._disclosed.model(headers))

    def metadata(self, resolved_model: str | None) -> None:
        """Once an answer: which model answers."""
        if self.resolved_model is None and resolved_model:
            self.resolved_model = valid_text(resolved_model)
            self._tell()

    def _tell(self) -> None:
        """The facts of this attempt, once, whether or not the model was told (EVT-23)."""
        if not self._told:
            self._told = True
            self._emit(ResponseMetadata(resolved_model=self.resolved_model, status=self._status, headers=self._headers))

    def window(self, tokens: int) -> None:
        """The window the server says it serves."""
        self._emit(ContextWindow(tokens))

    def add(self, kind: str, piece: str) -> None:
        """A piece of `text` or `thinking`."""
        if self._sieve is not None and kind == "text" and not (piece := self._sieve.feed(piece)):
            return
        self._put(kind, piece)

    def _put(self, kind: str, piece: str) -> None:
        if self._kind != kind:
            self.open(kind)
        self._pieces.append(piece)
        self._pending.append(piece)

    def open(self, kind: str) -> None:
        """Begins a content item even if the one before is of the same kind."""
        self._flush_text()
        self._kind, self._pieces = kind, []
        self._items.append((kind, self._pieces))

    def slot(self) -> CallSlot:
        """A new call."""
        self.flush()
        self.calls.append(CallSlot(len(self.calls)))
        return self.calls[-1]

    def flush(self) -> None:
        self._flush_text()
        for call in self.calls:
            if call.sent < len(call.pieces):
                fragment = valid_text("".join(call.pieces[call.sent :]))
                call.sent = len(call.pieces)
                self._emit(ToolCallDelta(index=call.index, name=call.name or None, fragment=fragment))

    def _flush_text(self) -> None:
        if not self._pending:
            return
        text = "".join(self._pending)
        self._pending.clear()
        if "\ud800" <= text[-1:] <= "\udbff":  # half a pair: the other half is still to come
            text, half = text[:-1], text[-1]
            self._pending.append(half)
        if text:
            delta = TextDelta if self._kind == "text" else ThinkingDelta
            self._emit(delta(valid_text(text)))

    # --- at the end

    def settle(self) -> None:
        """Everything was read: what was held back is a call now, or words. A server that found calls itself is believed."""
        if self._sieve is None:
            return
        rest, found = (self._sieve.release(), []) if self.calls else self._sieve.close()
        self._sieve = None
        if rest:
            self._put("text", rest)
        for recovered in found:
            call = self.slot()
            call.name = recovered.name
            call.pieces.append(recovered.arguments)

    @property
    def is_empty(self) -> bool:
        return not self.calls and not any(any(pieces) for _, pieces in self._items)

    def content(self) -> list[dict[str, Any]]:
        joined = ((kind, valid_text("".join(pieces))) for kind, pieces in self._items)
        return [{"type": kind, "text": text} for kind, text in joined if text or kind == "thinking"]

    def finish(self, stop_reason: str) -> None:
        """Emits the calls, the message, the usage and `Done`."""
        self.flush()
        calls = self._ready()
        for call in calls:
            self._emit(call)
        details = self.reasoning_details + [
            {"type": EXTRA_CONTENT, "call_id": call.id, "extra_content": call.extra}
            for call in self.calls
            if call.extra
        ]
        self._emit(Message(content=self.content(), tool_calls=calls, reasoning_details=details))
        self._report()
        self._emit(Done(clean_message(stop_reason, 80)))

    def abandon(self) -> None:
        """What a failed attempt leaves: its words, unmarked calls dropped, and the usage if the server told it."""
        if self._sieve is not None and (held := self._sieve.release()):
            self._put("text", held)
        self.flush()
        content = self.content()
        if any(item["text"] for item in content):
            self._emit(Message(content=content, partial=True))
        self._report()

    def _report(self) -> None:
        """A failed attempt is paid for as well (case C37 f)."""
        if self._status is not None:
            self._tell()
        if self.usage is not None:
            self._emit(UsageReport(self._price(self.usage)))

    def _ready(self) -> list[ToolCallReady]:
        taken = set(self._used_ids) if self.calls else set()
        ready = []
        for call in self.calls:
            if not call.id or call.id in taken:
                call.id = f"call_{os.urandom(9).hex()}"
            taken.add(call.id)
            values, why_not = arguments(call.raw)
            ready.append(
                ToolCallReady(id=call.id, name=valid_text(call.name), arguments=values, argument_error=why_not)
            )
        return ready
