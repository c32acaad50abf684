"""The completion menu: rows over the transcript, above the composer. Opening it moves nothing (tui.md 1.1)."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from lmx import words
from lmx.conversation.state import Menu
from lmx.sanitize import one_line
from lmx.tui.view.width import cells
from lmx.tui.widgets.lines import Lines, strip

MENU_ROWS = 10
NAME_CELLS = 34


class MenuOverlay(Lines):
    """Up to ten rows around the selected one; `›` marks it, so that it is seen without colour (PNL-4)."""

    def show(self, menu: Menu, rows: int) -> None:
        """`rows`: how many there is room for."""
        self.put((menu, rows))

    def draw(self, shown: tuple[Menu, int], width: int) -> list[Strip]:
        menu, rows = shown
        if menu.loading:
            return [strip(width, ("  " + words.MENU_LOADING, self.style("muted")))]
        first = max(0, min(menu.selected - rows // 2, len(menu.rows) - rows))
        visible = menu.rows[first : first + rows]
        wide = min(max((cells(name) for name, _ in visible), default=0), NAME_CELLS)
        return [
            self._row(width, wide, one_line(name), one_line(about), first + number == menu.selected)
            for number, (name, about) in enumerate(visible)
        ]

    def _row(self, width: int, wide: int, name: str, about: str, chosen: bool) -> Strip:
        mark = "› " if chosen else "  "
        name_style = self.style("accent") + Style(bold=True) if chosen else Style()
        gap = " " * max(wide - cells(name), 0)
        return strip(width, (mark, self.style("accent")), (name, name_style), (f"{gap}  {about}", self.style("muted")))

    @staticmethod
    def rows_wanted(menu: Menu | None) -> int:
        if menu is None:
            return 0
        return 1 if menu.loading else min(len(menu.rows), MENU_ROWS)
