"""What a model may ask, what a person may answer, and how both are told."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmx_core.errors import InvalidAnswer, ToolError
from lmx_core.tools import questions as asking

AB = [{"label": "Postgres"}, {"label": "SQLite", "description": "a file"}]


def one(kind="single_choice", options=AB, **more):
    (question,) = asking.read({"question": "Which?", "type": kind, "options": options, **more})
    return [question]


SINGLE, MULTI, RANKING = one(), one("multi_select"), one("ranking")
TEXT, NUMBER = one("text", []), one("number", [])


def test_as_1_a_single_choice_is_what_is_asked_where_no_type_is_named():
    (question,) = asking.read({"question": "  Which? ", "options": AB})
    assert msgspec.to_builtins(question) == {
        "question": "Which?",
        "type": "single_choice",
        "options": [
            {"id": "1", "label": "Postgres", "description": "", "diagram": ""},
            {"id": "2", "label": "SQLite", "description": "a file", "diagram": ""},
        ],
        "diagram": "",
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "either with question"),
        ({"question": "Which?", "questions": [{"question": "x", "type": "text"}]}, "either with question"),
        ({"questions": []}, "1 to 4 questions at once, not 0"),
        ({"questions": [{"question": f"{i}?", "type": "text"} for i in range(5)]}, "1 to 4 questions at once, not 5"),
        ({"questions": [{"question": "x", "type": "text"}] * 2}, "Two of the questions are the same"),
        ({"questions": [{"question": "x", "type": "text"}], "type": "number"}, "type belongs into each"),
        ({"question": " ", "type": "text"}, "The text of question is empty"),
        ({"question": "x" * 2_001, "type": "text"}, "longer than 2,000 characters"),
        ({"question": "Which?"}, "question needs 2 to 6 options for a single_choice, not 0"),
        ({"questions": [{"question": "Which?", "options": AB[:1]}]}, r"questions\[0\] needs 2 to 6 options"),
        ({"question": "Which?", "options": [{"label": str(i)} for i in range(7)]}, "2 to 6 options .* not 7"),
        ({"question": "How many?", "type": "number", "options": AB}, "type number, which takes no options"),
        (
            {"question": "Which?", "options": [{"label": "a"}, {"label": " "}]},
            r"label of question.options\[1\] is empty",
        ),
        ({"question": "Which?", "options": [{"label": "a"}, {"label": "A"}]}, "have the same label"),
        ({"question": "Which?", "options": [{"label": "a"}, {"label": "Other…"}]}, "Leave out question.options"),
        ({"question": "Which?", "options": AB, "diagram": "\n".join("123456")}, "5 lines of 72 characters"),
        ({"question": "Which?", "options": [{"label": "a", "diagram": "x" * 73}, {"label": "b"}]}, "5 lines of 72"),
    ],
)
def test_as_1_what_cannot_be_asked_is_refused_with_what_to_do(arguments, sentence):
    with pytest.raises(ToolError, match=sentence):
        asking.read(arguments)


@pytest.mark.parametrize(
    ("questions", "value", "kept"),
    [
        (SINGLE, {"selected": ["2"]}, {"selected": ["2"], "option_notes": {}}),
        (SINGLE, {"selected": [], "other": " Oracle "}, {"selected": [], "option_notes": {}, "other": "Oracle"}),
        (
            SINGLE,
            {"selected": ["1"], "option_notes": {"1": "16", "2": ""}, "notes": "soon"},
            {"selected": ["1"], "option_notes": {"1": "16"}, "notes": "soon"},
        ),
        (MULTI, {"selected": ["2", "1"], "other": "x"}, {"selected": ["2", "1"], "option_notes": {}, "other": "x"}),
        (MULTI, {"selected": []}, {"selected": [], "option_notes": {}}),
        (RANKING, {"ranked": ["2", "1"]}, {"ranked": ["2", "1"]}),
        (TEXT, {"text": " as you like\n"}, {"text": "as you like"}),
        (NUMBER, {"number": 2.5, "notes": "about"}, {"number": 2.5, "notes": "about"}),
    ],
)
def test_qst_7_answers_are_kept_in_these_shapes(questions, value, kept):
    """QST-7, QST-1."""
    assert asking.checked(questions, {"answers": [value]}) == {"answers": [kept]}
    assert asking.checked(questions, {"answers": [kept]}) == {"answers": [kept]}


@pytest.mark.parametrize(
    ("questions", "value", "sentence"),
    [
        (SINGLE, {"selected": []}, "one option"),
        (SINGLE, {"selected": ["1", "2"]}, "one option"),
        (SINGLE, {"selected": ["1"], "other": "x"}, "one option"),
        (SINGLE, {"selected": ["3"]}, "ids of options: 1, 2"),
        (SINGLE, {"selected": "1"}, "ids of options"),
        (SINGLE, {"selected": ["1"], "option_notes": {"9": "x"}}, "ids of options"),
        (SINGLE, {"selected": ["1"], "option_notes": ["1"]}, "an object of id and text"),
        (SINGLE, {"selected": ["1"], "option_notes": {"1": 3}}, "must be text"),
        (SINGLE, {"text": "Postgres"}, "has no text: a single_choice is answered with"),
        (MULTI, {"selected": ["1", "1"]}, "twice"),
        (RANKING, {"ranked": ["1"]}, "rank all 2 options"),
        (RANKING, {"ranked": ["1", "1"]}, "twice"),
        (TEXT, {"text": "  "}, "has no text"),
        (NUMBER, {"number": "3"}, "must be a number"),
        (NUMBER, {"number": True}, "must be a number"),
        (NUMBER, {"number": math.nan}, "must be a number"),
        (NUMBER, {"number": math.inf}, "must be a number"),
        (NUMBER, None, "must be an object"),
    ],
)
def test_qst_6_an_answer_that_is_none_is_refused_with_the_reason(questions, value, sentence):
    """QST-6: a number is one; QST-7."""
    with pytest.raises(InvalidAnswer, match=sentence):
        asking.checked(questions, {"answers": [value]})


@pytest.mark.parametrize("status", asking.STATUSES)
def test_qst_7_instead_of_answers_there_may_be_a_status(status):
    assert asking.checked(SINGLE, {"status": status}) == {"status": status}


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"status": "bored"},
        {"status": ["declined"]},
        {"status": "declined", "answers": []},
        {"answers": {}},
        {"answers": []},
        {"answers": [{"selected": ["1"]}] * 2},
        {"answers": [{"selected": ["1"]}], "extra": 1},
    ],
)
def test_qst_7_anything_else_is_no_answer(value):
    with pytest.raises(InvalidAnswer):
        asking.checked(SINGLE, value)


@pytest.mark.parametrize(
    ("questions", "text", "kept"),
    [
        (SINGLE, "2", {"selected": ["2"], "option_notes": {}}),
        (SINGLE, " sqlite ", {"selected": ["2"], "option_notes": {}}),
        (SINGLE, "Oracle", {"selected": [], "option_notes": {}, "other": "Oracle"}),
        (TEXT, "2", {"text": "2"}),
        (NUMBER, " 40 ", {"number": 40}),
        (NUMBER, "2.5", {"number": 2.5}),
    ],
)
def test_a_text_answers_a_question_that_was_asked_alone(questions, text, kept):
    assert asking.checked(questions, text) == {"answers": [kept]}


@pytest.mark.parametrize(
    ("questions", "text"),
    [(SINGLE, ""), (NUMBER, "three"), (NUMBER, "nan"), (TEXT, " "), (RANKING, "1"), ([*SINGLE, *TEXT], "1")],
)
def test_a_text_that_answers_nothing_is_refused(questions, text):
    with pytest.raises(InvalidAnswer):
        asking.checked(questions, text)


@pytest.mark.parametrize(
    ("questions", "answer", "words"),
    [
        (SINGLE, {"selected": ["2"]}, "SQLite"),
        (SINGLE, {"selected": [], "other": "Oracle"}, "something else: Oracle"),
        (
            SINGLE,
            {"selected": ["2"], "option_notes": {"1": "too big", "2": "for now"}, "notes": "until May"},
            "SQLite (note: for now) (notes on what was not chosen: Postgres: too big) (note: until May)",
        ),
        (MULTI, {"selected": ["1", "2"], "other": "a cache"}, "Postgres, SQLite; something else: a cache"),
        (MULTI, {"selected": []}, "none of the options"),
        (RANKING, {"ranked": ["2", "1"]}, "1. SQLite, 2. Postgres"),
        (NUMBER, {"number": 0}, "0"),
        (TEXT, {"text": "as you like"}, "as you like"),
    ],
)
def test_as_1_an_answer_is_told_in_words(questions, answer, words):
    assert asking.told(questions, asking.checked(questions, {"answers": [answer]})["answers"]) == [words]


def test_questions_in_a_form_of_its_own_are_not_taken_for_ours():
    assert asking.asked({"question": "which?"}) is None
    assert asking.asked({"questions": ["which?"]}) is None
    assert asking.asked({"questions": []}) is None
    assert asking.asked({"questions": [{"question": "which?", "type": "riddle"}]}) is None
    assert asking.asked(json.loads(json.dumps({"questions": msgspec.to_builtins(SINGLE)}))) == SINGLE


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["1", "2"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("answers selected ranked text number other notes option_notes status 1".split()), inner
        )
    ),
    max_leaves=8,
)


@settings(max_examples=100)
@given(_ANYTHING, st.sampled_from([SINGLE, MULTI, RANKING, TEXT, NUMBER]))
def test_whatever_comes_as_an_answer_is_kept_whole_or_refused(value, questions):
    for given_value in [{"answers": [value]}, value if isinstance(value, str | dict) else str(value)]:
        try:
            kept = asking.checked(questions, given_value)
        except InvalidAnswer:
            continue
        assert json.loads(json.dumps(kept, allow_nan=False)) == kept
        assert "status" in kept or len(asking.told(questions, kept["answers"])) == 1
