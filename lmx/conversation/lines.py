"""What a typed line means, and the keys around it: send, steer, answer, command; Esc, Ctrl-C, history (tui.md 3).

Two promises are kept here and nowhere else. No draft is lost: whatever clears or replaces one has stashed it first (CMP-10).
And a line is one thing only: it is sent once, or it is back with the person.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation import menus
from lmx.conversation.draft import Draft
from lmx.conversation.session import cards, phases, turns
from lmx.conversation.state import Browsing, Steer
from lmx.conversation.step import Command, Step, held_box, steer_box
from lmx.sanitize import one_line

ARMED_MS = 750
"""A second Ctrl-C within this quits (CMP-9)."""

ESCAPE_MS = 500
"""A second Esc within this clears a draft (CMP-8)."""

HISTORY_LIMIT = 1_000
HISTORY_ENTRY_BYTES = 10_000
"""A longer line goes to the history on disk with its chips as labels (CMP-21)."""


def edited(step: Step, draft: Draft) -> None:
    """The composer changed. `began` is the time of the first character of what stands there now (APR-4)."""
    if not draft.text:
        step.set(began=None)
    elif not step.state.draft.text:
        step.set(began=step.now, began_focused=step.state.focused)
    step.set(draft=draft, armed=None, escaped=None)
    menus.refresh(step)


def submit(step: Step) -> None:
    """Enter."""
    if step.state.menu is not None and menus.take(step, run=True):
        return
    draft = step.state.draft
    text = draft.expanded()
    if draft.blank:
        if step.state.life == "down":
            step.do(fx.Restart())
        return
    if (line := _command_line(text)) is not None:
        _command(step, *line)
        return
    if text.startswith("//"):
        text = text[1:]
    if step.state.cards and cards.answer_line(step, text):
        step.clear_draft()
    elif step.state.life == "starting":
        _hold(step, draft)
    elif step.state.life != "ready":
        step.flash(words.NEEDS_A_SESSION)
    elif step.state.busy:
        _steer(step, draft, text)
    else:
        _sent(step, draft)
        step.clear_draft()
        prompt(step, draft, text)


def prompt(step: Step, draft: Draft, text: str) -> None:
    """Hands a message to the session as a new prompt."""
    turns.begin(step)
    step.set(sending=draft)
    phases.enter(step, "sending")
    step.do(fx.Prompt(draft, text))


def rejected(step: Step, draft: Draft, sentence: str) -> None:
    """The session did not take the prompt: it goes back to the person, and a row says why."""
    step.set(sending=None)
    if step.state.turn is not None and step.state.turn.began is None:
        step.set(turn=None, phase=None)
    step.note(words.PROMPT_REFUSED.format(reason=sentence), tone="error", kind="error")
    step.give_back(draft)
    turns.take_undelivered(step)


def send_held(step: Step) -> None:
    """The session is ready: what waited for it is sent (LAY-9)."""
    held, key = step.state.held, step.state.held_key
    if held is None:
        return
    if key is not None:
        step.do(fx.Remove(key))
    step.set(held=None, held_key=None)
    text = held.expanded()
    prompt(step, held, text[1:] if text.startswith("//") else text)


def release_held(step: Step) -> None:
    """No session came: what waited for it goes back to the person."""
    held, key = step.state.held, step.state.held_key
    if held is None:
        return
    if key is not None:
        step.do(fx.Remove(key))
    step.set(held=None, held_key=None)
    step.give_back(held)


def hold_first(step: Step, text: str) -> None:
    """`--prompt TEXT`: shown as if typed, sent when the session is ready (C1-26)."""
    _show_held(step, Draft(text=text, caret=len(text)))


def revoked(step: Step, ok: bool) -> None:
    """The answer to taking the waiting message back (CMP-32)."""
    steer = step.state.steer
    if steer is None:
        return
    if steer.undelivered:
        turns.undelivered(step)
    elif ok:
        step.set(steer=None)
        step.do(fx.Remove(steer.key))
        step.give_back(steer.draft)
        step.flash(words.STEER_WITHDRAWN)
    else:
        step.flash(words.STEER_ALREADY_SENT)


def take_back(step: Step) -> None:
    steer = step.state.steer
    if steer is None:
        step.flash(words.NO_STEER)
    else:
        step.do(fx.Revoke(steer.text))


def escape(step: Step, *, selection: bool) -> None:
    """Esc closes one thing a press; only the second within half a second clears a draft, and stashes it (CMP-8)."""
    state = step.state
    last, now = state.escaped, step.now
    step.set(escaped=None)
    if state.search is not None:
        menus.leave_search(step)
    elif state.menu is not None:
        step.set(menu=None, menu_closed=state.draft.text)
    elif selection:
        step.do(fx.ClearSelection())
    elif state.browsing is not None:
        to_live(step)
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
    if state.search is not None:
        menus.leave_search(step)
    elif state.armed is not None and step.now - state.armed <= ARMED_MS:
        step.do(fx.Quit())
    elif state.busy and not _cancel_is_stuck(step):
        cancel(step)
    else:
        if state.browsing is not None:
            to_live(step)
        step.stash(step.state.draft)
        if step.state.draft.text:
            step.clear_draft()
        step.set(armed=step.now)
        waiting = words.joined((words.QUIT_ARMED, words.QUIT_LOSES_HELD if state.held is not None else ""))
        step.do(fx.Flash(waiting, ARMED_MS))


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
    step.do(fx.CancelTurn())


def quit_asked(step: Step) -> None:
    """/quit leaves, but not without a word when it would drop a running turn or a waiting message."""
    if (step.state.busy or step.state.held is not None) and not step.state.quit_asked:
        step.set(quit_asked=True)
        step.note(words.QUIT_LOSES_TURN, tone="warn")
    else:
        step.do(fx.Quit())


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


def _command_line(text: str) -> tuple[str, str] | None:
    """(name, argument) of a slash command; None for text, `//text` and paths such as `/usr/bin` (CMD-2)."""
    if not text.startswith("/"):
        return None
    first, _, rest = text[1:].partition(" ")
    if "\n" in first or "/" in first or not first:
        return None
    return first.lower(), rest.strip()


def _command(step: Step, name: str, argument: str) -> None:
    command = find(step.commands, name)
    draft = step.state.draft
    if command is None:
        close = menus.closest(step.commands, name)
        sentence = words.UNKNOWN_COMMAND_CLOSE if close else words.UNKNOWN_COMMAND
        step.note(sentence.format(name=one_line(name), close=close), tone="error", kind="error")
    elif (refusal := refused(step, command)) is not None:
        step.flash(refusal)
        return
    elif (wrong := command.check(argument)) is not None:
        step.note(wrong, tone="error", kind="error")
    _sent(step, draft)
    began, focused = step.state.began, step.state.began_focused
    step.clear_draft()
    if command is not None and wrong is None:
        step.do(fx.Run(command=command.name, argument=argument, began=began, focused=focused))


def refused(step: Step, command: Command) -> str | None:
    """Why a command cannot be performed now; its line then stays in the composer."""
    if command.when.startswith("idle") and (step.state.busy or step.state.life == "starting"):
        return words.IDLE_ONLY.format(name=command.name)
    if not command.when.endswith("always") and step.state.life != "ready":
        return words.NEEDS_A_SESSION
    return None


def find(commands: Sequence[Command], name: str) -> Command | None:
    return next((c for c in commands if name == c.name or name in c.aliases), None)


def _hold(step: Step, draft: Draft) -> None:
    if step.state.held is not None:
        step.flash(words.NO_PROMPT_YET)
        return
    _sent(step, draft)
    step.clear_draft()
    _show_held(step, draft)


def _show_held(step: Step, draft: Draft) -> None:
    key = step.key("held")
    step.set(held=draft, held_key=key)
    step.append(held_box(key, draft.expanded()), keeps_group=True)


def _steer(step: Step, draft: Draft, text: str) -> None:
    """A message for the running turn: one may wait at a time (CMP-31, CMP-32)."""
    if step.state.steer is not None:
        step.flash(words.STEER_WAITS)
        return
    _sent(step, draft)
    step.clear_draft()
    steer = Steer(draft=draft, text=text, key=step.key("steer"))
    step.append(steer_box(steer.key, text), keeps_group=True)
    step.set(steer=steer)
    step.do(fx.SteerTurn(text))
    waiting = [card for card in step.state.cards if not card.answered]
    if waiting:
        step.flash(words.STEER_WHILE_PARKED.format(tool=one_line(waiting[0].call.name)))


def _sent(step: Step, draft: Draft) -> None:
    """Puts a sent line into the history, consecutive duplicates once; a recalled one leaves the place it was put aside in."""
    history = step.state.history
    if not history or history[-1].text != draft.text or history[-1].pastes != draft.pastes:
        step.set(history=(*history, draft)[-HISTORY_LIMIT:])
    text = draft.expanded()
    if len(text.encode("utf-8", "replace")) > HISTORY_ENTRY_BYTES:
        text = "".join(draft.label(char) or char for char in draft.text)
    step.do(fx.Remember(text))
