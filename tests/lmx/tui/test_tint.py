"""/color: an accent that goes with any theme, and none where there are no colours."""

from __future__ import annotations

import pytest

from lmx import words
from lmx.bridge.host import Appearance
from lmx.tui.terminal.look import Look
from lmx.tui.view.theme import THEMES
from lmx.tui.wardrobe import ACCENTS, Wardrobe


@pytest.mark.parametrize("name", [name for name, theme in THEMES.items() if theme.coloured])
def test_an_accent_is_a_colour_of_the_theme_and_stays_with_the_next(name):
    wardrobe = Wardrobe(Appearance(), Look())
    assert set(ACCENTS) == set(words.COLOURS)
    tinted = wardrobe.tint("red")
    assert tinted.accent == wardrobe.worn.error and "red" in wardrobe.tint_told()
    assert wardrobe.wear(name).accent == THEMES[name].error
    assert wardrobe.tint("").accent == THEMES[name].accent and "default" in wardrobe.tint_told()


def test_without_colours_it_is_a_sentence():
    wardrobe = Wardrobe(Appearance(), Look(theme="mono", colours=False, reason="NO_COLOR"))
    assert wardrobe.tint("red") is None and "no colours" in wardrobe.tint_told()
