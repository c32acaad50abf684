"""One entry is one line of JSON (TR-3 to TR-5).

A line that cannot be read is an error with its reason, never skipped: a conversation with a hole in it sends the model on
with half of what was said. `Truncated` alone means that the text is not even JSON, which is what a torn write leaves at
the end of a file; anything else, such as a version from a newer release, is whole and must stay untouched.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lmx_core.entry import TYPES, Entry, parse_time

VERSIONS = (1, 2)
"""What this release reads. 2 is a line of version 1 in which large values stand as references (`dedup.py`)."""


class Truncated(ValueError):
    """The line is no JSON text."""


class _Line(msgspec.Struct, kw_only=True):
    """An entry as it stands in a file, where nothing may be missing that gives the rest its meaning."""

    id: str
    seq: int
    type: str
    payload: dict[str, Any]
    at: str
    v: int
    parent_id: str | None = None
    usage: dict[str, Any] | None = None
    meta: dict[str, Any] = {}


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Line)


def encode(entry: Entry) -> bytes:
    """The line of an entry, without its newline. Raises ValueError for what JSON cannot hold."""
    try:
        return _encoder.encode(entry)
    except (TypeError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"entry {entry.id} cannot be written as JSON: {error}") from error


def decode(line: bytes) -> Entry:
    """The entry of a line. Raises `Truncated` for what is no JSON, and ValueError, saying why, for what is no entry."""
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refusal(line, error) from error
    if found.v not in VERSIONS or found.type not in TYPES:
        raise _unknown(found.v, found.type)
    try:
        parse_time(found.at)
    except ValueError as error:
        raise ValueError(f"the time {found.at!r} of entry {found.id} is malformed") from error
    return Entry(
        id=found.id,
        seq=found.seq,
        type=found.type,
        payload=found.payload,
        at=found.at,
        parent_id=found.parent_id,
        usage=found.usage,
        meta=found.meta,
        v=found.v,
    )


def _refusal(line: bytes, error: Exception) -> ValueError:
    """Why `line` is refused. An unknown version is said before what that version did differently."""
    try:
        whole = msgspec.json.decode(line)
    except RecursionError:
        return ValueError("it is nested too deeply")
    except msgspec.DecodeError:
        return Truncated(f"it is not JSON ({error})")
    if not isinstance(whole, dict):
        return ValueError("it is not a JSON object")
    if "v" not in whole:
        return ValueError("it has no version")
    if whole["v"] not in VERSIONS or whole.get("type") not in TYPES:
        return _unknown(whole["v"], whole.get("type"))
    return ValueError(f"it is no entry ({error})")


def _unknown(version: object, kind: object) -> ValueError:
    if version in VERSIONS:
        return ValueError(f"its type {kind!r} is unknown to this release")
    known = " and ".join(str(v) for v in VERSIONS)
    return ValueError(f"its schema version is {version!r}; this release reads {known}")
