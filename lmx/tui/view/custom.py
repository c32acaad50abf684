"""Themes of the person's own, and the pair of colours of a difference (THM-10, THM-14).

What is wrong with one is told all at once, and costs that one slot: nobody is kept from their work by a colour.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from rich.color import Color, ColorParseError

from lmx.sanitize import one_line
from lmx.tui.view.theme import SLOTS, THEMES, Theme

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_ATTRIBUTES = ("bold", "italic", "underline", "reverse")
_PAIRS = {
    True: {"add": "#afd7ff", "delete": "#ffd7af", "add_bg": "on #10283c", "delete_bg": "on #3a2410"},
    False: {"add": "#00305f", "delete": "#5f2f00", "add_bg": "on #d7e7ff", "delete_bg": "on #ffe7c7"},
}
"""Blue and orange, which people tell apart who do not tell green from red; by whether the theme is for a dark screen."""


def all_themes(own: Mapping[str, Any], diff_colours: str = "green/red") -> tuple[dict[str, Theme], list[str]]:
    """Every theme by name, the person's ahead of the shipped, and a sentence for each of theirs that has faults."""
    made, sentences = dict(THEMES), []
    for name, given in own.items():
        theme, faults = read(one_line(name), given)
        made[theme.name] = theme
        if faults:
            sentences.append(f"theme {theme.name}: {'; '.join(faults)}")
    if diff_colours == "blue/orange":
        made = {name: _paired(theme) for name, theme in made.items()}
    return made, sentences


def read(name: str, given: Mapping[str, Any]) -> tuple[Theme, list[str]]:
    """A theme made of `like` and slots, and what is wrong with it; a slot that is wrong stays as in the other theme."""
    faults: list[str] = []
    like = given.get("like", "dark")
    if not isinstance(like, str) or like not in THEMES:
        faults.append(f"like takes one of {', '.join(THEMES)}")
        like = "dark"
    slots: dict[str, str] = {}
    for slot, value in given.items():
        if slot == "like":
            continue
        style = _style(slot, value)
        if slot not in SLOTS:
            faults.append(f"{one_line(slot)} is no part of the screen")
        elif style is None:
            faults.append(f"{slot} takes a colour: a name such as bright_blue, #rrggbb, 0 to 255, or null")
        else:
            slots[slot] = style
    return msgspec.structs.replace(THEMES[like], name=name, **slots), faults


def written(theme: Theme) -> dict[str, Any]:
    """A theme as `themes` in a configuration file would have it; `read` makes the same of it."""
    slots = {slot: getattr(theme, slot).removeprefix("on ") or None for slot in SLOTS}
    return {"like": "dark" if theme.dark else "light", **slots}


def _style(slot: str, value: Any) -> str | None:
    """The style a value stands for; None for what is no colour. Words for bold and the like may come before it."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        colour: str | None = f"color({value})" if 0 <= value <= 255 else None
        attributes: list[str] = []
    elif isinstance(value, str) and value.strip():
        *attributes, last = value.split()
        if last in _ATTRIBUTES:
            attributes, last = [*attributes, last], ""
        colour = last if not last or _is_colour(last) else None
    else:
        return None
    if colour is None or any(word not in _ATTRIBUTES for word in attributes):
        return None
    behind = slot.endswith("_bg") and colour
    return " ".join([*attributes, f"on {colour}" if behind else colour]).strip()


def _is_colour(text: str) -> bool:
    if text.startswith("#"):
        return _HEX.fullmatch(text) is not None
    try:
        return Color.parse(text).number is not None
    except ColorParseError:
        return False


def _paired(theme: Theme) -> Theme:
    return msgspec.structs.replace(theme, **_PAIRS[theme.dark]) if theme.coloured else theme
