"""One line of a transcript (TR-1). Frozen, never edited; the only truth about a conversation."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import msgspec

VERSION = 1
"""Written by this release. 2 is the same with references to earlier large values (DD-1); it reads back as 1."""

TYPES = frozenset(
    "session user assistant tool_result system error cancelled compaction request approval fork "
    "harness_snapshot run_evidence extension_state "
    "subagent_spawn subagent_steer subagent_result subagent_group_result".split()
)
"""Every type a reader of this release understands. A transcript with another is refused, never half read (TR-5)."""

LEVELS = 100
"""How deep a JSON value that comes from outside may be nested; an entry, which holds such values, twice as deep. Whoever reads,
copies or shows one walks it recursively, and Python's stack ends before the formats' own limits do."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is a ULID; `seq` counts from 0; `parent_id` is the entry before; `at` is UTC in ISO 8601 with milliseconds.

    `payload`, `usage` and `meta` are JSON values with string keys all the way down. `meta` belongs to the host and is
    never read by the engine. Make one with `make`, which checks that.
    """

    id: str
    seq: int
    type: str
    payload: dict[str, Any]
    at: str
    parent_id: str | None = None
    usage: dict[str, Any] | None = None
    meta: dict[str, Any] = {}
    v: int = VERSION


def make(
    *,
    id: str,
    seq: int,
    type: str,
    payload: dict[str, Any],
    at_ms: int,
    parent_id: str | None = None,
    usage: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
) -> Entry:
    """A checked entry. Raises ValueError for an unknown type or for what JSON cannot hold; text is made valid UTF-8."""
    if type not in TYPES:
        raise ValueError(f"unknown entry type {type!r}")
    return Entry(
        id=id,
        seq=seq,
        type=type,
        payload=json_shaped(payload, "payload", 2 * LEVELS),
        at=format_time(at_ms),
        parent_id=parent_id,
        usage=None if usage is None else json_shaped(usage, "usage", 2 * LEVELS),
        meta=json_shaped(meta or {}, "meta", 2 * LEVELS),
    )


def json_shaped(value: Any, where: str = "value", levels: int = LEVELS) -> Any:
    """`value` if JSON can hold it (tuples become lists, lone surrogates U+FFFD); otherwise ValueError naming the place.

    It may be nested `levels` deep. Integers of more than 64 bits become floats.

    Returns the same object when nothing had to change, so checking costs no copy.
    """
    if value is None or value is True or value is False:
        return value
    if type(value) is int:
        return value if -(2**63) <= value < 2**64 else _as_float(value, where)
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which JSON cannot hold")
        return value
    if levels == 0 and isinstance(value, (dict, list, tuple)):
        raise ValueError(f"{where[:80]} is nested too deeply to be written as JSON")
    if isinstance(value, dict):
        return _shaped_dict(value, where, levels - 1)
    if isinstance(value, (list, tuple)):
        items = [json_shaped(item, f"{where}[{i}]", levels - 1) for i, item in enumerate(value)]
        return value if isinstance(value, list) and all(a is b for a, b in zip(items, value, strict=True)) else items
    raise ValueError(f"{where} is a {type(value).__name__}, which JSON cannot hold")


def _shaped_dict(value: dict[Any, Any], where: str, levels: int) -> dict[str, Any]:
    shaped: dict[str, Any] = {}
    same = True
    for key, item in value.items():
        if not isinstance(key, str):
            raise ValueError(f"{where} has a key of type {type(key).__name__}; keys are strings")
        new_key, new_item = valid_text(key), json_shaped(item, f"{where}.{key}", levels)
        same = same and new_key is key and new_item is item
        shaped[new_key] = new_item
    return value if same else shaped


def _as_float(value: int, where: str) -> float:
    """An integer of more than 64 bits, as every reader of JSON here takes it."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{where} is a number that JSON cannot hold") from None


def valid_text(text: str) -> str:
    """`text` without lone surrogates, which UTF-8 cannot hold."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def format_time(ms: int) -> str:
    stamp = datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return stamp.replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The moment of an entry. Raises ValueError when the text is no UTC time."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment
