"""The plan of the session's work above the composer, while something of it is open (LAY-4)."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from lmx.conversation.tasks import Panel
from lmx.tui.view.width import cells, cut, fit
from lmx.tui.widgets.lines import Lines, strip

_VOICES = {"completed": "muted", "in_progress": "tool", "pending": "plain"}


class TaskPanel(Lines):
    def show(self, panel: Panel) -> None:
        self.put(panel)

    def draw(self, shown: Panel, width: int) -> list[Strip]:
        rule = self.style("rule")
        title = cut(f" {shown.title} ", max(width - 4, 0))
        top = strip(width, (f"╭─{title}{'─' * max(width - 3 - cells(title), 0)}╮", rule))
        inner = max(width - 4, 0)
        rows = [] if shown.done is None else [self._bar(shown.done, inner)]
        rows += [self._row(*task, inner) for task in shown.tasks]
        sides = [strip(width, ("│ ", rule), row, (" │", rule)) for row in rows]
        return [top, *sides, strip(width, (f"╰{'─' * max(width - 2, 0)}╯", rule))]

    def _bar(self, done: float, width: int) -> tuple[str, Style]:
        room = width - 5
        full = round(done * room)
        return f"{'█' * full}{'░' * (room - full)} {round(100 * done):3d}%", self.style("activity")

    def _row(self, mark: str, title: str, status: str, width: int) -> tuple[str, Style]:
        style = self.style(_VOICES[status])
        return fit(cut(f"{mark} {title}", width), width), style + Style(bold=True) if status == "in_progress" else style
