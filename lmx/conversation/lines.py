"""What a typed line means: it is sent, steers, answers, is queued, or is a command (tui.md 3).

Two promises are kept here and nowhere else. No draft is lost: whatever clears or replaces one has stashed it first (CMP-10).
And a line is one thing only: it is sent once, or it is back with the person.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmx import words
from lmx.conversation import draft as drafts
from lmx.conversation import effects as fx
from lmx.conversation import menus
from lmx.conversation.draft import Draft
from lmx.conversation.session import cards, phases, turns
from lmx.conversation.state import Steer
from lmx.conversation.step import Command, Step, held_box, steer_box
from lmx.conversation.unsent import notes, queue
from lmx.sanitize import one_line

HISTORY_LIMIT = 1_000
HISTORY_ENTRY_BYTES = 10_000
"""A longer line goes to the history on disk with its chips as labels (CMP-21)."""


def edited(step: Step, draft: Draft) -> None:
    """The composer changed. `began` is the time of the first character of what stands there now (APR-4)."""
    if not draft.text:
        step.set(began=None)
    elif not step.state.draft.text:
        step.set(began=step.now, began_focused=step.state.focused)
    step.set(draft=draft, edited_at=step.now, armed=None, escaped=None)
    menus.refresh(step)


def edited_outside(step: Step, before: Draft, text: str | None, why: str) -> None:
    """The editor is closed (CMP-36): what it left takes the draft's place, which is put aside. Pastes have become text."""
    if text is None:
        step.flash(why)
        return
    if text == before.expanded():
        return
    if step.state.queue.revising is None:
        step.stash(step.state.draft)
    step.end_browsing()
    step.set_draft(drafts.of(drafts.plain(text)))


def submit(step: Step) -> None:
    """Enter."""
    if step.state.menu is not None and menus.take(step, run=True):
        return
    draft = step.state.draft
    if step.state.queue.revising is not None:
        if (refusal := _not_queued(step, draft)) is not None:
            step.flash(refusal)
        else:
            queue.store(step)
    elif draft.blank:
        if step.state.life == "down":
            step.do(fx.Restart())
        else:
            queue.go_on(step)
    elif (line := _command_line(draft.expanded())) is not None:
        _command(step, draft, *line, typed=True)
    else:
        _say(step, draft)


def _say(step: Step, draft: Draft) -> None:
    """A typed line that is no command: an answer, a steer or a prompt."""
    text = _text(draft)
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


def _text(draft: Draft) -> str:
    """What is sent of it: `//text` sends `/text` (CMD-2)."""
    text = draft.expanded()
    return text[1:] if text.startswith("//") else text


def complete(step: Step) -> None:
    """Tab: fills what the menu offers; with nothing to fill, queues the draft for the end of what runs (CMP-40)."""
    draft = step.state.draft
    if step.state.menu is not None and menus.take(step, run=False) and _was_filled(step, draft):
        return
    if step.state.queue.revising is not None:
        submit(step)
    elif not draft.text and step.state.hint and not step.state.busy:
        step.set_draft(drafts.of(step.state.hint))
        step.set(began=step.now, began_focused=step.state.focused)
    elif not draft.blank and (step.state.busy or step.state.performing or step.state.life == "starting"):
        enqueue(step)


def _was_filled(step: Step, before: Draft) -> bool:
    """Whether the menu had something to add: to a name, its rest, or the arguments without which it does nothing."""
    if step.state.draft.text.rstrip() != before.text.rstrip():
        return True
    line = _command_line(step.state.draft.text)
    command = find(step.commands, line[0]) if line is not None else None
    return command is not None and command.asks and step.state.menu is not None


def enqueue(step: Step) -> None:
    """The draft goes to the end of the queue; where it cannot, it stays in the composer."""
    draft = step.state.draft
    if (refusal := _not_queued(step, draft)) is not None:
        step.flash(refusal)
    elif queue.add(step, draft):
        step.clear_draft()


def _not_queued(step: Step, draft: Draft) -> str | None:
    """Why a line would do nothing when its turn comes: a command that there is not, or that cannot be read."""
    line = _command_line(draft.expanded())
    if line is None:
        return None
    command = find(step.commands, line[0])
    return _wrong(step, line[0], command, line[1])


def _wrong(step: Step, name: str, command: Command | None, argument: str) -> str | None:
    """Why the line is not performed: there is no such command here, it is not allowed, or its argument cannot be read."""
    if command is None:
        return _unknown(step, name)
    return step.denied(command.name, argument) or command.check(argument)


def go_on(step: Step) -> None:
    """After whatever happened: the next of the queue is sent if nothing else has to come first (CMP-44)."""
    draft = queue.next_one(step)
    if draft is None:
        return
    line = _command_line(draft.expanded())
    if line is not None:
        _command(step, draft, *line, typed=False)
        return
    _sent(step, draft)
    prompt(step, draft, _text(draft))


def prompt(step: Step, draft: Draft, text: str) -> None:
    """Hands a message to the session as a new prompt."""
    turns.begin(step)
    step.set(sending=draft)
    phases.enter(step, "sending")
    step.do(fx.Prompt(draft, text))


def ask(step: Step, text: str) -> None:
    """What a command says to the model; where that is not possible just now it stands in the composer."""
    draft = Draft(text=text, caret=len(text))
    if step.state.life == "ready" and not step.state.busy:
        prompt(step, draft, text)
    else:
        step.give_back(draft)


def rejected(step: Step, draft: Draft, sentence: str) -> None:
    """The session did not take the prompt: it goes back to the person, and a row says why."""
    step.set(sending=None)
    if step.state.turn is not None and step.state.turn.began is None:
        step.set(turn=None, phase=None)
    step.note(words.PROMPT_REFUSED.format(reason=sentence), tone="error", kind="error")
    step.give_back(draft)
    queue.pause(step)
    turns.take_undelivered(step)


def send_held(step: Step) -> None:
    """The session is ready: what waited for it is sent (LAY-9)."""
    held, key = step.state.held, step.state.held_key
    if held is None:
        return
    if key is not None:
        step.do(fx.Remove(key))
    step.set(held=None, held_key=None)
    prompt(step, held, _text(held))


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


def _command_line(text: str) -> tuple[str, str] | None:
    """(name, argument) of a command; None for text, `//text` and paths such as `/usr/bin` (CMD-2). `!x` is `/shell x`."""
    if command := notes.command_of(text):
        return "shell", command
    if not text.startswith("/"):
        return None
    first, _, rest = text[1:].partition(" ")
    if "\n" in first or "/" in first or not first:
        return None
    return first.lower(), rest.strip()


def _command(step: Step, draft: Draft, name: str, argument: str, *, typed: bool) -> None:
    """A command's line. One that was not typed just now comes from the queue and answers no card (APR-4)."""
    command = find(step.commands, name)
    wrong = _wrong(step, name, command, argument)
    if command is not None and (refusal := refused(step, command)) is not None:
        step.flash(refusal)
        if not typed:
            step.give_back(draft)
            queue.pause(step)
        return
    if wrong is not None:
        step.note(wrong, tone="error", kind="error")
    _sent(step, draft)
    if len(draft.expanded().encode("utf-8", "replace")) > HISTORY_ENTRY_BYTES:
        step.stash(draft)  # no transcript will hold it, and the history on disk holds only its label
    began, focused = (step.state.began, step.state.began_focused) if typed else (None, False)
    if typed:
        step.clear_draft()
    if command is not None and wrong is None:
        step.set(performing=step.state.performing + 1)
        step.do(fx.Run(command=command.name, argument=argument, began=began, focused=focused))
    elif not typed:
        queue.pause(step)


def performed(step: Step, *, ok: bool) -> None:
    """A command is done; one that failed holds up the queue."""
    step.set(performing=max(step.state.performing - 1, 0))
    if not ok:
        queue.pause(step)


def _unknown(step: Step, name: str) -> str:
    close = menus.closest(menus.allowed(step), name)
    sentence = words.UNKNOWN_COMMAND_CLOSE if close else words.UNKNOWN_COMMAND
    return sentence.format(name=one_line(name), close=close)


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
        enqueue(step)
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
