"""/find: from place to place where a text stands in the transcript. The screen does the looking; this is what steers it."""

from __future__ import annotations

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.panels import frame
from lmx.conversation.panels.base import Face, Panel
from lmx.conversation.panels.base import words as says
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.sanitize import one_line

PANEL = "find"
_FORWARD, _BACK = ("n", "enter", "down"), ("N", "p", "up")


class FindPanel(Panel, frozen=True, kw_only=True):
    """`outcome` is what came of the last step: here, wrapped, nowhere, or empty while it is looked for."""

    id: str = PANEL
    text: str
    outcome: str = ""

    asked = True

    def face(self, state: State, width: int) -> Face:
        told = words.FIND_OUTCOMES.get(self.outcome, "")
        tone = "warn" if self.outcome == "nowhere" else "muted"
        return Face(
            title=words.FIND_TITLE,
            lines=(says(one_line(self.text)),),
            foot=(says(told, tone=tone),),
            hints=words.FIND_KEYS,
        )

    def key(self, step: Step, key: str, text: str) -> None:
        if key in ("escape", "q"):
            frame.close(step)
            step.do(fx.ClearSelection())
        elif text in _FORWARD or key in _FORWARD:
            step.do(fx.Find(text=self.text, back=False))
        elif text in _BACK or key in _BACK:
            step.do(fx.Find(text=self.text, back=True))


def begin(step: Step, text: str) -> None:
    """Opens it; the first place is the newest before the end of what is in sight."""
    frame.open(step, FindPanel(text=text))
    step.do(fx.Find(text=text, back=True, anew=True))


def stepped(step: Step, outcome: str) -> None:
    shown = frame.find(step, PANEL)
    if isinstance(shown, FindPanel):
        frame.change(step, replace(shown, outcome=outcome))
