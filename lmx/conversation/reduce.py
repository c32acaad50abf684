"""The reducer: (state, message or event, time) -> (state, effects in order). Everything the screen decides, it decides here.

No widget decides anything, so what a key does can be tested without a terminal, and a second surface (a linear interface, an
editor) behaves the same (GEN-1, GEN-2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation import labels, lines, menus, notices
from lmx.conversation import messages as msg
from lmx.conversation.blocks import Block
from lmx.conversation.panels import context, diff, find, first_run, history, hunks, picker, question
from lmx.conversation.panels import frame as panels
from lmx.conversation.session import answers, calls, cards, entries, phases, turns
from lmx.conversation.state import State
from lmx.conversation.step import Command, Policy, Receipts, Step, Suggest
from lmx.conversation.unsent import browsing, followups, kept, leaving, notes, queue
from lmx.rows import Row
from lmx.sanitize import one_line, visible
from lmx_core import ToolCall, events


class Conversation:
    """The rules, with what they are given: how calls are told, which commands there are and which are allowed. No state."""

    def __init__(
        self,
        receipts: Receipts,
        commands: Sequence[Command],
        policy: Policy | None = None,
        suggest: Suggest = followups.suggest,
    ):
        self._receipts, self._commands, self._policy, self._suggest = receipts, tuple(commands), policy, suggest

    def update(self, state: State, message: object, now: int) -> tuple[State, list[fx.Effect]]:
        """What follows from a message or session event at `now` (ms of one clock). Unknown ones change nothing (SU-5)."""
        handle = _HANDLERS.get(type(message))
        if handle is None:
            return state, []
        step = Step(state, now, self._receipts, self._commands, self._policy, self._suggest)
        handle(step, message)
        lines.go_on(step)
        return step.state, step.effects


# --- the session's life ---------------------------------------------------------------------------------------------------


def _starting(step: Step, message: msg.Starting) -> None:
    step.set(life="starting")
    row = Row(kind="detail", text=visible(message.text), gutter="• ", tone="muted")
    block = Block(key="boot", kind="boot", rows=(row,), open=True, tone="muted")
    step.do(fx.Remove("boot"))
    step.append(block)


def _opened(step: Step, message: msg.Opened) -> None:
    entries.opened(step, message)


def _ready(step: Step, message: msg.Ready) -> None:
    step.do(fx.Remove("boot"))
    step.set(life="ready")
    panels.close(step, first_run.ID)
    if message.window is not None:
        step.set(window=type(step.state.window)(tokens=step.state.window.tokens, size=message.window))
    notes.give_again(step)
    entries.settled(step, message.pending, busy=message.busy)
    if not step.state.busy:
        lines.send_held(step)


def _start_failed(step: Step, message: msg.StartFailed) -> None:
    step.do(fx.Remove("boot"))
    step.set(life="ready" if message.keep else "failed")
    panels.close(step, first_run.ID)
    step.note(message.sentence, tone="error", kind="error")
    if not message.keep:
        step.note(words.CANNOT_START, tone="muted")
        queue.pause(step)
    lines.release_held(step)


def _no_model(step: Step, message: msg.NoModel) -> None:
    """As a start that failed, but what waits to be sent waits on for the panel (FIR-4, C1-26). A session that runs goes on."""
    if step.state.life != "ready":
        step.do(fx.Remove("boot"))
        step.set(life="failed")
    first_run.offer(step, message.ways, one_line(message.why), one_line(message.where), message.model)


def _panel_key(step: Step, message: msg.PanelKey) -> None:
    panels.key(step, message.key, message.text)
    _wait_no_longer(step)


def _interrupt(step: Step, message: msg.Interrupt) -> None:
    leaving.interrupt(step)
    _wait_no_longer(step)


def _wait_no_longer(step: Step) -> None:
    if step.state.life == "failed" and panels.find(step, first_run.ID) is None:
        lines.release_held(step)  # nobody is asked for a model any more, so nothing waits for one


def _down(step: Step, event: events.Down) -> None:
    """The session ended under the screen: a row, and everything that was on its way is back with the person (LAY-12)."""
    turns.undelivered(step)
    sending = step.state.sending
    panels.leave_session(step)
    turns.settle(step)
    turns.close(step)
    step.set(life="down")
    queue.pause(step)
    step.note(one_line(words.died(event.reason, event.detail)), tone="error", kind="error")
    step.note(words.DIED_NEXT, tone="muted")
    if sending is not None:
        step.give_back(sending)


def _first_prompt(step: Step, message: msg.FirstPrompt) -> None:
    lines.hold_first(step, message.text)
    if step.state.life == "ready" and not step.state.busy:
        lines.send_held(step)


# --- keys -------------------------------------------------------------------------------------------------------------------


def _complete(step: Step, message: msg.Complete) -> None:
    if step.state.panel is not None:
        panels.key(step, "tab", "")
    else:
        lines.complete(step)


def _older(step: Step, message: msg.Older) -> None:
    if step.state.panel is not None:
        panels.key(step, "up", "")
    elif step.state.menu is not None and not message.direct:
        menus.move(step, -1)
    else:
        browsing.older(step)


def _newer(step: Step, message: msg.Newer) -> None:
    if step.state.panel is not None:
        panels.key(step, "down", "")
    elif step.state.menu is not None and not message.direct:
        menus.move(step, 1)
    else:
        browsing.newer(step)


def _submit(step: Step, message: msg.Submit) -> None:
    if step.state.panel is not None:
        panels.key(step, "enter", "")
    else:
        lines.submit(step)


def _mode_changed(step: Step, message: msg.ModeChanged) -> None:
    step.set(mode=message.mode)
    step.flash(words.mode_changed(message.mode, step.state.sandbox))


def _answer_lost(step: Step, message: msg.AnswerLost) -> None:
    step.flash(words.ANSWER_LOST)


def _answer_refused(step: Step, message: msg.AnswerRefused) -> None:
    question.refused(step, message.call_id, message.sentence)
    cards.refused(step, message.call_id, message.sentence)


def _model_changed(step: Step, event: events.ModelChanged) -> None:
    step.set(model=one_line(event.current))


def _tool_called(step: Step, event: events.ToolCalled) -> None:
    calls.announce(step, ToolCall(id=event.id, name=event.name, arguments=event.arguments))
    calls.mark_running(step)
    phases.refresh(step)


def _approval(step: Step, event: events.ToolApproval) -> None:
    entries.approval_event(step, event.call)
    cards.waits(step, event.call["id"], event.timeout_ms)


def _window_unknown(step: Step, event: events.ContextWindowUnknown) -> None:
    _once(step, f"window:{event.model}", words.window_unknown(one_line(event.model), event.fallback))


def _window_small(step: Step, event: events.ContextWindowSmall) -> None:
    sentence = words.window_small(one_line(event.model), event.window, event.overhead)
    _once(step, f"window:{event.model}:{event.window}", sentence)


def _once(step: Step, key: str, sentence: str) -> None:
    """Once a sitting."""
    if key not in step.state.told:
        step.set(told=step.state.told | {key})
        notices.add(step, sentence, "warn")


def _ineffective(step: Step, event: events.CompactionIneffective) -> None:
    step.note(words.ineffective(event.input_tokens, event.threshold, event.retry_in, event.parts), tone="warn")


def _compacting(step: Step, message: msg.Compacting) -> None:
    """`/compact` holds the session as a turn does: what is typed waits, Ctrl-C ends it. It leaves no rule."""
    if message.begins:
        turns.begin(step)
        phases.enter(step, "compacting")
    elif step.state.turn is not None and step.state.turn.began is None:
        turns.settle(step)
        turns.close(step)
        turns.take_undelivered(step)


def _shell_began(step: Step, message: msg.ShellBegan) -> None:
    """`!` holds the session as a turn does: Ctrl-C ends it, what is typed waits, and it leaves no rule."""
    turns.begin(step)
    notes.began(step, message.id, message.command)


def _shell_ended(step: Step, message: msg.ShellEnded) -> None:
    ran = notes.Ran(
        command=message.command, output=message.output, ending=message.ending, exit_status=message.exit_status
    )
    notes.ended(step, message.id, ran, message.reason)
    if step.state.turn is not None and step.state.turn.began is None:
        turns.close(step)
        turns.take_undelivered(step)


def _retrying(step: Step, message: msg.Retrying) -> None:
    """`/retry` is a turn without a message; its request says when it began."""
    if message.begins:
        turns.begin(step)
        phases.enter(step, "waiting")
    elif step.state.turn is not None and step.state.turn.began is None:
        turns.close(step)


def _fell_back(step: Step, event: events.ModelFallback) -> None:
    """Which model is asked; why is told by the request that goes to it."""
    step.set(model=one_line(event.current))


def _passed_over(step: Step, event: events.ModelSkipped) -> None:
    step.note(words.passed_over(one_line(event.model), one_line(event.reason)), tone="notice")


def _masked(step: Step, event: events.SecretsMasked) -> None:
    if event.where == "steer" and step.state.steer is not None:
        step.set(steer=replace(step.state.steer, masked=True))
    step.note(words.secrets_masked(event.where, [one_line(name) for name in event.names]), tone="notice")


_HANDLERS: dict[type, Callable[[Step, Any], None]] = {
    # the session's events
    events.EntryAppended: lambda step, e: entries.fold(step, e.entry, live=True),
    events.TextDelta: lambda step, e: answers.text(step, e.id, e.text),
    events.ThinkingDelta: lambda step, e: answers.thinking(step, e.id, e.text),
    events.ToolCallDelta: lambda step, e: phases.composing(step, e.name, e.bytes, e.head),
    events.ToolCalled: _tool_called,
    events.ToolDelta: lambda step, e: calls.output(step, e.call_id, e.text),
    events.Question: lambda step, e: question.asks(step, e.call_id, e.kind, e.payload),
    events.ToolApproval: _approval,
    events.ContextPosition: turns.position,
    events.ContextWindowUnknown: _window_unknown,
    events.ContextWindowSmall: _window_small,
    events.CompactionPlanned: lambda step, e: phases.enter(step, "compacting"),
    events.CompactionIneffective: _ineffective,
    events.ContextRecovery: lambda step, e: step.note(words.CONTEXT_RECOVERY, tone="notice"),
    events.Notice: lambda step, e: step.note(words.said_by(one_line(e.source), e.text), tone="notice"),
    events.ProviderWait: lambda step, e: phases.enter(step, "queued" if e.waiting else "waiting"),
    events.ProviderRetry: turns.retrying,
    events.TurnError: turns.failed,
    events.Finished: turns.finished,
    events.ModelChanged: _model_changed,
    events.ModelFallback: _fell_back,
    events.ModelSkipped: _passed_over,
    events.SecretsMasked: _masked,
    events.SteerDropped: turns.steer_dropped,
    events.Down: _down,
    # keys
    msg.Edited: lambda step, m: lines.edited(step, m.draft),
    msg.Submit: _submit,
    msg.Complete: _complete,
    msg.Escape: lambda step, m: leaving.escape(step, selection=m.selection),
    msg.Interrupt: _interrupt,
    msg.Older: _older,
    msg.Newer: _newer,
    msg.AnswerKey: lambda step, m: cards.answer_key(step, m.verdict),
    msg.ChooseHunks: lambda step, m: hunks.choose(step),
    msg.TakeBack: lambda step, m: lines.take_back(step),
    msg.SelectQueued: lambda step, m: queue.select(step, m.number),
    msg.ReviseQueued: lambda step, m: queue.revise(step),
    msg.DropQueued: lambda step, m: queue.drop(step),
    msg.NextMode: lambda step, m: step.do(fx.CycleMode()),
    msg.SearchHistory: lambda step, m: history.search(step),
    msg.PanelKey: _panel_key,
    msg.PanelEdited: lambda step, m: panels.edited(step, m.draft, m.typed),
    msg.PanelPainted: lambda step, m: panels.painted(step, m.id),
    msg.HelpAsked: lambda step, m: step.run("help"),
    msg.EditorAsked: lambda step, m: step.do(fx.EditOutside(step.state.draft)),
    msg.EditedOutside: lambda step, m: lines.edited_outside(step, m.before, m.text, m.why),
    msg.Focused: lambda step, m: step.set(focused=m.focused),
    # commands
    msg.Say: lambda step, m: step.note(m.text, tone=m.tone),
    msg.Decide: lambda step, m: cards.decide(step, m.verdict, m.which, m.reason, m.began, m.focused),
    msg.Compacting: _compacting,
    msg.Retrying: _retrying,
    msg.Performed: lambda step, m: lines.performed(step, ok=m.ok),
    msg.Travels: lambda step, m: notes.give(step, notes.of_note(m.text)),
    msg.ShellBegan: _shell_began,
    msg.ShellSaid: lambda step, m: calls.output(step, m.id, m.text),
    msg.ShellEnded: _shell_ended,
    msg.CancelAsked: lambda step, m: leaving.cancel(step),
    msg.QuitAsked: lambda step, m: leaving.quit_asked(step),
    msg.Wanted: lambda step, m: step.do(m.effect),
    msg.PromptAsked: lambda step, m: lines.ask(step, m.text),
    msg.Labelled: lambda step, m: labels.label(step, m.name),
    msg.QueueAsked: lambda step, m: queue.asked(step, clear=m.clear),
    # the bridge
    msg.Starting: _starting,
    msg.Opened: _opened,
    msg.Earlier: lambda step, m: entries.resumed(step, m.entries),
    msg.Ready: _ready,
    msg.StartFailed: _start_failed,
    msg.NoModel: _no_model,
    msg.Unlocked: lambda step, m: panels.close(step, first_run.ID),
    msg.FirstPrompt: _first_prompt,
    msg.Loaded: lambda step, m: step.set(history=(*m.history, *step.state.history)),
    msg.Restored: lambda step, m: kept.restored(step, m.kept),
    msg.Rejected: lambda step, m: lines.rejected(step, m.draft, m.sentence),
    msg.Revoked: lambda step, m: lines.revoked(step, m.ok),
    msg.AnswerLost: _answer_lost,
    msg.AnswerRefused: _answer_refused,
    msg.ModeChanged: _mode_changed,
    msg.Offered: lambda step, m: menus.offered(step, m.kind, m.rows),
    msg.Listed: lambda step, m: menus.listed(step, m.index),
    msg.Before: lambda step, m: cards.before(step, m.call_id, m.text),
    msg.ProposalRead: lambda step, m: hunks.files_read(step, m.id, m.texts),
    msg.TextEdited: lambda step, m: hunks.edited(step, m.id, m.path, m.text),
    msg.ChangesRead: lambda step, m: diff.read(step, m.changes),
    msg.PatchRead: lambda step, m: diff.patch_read(step, m.change, m.patch),
    msg.FindAsked: lambda step, m: find.begin(step, m.text),
    msg.FoundText: lambda step, m: find.stepped(step, m.outcome),
    msg.ContextRead: lambda step, m: context.read(step, m.filled),
    msg.SummaryProposed: lambda step, m: context.propose(step, m.text),
    msg.SummarySettled: lambda step, m: context.settled(step),
    msg.SessionsListed: lambda step, m: picker.listed(step, m.sessions, all_of_them=m.all_of_them),
    msg.SessionsFound: lambda step, m: picker.found(step, m.query, m.sessions, m.notice, all_of_them=m.all_of_them),
    msg.Painted: lambda step, m: cards.painted(step, m.call_ids),
    msg.Ticked: lambda step, m: cards.ticked(step),
    msg.OutOfSight: lambda step, m: cards.out_of_sight(step, m.call_ids),
    msg.Notice: lambda step, m: notices.add(step, m.sentence, m.tone),
    msg.ShowNotices: lambda step, m: notices.again(step),
    msg.ThemeAsked: lambda step, m: step.do(fx.Dress(m.name)),
    msg.Woke: lambda step, m: notices.woke(step),
    msg.Trouble: lambda step, m: step.note(m.sentence, tone="error", kind="error"),
}
