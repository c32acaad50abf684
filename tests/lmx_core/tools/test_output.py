"""Bounding: both ends kept, the cut counted, always text that UTF-8 can hold."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.calls import Result
from lmx_core.tools.output import HeadTail, bound, bound_attachments, bound_evidence, clean

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200)


def collected(pieces, limit) -> HeadTail:
    kept = HeadTail(limit)
    for piece in pieces:
        kept.add(piece)
    return kept


@given(pieces=st.lists(TEXT), limit=st.integers(1, 300))
def test_re_2_what_fits_is_whole_and_what_does_not_keeps_both_ends(pieces, limit):
    whole = "".join(pieces)
    kept = collected(pieces, limit)
    assert kept.total == len(whole.encode())
    if kept.total <= limit:
        assert kept.text() == whole
        return
    head, cut, tail = re.fullmatch(
        r"(.*)\n\[\.\.\. ([\d,]+) bytes cut from the middle \.\.\.\]\n(.*)", kept.text(), re.DOTALL
    ).groups()
    assert whole.startswith(head) and whole.endswith(tail)
    assert len(head.encode()) <= limit - limit // 2 and len(tail.encode()) <= limit // 2
    assert len(head.encode()) + len(tail.encode()) > limit - 8  # at most a character is lost at each seam
    assert len((head + tail).encode()) + int(cut.replace(",", "")) == kept.total


@given(pieces=st.lists(TEXT), limit=st.integers(1, 300))
def test_re_2_how_the_text_came_makes_no_difference(pieces, limit):
    assert collected(pieces, limit).text() == bound("".join(pieces), limit)


def test_re_2_half_a_character_is_never_kept():
    text = bound("€" * 100, 100)
    assert "\ufffd" not in text and text.count("€") == 32  # 50 bytes each hold 16 whole ones
    assert "204 bytes cut" in text


def test_an_endless_text_costs_no_memory():
    kept = HeadTail(1_000)
    for _ in range(10_000):
        kept.add("x" * 1_000)
    assert kept.total == 10_000_000 and sum(map(len, kept._tail)) < 3_000


@given(text=st.text(st.characters(), max_size=50))
def test_re_2_invalid_text_is_replaced_and_never_raised(text):
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert "\0" not in cleaned


def test_c07_lone_surrogates_and_nul():
    assert clean("a\ud800b\0c") == "a\ufffdb\\x00c"


def test_re_1_evidence_over_the_budget_becomes_its_size_and_digest():
    """RE-1: whole or replaced, never half a JSON value, and said."""
    result, said = bound_evidence(
        Result(structured_content={"a": "x" * 100}, artifacts=[{"b": "y" * 100}], metadata={"c": 1}), 150
    )
    assert result.structured_content == {"a": "x" * 100} and result.metadata == {"c": 1}
    (stub,) = result.artifacts
    assert stub["truncated"] is True and stub["bytes"] == 110 and len(stub["sha256"]) == 64
    assert said == ["[artifacts of 110 bytes was too large to keep]"]


@pytest.mark.parametrize("value", [{"x": float("nan")}, {"x": object()}, {1: "x"}, {"x": {2, 3}}])
def test_evidence_that_is_no_json_is_dropped_and_said(value):
    result, said = bound_evidence(Result(structured_content=value), 1_000)
    assert result.structured_content is None and "structured_content was dropped" in said[0]


def test_attachments_are_not_evidence():
    attachments = [{"kind": "image", "data": "x" * 1_000}]
    result, said = bound_evidence(Result(attachments=attachments), 10)
    assert result.attachments == attachments and said == []


def medium(kind: str = "image", data: str = "aW1n", **fields) -> dict:
    return {"kind": kind, "media_type": "image/png", "data": data, "path": "a.png", **fields}


def test_re_3_only_what_the_model_is_known_to_read_stays_attached():
    """RE-3: what is left out is named; whose tool it was makes no difference."""
    given = Result(attachments=[medium(), medium("document", path="p.pdf"), medium("audio", path="s.wav")])
    kept, said = bound_attachments(given, frozenset({"image", "text"}))
    assert kept.attachments == [medium()]
    assert said == [
        "[p.pdf is not attached: the model is not known to read its kind (document)]",
        "[s.wav is not attached: the model is not known to read its kind (audio)]",
    ]
    nothing, said = bound_attachments(given, frozenset())
    assert nothing.attachments is None and len(said) == 3


def test_re_3_five_attachments_within_their_sizes():
    most = "A" * (3_500_000 // 3 * 4)
    given = Result(attachments=[medium(data=most + "A" * 8, path="big.png"), *(medium(path=f"{n}") for n in range(6))])
    kept, said = bound_attachments(given, frozenset({"image"}))
    assert [item["path"] for item in kept.attachments] == list("01234")
    assert said == [
        "[big.png is not attached: it is larger than 3,500,000 bytes]",
        "[5 is not attached: a result carries 5]",
    ]


@pytest.mark.parametrize(
    "wrong", [None, "x", {}, {"kind": "image"}, {"kind": "image", "media_type": "x", "data": b"x"}]
)
def test_re_3_what_has_no_shape_is_no_attachment(wrong):
    kept, said = bound_attachments(Result(attachments=[wrong]), frozenset({"image"}))
    assert kept.attachments is None
    assert said == ["[an attachment is not attached: it has no kind, media type and data]"]
