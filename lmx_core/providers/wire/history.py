"""A conversation as the messages of a request: in the order that wires accept, and encoded once.

Encoding every entry anew for each request would make a long conversation cost the square of its length; sending entries in the
order they were written would put a notice between calls and their results, which every provider refuses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from lmx_core.entry import Entry
from lmx_core.providers.wire.attached import media, named
from lmx_core.providers.wire.base import encode

Shown = Callable[[Entry, str], Any]


class Encoded:
    """Remembers how entries were encoded, so that a request of a long conversation costs only what was added to it.

    Keyed by entry id; an entry whose payload is another object than before was rewritten by the projection and is encoded anew.
    Bounded to `limit` bytes, the oldest first to go.
    """

    def __init__(self, limit: int = 8 * 1024 * 1024):
        self._limit = limit
        self._held = 0
        self._known: OrderedDict[tuple[str, str], tuple[dict[str, Any], tuple[bytes, ...]]] = OrderedDict()

    def of(self, entry: Entry, flavour: str, make: Callable[[Entry], Sequence[Any]]) -> tuple[bytes, ...]:
        """The JSON of the parts `make(entry)` gives. `flavour` tells apart encodings of the same entry."""
        key = (flavour, entry.id)
        known = self._known.get(key)
        if known is not None and known[0] is entry.payload:
            return known[1]
        parts = tuple(encode(part) for part in make(entry))
        if known is not None:
            self._held -= sum(map(len, known[1]))
        self._known[key] = (entry.payload, parts)
        self._held += sum(map(len, parts))
        while self._held > self._limit and len(self._known) > 1:
            self._held -= sum(map(len, self._known.popitem(last=False)[1][1]))
        return parts

    def messages(
        self, entries: Sequence[Entry], flavour: str, make: Callable[[Entry], Iterable[Any]], shown: Shown
    ) -> list[bytes]:
        """The messages of a conversation for a wire whose results hold text only: `make` gives those of an entry, `shown`
        the one that shows an entry's media, after the words it is given."""
        return list(
            after_results(
                list(in_wire_order(entries)),
                lambda entry: self.of(entry, flavour, lambda entry: list(make(entry))),
                lambda entry: self.of(entry, "media", lambda entry: [shown(entry, named(entry))]),
            )
        )


def in_wire_order(entries: Sequence[Entry]) -> Iterator[Entry]:
    """The entries, where results come before anything else that was said after their answer.

    Both wires refuse a history in which something stands between calls and their results, such as a notice given meanwhile.
    """
    meanwhile: list[Entry] = []
    for entry in entries:
        if entry.type == "assistant":
            yield from sorted(meanwhile, key=_after_results)
            meanwhile.clear()
            yield entry
        else:
            meanwhile.append(entry)
    yield from sorted(meanwhile, key=_after_results)


def _after_results(entry: Entry) -> bool:
    return entry.type != "tool_result"


def after_results(
    entries: Sequence[Entry], of: Callable[[Entry], Sequence[bytes]], shown: Callable[[Entry], Sequence[bytes]]
) -> Iterator[bytes]:
    """The messages `of` each entry where a result holds text only: the media `shown` follow the last result of their wave.

    Put between two results, as the order of the entries has it, they would part a call from its result.
    """
    waiting: list[bytes] = []
    for entry in entries:
        if entry.type != "tool_result":
            yield from waiting
            waiting.clear()
        yield from of(entry)
        if entry.type == "tool_result" and media(entry):
            waiting += shown(entry)
    yield from waiting
