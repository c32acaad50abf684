"""The questions a person is asked, and what they answer: read, checked and told in one place (AS-1, QST-7).

A screen, a script and a resumed host all see the same payload, and an answer is checked while its call still waits. Checked by
the tool after it was released, a mistyped number would reach the model as the person's word, and nobody could correct it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from lmx_core.entry import json_shaped, valid_text
from lmx_core.errors import InvalidAnswer, ToolError

Kind = Literal["single_choice", "multi_select", "ranking", "text", "number"]
CHOICES = ("single_choice", "multi_select", "ranking")
KINDS = (*CHOICES, "text", "number")
STATUSES = ("declined", "cancelled", "unavailable")
"""What may stand for the answers: the person would not say, ended the turn, or could not be asked."""

MOST_QUESTIONS, MOST_OPTIONS = 4, 6
MAX_TEXT, MAX_LABEL = 2_000, 200
"""Characters of a question, and of a label."""
DIAGRAM_LINES, DIAGRAM_COLUMNS = 5, 72
_OTHER = ("other", "other...", "other…", "something else")


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is what an answer names: `1`, `2`, … in the order in which the options stand."""

    id: str
    label: str
    description: str = ""
    diagram: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question as a host is given it. `options` are empty for `text` and `number`."""

    question: str
    type: Kind
    options: list[Option] = []
    diagram: str = ""


def read(arguments: Mapping[str, Any]) -> list[Question]:
    """The questions of a call of `ask_user`. Raises ToolError, a sentence for the model."""
    many, alone = arguments.get("questions"), arguments.get("question")
    if (many is None) == (alone is None):
        raise ToolError(
            "Ask either with question (one) or with questions (a list of 1 to 4), not with both or neither."
        )
    if many is None:
        return [_read({name: value for name, value in arguments.items() if name != "questions"}, "question")]
    if stray := [name for name in ("type", "options", "diagram") if name in arguments]:
        raise ToolError(f"{', '.join(stray)} belongs into each of the questions, not beside them.")
    if not 1 <= len(many) <= MOST_QUESTIONS:
        raise ToolError(f"Ask 1 to {MOST_QUESTIONS} questions at once, not {len(many)}.")
    questions = [_read(one, f"questions[{i}]") for i, one in enumerate(many)]
    if len({question.question for question in questions}) < len(questions):
        raise ToolError("Two of the questions are the same.")
    return questions


def _read(given: Mapping[str, Any], where: str) -> Question:
    text = _text(given.get("question"), f"the text of {where}", MAX_TEXT)
    kind: Kind = given.get("type") or "single_choice"
    options = given.get("options") or []
    if kind in CHOICES and not 2 <= len(options) <= MOST_OPTIONS:
        raise ToolError(f"{where} needs 2 to {MOST_OPTIONS} options for a {kind}, not {len(options)}.")
    if kind not in CHOICES and options:
        raise ToolError(f"{where} is of type {kind}, which takes no options.")
    read = [_option(option, i, f"{where}.options[{i}]") for i, option in enumerate(options)]
    labels = [option.label.casefold() for option in read]
    if len(set(labels)) < len(labels):
        raise ToolError(f"Two options of {where} have the same label.")
    return Question(question=text, type=kind, options=read, diagram=_diagram(given.get("diagram"), where))


def _option(given: Mapping[str, Any], index: int, where: str) -> Option:
    label = " ".join(_text(given.get("label"), f"the label of {where}", MAX_LABEL).split())
    if label.casefold() in _OTHER:
        raise ToolError(f"Leave out {where}: the person can always answer with something else.")
    description = given.get("description") or ""
    if len(description) > MAX_TEXT:
        raise ToolError(f"The description of {where} is longer than {MAX_TEXT:,} characters.")
    return Option(
        id=str(index + 1),
        label=label,
        description=valid_text(description).strip(),
        diagram=_diagram(given.get("diagram"), where),
    )


def _text(value: Any, what: str, most: int) -> str:
    text = valid_text(value).strip() if isinstance(value, str) else ""
    if not text:
        raise ToolError(f"{what[0].upper()}{what[1:]} is empty.")
    if len(text) > most:
        raise ToolError(f"{what[0].upper()}{what[1:]} is longer than {most:,} characters.")
    return text


def _diagram(value: str | None, where: str) -> str:
    lines = valid_text(value or "").expandtabs().strip("\n").split("\n")
    if len(lines) > DIAGRAM_LINES or any(len(line) > DIAGRAM_COLUMNS for line in lines):
        raise ToolError(
            f"The diagram of {where} must fit into {DIAGRAM_LINES} lines of {DIAGRAM_COLUMNS} characters; "
            f"it is plain text, and optional."
        )
    return "\n".join(line.rstrip() for line in lines)


def asked(payload: Mapping[str, Any]) -> list[Question] | None:
    """The questions in what a call was parked with; None where it asks in a form of its own, which is not checked here."""
    try:
        return msgspec.convert(payload.get("questions"), list[Question], strict=True) or None
    except msgspec.ValidationError:
        return None


def checked(questions: Sequence[Question], value: str | Mapping[str, Any]) -> dict[str, Any]:
    """An answer as the tool and the record get it: `{"answers": […]}` in order, or `{"status": …}` (QST-7).

    A text answers a question that was asked alone: the number, the words, or of a choice the id or the label of an option, and
    otherwise what the person would rather have. Raises InvalidAnswer, and then the call waits on.
    """
    if isinstance(value, str):
        return {"answers": [_check(_alone(questions), _meant(_alone(questions), value), "the answer")]}
    if "status" in value:
        if set(value) != {"status"} or value["status"] not in STATUSES:
            raise InvalidAnswer(f'the status of a question is {{"status": …}} with one of {", ".join(STATUSES)}')
        return {"status": value["status"]}
    answers = value.get("answers")
    if set(value) != {"answers"} or not isinstance(answers, list | tuple):
        raise InvalidAnswer('questions are answered with {"answers": [one for each]} or {"status": …}')
    if len(answers) != len(questions):
        raise InvalidAnswer(f"there are {len(questions)} questions, and {len(answers)} answers were given")
    return {
        "answers": [_check(q, a, f"answer {i}") for i, (q, a) in enumerate(zip(questions, answers, strict=True), 1)]
    }


def _alone(questions: Sequence[Question]) -> Question:
    if len(questions) != 1:
        raise InvalidAnswer(f'a text answers one question; these {len(questions)} take {{"answers": [one for each]}}')
    return questions[0]


def _meant(question: Question, text: str) -> dict[str, Any]:
    said = text.strip()
    if question.type == "text":
        return {"text": said}
    if question.type == "number":
        try:
            return {"number": int(said)}
        except ValueError:
            pass
        try:
            return {"number": float(said)}
        except ValueError:
            raise InvalidAnswer("the answer must be a number") from None
    chosen = [option.id for option in question.options if said.casefold() in (option.id, option.label.casefold())]
    if question.type == "ranking":
        raise InvalidAnswer('a ranking is answered with {"answers": [{"ranked": [every id, the best first]}]}')
    return {"selected": chosen} if chosen or not said else {"selected": [], "other": said}


_FIELDS = {
    "single_choice": {"selected", "other", "option_notes", "notes"},
    "multi_select": {"selected", "other", "option_notes", "notes"},
    "ranking": {"ranked", "notes"},
    "text": {"text", "notes"},
    "number": {"number", "notes"},
}


def _check(question: Question, answer: Any, where: str) -> dict[str, Any]:
    if not isinstance(answer, Mapping):
        raise InvalidAnswer(f"{where} must be an object such as {_EXAMPLES[question.type]}")
    if stray := [str(name) for name in answer if name not in _FIELDS[question.type]]:
        raise InvalidAnswer(
            f"{where} has no {', '.join(stray)}: a {question.type} is answered with {_EXAMPLES[question.type]}"
        )
    notes = _words(answer.get("notes"), f"{where}: notes")
    said = _CHECKS[question.type](question, answer, where)
    return said | ({"notes": notes} if notes else {})


def _choice(question: Question, answer: Mapping[str, Any], where: str) -> dict[str, Any]:
    chosen = _ids(question, answer.get("selected", []), f"{where}: selected")
    other = _words(answer.get("other"), f"{where}: other")
    if question.type == "single_choice" and len(chosen) + bool(other) != 1:
        raise InvalidAnswer(f"{where} must select one option, or say something else in other, and not both")
    notes = answer.get("option_notes") or {}
    if not isinstance(notes, Mapping):
        raise InvalidAnswer(f"{where}: option_notes must be an object of id and text")
    _ids(question, list(notes), f"{where}: option_notes")
    kept = {id: words for id, text in notes.items() if (words := _words(text, f"{where}: option_notes"))}
    said: dict[str, Any] = {"selected": chosen, "option_notes": kept}
    return said | ({"other": other} if other else {})


def _ranking(question: Question, answer: Mapping[str, Any], where: str) -> dict[str, Any]:
    ranked = _ids(question, answer.get("ranked"), f"{where}: ranked")
    if len(ranked) != len(question.options):
        raise InvalidAnswer(f"{where} must rank all {len(question.options)} options")
    return {"ranked": ranked}


def _free(question: Question, answer: Mapping[str, Any], where: str) -> dict[str, Any]:
    text = _words(answer.get("text"), f"{where}: text")
    if not text:
        raise InvalidAnswer(f"{where} has no text")
    return {"text": text}


def _number(question: Question, answer: Mapping[str, Any], where: str) -> dict[str, Any]:
    number = answer.get("number")
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise InvalidAnswer(f"{where} must be a number")
    return {"number": json_shaped(number)}


_CHECKS = {
    "single_choice": _choice,
    "multi_select": _choice,
    "ranking": _ranking,
    "text": _free,
    "number": _number,
}
_EXAMPLES = {
    "single_choice": '{"selected": ["1"]}',
    "multi_select": '{"selected": ["1", "2"]}',
    "ranking": '{"ranked": ["2", "1"]}',
    "text": '{"text": "…"}',
    "number": '{"number": 1}',
}


def _ids(question: Question, value: Any, where: str) -> list[str]:
    known = [option.id for option in question.options]
    if not isinstance(value, list | tuple) or not all(isinstance(id, str) and id in known for id in value):
        raise InvalidAnswer(f"{where} takes ids of options: {', '.join(known)}")
    if len(set(value)) < len(value):
        raise InvalidAnswer(f"{where} names an option twice")
    return list(value)


def _words(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidAnswer(f"{where} must be text")
    return valid_text(value).strip()


def told(questions: Sequence[Question], answers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each answer in words, for the model and for whoever shows the call: the labels, what was added, and the notes."""
    return [_told(question, answer) for question, answer in zip(questions, answers, strict=True)]


def _told(question: Question, answer: Mapping[str, Any]) -> str:
    labels, notes = {option.id: option.label for option in question.options}, answer.get("option_notes") or {}

    def named(id: str) -> str:
        return f"{labels[id]} (note: {notes[id]})" if notes.get(id) else labels[id]

    if question.type == "ranking":
        said = ", ".join(f"{place}. {labels[id]}" for place, id in enumerate(answer["ranked"], 1))
    elif question.type in CHOICES:
        other = f"something else: {answer['other']}" if answer.get("other") else ""
        said = "; ".join(filter(None, [", ".join(map(named, answer["selected"])), other])) or "none of the options"
        aside = [f"{labels[id]}: {note}" for id, note in notes.items() if id not in answer["selected"]]
        said += f" (notes on what was not chosen: {'; '.join(aside)})" if aside else ""
    else:
        said = str(answer[question.type])
    return f"{said} (note: {answer['notes']})" if answer.get("notes") else said
