"""Esc and Ctrl-C: each press closes or stops one thing, and what is written is never the thing that is lost (CMP-8, CMP-9)."""

from __future__ import annotations

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation import notices
from lmx.conversation.panels import frame as panels
from lmx.conversation.session import phases
from lmx.conversation.step import Step
from lmx.conversation.unsent import browsing, queue

ARMED_MS = 750
"""A second Ctrl-C within this quits (CMP-9)."""

ESCAPE_MS = 500
"""A second Esc within this clears a draft (CMP-8)."""


def escape(step: Step, *, selection: bool) -> None:
    """Esc closes one thing a press; only the second within half a second clears a draft, and stashes it (CMP-8)."""
    state = step.state
    last, now = state.escaped, step.now
    step.set(escaped=None)
    if state.panel is not None:
        panels.key(step, "escape", "")
    elif state.menu is not None:
        step.set(menu=None, menu_closed=state.draft.text)
    elif selection:
        step.do(fx.ClearSelection())
    elif state.browsing is not None:
        browsing.to_live(step)
    elif state.queue.revising is not None:
        queue.leave(step)
    elif notices.close(step):
        return
    elif state.draft.text and last is not None and now - last <= ESCAPE_MS:
        step.stash(state.draft)
        step.clear_draft()
        step.flash(words.STASHED)
    elif state.draft.text:
        step.set(escaped=now)
        step.flash(words.ESC_AGAIN)
    elif state.busy:
        step.flash(words.CANCEL_HINT)


def interrupt(step: Step) -> None:
    """Ctrl-C: cancels the turn; idle, puts the draft aside and arms the exit (CMP-9)."""
    state = step.state
    if state.panel is not None:
        panels.leave(step)
    elif state.armed is not None and step.now - state.armed <= ARMED_MS:
        step.do(fx.Quit())
    elif state.busy and not _cancel_is_stuck(step):
        cancel(step)
    else:
        if state.browsing is not None:
            browsing.to_live(step)
        queue.leave(step)
        step.stash(step.state.draft)
        if step.state.draft.text:
            step.clear_draft()
        step.set(armed=step.now)
        step.do(fx.Flash(words.joined((words.QUIT_ARMED, _would_be_lost(step))), ARMED_MS))


def _would_be_lost(step: Step) -> str:
    """What leaving now would cost, for the hint beside it (CMP-9)."""
    held, waiting = step.state.held is not None, len(step.state.queue.items)
    if step.state.kept and waiting:
        return words.QUIT_KEEPS.format(messages=words.plural(waiting, "queued message"))
    lost = waiting + held
    return words.QUIT_LOSES.format(messages=words.plural(lost, "waiting message")) if lost else ""


STUCK_MS = 3_000


def _cancel_is_stuck(step: Step) -> bool:
    """A cancellation is recorded within 3 s (cli.md 10.1); after that Ctrl-C may leave all the same."""
    phase = step.state.phase
    return phase is not None and phase.kind == "cancelling" and step.now - phase.since >= STUCK_MS


def cancel(step: Step) -> None:
    if not step.state.busy:
        step.flash(words.NOTHING_RUNS)
        return
    phases.enter(step, "cancelling")
    queue.pause(step)
    step.do(fx.CancelTurn())


def quit_asked(step: Step) -> None:
    """/quit leaves, but not without a word when it would drop a running turn or a waiting message."""
    lost = "" if step.state.kept else _would_be_lost(step)
    if (step.state.busy or lost) and not step.state.quit_asked:
        step.set(quit_asked=True)
        step.note(words.quit_warning(words.QUIT_LOSES_TURN if step.state.busy else "", lost), tone="warn")
    else:
        step.do(fx.Quit())
