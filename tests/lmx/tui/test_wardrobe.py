"""Which theme is worn, and what /theme says."""

from __future__ import annotations

import pytest
from support.screen_host import FakeHost, screen

from lmx.bridge.host import Appearance
from lmx.tui.terminal.look import Look
from lmx.tui.wardrobe import Wardrobe


def test_thm_3_thm_10_the_chosen_theme_is_worn_and_an_unknown_one_is_told():
    """THM-3, THM-10: an unknown name never prevents a start."""
    own = {"mine": {"accent": "red"}}
    assert Wardrobe(Appearance("mine", own), Look(theme="mine", reason="chosen")).worn.accent == "red"
    lost = Wardrobe(Appearance("neon", own), Look(theme="neon", reason="chosen"))
    assert lost.worn.name == "dark" and lost.faults == [
        "there is no theme neon; there are dark, light, mono, high-contrast, mine"
    ]


def test_thm_6_no_color_is_said_and_holds():
    """THM-6: at the start and by /theme, which changes to nothing with colours."""
    plain = Wardrobe(Appearance(), Look(theme="mono", colours=False, reason="NO_COLOR is set"))
    assert plain.faults == ["NO_COLOR is set, so that nothing is shown in colour"]
    assert plain.wear("light") is None and plain.told("light") == plain.faults[0]
    assert plain.wear("mono") is not None


@pytest.mark.asyncio
async def test_thm_13_theme_changes_the_whole_screen_at_once(tmp_path):
    """THM-13: rows that are drawn already, too; the menu offers the names."""
    async with screen(FakeHost(tmp_path)) as shown:

        def colours() -> set[str]:
            strips = shown.app.screen._compositor.render_strips()
            found = {segment.style.color for strip in strips for segment in strip if segment.style}
            return {colour.name for colour in found if colour is not None}

        await shown.until("ask mode")
        assert "#5fafd7" in colours() and "#005f87" not in colours()
        await shown.type("/theme ")
        await shown.until("high-contrast")
        await shown.type("light")
        await shown.pilot.press("enter")
        await shown.until("the theme is light (chosen)")
        await shown.when(lambda: not {"#5fafd7", "#d7af5f", "#8a8a8a", "#6c6c6c"} & colours(), "only the other colours")
        assert "#005f87" in colours()
        await shown.say("/theme neon")
        await shown.until("there is no theme neon")
