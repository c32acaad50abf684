"""Going through what was written before: Up, Down, and back to the live draft exactly as it was (CMP-23)."""

from __future__ import annotations

from msgspec.structs import replace

from lmx.conversation.state import Browsing
from lmx.conversation.step import Step


def older(step: Step) -> None:
    """One back in what was written before. Drafts put aside come first, then what was sent (CMP-10)."""
    state = step.state
    if state.browsing is None:
        if not step.gather():
            return
        step.set(browsing=Browsing(place=0, live=state.draft, began=state.began))
    _browse_to(step, 1)


def newer(step: Step) -> None:
    browsing = step.state.browsing
    if browsing is not None:
        if browsing.place == 1:
            to_live(step)
        else:
            _browse_to(step, -1)


def _browse_to(step: Step, by: int) -> None:
    browsing = step.state.browsing
    if browsing is None or browsing.place + by > len(step.state.history):
        return
    _keep_changes(step, browsing)
    step.set(browsing=replace(browsing, place=browsing.place + by))
    step.set_draft(step.state.history[-(browsing.place + by)])


def to_live(step: Step) -> None:
    """Back to the live draft, exactly as it was, and as old as it was (CMP-23, APR-4)."""
    browsing = step.state.browsing
    if browsing is None:
        return
    _keep_changes(step, browsing)
    step.set(browsing=None)
    step.set_draft(browsing.live)
    step.set(began=browsing.began)


def _keep_changes(step: Step, browsing: Browsing) -> None:
    """A recalled line that was changed is a draft like any other: leaving it puts it aside."""
    shown = step.state.draft
    if browsing.place and shown.text != step.state.history[-browsing.place].text:
        step.stash(shown)
