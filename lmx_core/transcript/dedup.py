"""Large values that repeat are written once a file and referred to afterwards (DD-1, DD-2).

Every request names its system prompt, tools and catalog; written out each time they would make up most of a transcript.
A reference names an earlier value of the same file by its digest, so that copying one file copies everything. A line with
references has version 2 and reads back as version 1. A value that already looks like a reference is never referred to,
and a reference whose value is nowhere stays as it is: the loss shows, and nothing is made up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lmx_core.entry import Entry

FIELDS = {
    "request": ("system", "tools", "catalog"),
    "session": ("system",),
    "harness_snapshot": ("tools", "extensions"),
}
"""Which payload fields may become references, by entry type."""

MINIMUM_BYTES = 1_024
_KEY = "$sha256"


class Compactor:
    """The writing side, one a file: `compact(entry)` gives the entry to write, in the order of writing.

    `entries` are those already in the file. If a line it gave could not be written, the compactor must be thrown away,
    for it would refer to a value that no line holds.
    """

    def __init__(self, entries: Iterable[Entry] = ()):
        self._written: set[str] = set()
        for entry in entries:
            self._written.update(digest for _, digest in _large_values(entry))

    def compact(self, entry: Entry) -> Entry:
        if entry.type not in FIELDS or any(_is_reference(entry.payload.get(f)) for f in FIELDS[entry.type]):
            return entry
        large = list(_large_values(entry))
        references = {field: {_KEY: digest} for field, digest in large if digest in self._written}
        self._written.update(digest for _, digest in large)
        if not references:
            return entry
        return msgspec.structs.replace(entry, payload=entry.payload | references, v=2)


def expand(entries: Iterable[Entry]) -> list[Entry]:
    """The entries with every reference replaced by the value it names, and back at version 1."""
    given = list(entries)
    if all(entry.v == 1 for entry in given):
        return given
    values: dict[str, Any] = {}
    expanded = []
    for entry in given:
        for field, digest in _large_values(entry):
            values.setdefault(digest, entry.payload[field])
        expanded.append(_restored(entry, values) if entry.v == 2 else entry)
    return expanded


def _restored(entry: Entry, values: dict[str, Any]) -> Entry:
    payload = dict(entry.payload)
    lost = False
    for field in FIELDS.get(entry.type, ()):
        if _is_reference(payload.get(field)):
            digest = payload[field][_KEY]
            lost = lost or digest not in values
            payload[field] = values.get(digest, payload[field])
    return msgspec.structs.replace(entry, payload=payload, v=2 if lost else 1)


def _large_values(entry: Entry) -> Iterator[tuple[str, str]]:
    """(field, digest) of each value of `entry` that is worth a reference."""
    for field in FIELDS.get(entry.type, ()):
        value = entry.payload.get(field)
        if value is None or _is_reference(value):
            continue
        text = msgspec.json.encode(value, order="sorted")
        if len(text) >= MINIMUM_BYTES:
            yield field, hashlib.sha256(text).hexdigest()


def _is_reference(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get(_KEY), str)
