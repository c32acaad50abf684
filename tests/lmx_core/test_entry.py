"""Entries: what they may hold, and that making one checks it."""

from __future__ import annotations

import math
from datetime import UTC
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core import entry

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def make(**changes: Any) -> entry.Entry:
    fields: dict[str, Any] = {
        "id": "01",
        "seq": 0,
        "type": "user",
        "payload": {"text": "hi"},
        "at_ms": 1_700_000_000_123,
    }
    return entry.make(**(fields | changes))


def test_tr_1_an_entry_has_its_nine_fields_and_is_frozen() -> None:
    made = make(parent_id="00", usage={"input_tokens": 1}, meta={"host": "x"})
    assert msgspec.to_builtins(made).keys() == {"id", "parent_id", "seq", "type", "payload", "usage", "meta", "at", "v"}
    assert made.at == "2023-11-14T22:13:20.123Z" and entry.parse_time(made.at).tzinfo == UTC and made.v == 1
    with pytest.raises(AttributeError):
        made.seq = 5  # type: ignore[misc]  # the very thing that must not work


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"a": {1: "x"}}, "payload.a"),
        ({"a": [1, {"b": object()}]}, "payload.a[1].b"),
        ({"a": math.inf}, "payload.a"),
        ({"a": math.nan}, "payload.a"),
        ({"a": b"raw"}, "payload.a"),
        ({"a": {1, 2}}, "payload.a"),
    ],
)
def test_tr_3_what_json_cannot_hold_is_refused_by_place(payload: dict[str, Any], place: str) -> None:
    with pytest.raises(ValueError, match=place.replace("[", r"\[")):
        make(payload=payload)
    with pytest.raises(ValueError, match=place.replace("[", r"\[").replace("payload", "meta")):
        make(meta=payload)


@pytest.mark.parametrize("levels", [250, 100_000])
def test_tr_3_a_value_nested_without_end_is_refused(levels: int) -> None:
    deep: list[Any] = []
    for _ in range(levels):
        deep = [deep]
    for field in ("payload", "usage", "meta"):
        with pytest.raises(ValueError, match="nested too deeply"):
            make(**{field: {"deep": deep}})


def test_tr_3_an_integer_of_any_size_can_be_written() -> None:
    kept = make(payload={"a": 2**64 - 1, "b": [10**40], "c": -(2**63)}).payload
    assert kept == {"a": 2**64 - 1, "b": [1e40], "c": -(2**63)} and msgspec.json.encode(kept)
    with pytest.raises(ValueError, match=r"payload\.a is a number that JSON cannot hold"):
        make(payload={"a": 10**400})


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown entry type 'novel'"):
        make(type="novel")


@given(JSON)
def test_tr_3_every_json_value_is_kept_and_survives_json(value: Any) -> None:
    """TR-3: construction accepts exactly what JSON holds, and JSON gives it back."""
    made = make(payload={"value": value})
    assert msgspec.json.decode(msgspec.json.encode(made.payload)) == msgspec.json.decode(
        msgspec.json.encode({"value": value})
    )


@given(st.text(st.characters(codec=None)))
def test_text_with_lone_surrogates_becomes_valid_utf8(text: str) -> None:
    kept = make(payload={"text": text}).payload["text"]
    kept.encode("utf-8")
    if not any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        assert kept == text


def test_a_value_that_needs_no_change_is_not_copied() -> None:
    payload = {"text": "x", "list": [1, {"a": "b"}]}
    assert make(payload=payload).payload is payload
    assert make(payload={"t": (1, 2)}).payload == {"t": [1, 2]}


def test_a_time_without_its_zone_is_no_time() -> None:
    with pytest.raises(ValueError, match="zone"):
        entry.parse_time("2026-01-01T00:00:00")
