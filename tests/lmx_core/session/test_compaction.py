"""Long conversations: when a session shortens one, what it sends then, and what it does when that fails."""

from __future__ import annotations

import pytest
from support.long_talks import Talker, assert_sound, text_of, worker
from support.sessions import Echo, world

from lmx_core import Usage
from lmx_core.context.replay import replay_request
from lmx_core.testing import assert_valid_transcript
from lmx_core.transcript.audit import entry_ids

pytestmark = pytest.mark.asyncio


def events_of(heard, type):
    return [event for event in heard if event.type == type]


async def test_co_1_a_conversation_that_fills_its_window_is_summarised_and_goes_on():
    """CO-1, CO-7, EVT-14, EVT-15, REC-8: threshold, summary, cut, and on."""
    model = Talker(worker(40), window=1_000)
    async with world(provider=model, tools=[Echo()], system="s") as w, w.session.subscribe() as heard:
        result = await w.session.await_prompt("begin MARKER")
        assert result.stop_reason == "stop"
        assert len(model.summaries) >= 2
        told = heard.get_nowait_all()
        (first, *_), entries = events_of(told, "compacted"), w.entries
        planned = events_of(told, "compaction_planned")[0]
        assert (planned.trigger, first.trigger) == ("threshold", "threshold")
        assert planned.forecast >= 800 and planned.forecast == first.tokens["before"] > first.tokens["after"]
        written = next(entry for entry in entries if entry.type == "compaction")
        assert written.payload["summary"] == first.summary == "what was done so far"
        assert (written.payload["from"], written.payload["to"]) == (first.entries[0], first.entries[-1])
        assert written.payload["entries"] == len(first.entries) and written.payload["trigger"] == "threshold"
        asked = [
            entry.payload["id"] for entry in entries if entry.type == "request" and entry.payload["kind"] != "turn"
        ]
        assert written.payload["request_id"] == asked[0]
        after = model.requests[model.requests.index(model.summaries[0]) + 1]
        assert not {entry.id for entry in after.entries} & set(first.entries[1:])
        assert "what was done so far" in text_of(after)
        for request in model.requests:
            assert_sound(request)
            assert "MARKER" in text_of(request)
        assert_valid_transcript(entries)


async def test_au_1_au_2_every_request_of_a_compacted_session_can_be_had_again():
    """AU-1, AU-2, TR-9: summary requests too."""
    model = Talker(worker(60), window=2_000)
    stubs = {"keep": 4, "batch": 3, "min_bytes": 100}
    async with world(provider=model, tools=[Echo()], stub_tool_results=stubs) as w:
        await w.session.await_prompt("begin")
        await w.session.await_prompt("go on")
        entries, records = w.entries, w.of("request")
        assert {record["kind"] for record in records} == {"turn", "compaction"}
        for record, sent in zip(records, model.requests, strict=True):
            assert entry_ids(entries, record) == [entry.id for entry in sent.entries]
            assert replay_request(entries, record["id"]).entries == sent.entries
        assert Usage() is not None
