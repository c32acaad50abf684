"""Commands that open panels, on the screen over a real session: what is chosen there reaches the engine."""

from __future__ import annotations

import pytest
from support.screen_host import FakeHost, screen

from lmx_core.providers.scripted import complete

pytestmark = pytest.mark.asyncio


async def test_a_piece_is_left_out_and_a_summary_is_changed_before_it_stands(tmp_path):
    """CMD-4: what /context shows is what the session sends, and what is decided there is what it sends next."""
    turns = [*(complete(f"answer {n}") for n in range(4)), complete("the summary"), complete("last")]
    host = FakeHost(tmp_path, turns)
    async with screen(host, (100, 40)) as shown:
        for n in range(4):
            await shown.say(f"question {n}")
            await shown.until(f"answer {n}")
        await shown.say("/context")
        await shown.until("split by bytes")
        await shown.pilot.press("home", "d")
        await shown.until("· left out")
        await shown.pilot.press("c")
        await shown.until("this would stand for")
        await shown.when(lambda: shown.app.state.panel_painted is not None, "the summary to be painted")
        shown.later(600)
        await shown.type(" changed")
        await shown.pilot.press("enter")
        await shown.until("summarised")
        await shown.say("and now")
        await shown.until("last")
        sent = str([entry.payload for entry in host.provider.requests[-1].entries])
        assert "the summary changed" in sent and "left out of the conversation" in sent and "question 0" not in sent


async def test_resume_is_chosen_in_its_panel(tmp_path):
    """tui.md 4: /resume lists and searches, and changes to what is chosen."""
    host = FakeHost(tmp_path, [complete("about zebras"), complete("two")])
    async with screen(host) as shown:
        await shown.say("first")
        await shown.until("about zebras")
        first = shown.app.state.session_id
        await shown.say("/new")
        await shown.when(
            lambda: shown.app.state.session_id != first and shown.app.state.life == "ready", "another session"
        )
        await shown.say("/resume")
        await shown.until("sessions of this directory")
        await shown.type("first")
        await shown.until("…first…")
        await shown.pilot.press("enter")
        await shown.when(lambda: shown.app.state.session_id == first, "the first session again")
        await shown.until("about zebras")
