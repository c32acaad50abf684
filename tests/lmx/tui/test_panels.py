"""Panels on the screen: keys reach them, what they do reaches the session, and the composer comes back as it was."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.screen_host import FakeHost, Screen, screen

from lmx_core import Harness, assemble
from lmx_core.extensions import Interactive, Permissions
from lmx_core.providers.scripted import complete, tool_call, tool_calls

pytestmark = pytest.mark.asyncio

BEFORE = "".join(f"line {n}\n" for n in range(1, 15))
AFTER = BEFORE.replace("line 2\n", "new 2\n").replace("line 12\n", "new 12\n")
ASK = {"question": "Which one?", "options": [{"label": "first"}, {"label": "second"}]}


class AskingHost(FakeHost):
    """A host whose model can ask."""

    def __init__(self, cwd: Path, turns: Iterable[Any] = ()):
        super().__init__(cwd, turns)

    def _harness(self) -> Harness:
        return assemble(Harness(), [Permissions(handle=self.permission), Interactive()])


async def ready(shown: Screen, text: str) -> None:
    """The panel with this text is on the screen, and could have been read."""
    await shown.until(text)
    await shown.when(lambda: shown.app.state.panel_painted is not None, "painted")
    shown.later(500)


async def test_qst_3_a_question_is_answered_and_the_draft_is_back(tmp_path):
    """QST-3, QST-7, PNL-1: what was being written while the question came is in the composer again."""
    host = AskingHost(tmp_path, [tool_call("ask_user", ASK), complete("fine, the second")])
    async with screen(host) as shown:
        await shown.say("go")
        await ready(shown, "› 1 ( ) first")
        assert not shown.app.main.composer.display and shown.app.focused is shown.app.main.panel
        await shown.pilot.press("down", "n")
        await shown.type("quick")
        row = next(y for y, text in enumerate(shown.rows()) if "note: quick" in text)
        assert shown.app.cursor_position == (shown.rows()[row].index("quick") + 5, row)
        await shown.pilot.press("enter", "enter")
        await shown.until("fine, the second")
        assert shown.app.main.composer.display and shown.app.focused is shown.app.main.composer
        result = next(e for e in host.store.read(shown.app.state.session_id) if e.type == "tool_result")
        assert "second (note: quick)" in result.payload["output"]


async def test_c01_a_part_of_an_edit_reaches_the_disk(tmp_path):
    """C01: the hunk that was taken out is not written, and the receipt says so."""
    (tmp_path / "a.txt").write_text(BEFORE)
    host = FakeHost(tmp_path, [
        tool_calls([("read", {"path": "a.txt"})]), tool_call("write", {"path": "a.txt", "content": AFTER}), complete("ok"),
    ])  # fmt: skip
    async with screen(host) as shown:
        await shown.say("go")
        await shown.until("Alt-H chooses")
        await shown.pilot.press("alt+h")
        await ready(shown, "2 of 2 changes")
        await shown.pilot.press("down", "space", "enter")
        await shown.until("#1 as proposed, #2 left out")
        assert (tmp_path / "a.txt").read_text() == BEFORE.replace("line 2\n", "new 2\n")


async def test_pnl_2_the_transcript_scrolls_above_a_panel_and_a_long_panel_in_itself(tmp_path):
    """PNL-2, LAY-25: PageUp moves the transcript; Shift-Down a panel that is longer than its room."""
    options = [{"label": f"choice {n}", "description": "why\n" * 4} for n in range(1, 6)]
    turns = [
        complete("\n\n".join(f"row {n}" for n in range(40))),
        tool_call("ask_user", {"question": "Which?", "options": options}),
    ]
    async with screen(AskingHost(tmp_path, turns)) as shown:
        await shown.say("go")
        await shown.until("1 req")
        await shown.say("and")
        await ready(shown, "› 1 ( ) choice 1")
        assert "choice 5" not in shown.text()
        await shown.pilot.press(*["shift+down"] * 8)
        assert "choice 5" in shown.text()
        view = shown.app.main.transcript
        assert view.follow
        await shown.pilot.press("pageup")
        assert not view.follow and shown.app.state.panel is not None
