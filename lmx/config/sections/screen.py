"""The keys of a configuration file that say how the screen looks. A wrong colour is told on the screen, and stops nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmx.config.sections.key import Key

DIFF_COLOURS = ("green/red", "blue/orange")


def _name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _themes(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(slots, Mapping) for slots in value.values())


KEYS = (
    Key(
        "accessible",
        "true or false",
        lambda value: isinstance(value, bool),
        "false",
        "a conversation in plain lines, for a screen reader: nothing moves, nothing is drawn twice",
        "true",
    ),
    Key(
        "theme",
        "auto, or the name of a theme",
        _name,
        "auto",
        "the colours of the screen: auto asks the terminal; dark, light, mono, high-contrast, or one of `themes`",
        '"light"',
    ),
    Key(
        "diff_colours",
        f"one of {', '.join(DIFF_COLOURS)}",
        lambda value: value in DIFF_COLOURS,
        "green/red",
        "the two colours of a difference",
        '"blue/orange"',
    ),
    Key(
        "themes",
        "a table of themes, each a table of colours",
        _themes,
        "none",
        "themes of your own: `like` names the one that they change, every other key is a part of the screen",
        '{ mine = { like = "dark", accent = "bright_cyan", rule = 240 } }',
    ),
)
