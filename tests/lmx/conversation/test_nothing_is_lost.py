"""CMP-10, CMP-33, CMP-40, CMP-44 as a state machine: whatever keys are pressed and whatever the engine does, no words are
lost, none are sent twice, and what is sent arrives in the order in which it was sent.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.talk import Talk, call

from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.draft import Draft, of, pasted
from lmx.conversation.panels.question import QuestionPanel
from lmx.conversation.state import Queue, State
from lmx_core import events

WORD = re.compile(r"w\d+")


def words_of(draft: Draft) -> set[str]:
    return set(WORD.findall(draft.expanded()))


class Engine:
    """A session as far as words are concerned: what it was given, in order, and what it has recorded."""

    def __init__(self) -> None:
        self.prompt: fx.Prompt | None = None
        self.busy = False
        self.steers: list[str] = []
        self.given: list[str] = []
        self.recorded: list[str] = []
        self.answers: list[str] = []


QUESTION = {"question": "why?", "type": "text", "options": [], "diagram": ""}


class Words(RuleBasedStateMachine):
    @initialize(ready=st.booleans())
    def begin(self, ready: bool) -> None:
        self.talk = Talk(ready=False)
        self.engine = Engine()
        self.count = 0
        self.entered: Counter[str] = Counter()
        self.alive = False
        self.queued: list[str] = []
        self.tell(msg.Starting("starting"))
        if ready:
            self.ready()

    # --- the person -------------------------------------------------------------------------------------------------

    @rule(space=st.booleans())
    def types(self, space: bool) -> None:
        self.count += 1
        if self.talk.state.panel is None:
            self.talk.type((" " if space else "") + f"w{self.count} ")

    @rule()
    def pastes(self) -> None:
        self.count += 1
        if self.talk.state.panel is None:
            self.talk.paste(pasted(self.talk.composer, f"w{self.count} " + "x" * 1_500))

    @rule()
    def enters(self) -> None:
        self.tell(msg.Submit())

    @rule()
    def tabs(self) -> None:
        self.tell(msg.Complete())

    @precondition(lambda self: self.engine.busy)
    @rule()
    def queues(self) -> None:
        self.types(False)
        self.tabs()

    @precondition(lambda self: self.engine.prompt is not None)
    @rule()
    def has_a_turn_that_goes_well(self) -> None:
        self.answers_the_prompt(True)
        self.finishes("stop", True)

    @rule()
    def queues_a_command(self) -> None:
        if self.talk.composer.blank and self.talk.state.busy and self.talk.state.panel is None:
            self.talk.wipe()
            self.talk.type("/compact")
            self.tell(msg.Complete())
            self.talk.wipe()

    @precondition(lambda self: self.talk.state.queue.items)
    @rule(
        kind=st.sampled_from(
            (*(msg.SelectQueued(n) for n in (1, 2, 3, 9)), msg.ReviseQueued(), msg.ReviseQueued(), msg.DropQueued())
        )
    )
    def handles_the_queue(self, kind: object) -> None:
        self.tell(kind)

    @rule(
        kind=st.sampled_from(
            (msg.Escape(), msg.Interrupt(), msg.Older(), msg.Newer(), msg.TakeBack(), msg.SearchHistory())
        )
    )
    def presses(self, kind: object) -> None:
        self.tell(kind)

    @rule(ms=st.sampled_from((1, 400, 800, 5_000)))
    def waits(self, ms: int) -> None:
        self.talk.later(ms)

    @rule()
    def escapes_twice(self) -> None:
        self.tell(msg.Escape())
        self.tell(msg.Escape())

    # --- the engine -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.talk.state.performing)
    @rule(ok=st.booleans())
    def performs(self, ok: bool) -> None:
        self.tell(msg.Performed(ok))

    @precondition(lambda self: self.engine.prompt is not None)
    @rule(takes=st.booleans())
    def answers_the_prompt(self, takes: bool) -> None:
        prompt, self.engine.prompt = self.engine.prompt, None
        if takes:
            self.engine.busy = True
            self.record(prompt.text)
        else:
            self.tell(msg.Rejected(prompt.draft, "a hook refused"))

    @precondition(lambda self: self.engine.busy)
    @rule()
    def asks_the_model(self) -> None:
        steers, self.engine.steers = self.engine.steers, []
        for text in steers:
            self.record(text)
        self.talk.append("request", {"kind": "turn"})

    @precondition(lambda self: self.engine.busy)
    @rule(output=st.booleans())
    def works(self, output: bool) -> None:
        bash = call(f"c{self.talk.seq}", "bash", command="ls")
        self.talk.answer("text" if output else "", [bash])
        self.talk.result(bash, "out")

    @precondition(lambda self: self.engine.busy)
    @rule(read=st.booleans())
    def asks_the_person(self, read: bool) -> None:
        id = f"q{self.count}-{self.talk.now}"
        self.tell(events.Question(call_id=id, kind="question", payload={"questions": [QUESTION, QUESTION]}))
        if read and self.talk.state.panel is not None:
            self.tell(msg.PanelPainted(self.talk.state.panel.id))
            self.talk.later(500)
            self.writes_an_answer()

    @precondition(lambda self: isinstance(self.talk.state.panel, QuestionPanel))
    @rule()
    def writes(self) -> None:
        self.writes_an_answer()

    def writes_an_answer(self) -> None:
        if not isinstance(self.talk.state.panel, QuestionPanel):
            return
        self.count += 1
        written = self.talk.state.panel.given[min(self.talk.state.panel.tab, 1)].text
        self.tell(msg.PanelEdited(of(f"{written.text} w{self.count} "), f" w{self.count} "))

    @precondition(lambda self: isinstance(self.talk.state.panel, QuestionPanel))
    @rule(keys=st.sampled_from((("escape", "escape"), ("escape", "d"), ("escape", "up"), ("enter",), ("tab", "enter"))))
    def presses_in_a_panel(self, keys: tuple[str, ...]) -> None:
        for key in keys:
            self.tell(msg.PanelKey(key, key if len(key) == 1 else ""))

    @precondition(lambda self: isinstance(self.talk.state.panel, QuestionPanel))
    @rule(status=st.sampled_from(("answered", "timed_out")))
    def a_question_is_over(self, status: str) -> None:
        id = self.talk.state.panel.id
        self.talk.append("approval", {"call_id": id, "kind": "question", "status": status, "detail": {}})

    @precondition(lambda self: self.engine.busy)
    @rule(reason=st.sampled_from(("stop", "cancelled", "error", "max_turns")), tells=st.booleans())
    def finishes(self, reason: str, tells: bool) -> None:
        if tells:
            steers, self.engine.steers = self.engine.steers, []
            for text in steers:
                self.tell(events.SteerDropped(text=text))
        self.engine.busy = False
        self.tell(events.Finished(stop_reason=reason))

    @precondition(lambda self: self.alive and self.engine.prompt is None)
    @rule()
    def dies(self) -> None:
        self.alive = False
        self.engine.busy, self.engine.steers = False, []
        self.tell(events.Down(reason="store_failed"))
        self.tell(msg.Starting("opening"))

    @precondition(lambda self: not self.alive)
    @rule(works=st.booleans())
    def starts(self, works: bool) -> None:
        if works:
            self.ready()
        else:
            self.tell(msg.StartFailed("no key"))
            self.tell(msg.Starting("again"))

    def ready(self) -> None:
        self.alive = True
        self.talk.seq = 0
        self.tell(msg.Opened(session_id="s", name="n", model="m:m", mode="ask"))
        self.tell(msg.Ready())

    def record(self, text: str) -> None:
        self.engine.recorded.append(text)
        self.talk.append("user", {"text": text})

    def tell(self, message: object) -> list[fx.Effect]:
        before, was = self.talk.state.queue, self.talk.state
        made = self.talk.tell(message)
        self.left_in_order(before, was, message, made)
        self.count_what_was_entered(before, was, message, made)
        for effect in made:
            match effect:
                case fx.Prompt():
                    assert self.engine.prompt is None and not self.engine.busy, "a prompt while one is at work"
                    self.engine.prompt = effect
                    self.engine.given.append(effect.text)
                case fx.AnswerQuestion(value=value):
                    self.engine.answers += [answer["text"] for answer in value.get("answers", ())]
                case fx.SteerTurn(text):
                    self.engine.steers.append(text)
                    self.engine.given.append(text)
                case fx.Revoke(text):
                    ok = text in self.engine.steers
                    if ok:
                        self.engine.steers.remove(text)
                    self.tell(msg.Revoked(ok))
        return made

    # --- what must hold ---------------------------------------------------------------------------------------------

    def left_in_order(self, before: Queue, was: State, message: object, made: list[fx.Effect]) -> None:
        """CMP-40, CMP-44: only the oldest leaves to be sent, one at a time, and nothing of a paused or busy queue."""
        after = self.talk.state.queue
        sent = [e.draft for e in made if isinstance(e, fx.Prompt)]
        assert not set(sent) & set(after.items), "sent, and still queued"
        if isinstance(message, msg.DropQueued):
            assert not sent
        elif len(after.items) < len(before.items):
            assert after.items == before.items[1:]
            assert not before.paused or isinstance(message, msg.Submit)
            assert was.steer is None or isinstance(message, msg.Revoked | events.SteerDropped | events.EntryAppended)
            assert sent == [before.items[0]] or any(isinstance(e, fx.Run) for e in made)

    def count_what_was_entered(self, before: Queue, was: State, message: object, made: list[fx.Effect]) -> None:
        """Once for each time the person gave words away: to the queue, to what is held for the start, or to the session."""
        after = self.talk.state.queue
        if len(after.items) > len(before.items):
            self.entered.update(words_of(after.items[-1]))
        elif len(after.items) == len(before.items):
            for new, old in zip(after.items, before.items, strict=True):
                self.entered.update(words_of(new) - words_of(old))
        if was.held is None and self.talk.state.held is not None:
            self.entered.update(words_of(self.talk.state.held))
        if isinstance(message, msg.Submit) and len(after.items) >= len(before.items):
            for effect in made:
                if isinstance(effect, fx.Prompt):
                    self.entered.update(words_of(effect.draft))
                elif isinstance(effect, fx.SteerTurn):
                    self.entered.update(set(WORD.findall(effect.text)))

    @invariant()
    def nine_are_queued_at_most(self) -> None:
        assert len(self.talk.state.queue.items) <= 9

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every word is in the composer, can be recalled with Up, is on its way, or has arrived."""
        state = self.talk.state
        drafts = [self.talk.composer, *state.stash, *state.history, state.held or Draft(), state.sending or Draft()]
        drafts += [*state.queue.items, state.queue.before]
        drafts += [state.browsing.live] if state.browsing else []
        drafts += [state.steer.draft] if state.steer else []
        drafts += self.in_panels()
        places = [draft.expanded() for draft in drafts] + self.engine.recorded + self.engine.answers
        there = set(WORD.findall("\n".join(places)))
        assert there >= {f"w{n}" for n in range(1, self.count + 1)} - self.never_typed()

    def never_typed(self) -> set[str]:
        everything = "\n".join(self.seen())
        return {f"w{n}" for n in range(1, self.count + 1)} - set(WORD.findall(everything))

    def in_panels(self) -> list[Draft]:
        panels = [panel for panel in (self.talk.state.panel, *self.talk.state.waiting_panels) if panel is not None]
        return [draft for panel in panels for draft in panel.unsent()]

    def seen(self) -> list[str]:
        state = self.talk.state
        self.log = getattr(self, "log", [])
        self.log += [draft.expanded() for draft in (state.draft, *self.in_panels())]
        return self.log

    @invariant()
    def nothing_is_sent_twice(self) -> None:
        arrived = Counter(word for text in self.engine.recorded for word in set(WORD.findall(text)))
        assert all(arrived[word] <= self.entered[word] for word in arrived), (arrived, self.entered)

    @invariant()
    def the_order_is_kept(self) -> None:
        """What arrived is what was given, without what came back, in the same order."""
        given = iter(self.engine.given)
        assert all(any(text == other for other in given) for text in self.engine.recorded)

    @invariant()
    def the_composer_is_what_the_reducer_thinks(self) -> None:
        assert self.talk.state.draft == self.talk.composer

    @invariant()
    def one_message_waits_at_most(self) -> None:
        assert len(self.engine.steers) <= 1 or self.talk.state.steer is not None


Words.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)


class TestNothingIsLost(Words.TestCase):
    def test_cmp_10_cmp_33_cmp_40_cmp_44_no_words_are_lost_or_sent_twice_or_out_of_order(self):
        """CMP-10, CMP-33, CMP-40, CMP-44."""
        self.runTest()


@pytest.mark.long
def test_cmp_10_cmp_33_cmp_44_for_long():
    """CMP-10, CMP-33, CMP-44: the same for much longer."""
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(Words, settings=settings(max_examples=3_000, stateful_step_count=80, deadline=None))
