"""What the session is called on this screen (/name): a label, not its name, which follows from its id on every machine."""

from __future__ import annotations

from lmx import words
from lmx.conversation.step import Step
from lmx.sanitize import one_line
from lmx_core.names import name_of

MOST = 60
"""Characters of a label."""


def label(step: Step, name: str | None) -> None:
    """Shows the session under `name`, with "" under its own; None only says how it is called. Gone with the screen."""
    if name is not None:
        own = name_of(step.state.session_id) if step.state.session_id else ""
        step.set(name=one_line(name)[:MOST].strip() or own)
    step.note(words.LABELLED.format(name=step.state.name), tone="muted")
