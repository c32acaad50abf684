"""Questions: what the keys do, what the engine gets, and that nothing is answered by accident or lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.talk import Talk, call

from lmx.conversation import effects as fx
from lmx.conversation import frame as lines_around
from lmx.conversation import messages as msg
from lmx.conversation.draft import Draft
from lmx.conversation.panels import asked as about
from lmx.conversation.panels.frame import GRACE_MS
from lmx_core import events


def choice(question: str = "Which database?", *labels: str, type: str = "single_choice", **more) -> dict:
    options = [
        {"id": str(n), "label": label, "description": "", "diagram": ""}
        for n, label in enumerate(labels or ("Postgres", "SQLite", "none"), 1)
    ]
    return {"question": question, "type": type, "options": options, "diagram": "", **more}


def free(type: str = "text", question: str = "Why?") -> dict:
    return {"question": question, "type": type, "options": [], "diagram": ""}


class Asking(Talk):
    """A talk whose model has asked; keys go to the panel as the widget sends them."""

    def __init__(self, *questions: dict, late: bool = True):
        super().__init__()
        self.questions = questions or (choice(),)
        self.prompt()
        self.ask = call("c1", "ask_user", questions=[])
        super().answer("", [self.ask])
        self.payload = {"tool": "ask_user", "questions": list(self.questions)}
        self.pending()
        if late:
            self.tell(msg.PanelPainted("c1"))
            self.later(GRACE_MS)

    def pending(self, status: str = "pending", **detail) -> None:
        payload = {"call_id": "c1", "kind": "question", "status": status, "detail": detail or self.payload}
        self.append("approval", payload)
        if status == "pending":
            self.tell(events.Question(call_id="c1", kind="question", payload=self.payload))

    def press(self, *keys: str) -> Asking:
        """Keys; a text that is no key's name is typed into the field, or pressed letter by letter where there is none."""
        for key in keys:
            if key in NAMED:
                self.tell(msg.PanelKey(key, " " if key == "space" else ""))
                continue
            for char in key:
                field = self.field
                if field is None:
                    self.tell(msg.PanelKey(char, char))
                else:
                    text = field.text[: field.caret] + char + field.text[field.caret :]
                    self.tell(msg.PanelEdited(Draft(text=text, caret=field.caret + 1, pastes=field.pastes), char))
        return self

    @property
    def panel(self):
        return self.state.panel

    @property
    def face(self):
        return self.panel.face(self.state, 76)

    @property
    def field(self) -> Draft | None:
        lines = (*self.face.head, *self.face.lines, *self.face.foot)
        return next((line.field.draft for line in lines if line.field), None)

    def shown(self) -> str:
        lines = (*self.face.head, *self.face.lines, *self.face.foot)
        return "\n".join(f"{line.gutter}{line.field.draft.text if line.field else line.text}" for line in lines)

    @property
    def sent(self) -> list[dict]:
        return [effect.value for effect in self.did(fx.AnswerQuestion)]


MULTI, RANKING = choice(type="multi_select"), choice(type="ranking")
NAMED = ("enter", "escape", "up", "down", "left", "right", "tab", "shift+tab", "space")


def test_qst_1_a_question_takes_the_composers_place_and_calls_the_person():
    """QST-1, EVT-3: once, whether the entry or the event comes first; the live row says who is waited for."""
    talk = Asking()
    assert talk.did(fx.Notify)[-1].text == "lmx: waiting for your answer"
    assert len(talk.did(fx.Notify)) == 1 and not talk.state.waiting_panels
    assert talk.shown().split("\n") == [
        "Which database?", "› 1 ( ) Postgres", "  2 ( ) SQLite", "  3 ( ) none", "  4 ( ) Other…",
    ]  # fmt: skip
    assert "waiting for your answer (30s)" in lines_around.activity(talk.state, talk.state.phase.since + 30_000)


def test_qst_1_tabs_tell_what_has_an_answer():
    """QST-1: `1 ✓ │ 2 · │ Review`, the one that is shown is marked."""
    talk = Asking(choice(), free())
    assert talk.face.head[0].text == "›1 · │  2 · │  Review"
    assert talk.press("2").face.head[0].text == " 1 ✓ │ ›2 · │  Review"


@pytest.mark.parametrize(
    "keys, answer",
    (
        (("enter",), {"selected": ["1"], "option_notes": {}}),
        (("down", "enter"), {"selected": ["2"], "option_notes": {}}),
        (("up", "up", "enter"), {"selected": ["3"], "option_notes": {}}),
        (("3",), {"selected": ["3"], "option_notes": {}}),
        (("space", "down", "down", "enter"), {"selected": ["3"], "option_notes": {}}),
        (("4", "both of them", "enter"), {"selected": [], "option_notes": {}, "other": "both of them"}),
        (("up", "enter", "x", "enter"), {"selected": [], "option_notes": {}, "other": "x"}),
        (("n", "it is there already", "enter", "enter"), {"selected": ["1"], "option_notes": {"1": "it is there already"}}),
        (("n", "slow", "enter", "2"), {"selected": ["2"], "option_notes": {"1": "slow"}}),
    ),
)  # fmt: skip
def test_qst_3_a_lone_single_choice_is_sent_when_it_is_chosen(keys, answer):
    """QST-2, QST-3, QST-7: arrows, digits, Other, a note of an option; without a review."""
    talk = Asking().press(*keys)
    assert talk.sent == [{"answers": [answer]}]


@pytest.mark.parametrize(
    "question, keys, answer",
    (
        (MULTI, ("space", "down", "down", "space", "enter"), {"selected": ["1", "3"], "option_notes": {}}),
        (MULTI, ("1", "2", "1", "enter"), {"selected": ["2"], "option_notes": {}}),
        (MULTI, ("enter",), {"selected": [], "option_notes": {}}),
        (MULTI, ("2", "4", "a third", "enter"), {"selected": ["2"], "option_notes": {}, "other": "a third"}),
        (MULTI, ("2", "n", "soon", "enter", "enter"),
         {"selected": ["2"], "option_notes": {}, "notes": "soon"}),
        (RANKING, ("3", "1", "2", "enter"), {"ranked": ["2", "3", "1"]}),
        (RANKING, ("1", "1", "up", "2", "3", "1", "enter"), {"ranked": ["1", "2", "3"]}),
        (free(), ("because", "enter"), {"text": "because"}),
        (free("number"), ("42", "enter"), {"number": 42}),
        (free("number"), ("-2.5", "n", "roughly", "enter", "enter"), {"number": -2.5, "notes": "roughly"}),
    ),
)  # fmt: skip
def test_qst_2_qst_7_each_kind_takes_its_keys_and_sends_its_form(question, keys, answer):
    """QST-2, QST-7: boxes, unique numbers, text, a number, a note to the question; sent from the review."""
    talk = Asking(question).press(*keys)
    assert talk.sent == [] and talk.panel.reviewing, talk.shown()
    talk.press("enter")
    assert talk.sent == [{"answers": [answer]}]


@pytest.mark.parametrize(
    "question, keys, says",
    (
        (RANKING, ("1", "2", "enter"), "1 still without a number"),
        (free(), ("enter",), "write an answer"),
        (free(), ("  ", "enter"), "write an answer"),
        (free("number"), ("4x", "enter"), "that is no number"),
        (free("number"), ("1_000", "enter"), "that is no number"),
        (free("number"), ("1e999", "enter"), "that is no number"),
        (free("number"), ("enter",), "write a number"),
        (choice(), ("4", "enter"), "write what you would rather have"),
        (MULTI, ("4", " ", "enter"), "write what you would rather have"),
    ),
)  # fmt: skip
def test_qst_6_what_is_no_answer_is_said_and_not_sent(question, keys, says):
    """QST-6, QST-2: numbers are checked, a ranking needs all of them, nothing is not an answer."""
    talk = Asking(question).press(*keys)
    assert says in talk.shown() and not talk.sent and talk.panel.tab == 0


def test_qst_3_the_review_lists_answers_and_goes_to_what_is_missing():
    """QST-3: Enter on a question changes it, Submit goes to one without an answer, and sends all at once."""
    talk = Asking(choice(), free(), free("number", "How many?"))
    talk.press("down", "n", "a file", "enter", "2", "tab", "7", "enter")
    assert talk.panel.reviewing
    assert talk.shown().split("\n")[1:] == [
        "› 1  Which database?", "     → SQLite (SQLite: a file)", "  2  Why?", "     · write an answer",
        "  3  How many?", "     → 7", "  Submit",
    ]  # fmt: skip
    talk.press("up", "enter")
    assert talk.panel.tab == 1 and "✗ write an answer" in talk.shown() and not talk.sent
    talk.press("so", "enter", "shift+tab")
    assert talk.panel.tab == 1 and talk.field.text == "so"
    talk.press("tab", "tab", "1", "1", "tab", "tab", "enter")
    assert talk.sent == [
        {"answers": [{"selected": ["1"], "option_notes": {"2": "a file"}}, {"text": "so"}, {"number": 7}]},
    ]  # fmt: skip


def test_qst_6_what_was_written_stays_when_tabs_change():
    """QST-6: Other, a note and a text, and where the cursor was."""
    talk = Asking(choice(), free()).press("n", "first", "tab", "a text", "shift+tab")
    assert "first" in talk.shown()
    talk.press("4", "rather this", "tab")
    assert talk.field.text == "a text"
    talk.press("shift+tab")
    assert "Other: rather this" in talk.shown() and "(•) Other" in talk.shown()


def test_qst_6_a_screen_that_attaches_meets_the_question():
    """QST-6, EVT-4: from the session's snapshot."""
    talk = Talk(ready=False)
    talk.open(pending=[{"call_id": "c1", "kind": "question", "payload": {"questions": [choice()]}}], busy=True)
    assert talk.state.panel.questions[0].question == "Which database?"


@pytest.mark.parametrize("key, status", (("escape", "cancelled"), ("d", "declined"), ("D", "declined")))
def test_qst_5_leaving_takes_two_keys(key, status):
    """QST-5: Esc asks; Esc again ends the turn, d declines. What was written is put aside (CMP-10)."""
    talk = Asking(free()).press("half an answer", "escape")
    assert not talk.sent and "leave without an answer?" in talk.shown()
    talk.press(key)
    assert talk.sent == [{"status": status}]
    assert [draft.text for draft in talk.state.stash] == ["half an answer"]


def test_qst_5_any_other_key_stays():
    talk = Asking(free()).press("abc", "escape", "x")
    assert not talk.sent and talk.field.text == "abc"
    talk.press("escape", "enter")
    assert not talk.sent and not talk.panel.reviewing and talk.field.text == "abc"


def test_qst_2_esc_leaves_the_note_and_esc_again_leaves_the_set():
    """QST-2: the note stays written."""
    talk = Asking().press("n", "because", "escape")
    assert talk.panel.writing == "" and talk.panel.given[0].notes["1"].text == "because" and not talk.sent
    talk.press("escape")
    assert talk.sent == [{"status": "cancelled"}]


@pytest.mark.parametrize("status", ("answered", "declined", "cancelled", "timed_out", "unavailable"))
def test_qst_5_the_panel_goes_when_the_engine_says_so(status):
    """QST-5, GEN-3: whoever answered, or nobody in time; a default is never sent, and the words are kept."""
    talk = Asking(free()).press("half an answer")
    talk.pending(status, answer={})
    assert talk.state.panel is None and not talk.sent
    assert [draft.text for draft in talk.state.stash] == ["half an answer"]
    talk.tell(events.Question(call_id="c1", kind="question", payload=talk.payload))
    assert talk.state.panel is None


def test_the_end_of_the_turn_takes_the_question_away():
    talk = Asking()
    talk.finish("cancelled")
    assert talk.state.panel is None


def test_an_answer_that_the_engine_refuses_is_said_in_the_panel():
    """QST-6: it can be given again."""
    talk = Asking().press("1")
    assert talk.press("2").sent == [{"answers": [{"selected": ["1"], "option_notes": {}}]}]
    talk.tell(msg.AnswerRefused("c1", "answer 1 must select one option"))
    assert "✗ answer 1 must select one option" in talk.shown()
    assert len(talk.press("2").sent) == 2


def test_pnl_3_digits_and_enter_wait_for_the_half_second():
    """PNL-3: a digit that was on its way answers nothing."""
    talk = Asking(late=False)
    talk.press("1", "enter")
    talk.tell(msg.PanelPainted("c1"))
    assert talk.later(GRACE_MS - 1).press("1").sent == []
    assert talk.later(1).press("1").sent


def test_a_second_question_waits_behind_the_first():
    talk = Asking()
    talk.tell(events.Question(call_id="c2", kind="question", payload={"questions": [free()]}))
    assert talk.panel.id == "c1" and [panel.id for panel in talk.state.waiting_panels] == ["c2"]
    talk.pending("answered", answer={})
    assert talk.panel.id == "c2"


def test_qst_4_the_diagram_of_the_option_under_the_cursor_stands_beside_them():
    """QST-4: an option's own, else the question's."""
    asked = choice(diagram="[shared]")
    asked["options"][1]["diagram"] = "[own]"
    talk = Asking(asked)
    assert talk.face.beside[0].text == "[shared]"
    assert talk.press("down").face.beside[0].text == "[own]"


def test_gen_5_what_a_model_asks_is_shown_safely():
    """GEN-5: control characters and direction marks in a question, a label, a diagram."""
    talk = Asking(choice("Which\x1b[31m one?\u202e", "a\x07b", "c\nd", diagram="x\x1b]0;t\x07y"))
    text = talk.shown() + talk.face.beside[0].text
    assert not set("\x1b\x07\u202e") & set(text) and "c d" in text


@pytest.mark.parametrize(
    "payload", ({}, {"questions": []}, {"questions": [{}]}, {"questions": "x"}, {"questions": [{"type": "?"}]})
)
def test_a_payload_of_another_form_opens_nothing(payload):
    talk = Talk()
    talk.prompt()
    talk.tell(events.Question(call_id="c9", kind="question", payload=payload))
    talk.tell(events.Question(call_id="c8", kind="elicitation", payload={"questions": [choice()]}))
    assert talk.state.panel is None


QUESTIONS = st.lists(
    st.sampled_from([choice(), choice(type="multi_select"), choice(type="ranking"), free(), free("number")]),
    min_size=1,
    max_size=4,
)
KEYS = st.lists(st.sampled_from([*NAMED, "n", "d", "1", "2", "4", "x", "7"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(QUESTIONS, KEYS)
def test_whatever_is_pressed_the_engine_takes_what_is_sent(questions, keys):
    """QST-7: at most one answer, in the form the engine checks; every face can be drawn."""
    from lmx_core.tools import questions as engine

    talk = Asking(*questions).press(*keys)
    if talk.panel is not None:
        assert talk.panel.faces(talk.state, 40)
    assert len(talk.sent) <= 1
    asked = engine.asked({"questions": questions})
    for value in talk.sent:
        assert engine.checked(asked, value)


@given(st.permutations(["1", "2", "3", "4"]), st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=12))
def test_qst_2_numbers_of_a_ranking_are_unique(_, moves):
    """QST-2: however often they are given anew."""
    asked = about.read({"questions": [choice("q", "a", "b", "c", "d", type="ranking")]})[0]
    state = about.Given()
    for place, number in moves:
        state = about.ranked(asked, state, str(place + 1), number)
        assert len(set(state.ranks.values())) == len(state.ranks) and state.ranks[str(place + 1)] == number


def test_qst_2_a_number_that_is_taken_changes_places():
    """QST-2: whoever had it gets the other's, so that a full ranking stays full."""
    asked = about.read({"questions": [RANKING]})[0]
    state = about.Given(ranks={"1": 1, "2": 2, "3": 3})
    assert about.ranked(asked, state, "3", 1).ranks == {"1": 3, "2": 2, "3": 1}
