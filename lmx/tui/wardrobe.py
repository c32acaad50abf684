"""Which theme the screen wears, and which others there are (THM-3, THM-6, THM-10)."""

from __future__ import annotations

from lmx import words
from lmx.bridge.host import Appearance
from lmx.sanitize import one_line
from lmx.tui.terminal.look import Look
from lmx.tui.view.custom import all_themes
from lmx.tui.view.theme import THEMES, Theme


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

    def wear(self, name: str) -> Theme | None:
        """Changes to the theme of this name; None where there is none, or where colours are not wanted."""
        theme = self.themes.get(name)
        if theme is None or (self._forbidden and theme.coloured):
            return None
        self.worn, self._why = theme, "chosen"
        return theme

    def told(self, name: str) -> str:
        """What is worn, or why `name` is not."""
        if name and name not in self.themes:
            return self._unknown(name)
        if self._forbidden:
            return words.NO_COLOR_SET
        return words.THEME_WORN.format(name=self.worn.name, why=self._why, all=", ".join(self.themes))

    def _unknown(self, name: str) -> str:
        return words.NO_THEME.format(name=one_line(name), all=", ".join(self.themes))
