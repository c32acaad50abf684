"""The queue: drafts that wait for the end of a turn, one after each that went well (CMP-40 to CMP-44).

It belongs to the reducer and not to the engine's follow-ups, which go on after a turn that failed and know no commands. What
it holds may be seen, revised and dropped until the moment it is sent; from then on it is in no queue any more, so that nothing
is sent twice.
"""

from __future__ import annotations

from msgspec.structs import replace

from lmx import words
from lmx.conversation.draft import EMPTY, Draft
from lmx.conversation.panels.base import ELICITATION
from lmx.conversation.state import Queue
from lmx.conversation.step import Step
from lmx.sanitize import one_line

MOST = 9
"""As many as there are digits to select them with."""

WENT_WELL = frozenset({"stop", "ok", "end_turn"})
"""Ends of a turn after which the next draft goes (tui.md 2.3)."""


def add(step: Step, draft: Draft) -> bool:
    """Puts a draft at the end; False where there is no room."""
    queue = step.state.queue
    if len(queue.items) >= MOST:
        step.flash(words.QUEUE_FULL)
        return False
    step.set(queue=replace(queue, items=(*queue.items, draft)))
    return True


def next_one(step: Step) -> Draft | None:
    """Takes the oldest draft if it may be sent now. None while anything else has to come first (CMP-42)."""
    state, queue = step.state, step.state.queue
    waits = queue.paused or queue.revising == 0 or state.performing or state.life != "ready"
    taken = state.turn or state.steer or state.held or state.sending
    panels = (state.panel, *state.waiting_panels)
    asked = any(panel is not None and panel.rank <= ELICITATION for panel in panels)
    if not queue.items or waits or taken or asked:
        return None
    later = None if queue.revising is None else queue.revising - 1
    step.set(queue=replace(queue, items=queue.items[1:], at=max(queue.at - 1, 0), revising=later))
    return queue.items[0]


def asked(step: Step, *, clear: bool) -> None:
    """/queue: a row that lists what waits, or all of it put aside."""
    items = step.state.queue.items
    if not items:
        step.note(words.QUEUE_EMPTY, tone="muted")
    elif clear:
        for draft in items:
            step.stash(draft)
        step.set(queue=Queue())
        step.note(words.QUEUE_CLEARED.format(messages=words.plural(len(items), "message")), tone="muted")
    else:
        rows = [f"{number}  {one_line(draft.expanded())}" for number, draft in enumerate(items, 1)]
        step.note("\n".join([*rows, words.QUEUE_PAUSED] if step.state.queue.paused else rows))


def pause(step: Step) -> None:
    """Something went wrong or was cancelled: what waits is kept until the person says so (CMP-40)."""
    queue = step.state.queue
    if queue.items and not queue.paused:
        step.set(queue=replace(queue, paused=True))
        step.flash(words.QUEUE_PAUSED)


def go_on(step: Step) -> bool:
    """Enter on an empty line: a paused queue continues. False where none is paused."""
    queue = step.state.queue
    if not (queue.items and queue.paused):
        return False
    step.set(queue=replace(queue, paused=False))
    if step.state.busy:
        step.flash(words.QUEUE_GOES_ON)
    return True


def drop_all(step: Step) -> int:
    """Empties the queue into the stash; how many there were."""
    leave(step)
    items = step.state.queue.items
    for draft in items:
        step.stash(draft)
    step.set(queue=Queue())
    return len(items)


# --- one of them ----------------------------------------------------------------------------------------------------------


def select(step: Step, number: int) -> None:
    """Alt-1 to Alt-9."""
    queue = step.state.queue
    if 1 <= number <= len(queue.items):
        step.set(queue=replace(queue, at=number - 1))
    else:
        step.flash(words.NO_SUCH_QUEUED.format(number=number) if queue.items else words.QUEUE_EMPTY)


def revise(step: Step) -> None:
    """Alt-E: the selected draft comes into the composer; what stood there is put aside until it is stored (CMP-41)."""
    if not step.state.queue.items:
        step.flash(words.QUEUE_EMPTY)
        return
    if step.state.queue.revising == step.state.queue.at:
        return
    leave(step)
    step.end_browsing()
    before = step.state.draft
    step.stash(before)
    queue = step.state.queue
    step.set(queue=replace(queue, revising=queue.at, before=before))
    step.set_draft(queue.items[queue.at])


def store(step: Step) -> None:
    """Enter or Tab: the revision takes the place of what it was made from."""
    queue = step.state.queue
    if queue.revising is None:
        return
    if step.state.draft.blank:
        step.flash(words.QUEUE_BLANK)
        return
    step.end_browsing()
    items = list(queue.items)
    items[queue.revising] = step.state.draft
    step.set(queue=replace(queue, items=tuple(items)))
    _put_back(step)


def leave(step: Step) -> None:
    """Esc: what is queued stays as it was; the changes are put aside (CMP-10)."""
    queue = step.state.queue
    if queue.revising is None:
        return
    step.end_browsing()
    if step.state.draft.text != queue.items[queue.revising].text:
        step.stash(step.state.draft)
    _put_back(step)


def drop(step: Step) -> None:
    """Alt-U: the selected draft leaves the queue for the stash."""
    queue = step.state.queue
    if not queue.items:
        step.flash(words.QUEUE_EMPTY)
        return
    dropped = queue.at
    if queue.revising == dropped:
        leave(step)
    queue = step.state.queue
    step.stash(queue.items[dropped])
    items = (*queue.items[:dropped], *queue.items[dropped + 1 :])
    revising = queue.revising - 1 if queue.revising is not None and queue.revising > dropped else queue.revising
    at = min(dropped, max(len(items) - 1, 0))
    step.set(queue=replace(queue, items=items, at=at, revising=revising, paused=queue.paused and bool(items)))
    step.flash(words.QUEUE_DROPPED)


def _put_back(step: Step) -> None:
    """The composer holds again what it held before the revision, which leaves the stash for it."""
    before = step.state.queue.before
    step.set(queue=replace(step.state.queue, revising=None, before=EMPTY))
    if not before.blank:
        rest = tuple(one for one in step.state.stash if (one.text, one.pastes) != (before.text, before.pastes))
        step.set(stash=rest)
    step.set_draft(before)
