"""Which theme the screen wears, and which others there are (THM-3, THM-6, THM-10)."""

from __future__ import annotations

import msgspec

from lmx import words
from lmx.bridge.host import Appearance
from lmx.sanitize import one_line
from lmx.tui.terminal.look import Look
from lmx.tui.view.custom import all_themes
from lmx.tui.view.theme import THEMES, Theme

ACCENTS = {"red": "error", "orange": "edit", "yellow": "warn", "green": "ok", "blue": "tool", "purple": "activity"}
"""A colour of /color is the one that the theme has for something else: it can be read there, whatever the background."""


class Wardrobe:
    """`worn` is the theme; `faults` are sentences about what was configured and cannot be had."""

    def __init__(self, wanted: Appearance, look: Look):
        self.themes, self.faults = all_themes(wanted.themes, wanted.diff_colours)
        self._forbidden, self._why = not look.colours and look.reason != "chosen", look.reason
        if wanted.theme not in ("auto", *self.themes):
            self.faults.append(self._unknown(wanted.theme))
        if self._forbidden:
            self.faults.append(words.NO_COLOR_SET)
        self.worn = self.themes.get(look.theme, THEMES["dark"])
        self._accent = ""

    def wear(self, name: str) -> Theme | None:
        """Changes to the theme of this name; None where there is none, or where colours are not wanted."""
        theme = self.themes.get(name)
        if theme is None or (self._forbidden and theme.coloured):
            return None
        self.worn, self._why = theme, "chosen"
        return self._tinted()

    def tint(self, colour: str) -> Theme | None:
        """The theme that is worn with this accent from now on, "" for its own; None where it has no colours."""
        if not self.worn.coloured:
            return None
        self._accent = colour
        return self._tinted()

    def _tinted(self) -> Theme:
        slot = ACCENTS.get(self._accent) if self.worn.coloured else None
        return msgspec.structs.replace(self.worn, accent=getattr(self.worn, slot)) if slot else self.worn

    def tint_told(self) -> str:
        """Which accent there is, and which there are to choose from."""
        if not self.worn.coloured:
            return words.COLOUR_NONE
        return words.COLOUR_IS.format(colour=self._accent or "default", all=", ".join(words.COLOURS))

    def told(self, name: str) -> str:
        """What is worn, or why `name` is not."""
        if name and name not in self.themes:
            return self._unknown(name)
        if self._forbidden:
            return words.NO_COLOR_SET
        return words.THEME_WORN.format(name=self.worn.name, why=self._why, all=", ".join(self.themes))

    def _unknown(self, name: str) -> str:
        return words.NO_THEME.format(name=one_line(name), all=", ".join(self.themes))
