"""References for repeated values: written once, found again, and nothing made up."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lane import fewer
from support.transcripts import Conversation, entries, json_values

from lmx_core.entry import Entry, make
from lmx_core.transcript.codec import decode, encode
from lmx_core.transcript.dedup import FIELDS, MINIMUM_BYTES, Compactor, expand

LONG = "prompt " * 300


def compacted(entries: list[Entry]) -> list[Entry]:
    compactor = Compactor()
    return [compactor.compact(entry) for entry in entries]


def transcript(*systems: object) -> list[Entry]:
    conversation = Conversation()
    for system in systems:
        conversation.add("request", system=system)
    return conversation.entries


@st.composite
def repetitive(draw: st.DrawFn) -> list[Entry]:
    """Transcripts whose candidate fields draw from a few values, small, large, and shaped like references."""
    reference = st.builds(lambda digest: {"$sha256": digest}, st.text("0123456789abcdef", min_size=64, max_size=64))
    values = [*draw(st.lists(json_values() | reference, min_size=1, max_size=3)), LONG, [LONG], {"a": LONG, "b": 1}]
    found = []
    for entry in draw(st.lists(entries(), max_size=5)):
        fields = FIELDS.get(entry.type, ("system",))
        chosen = {field: draw(st.sampled_from(values)) for field in fields if draw(st.booleans())}
        found.append(msgspec.structs.replace(entry, payload=entry.payload | chosen))
    return found


@settings(max_examples=fewer(40))
@given(repetitive())
def test_dd_1_what_is_compacted_expands_to_what_it_was(entries: list[Entry]):
    """DD-1, TR-6, TK-3: expand after compact is the identity, through the file too, and reads back as version 1."""
    lines = [encode(entry) for entry in compacted(entries)]
    assert expand(map(decode, lines)) == entries


def test_dd_1_a_later_identical_value_becomes_a_reference_in_a_line_of_version_2():
    """DD-1: the first occurrence stands in full, an earlier line of the same file than any reference to it."""
    first, second, other = compacted(transcript(LONG, LONG, LONG + "!"))
    assert (first.v, first.payload["system"]) == (1, LONG)
    assert second.v == 2
    assert list(second.payload["system"]) == ["$sha256"]
    assert (other.v, other.payload["system"]) == (1, LONG + "!")


def test_dd_1_only_large_values_of_these_fields_are_referred_to():
    """DD-1: at least 1,024 bytes of JSON, in the named fields."""
    assert FIELDS == {
        "request": ("system", "tools", "catalog"),
        "session": ("system",),
        "harness_snapshot": ("tools", "extensions"),
    }
    for size, version in ((MINIMUM_BYTES - 3, 1), (MINIMUM_BYTES - 2, 2)):  # two quotes around it
        assert compacted(transcript("x" * size, "x" * size))[1].v == version
    same = Conversation()
    for _ in range(2):
        same.user(LONG)
        same.add("request", params=LONG)
    assert all(entry.v == 1 for entry in compacted(same.entries))


def test_dd_1_values_are_compared_whatever_the_order_of_their_keys():
    conversation = Conversation()
    conversation.add("request", catalog={"a": LONG, "b": 1})
    conversation.add("request", catalog={"b": 1, "a": LONG})
    assert compacted(conversation.entries)[1].v == 2


def test_dd_2_a_reference_to_nothing_stays_and_shows_the_loss():
    """DD-2"""
    first, second, third = compacted(transcript(LONG, LONG, "short"))
    assert expand([second, third]) == [second, third]
    assert expand([first, second])[1].v == 1


def test_dd_2_a_value_that_only_looks_like_a_reference_is_left_alone():
    impostor = {"$sha256": "0" * 64}
    entries = transcript(LONG, LONG, impostor)
    assert compacted(entries)[2] is entries[2]
    assert expand(compacted(entries)) == entries


def test_a_compactor_goes_on_where_the_file_ends():
    """A resumed session refers to what an earlier one wrote, whether it was read with references or without."""
    entries = transcript(LONG, LONG, LONG)
    written = compacted(entries[:2])
    for history in (written, expand(written)):
        again = Compactor(history).compact(entries[2])
        assert again.v == 2
        assert expand([*written, again]) == entries


def test_tr_6_versions_may_mix_and_each_entry_keeps_its_own():
    """TR-6: 2 is a line of version 1 with references; both stand in one file."""
    entries = transcript("a", LONG, "b", LONG)
    written = compacted(entries)
    assert [entry.v for entry in written] == [1, 1, 1, 2]
    assert [decode(encode(entry)).v for entry in written] == [1, 1, 1, 2]
    assert [entry.v for entry in expand(written)] == [1, 1, 1, 1]


def test_expanded_values_are_shared_not_copied():
    """A thousand requests with one system prompt must not hold it a thousand times."""
    big = [{"description": LONG}]
    conversation = Conversation()
    for _ in range(3):
        conversation.add("request", tools=big)
    read = expand(decode(encode(entry)) for entry in compacted(conversation.entries))
    assert read[0].payload["tools"] is read[1].payload["tools"] is read[2].payload["tools"]


def test_an_entry_without_candidates_is_passed_through():
    entry = make(id="x", seq=0, type="user", payload={"system": LONG}, at_ms=0)
    assert Compactor([entry]).compact(entry) is entry
