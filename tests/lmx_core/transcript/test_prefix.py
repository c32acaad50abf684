"""Where two requests stop beginning alike, and why."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.transcripts import Conversation

from lmx_core.request import Request, ToolSpec
from lmx_core.transcript.prefix import EXCERPT, _canonical, _shared, difference

READ = ToolSpec(name="read", description="reads", schema={"type": "object"})
BASH = ToolSpec(name="bash", description="runs", schema={"type": "object"})


def talk(count: int = 3):
    conversation = Conversation()
    for number in range(count):
        conversation.user(f"question {number}")
        conversation.answer(f"answer {number}")
    conversation.result("c1", "long " * 400)
    return conversation.entries


ENTRIES = talk()
BEFORE = Request(
    model="m:a", entries=tuple(ENTRIES[:-2]), system="Be brief.", tools=(READ, BASH), params={"temperature": 0.5}
)


def later(**changes):
    return msgspec.structs.replace(BEFORE, **{"entries": tuple(ENTRIES), **changes})


def bytes_of(*values):
    return b"".join(_canonical(msgspec.to_builtins(value)) for value in values)


def test_the_whole_earlier_request_is_the_beginning_of_the_later():
    found = difference(BEFORE, later())
    assert found.why is None
    assert found.same == found.before < found.now
    assert found.settings == ()


def test_a_changed_system_prompt_breaks_it_behind_the_tools():
    """The byte is the first that differs, counted over tools, system prompt and entries."""
    found = difference(BEFORE, later(system="Be long."))
    assert found.why == "system changed"
    assert found.same == len(bytes_of((READ, BASH))) + len('"Be ')
    assert found.was.startswith("brief.") and found.is_now.startswith("long.")


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ((READ,), "bash removed"),
        ((READ, BASH, ToolSpec(name="grep", description="", schema={})), "grep added"),
        ((READ, msgspec.structs.replace(BASH, description="runs it")), "bash described differently"),
        ((BASH, READ), "another order"),
    ],
)
def test_changed_tools_break_it_first_of_all(tools, why):
    found = difference(BEFORE, later(tools=tools, system="other"))
    assert found.why == f"tools changed: {why}"
    assert found.same < len(bytes_of((READ, BASH)))


def test_a_shortened_entry_is_named():
    full = later()
    stub = msgspec.structs.replace(ENTRIES[-1], payload=ENTRIES[-1].payload | {"output": "[1,900 bytes omitted]"})
    found = difference(full, later(entries=(*ENTRIES[:-1], stub)))
    assert found.why.startswith("entry 6 (tool_result of bash) was shortened from 2,")
    assert found.why.endswith(" bytes")
    assert found.is_now.startswith("[1,900 bytes")


def test_a_changed_entry_is_named():
    other = msgspec.structs.replace(ENTRIES[1], payload=ENTRIES[1].payload | {"more": "text " * 9})
    assert difference(BEFORE, later(entries=(ENTRIES[0], other, *ENTRIES[2:]))).why == "entry 1 (assistant) changed"


def test_an_entry_that_is_not_sent_any_more_is_named_with_what_stands_there():
    """A compaction: what was cut, and what stands for it."""
    summary = msgspec.structs.replace(ENTRIES[0], id="c1-summary", payload={"text": "so far"}, meta={"synthetic": True})
    found = difference(BEFORE, later(entries=(summary, *ENTRIES[3:])))
    assert found.why == "entry 0 (user) is not sent any more; the request-only message c1-summary stands in its place"
    found = difference(BEFORE, later(entries=tuple(ENTRIES[:3])))
    assert found.why == "entry 3 (assistant) and what followed it are not sent any more"
    assert found.same == found.now
    found = difference(BEFORE, later(entries=(ENTRIES[0], summary, *ENTRIES[1:])))
    assert found.why == "the request-only message c1-summary was put before entry 1 (assistant)"


def test_settings_that_a_cache_depends_on_are_named_beside_it():
    found = difference(
        BEFORE, later(model="m:b", params={"top_p": 1}, reasoning_effort="high", output_schema={"type": "object"})
    )
    assert found.why is None
    assert found.settings == (
        "model (m:a to m:b)",
        "reasoning_effort (None to high)",
        "params.temperature",
        "params.top_p",
        "output_schema",
    )


def test_the_excerpt_is_short_and_whole_characters():
    found = difference(BEFORE, later(system="Be é" + "日" * 500))
    assert len(found.is_now.encode()) <= EXCERPT
    assert "\ufffd" not in found.is_now + found.was


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_the_shared_beginning_is_the_longest(common, one, other):
    found = _shared(common + one, common + other)
    plain = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    assert found == len(common) + plain
