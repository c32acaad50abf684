"""What was sent before, searched (CMP-22). What is typed is the query; a line is put into the composer, never sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from lmx import words
from lmx.conversation import draft as drafts
from lmx.conversation.draft import Draft
from lmx.conversation.panels import frame
from lmx.conversation.panels.base import Face, Field, Line, Panel, option
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.sanitize import one_line

ROWS = 8


class HistorySearch(Panel, frozen=True, kw_only=True):
    """`found`: the lines that hold the query, newest first."""

    id: str = "history"
    query: Draft = drafts.EMPTY
    found: tuple[Draft, ...] = ()
    selected: int = 0

    asked = True
    of_session = False

    def face(self, state: State, width: int) -> Face:
        first = max(0, min(self.selected - ROWS // 2, len(self.found) - ROWS))
        shown = enumerate(self.found[first : first + ROWS], first)
        rows = [option(_told(draft), chosen=number == self.selected) for number, draft in shown]
        query = Line(
            kind="detail", text="", gutter=f"{words.SEARCH_PROMPT} ", tone="accent", field=Field(draft=self.query)
        )
        return Face(
            title=words.SEARCH_TITLE.format(count=words.count(len(self.found))),
            lines=tuple(rows) + (Line(kind="detail", text=""),) * (ROWS - len(rows)),
            foot=(query,),
            hints=words.SEARCH_KEYS,
        )

    def key(self, step: Step, key: str, text: str) -> None:
        match key:
            case "enter" | "tab":
                self._take(step)
            case "up" | "search":
                self._move(step, 1)
            case "down":
                self._move(step, -1)
            case "escape":
                frame.close(step)

    def edited(self, step: Step, draft: Draft) -> None:
        found = tuple(newest_first(step.state.history, draft.expanded()))
        frame.change(step, replace(self, query=draft, found=found, selected=0))

    def _move(self, step: Step, by: int) -> None:
        if self.found:
            frame.change(step, replace(self, selected=min(max(self.selected + by, 0), len(self.found) - 1)))

    def _take(self, step: Step) -> None:
        """What stood in the composer is put aside."""
        frame.close(step)
        if self.found:
            step.stash(step.state.draft)
            step.end_browsing()
            step.set_draft(self.found[self.selected])


def search(step: Step) -> None:
    """Ctrl-R: opens it; in it, one older."""
    if isinstance(step.state.panel, HistorySearch):
        frame.key(step, "search", "")
        return
    frame.open(step, HistorySearch(found=tuple(newest_first(step.gather(), ""))))


def newest_first(history: Sequence[Draft], query: str) -> Iterable[Draft]:
    """The lines that hold the query, each once."""
    wanted = query.lower()
    seen = set()
    for draft in reversed(history):
        if draft.text not in seen and wanted in draft.text.lower():
            seen.add(draft.text)
            yield draft


def _told(draft: Draft) -> str:
    return one_line("".join(draft.label(char) or char for char in draft.text))
