"""What outlives the screen of what a person has written: the draft, what is put aside, the queue (CMP-11, CMP-43). Pure.

It belongs to a session and is given back when that is resumed. Nothing of it is sent by itself then: a crash may have come in
the middle of anything, so the queue comes back paused, and a message that was on its way comes back as a draft.
"""

from __future__ import annotations

import msgspec

from lmx import words
from lmx.conversation.draft import EMPTY, Draft
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.conversation.unsent import queue

VERSION = 1


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`stash` is what was put aside and what had not been recorded as sent, newest last."""

    version: int = VERSION
    draft: Draft = EMPTY
    stash: tuple[Draft, ...] = ()
    queue: tuple[Draft, ...] = ()
    notes: tuple[str, ...] = ()
    used: bool = False
    """Something was sent in this session, so that it can be resumed."""

    @property
    def nothing(self) -> bool:
        return self.draft.blank and not self.stash and not self.queue and not self.notes


def of(state: State) -> Kept:
    """What of this state must not be lost. A line that was recalled and not changed is in the history already."""
    browsing, panels = state.browsing, (*state.waiting_panels, state.panel)
    recalled = browsing is not None and browsing.place and state.draft.text == state.history[-browsing.place].text
    written = [draft for panel in panels if panel is not None for draft in panel.unsent()]
    steer = None if state.steer is None else state.steer.draft
    live = None if browsing is None else browsing.live
    under_way = (state.sending, steer, state.held, *written, live, None if recalled else state.draft)
    *aside, draft = [EMPTY, *(draft for draft in under_way if draft is not None and not draft.blank)]
    stands = draft if draft is live or draft is state.draft else EMPTY
    more = aside[1:] if stands is draft else [*aside[1:], draft]
    return Kept(
        draft=stands, stash=(*state.stash, *more), queue=state.queue.items, notes=state.notes, used=bool(state.turns)
    )


def restored(step: Step, kept: Kept) -> None:
    """The session that is shown left this behind. What is being written now comes before it."""
    step.set(notes=(*step.state.notes, *kept.notes))
    for draft in kept.stash:
        step.stash(draft)
    refused = [draft for draft in kept.queue if not draft.blank and not queue.add(step, draft)]
    for draft in refused:
        step.stash(draft)
    back = step.give_back(kept.draft) if not kept.draft.blank else False
    if step.state.queue.items:
        step.set(queue=msgspec.structs.replace(step.state.queue, paused=True))
    waits = words.plural(len(step.state.queue.items), "queued message") if step.state.queue.items else ""
    told = words.restored(back, waits)
    if told:
        step.note(told, tone="notice")
