"""Lines and entries: what goes in comes out, and what is no entry is refused with its reason."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.lane import fewer
from support.transcripts import entries, json_values

from lmx_core.calls import digest
from lmx_core.entry import Entry, make
from lmx_core.transcript.codec import Truncated, decode, encode

LINE = (
    b'{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","seq":0,"type":"user","payload":{"text":"hi"},'
    b'"at":"2026-01-02T03:04:05.678Z","parent_id":null,"usage":null,"meta":{},"v":1}'
)


def changed(**fields) -> bytes:
    line = msgspec.json.decode(LINE) | fields
    return msgspec.json.encode({key: value for key, value in line.items() if value is not ...})


@settings(max_examples=fewer(40))
@given(entries())
def test_tr_3_every_entry_survives_writing_and_reading(entry: Entry):
    """TR-3, TK-3: decode(encode(e)) == e."""
    assert decode(encode(entry)) == entry


@settings(max_examples=fewer(40))
@given(entries())
def test_tr_4_an_entry_is_one_line_of_json(entry: Entry):
    """TR-4: no newline inside, and any JSON reader understands it."""
    line = encode(entry)
    assert b"\n" not in line
    assert set(msgspec.json.decode(line)) == {"id", "seq", "type", "payload", "at", "parent_id", "usage", "meta", "v"}


@given(json_values(), st.randoms())
def test_tr_4_a_digest_does_not_depend_on_the_order_of_keys(value, random):
    """TR-4: the canonical form has sorted keys, compact separators, UTF-8."""

    def shuffled(value):
        if isinstance(value, dict):
            items = [(key, shuffled(item)) for key, item in value.items()]
            random.shuffle(items)
            return dict(items)
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    assert digest(shuffled(value)) == digest(value)
    assert digest({"b": [1, 2], "a": "é"}) == hashlib.sha256('{"a":"é","b":[1,2]}'.encode()).hexdigest()


@pytest.mark.parametrize(
    "bad",
    [
        {1: "a"},
        {"a": {2: "b"}},
        {"a": [{"b": {3: 4}}]},
        {"a": float("nan")},
        {"a": object()},
        {"a": {1, 2}},
        {"a": b"x"},
    ],
)
def test_tr_3_what_json_cannot_hold_is_refused_where_it_enters(bad):
    """TR-3: string keys all the way down, and nothing that would read back as something else."""
    for field in ("payload", "usage", "meta"):
        fields = {"payload": {}, "usage": None, "meta": None} | {field: bad}
        with pytest.raises(ValueError, match=field):
            make(id="x", seq=0, type="user", at_ms=0, **fields)


def test_tr_1_an_entry_has_these_fields_and_never_changes():
    """TR-1"""
    entry = decode(LINE)
    assert entry == Entry(
        id="01ARZ3NDEKTSV4RRFFQ69G5FAV",
        seq=0,
        type="user",
        payload={"text": "hi"},
        at="2026-01-02T03:04:05.678Z",
        parent_id=None,
        usage=None,
        meta={},
        v=1,
    )
    with pytest.raises(AttributeError):
        entry.seq = 5


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (changed(v=3), "schema version is 3; this release reads 1 and 2"),
        (changed(v="1"), "schema version is '1'"),
        (changed(v=True, type=7), "type 7 is unknown"),
        (changed(v=...), "no version"),
        (changed(v=9, id=...), "schema version is 9"),
        (changed(type="dream"), "type 'dream' is unknown"),
        (changed(at="yesterday"), "time 'yesterday'"),
        (changed(at="2026-01-02T03:04:05"), "time '2026-01-02T03:04:05'"),
        (changed(at=5), "no entry"),
        (changed(seq="0"), "no entry"),
        (changed(payload=[]), "no entry"),
        (changed(payload=...), "no entry"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ],
)
def test_tr_5_what_is_no_entry_of_this_release_is_refused_with_its_reason(line: bytes, reason: str):
    """TR-5: unknown version or type, malformed time, missing version; never skipped, and no torn line either."""
    with pytest.raises(ValueError, match=reason) as refused:
        decode(line)
    assert not isinstance(refused.value, Truncated)


def test_tr_5_more_payload_fields_than_known_are_kept():
    """TR-5"""
    line = changed(payload={"text": "hi", "from_the_future": [1, {"a": None}]})
    assert encode(decode(line)) == line


@settings(max_examples=fewer(40))
@given(entries(), st.data())
@example(make(id="x", seq=0, type="user", payload={"text": "é"}, at_ms=0), None)
def test_js_3_no_part_of_a_line_is_taken_for_a_whole_one(entry: Entry, data):
    """JS-3: a line cut anywhere is no JSON, so a torn write is told from an entry of another release."""
    line = encode(entry)
    for cut in range(len(line)) if data is None else [data.draw(st.integers(0, len(line) - 1))]:
        with pytest.raises(Truncated):
            decode(line[:cut])


def test_a_run_of_nul_bytes_is_no_json():
    with pytest.raises(Truncated):
        decode(b"\0" * 300)


def test_what_cannot_be_written_is_a_value_error():
    entry = decode(LINE)
    for payload in ({"a": object()}, {"a": "\ud800"}):
        with pytest.raises(ValueError, match=r"01ARZ3NDEKTSV4RRFFQ69G5FAV"):
            encode(msgspec.structs.replace(entry, payload=payload))
