"""The screen says what holds commands in, at the start and when the mode changes (APR-10, C1-25)."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.screen_host import FakeHost, screen

from lmx import words


@pytest.mark.asyncio
async def test_apr_10_the_banner_and_the_mode_say_that_commands_are_sandboxed(tmp_path: Path) -> None:
    """APR-10, C1-25: one notice with mode, backend and network; `auto` is told as what it is with a sandbox."""
    host = FakeHost(tmp_path, mode="accept_edits")
    host.sandbox = words.sandboxed("bwrap", network=False, localhost=True)
    async with screen(host) as shown:
        said = " ".join(shown.text().split())
        assert "sandboxed (bwrap): no network" in said and "not sandboxed" not in said
        await shown.pilot.press("shift+tab")
        await shown.until("sandboxed commands run unasked")
        assert host.permission.mode == "auto"
