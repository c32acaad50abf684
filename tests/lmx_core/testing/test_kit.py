"""The kit for hosts' tests is a product and is tested like one."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.sessions import EVIDENCE, Echo, Gate, world
from support.transcripts import Conversation

from lmx_core import SessionDown, events, testing
from lmx_core.providers.scripted import complete, tool_call

pytestmark = pytest.mark.asyncio


async def test_tk_1_prompt_gives_events_entries_and_how_it_stopped():
    async with world([tool_call("echo", {"text": "a"}), complete("b")], tools=[Echo()]) as w:
        done = await testing.prompt(w.session, "go")
        assert done.stop_reason == "stop" and done.events[-1].type == "finished"
        types = [entry.type for entry in done.entries if entry.type not in EVIDENCE]
        assert types == ["user", "request", "assistant", "tool_result", "request", "assistant"]


async def test_tk_1_a_prompt_that_takes_too_long_or_a_session_that_ends_is_told():
    gate = Gate()
    async with world([tool_call("gate")], tools=[gate]) as w:
        with pytest.raises(TimeoutError):
            await testing.prompt(w.session, "go", timeout_ms=20)
        await w.session.stop()
        with pytest.raises(SessionDown):
            await testing.prompt(w.session, "go")


async def test_tk_1_collect_stops_at_the_event_and_complains_when_it_cannot_come():
    async with world([complete("a")]) as w:
        heard = w.session.subscribe()
        await w.session.prompt("go")
        assert (await testing.collect(heard, events.TextDelta))[-1].text == "a"
        await w.session.stop()
        with pytest.raises(AssertionError, match="ended before"):
            await testing.collect(heard, events.ToolApproval)


async def test_tk_1_runtimes_of_tests_do_not_meet():
    async with testing.runtime() as one, testing.runtime() as two:
        assert one.name != two.name


def broken(kind: str) -> list:
    talk = Conversation()
    talk.user("hi")
    if kind == "open call":
        talk.answer("", "a")
    elif kind == "request over an open call":
        talk.answer("", "a")
        talk.add("request", id="r")
    elif kind == "result of nothing":
        talk.add("tool_result", call_id="a")
    elif kind == "two results":
        talk.answer("", "a")
        talk.add("tool_result", call_id="a")
        talk.add("tool_result", call_id="a")
    elif kind == "hole":
        talk.user("more")
        del talk.entries[0]
    return talk.entries


@pytest.mark.parametrize("kind", ["open call", "request over an open call", "result of nothing", "two results", "hole"])
async def test_tk_1_a_transcript_that_breaks_a_promise_is_found(kind):
    with pytest.raises(AssertionError):
        testing.assert_valid_transcript(broken(kind))
    if kind == "open call":
        testing.assert_valid_transcript(broken(kind), settled=False)


async def test_tk_1_the_kit_needs_no_test_framework():
    code = "import lmx_core.testing, sys; sys.exit('pytest' in sys.modules or 'hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
