"""Themes of a person's own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from lmx.tui.view.custom import all_themes, read, written
from lmx.tui.view.theme import DARK, LIGHT, SLOTS, THEMES


@pytest.mark.parametrize(
    "value, style",
    (
        ("#00ff00", "#00ff00"), ("bright_blue", "bright_blue"), (17, "color(17)"), (None, ""), ("bold red", "bold red"),
        ("bold", "bold"), ("bold italic 12", None), ("#0f0", None), (256, None), (-1, None), (True, None), ("", None),
        ("blinking red", None), ("on red", None), ("[red]", None), (["red"], None), ("link http://x red", None),
    ),
)  # fmt: skip
def test_thm_10_a_colour_is_a_name_a_number_or_hex(value, style):
    """THM-10: what is none is told, and the slot stays as it was."""
    theme, faults = read("mine", {"accent": value})
    assert theme.accent == (DARK.accent if style is None else style)
    assert bool(faults) is (style is None)


def test_thm_10_all_faults_are_told_together_and_the_rest_is_taken():
    """THM-10: one sentence a theme, naming each part."""
    themes, sentences = all_themes({"mine": {"like": "light", "accent": "no", "glow": 3, "rule": 240, "error": "#1"}})
    assert len(sentences) == 1 and all(word in sentences[0] for word in ("mine", "accent", "glow", "error"))
    assert themes["mine"].rule == "color(240)" and themes["mine"].you == LIGHT.you
    assert read("x", {"like": "neon"})[0].accent == DARK.accent


@pytest.mark.parametrize("name", THEMES)
def test_thm_10_a_theme_goes_through_json_and_comes_back(name):
    """THM-10: every shipped theme can be written into a configuration file as it is."""
    theme = THEMES[name]
    again, faults = read(name, json.loads(json.dumps(written(theme))))
    assert not faults
    assert {slot: getattr(again, slot) for slot in SLOTS} == {slot: getattr(theme, slot) for slot in SLOTS}


@given(
    st.dictionaries(st.sampled_from([*SLOTS, "like", "x"]), st.none() | st.integers() | st.text() | st.lists(st.text()))
)
def test_thm_10_no_theme_prevents_a_start(given_slots):
    """THM-10: whatever was configured, every slot is a style."""
    theme, _ = read("mine", given_slots)
    assert all(isinstance(theme.style(slot), Style) for slot in SLOTS)


def test_thm_14_a_pair_for_those_who_do_not_tell_green_from_red():
    """THM-14: in every theme with colours, with the signs as they are."""
    themes, _ = all_themes({"mine": {"like": "light"}}, "blue/orange")
    assert themes["dark"].add == "#afd7ff" and themes["mine"].delete == "#5f2f00"
    assert themes["mono"] == THEMES["mono"] and themes["dark"].accent == DARK.accent
