"""/undo, /rewind and /redo on the screen: shown first, done when a person says yes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.screen_host import FakeHost, screen

from lmx_core.providers.scripted import complete, tool_call

pytestmark = pytest.mark.asyncio


async def test_undo_shows_and_yes_does_it(tmp_path: Path):
    """tui.md 4, EVT-5, GEN-4: a preview that changes nothing, then the files, and what the model will hear."""
    (tmp_path / "work").mkdir()
    work = tmp_path / "work"
    (work / "a").write_text("one")
    turns = [tool_call("bash", {"command": "echo two > a; echo x > b"}), complete("done"), complete("noted")]
    host = FakeHost(work, turns, mode="full_auto")
    host.checkpoints = tmp_path / "kept"
    async with screen(host, (100, 40)) as shown:
        await shown.say("/undo")
        await shown.until("there is nothing to undo")
        await shown.say("change it")
        await shown.until("1 tool call")
        await shown.say("/undo")
        await shown.until("would be put back: a")
        assert "would be deleted: b" in shown.text() and "/undo yes does it" in shown.text()
        assert (work / "a").read_text() == "two\n"
        await shown.say("/undo yes")
        await shown.until("The model is told with your next message")
        assert (work / "a").read_text() == "one" and not (work / "b").exists()
        await shown.say("/redo yes")
        await shown.until("redo of turn 1")
        assert (work / "b").read_text() == "x\n"
        await shown.say("/rewind 1 yes")
        await shown.until("rewind of turn 1")
        assert not (work / "b").exists()
        await shown.say("go on")
        await shown.until("noted")
    (id,) = host.store.list_sessions()
    said = [entry.payload["text"] for entry in host.store.read(id) if entry.type == "user"]
    assert "[lmx undo]" in said[-1]


async def test_where_nothing_is_recorded_undo_says_so(tmp_path: Path):
    host = FakeHost(tmp_path, [complete("done")])
    async with screen(host, (100, 30)) as shown:
        await shown.say("hello")
        await shown.until("done")
        await shown.say("/undo")
        await shown.until("nothing is recorded here")
        await shown.say("/rewind x")
        await shown.until("/rewind needs the number of turns")
        await shown.say("/redo now")
        await shown.until("/redo takes [yes] [--force]")
