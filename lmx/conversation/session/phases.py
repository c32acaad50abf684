"""What the running turn is doing, for the live row (tui.md 7.2). A phase that goes on keeps its clock (ACT-1)."""

from __future__ import annotations

import re

from lmx import words
from lmx.conversation.panels.base import QUESTION
from lmx.conversation.state import Phase
from lmx.conversation.step import Step
from lmx.sanitize import one_line

TARGET = re.compile(r'"(?:path|file_path|command)"\s*:\s*"((?:[^"\\]|\\.)*)"?')
TARGET_CHARACTERS = 80


def enter(step: Step, kind: str, text: str = "", until: int | None = None) -> None:
    """Begins or continues a phase. `until`: when the wait it tells of is over."""
    old = step.state.phase
    goes_on = old is not None and old.kind == kind and (kind != "tool" or old.text == text)
    since = old.since if goes_on and old is not None else step.now
    step.set(phase=Phase(kind=kind, since=since, text=text, until=until))


def refresh(step: Step) -> None:
    """The phase that follows from what is open: a person is waited for before tools are, tools before the model."""
    state = step.state
    if state.turn is None:
        step.set(phase=None)
        return
    if state.phase is not None and state.phase.kind == "cancelling":
        return
    parked = [card.call.name for card in state.cards if not card.answered]
    running = [call.call.name for call in state.wave.values() if call.state == "running"]
    asked = [panel for panel in (state.panel, *state.waiting_panels) if panel is not None and panel.rank == QUESTION]
    if asked:
        enter(step, "question")
    elif parked:
        enter(step, "approval", one_line(parked[0]))
    elif running:
        enter(step, "tool", one_line(", ".join(dict.fromkeys(running))))
    elif state.phase is None or state.phase.kind in ("approval", "question", "tool"):
        enter(step, "waiting")


def composing(step: Step, name: str, size: int, head: str) -> None:
    """The model writes a call: its name, the first path or command in it, and how much it is so far."""
    match = TARGET.search(head)
    target = one_line(match[1].replace("\\n", " ").replace('\\"', '"'))[:TARGET_CHARACTERS] if match else ""
    enter(step, "composing", words.spaced(one_line(name), target, f"({words.size(size)})"))
