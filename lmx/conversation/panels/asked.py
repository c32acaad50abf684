"""Questions as a person is asked them, and what they have answered so far (QST-1, QST-6, QST-7). Pure; knows no keys.

What is answered is kept by question and as it was typed, so that going to another question and back changes nothing, and it
takes the engine's form only when all of it is sent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from lmx import words
from lmx.conversation.draft import EMPTY, Draft
from lmx.sanitize import one_line, visible

KINDS = ("single_choice", "multi_select", "ranking", "text", "number")
CHOICES = ("single_choice", "multi_select")
"""These take something else than their options, too."""

OTHER = "other"
"""The row behind the options. An option's id is a number, so none is called this."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """`diagram` is lines of plain text, or nothing."""

    id: str
    label: str
    description: str = ""
    diagram: str = ""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One question, its text sanitised."""

    question: str
    type: str
    options: tuple[Option, ...] = ()
    diagram: str = ""

    @property
    def rows(self) -> tuple[str, ...]:
        """What the cursor can stand on: the ids of the options, and `OTHER`."""
        ids = tuple(option.id for option in self.options)
        return (*ids, OTHER) if self.type in CHOICES else ids


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What one question has been answered with so far. `done`: a multi select may be answered with nothing.

    `selected` has the ids that are chosen, `OTHER` among them; `ranks` the number of each that is ranked; `text` what was
    written for `OTHER`, a text or a number; `notes` those of options by id and that of the question by "".
    """

    cursor: int = 0
    selected: frozenset[str] = frozenset()
    ranks: dict[str, int] = {}
    text: Draft = EMPTY
    notes: dict[str, Draft] = {}
    done: bool = False

    @property
    def unsent(self) -> tuple[Draft, ...]:
        return tuple(draft for draft in (self.text, *self.notes.values()) if not draft.blank)


def read(payload: Mapping[str, Any]) -> tuple[Asked, ...]:
    """The questions of a parked call; none where its payload is of another form."""
    questions = payload.get("questions")
    try:
        return tuple(_read(one) for one in questions) if isinstance(questions, list) else ()
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _read(one: Mapping[str, Any]) -> Asked:
    if one["type"] not in KINDS:
        raise ValueError(one["type"])
    options = tuple(
        Option(
            id=str(option["id"]),
            label=one_line(str(option["label"])),
            description=visible(str(option.get("description") or "")),
            diagram=visible(str(option.get("diagram") or "")),
        )
        for option in one.get("options") or ()
    )
    diagram = visible(str(one.get("diagram") or ""))
    return Asked(question=visible(str(one["question"])), type=one["type"], options=options, diagram=diagram)


# --- answering -----------------------------------------------------------------------------------------------------------


def toggled(asked: Asked, given: Given, id: str) -> Given:
    """The choice with this option in it, or out of it; a single choice has one."""
    if asked.type == "single_choice":
        return replace(given, selected=frozenset((id,)))
    return replace(given, selected=given.selected ^ {id})


def ranked(asked: Asked, given: Given, id: str, number: int) -> Given:
    """Numbers are unique: whoever had this one gets the one that `id` had, or none. The cursor goes to the next without."""
    ranks = dict(given.ranks)
    had = ranks.pop(id, None)
    holder = next((other for other, its in ranks.items() if its == number), None)
    if holder is not None:
        del ranks[holder]
        if had is not None:
            ranks[holder] = had
    ranks[id] = number
    count = len(asked.options)
    order = [(given.cursor + step) % count for step in range(1, count)]
    cursor = next((place for place in order if asked.options[place].id not in ranks), given.cursor)
    return replace(given, ranks=ranks, cursor=cursor)


def lacking(asked: Asked, given: Given) -> str:
    """What is missing or wrong about an answer, in a sentence; nothing where it can be sent."""
    said = given.text.expanded().strip()
    match asked.type:
        case "single_choice" if not given.selected:
            return words.CHOOSE_ONE
        case "single_choice" | "multi_select" if OTHER in given.selected and not said:
            return words.OTHER_EMPTY
        case "multi_select" if not given.selected and not given.done:
            return words.CHOOSE_SOME
        case "ranking" if len(given.ranks) < len(asked.options):
            return words.rank_all(len(asked.options) - len(given.ranks))
        case "text" if not said:
            return words.TEXT_EMPTY
        case "number" if number(said) is None:
            return words.NUMBER_WRONG if said else words.NUMBER_EMPTY
    return ""


def number(text: str) -> int | float | None:
    """A number as a person writes one, None where it is none."""
    for kind in (int, float):
        try:
            value = kind(text.replace("_", "x").strip())  # `1_000` is Python's way to write it, not a person's
        except ValueError:
            continue
        return value if math.isfinite(value) else None
    return None


def answer(asked: Asked, given: Given) -> dict[str, Any]:
    """One answer in the engine's form (QST-7). Nothing is `lacking`."""
    said = given.text.expanded().strip()
    noted = {id: draft.expanded().strip() for id, draft in given.notes.items() if not draft.blank}
    about = {"notes": noted.pop("")} if "" in noted else {}
    match asked.type:
        case "ranking":
            return {"ranked": sorted(given.ranks, key=given.ranks.__getitem__), **about}
        case "text":
            return {"text": said, **about}
        case "number":
            return {"number": number(said), **about}
    chosen = [option.id for option in asked.options if option.id in given.selected]
    other = {"other": said} if OTHER in given.selected else {}
    return {"selected": chosen, "option_notes": noted, **other, **about}


def told(asked: Asked, given: Given) -> str:
    """The answer as a person reads it before it is sent, with its notes; one line."""
    labels = {"": "", **{option.id: option.label for option in asked.options}}
    notes = [
        words.noted(labels[id], one_line(draft.expanded())) for id, draft in given.notes.items() if not draft.blank
    ]
    return words.spaced(_chosen(asked, given), *notes)


def _chosen(asked: Asked, given: Given) -> str:
    labels = {option.id: option.label for option in asked.options}
    said = one_line(given.text.expanded().strip())
    if asked.type == "ranking":
        return ", ".join(f"{n}. {labels[id]}" for id, n in sorted(given.ranks.items(), key=lambda pair: pair[1]))
    if asked.type not in CHOICES:
        return said
    parts = [labels[option.id] for option in asked.options if option.id in given.selected]
    if OTHER in given.selected:
        parts.append(words.other_said(said))
    return ", ".join(parts) or (words.NONE_OF_THESE if given.done else "")
