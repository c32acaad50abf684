"""Which panel is shown, which ones wait, and what a key in one does (PNL-1, PNL-3).

A panel that comes by itself takes the keyboard from whoever is writing. So until it has been on the screen for half a second
no key chooses anything in it, and the letters that were on their way still end up in the draft (APR-4). The draft itself stays
where it is, in the state and in the composer, with its caret: there is no moment at which it could be lost.
"""

from __future__ import annotations

from lmx import words
from lmx.conversation import draft as drafts
from lmx.conversation import effects as fx
from lmx.conversation import notices
from lmx.conversation.draft import Draft
from lmx.conversation.panels.base import Panel
from lmx.conversation.step import Step

GRACE_MS = 500
"""How long a panel must have been on the screen before a key acts in it."""

TYPING_MS = 2_000
"""Letters that come this soon after the last change of the draft were meant for it."""


def open(step: Step, panel: Panel) -> None:
    """Shows a panel, or lets it wait its turn. One that has its id, shown or waiting, is replaced and keeps its place."""
    shown = step.state.panel
    if shown is not None and shown.id == panel.id:
        change(step, panel)
        return
    waiting = [other for other in step.state.waiting_panels if other.id != panel.id]
    step.set(waiting_panels=tuple(sorted([*waiting, panel], key=lambda one: one.rank)))
    if shown is None:
        _next(step)
    else:
        step.flash(words.PANEL_WAITS)


def change(step: Step, panel: Panel) -> None:
    """The panel of this id is like this now. One that is gone stays gone."""
    if step.state.panel is not None and step.state.panel.id == panel.id:
        step.set(panel=panel)
    else:
        waiting = (panel if other.id == panel.id else other for other in step.state.waiting_panels)
        step.set(waiting_panels=tuple(waiting))


def close(step: Step, id: str | None = None, *, keep: bool = False) -> None:
    """Closes the panel that is shown, or the one of this id; the next one that waits is shown.

    `keep`: nobody in front of it closed it, so what was written in it is put aside (CMP-10).
    """
    shown = step.state.panel
    going = shown if id is None else find(step, id)
    if going is None:
        return
    if keep:
        for draft in going.unsent():
            step.stash(draft)
    if shown is not None and going.id == shown.id:
        step.set(panel=None)
        _next(step)
        if step.state.panel is None:
            notices.panel_closed(step)
    else:
        step.set(waiting_panels=tuple(other for other in step.state.waiting_panels if other.id != going.id))


def leave_session(step: Step) -> None:
    """Another session is shown, or none: what its panels ask has nobody to hear it any more."""
    for panel in (*step.state.waiting_panels, step.state.panel):
        if panel is not None and panel.of_session:
            close(step, panel.id, keep=True)


def find(step: Step, id: str) -> Panel | None:
    """The panel of this id, shown or waiting."""
    return next((p for p in (step.state.panel, *step.state.waiting_panels) if p is not None and p.id == id), None)


def painted(step: Step, id: str) -> None:
    """The terminal has taken a frame with the panel in it."""
    if step.state.panel is not None and step.state.panel.id == id and step.state.panel_painted is None:
        step.set(panel_painted=step.now)


def key(step: Step, key: str, text: str) -> None:
    """A key while a panel is shown."""
    panel = step.state.panel
    if panel is None:
        return
    if _too_early(step, panel):
        _not_meant(step, text)
        return
    if key == "paste":
        step.stash(drafts.pasted(Draft(), drafts.plain(text)))  # nothing here takes text, and none of it may be lost
        step.flash(words.PASTE_PUT_ASIDE)
        return
    panel.key(step, key, text)


def edited(step: Step, draft: Draft, typed: str) -> None:
    """The panel's field holds this now; `typed` is what was typed or pasted to make it so."""
    panel = step.state.panel
    if panel is None:
        return
    if _too_early(step, panel):
        _not_meant(step, typed)
        return
    panel.edited(step, draft)


def leave(step: Step) -> None:
    """Ctrl-C while a panel is shown."""
    panel = step.state.panel
    if panel is None:
        return
    if _too_early(step, panel):
        _not_meant(step, "")
    else:
        panel.leave(step)


def unread(step: Step) -> bool:
    """Nobody can have read the panel that is shown yet: nothing is consent (APR-4)."""
    painted = step.state.panel_painted
    return painted is None or step.now < painted + GRACE_MS or not step.state.focused


def _next(step: Step) -> None:
    waiting = step.state.waiting_panels
    if waiting:
        step.set(panel=waiting[0], waiting_panels=waiting[1:], panel_painted=None, menu=None)
        step.do(fx.WatchPanel(waiting[0].id))


def _too_early(step: Step, panel: Panel) -> bool:
    return not panel.asked and unread(step)


def _not_meant(step: Step, text: str) -> None:
    """What came before the panel could have been read: letters go on in the draft that was being written."""
    edited = step.state.edited_at
    if not text or edited is None or step.now - edited > TYPING_MS:
        step.flash(words.TOO_EARLY)
        return
    began, focused = step.state.began, step.state.began_focused
    step.set_draft(drafts.pasted(step.state.draft, drafts.plain(text)))
    step.set(began=began, began_focused=focused, edited_at=step.now)
