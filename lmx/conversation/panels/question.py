"""The panel of `ask_user`: one tab a question and a review, answered all at once (tui.md 5.3).

Nothing in it is a default: what nobody chose is not sent, and leaving without an answer takes two keys, for it ends the turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.draft import EMPTY, Draft
from lmx.conversation.panels import asked as about
from lmx.conversation.panels import base, frame
from lmx.conversation.panels.asked import CHOICES, OTHER, Asked, Given, Option
from lmx.conversation.panels.base import Face, Field, Line, Panel, option
from lmx.conversation.session import calls, phases
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.rows import Row

TEXT_ROWS = 5
"""Rows that what is written may take before it scrolls."""


class QuestionPanel(Panel, frozen=True, kw_only=True):
    """`id` is the call's. `tab` counts the questions, then the review. `writing`: `other`, `note`, or nothing.

    `leaving`: Esc was pressed, and another one ends the turn. `sent`: the engine has the answers.
    """

    questions: tuple[Asked, ...]
    given: tuple[Given, ...]
    tab: int = 0
    row: int = 0
    writing: str = ""
    wrong: str = ""
    leaving: bool = False
    sent: bool = False

    rank = base.QUESTION

    # --- where one is -----------------------------------------------------------------------------------------------

    @property
    def alone(self) -> bool:
        """A lone single choice is sent as soon as it is chosen, without a review (QST-3)."""
        return len(self.questions) == 1 and self.questions[0].type == "single_choice"

    @property
    def reviewing(self) -> bool:
        return self.tab == len(self.questions)

    @property
    def writes(self) -> bool:
        """Is there a field that takes the letters?"""
        if self.leaving or self.sent or self.reviewing:
            return False
        return bool(self.writing) or self.questions[self.tab].type in ("text", "number")

    @property
    def _note(self) -> str:
        """Whose note is written: the option's of a single choice, else the question's (QST-2)."""
        here, given = self.questions[self.tab], self.given[self.tab]
        id = here.rows[given.cursor] if here.type == "single_choice" else ""
        return "" if id == OTHER else id

    def put(self, **changes: Any) -> QuestionPanel:
        """This question answered so far with these changes."""
        given = list(self.given)
        given[self.tab] = replace(given[self.tab], **changes)
        return replace(self, given=tuple(given), wrong="")

    # --- keys -------------------------------------------------------------------------------------------------------

    def key(self, step: Step, key: str, text: str) -> None:
        if self.sent:
            return
        if self.leaving:
            self._leaving(step, key, text)
        elif key == "escape":
            frame.change(step, replace(self, writing="", leaving=True))
        elif key in ("tab", "shift+tab") or (key in ("left", "right") and not self.writes):
            self._turn(step, -1 if key in ("shift+tab", "left") else 1)
        elif self.reviewing:
            self._review(step, key, text)
        else:
            self._answer(step, key, text)

    def edited(self, step: Step, draft: Draft) -> None:
        if not self.writes:
            return
        if self.writing == "note":
            notes = {**self.given[self.tab].notes, self._note: draft}
            frame.change(step, self.put(notes=notes))
        elif self.questions[self.tab].type == "number" and draft.text.strip().lower().endswith("n"):
            frame.change(step, replace(self, writing="note"))  # no number has an n in it, so it is the key
        else:
            frame.change(step, self.put(text=draft))

    def leave(self, step: Step) -> None:
        """Ctrl-C: twice, as Esc."""
        if not self.sent:
            self.key(step, "escape", "")

    def unsent(self) -> tuple[Draft, ...]:
        return () if self.sent else tuple(draft for given in self.given for draft in given.unsent)

    def _leaving(self, step: Step, key: str, text: str) -> None:
        if key == "escape":
            self.end(step, "cancelled")
        elif text.lower() == "d":
            self.end(step, "declined")
        else:
            frame.change(step, replace(self, leaving=False))

    def end(self, step: Step, status: str) -> None:
        """Without an answer: `declined` lets the turn go on, `cancelled` ends it (QST-5). What was written is put aside."""
        for draft in self.unsent():
            step.stash(draft)
        frame.change(step, replace(self, sent=True, leaving=False))
        step.do(fx.AnswerQuestion(self.id, {"status": status}))

    def _turn(self, step: Step, by: int) -> None:
        """To another tab; what is written stays in this one. A review with nothing missing begins at Submit."""
        tabs = len(self.questions) + (0 if self.alone else 1)
        missing = any(about.lacking(a, g) for a, g in zip(self.questions, self.given, strict=True))
        row = 0 if missing else len(self.questions)
        frame.change(step, replace(self, tab=(self.tab + by) % tabs, writing="", wrong="", row=row))

    def _review(self, step: Step, key: str, text: str) -> None:
        rows = len(self.questions) + 1
        if key in ("up", "down"):
            frame.change(step, replace(self, row=(self.row + (1 if key == "down" else -1)) % rows))
        elif key == "enter" and self.row == len(self.questions):
            self._submit(step)
        elif key == "enter":
            frame.change(step, replace(self, tab=self.row))
        elif text.isdecimal() and 1 <= int(text) <= len(self.questions):
            frame.change(step, replace(self, tab=int(text) - 1))

    def _answer(self, step: Step, key: str, text: str) -> None:
        here, given = self.questions[self.tab], self.given[self.tab]
        if self.writing == "note":
            if key == "enter":
                frame.change(step, replace(self, writing=""))
        elif key == "enter":
            self._enter(step)
        elif key in ("up", "down") and here.rows:
            cursor = (given.cursor + (1 if key == "down" else -1)) % len(here.rows)
            frame.change(step, replace(self.put(cursor=cursor), writing=""))
        elif self.writes:
            return
        elif key == "space" and here.type in CHOICES:
            frame.change(step, self._with(here.rows[given.cursor]))
        elif text.lower() == "n":
            frame.change(step, replace(self, writing="note", wrong=""))
        elif text.isdecimal() and 1 <= int(text) <= len(here.rows):
            self._digit(step, int(text))

    def _digit(self, step: Step, number: int) -> None:
        """Digits choose; in a ranking they rank what is marked (QST-2)."""
        here, given = self.questions[self.tab], self.given[self.tab]
        if here.type == "ranking":
            ranked = about.ranked(here, given, here.rows[given.cursor], number)
            frame.change(step, self.put(ranks=ranked.ranks, cursor=ranked.cursor))
            return
        chosen = self.put(cursor=number - 1)
        if here.type == "multi_select":
            frame.change(step, chosen._with(here.rows[number - 1]))
        else:
            chosen._enter(step)

    def _with(self, id: str) -> QuestionPanel:
        """With this row chosen, or not any more; `Other` is written into at once."""
        here, given = self.questions[self.tab], self.given[self.tab]
        chosen = self.put(selected=about.toggled(here, given, id).selected)
        is_on = id in chosen.given[self.tab].selected
        return replace(chosen, writing="other" if id == OTHER and is_on else "")

    def _enter(self, step: Step) -> None:
        """Takes what is marked, and goes on where this question has its answer."""
        here, given = self.questions[self.tab], self.given[self.tab]
        panel = self
        if here.type in CHOICES and here.rows[given.cursor] == OTHER and self.writing != "other":
            frame.change(step, replace(self.put(selected=_and_other(here, given)), writing="other"))
            return
        if here.type == "single_choice" and self.writing != "other":
            panel = self._with(here.rows[given.cursor])
        elif here.type == "multi_select":
            panel = self.put(done=True)
        wrong = about.lacking(here, panel.given[panel.tab])
        if wrong:
            frame.change(step, replace(panel, wrong=wrong))
        elif self.alone:
            panel._submit(step)
        else:
            replace(panel, writing="")._turn(step, 1)

    def _submit(self, step: Step) -> None:
        """All answers at once; one that is missing is gone to (QST-3)."""
        for tab, (asked, given) in enumerate(zip(self.questions, self.given, strict=True)):
            if wrong := about.lacking(asked, given):
                frame.change(step, replace(self, tab=tab, wrong=wrong))
                return
        answers = [about.answer(asked, given) for asked, given in zip(self.questions, self.given, strict=True)]
        frame.change(step, replace(self, sent=True, writing="", wrong=""))
        step.do(fx.AnswerQuestion(self.id, {"answers": answers}))

    # --- drawing ----------------------------------------------------------------------------------------------------

    def faces(self, state: State, width: int) -> tuple[Face, ...]:
        """Every tab, with every diagram: what is shown under the lines counts, too."""
        made = [self.face(state, width)]
        for tab, (asked, given) in enumerate(zip(self.questions, self.given, strict=True)):
            on = replace(self, tab=tab, writing="", leaving=False)
            with_diagram = [place for place, one in enumerate(asked.options) if one.diagram]
            made += [on.put(cursor=place).face(state, width) for place in (given.cursor, *with_diagram)]
        if not self.alone:
            made.append(replace(self, tab=len(self.questions), leaving=False).face(state, width))
        return tuple(made)

    def face(self, state: State, width: int) -> Face:
        if self.reviewing:
            lines, beside = tuple(self._reviewed()), ""
        else:
            here, given = self.questions[self.tab], self.given[self.tab]
            lines = (*self._question(here), *self._rows(here, given))
            on = here.options[given.cursor] if given.cursor < len(here.options) else None
            beside = (on.diagram if on is not None else "") or here.diagram
        return Face(
            title=words.question_title(len(self.questions)),
            head=(self._tabs(),) if len(self.questions) > 1 or not self.alone else (),
            lines=lines,
            foot=tuple(self._foot()),
            beside=(Row(kind="output", text=beside, tone="muted"),) if beside else (),
            hints=self._hints(),
        )

    def _tabs(self) -> Line:
        marks = ["·" if about.lacking(a, g) else "✓" for a, g in zip(self.questions, self.given, strict=True)]
        names = [*(f"{n} {mark}" for n, mark in enumerate(marks, 1)), words.REVIEW_TAB]
        return base.words(" │ ".join(f"›{name}" if n == self.tab else f" {name}" for n, name in enumerate(names)))

    def _question(self, here: Asked) -> Iterator[Line]:
        yield base.words(here.question, tone="question")
        if here.type in ("multi_select", "ranking"):
            yield base.words(words.QUESTION_KINDS[here.type], tone="muted")

    def _rows(self, here: Asked, given: Given) -> Iterator[Line]:
        if here.type in ("text", "number"):
            hint = words.TEXT_HINT if here.type == "text" else words.NUMBER_HINT
            yield self._written(
                given.text, "› ", hint, rows=TEXT_ROWS if here.type == "text" else 1, on=not self.writing
            )
        for place, one in enumerate(here.options):
            yield from self._option(here, given, one, place)
        if here.type in CHOICES:
            yield self._other(here, given)
        yield from self._noted(given, "", "  ")

    def _option(self, here: Asked, given: Given, one: Option, place: int) -> Iterator[Line]:
        on = place == given.cursor and not self.writing
        yield option(one.label, chosen=place == given.cursor, before=_box(here, given, one.id, place + 1), marked=on)
        if one.description:
            yield base.words(one.description, tone="muted", gutter=" " * (6 if here.type == "ranking" else 8))
        if here.type == "single_choice":
            yield from self._noted(given, one.id, " " * 8)

    def _other(self, here: Asked, given: Given) -> Line:
        place = len(here.options)
        at = place == given.cursor
        before = _box(here, given, OTHER, place + 1)
        if OTHER not in given.selected and given.text.blank:
            return option(words.OTHER_ROW, chosen=at, before=before)
        gutter = (base.CHOSEN if at else base.NOT_CHOSEN) + before + words.OTHER_GUTTER
        return self._written(given.text, gutter, words.OTHER_HINT, rows=3, on=self.writing == "other", marked=at)

    def _noted(self, given: Given, id: str, indent: str) -> Iterator[Line]:
        writing = self.writing == "note" and self._note == id and not self.leaving
        draft = given.notes.get(id, EMPTY)
        if writing or not draft.blank:
            yield self._written(draft, f"{indent}{words.NOTE_GUTTER}", words.NOTE_HINT, rows=3, on=writing)

    def _written(self, draft: Draft, gutter: str, hint: str, *, rows: int, on: bool, marked: bool = False) -> Line:
        """What is written, as a field where letters go there, else as it stands."""
        if on and self.writes:
            return Line(kind="detail", text=hint, gutter=gutter, field=Field(draft=draft, rows=rows))
        text = "".join(draft.label(char) or char for char in draft.text)
        tone = "muted" if draft.blank else "plain"
        return Line(kind="detail", text=hint if draft.blank else text, gutter=gutter, tone=tone, marked=marked)

    def _reviewed(self) -> Iterator[Line]:
        for n, (asked, given) in enumerate(zip(self.questions, self.given, strict=True)):
            yield option(asked.question.split("\n")[0], chosen=n == self.row, before=f"{n + 1}  ")
            missing = about.lacking(asked, given)
            said = missing or about.told(asked, given)
            yield base.words(said, tone="warn" if missing else "ok", gutter="     · " if missing else "     → ")

    def _foot(self) -> Iterator[Line]:
        if self.reviewing:
            yield option(words.SUBMIT, chosen=self.row == len(self.questions))
        if self.sent:
            yield base.words(words.ANSWER_SENT, tone="muted")
        elif self.leaving:
            yield base.words(words.LEAVE_QUESTION, tone="warn")
        elif self.wrong:
            yield base.words(self.wrong, tone="error", gutter="✗ ")

    def _hints(self) -> tuple[str, ...]:
        if self.leaving:
            return words.LEAVING_KEYS
        if self.reviewing:
            return words.REVIEW_KEYS
        if self.writing:
            return words.WRITING_KEYS
        return words.QUESTION_KEYS[self.questions[self.tab].type][1 if self.alone else 0 :]


def _box(here: Asked, given: Given, id: str, number: int) -> str:
    """The number of a row and whether it is chosen, which the glyphs tell without colour (PNL-4)."""
    if here.type == "ranking":
        return f"[{given.ranks.get(id, ' ')}] "
    full, empty = ("(•)", "( )") if here.type == "single_choice" else ("[x]", "[ ]")
    return f"{number} {full if id in given.selected else empty} "


def _and_other(here: Asked, given: Given) -> frozenset[str]:
    return frozenset((OTHER,)) if here.type == "single_choice" else given.selected | {OTHER}


# --- from the session ----------------------------------------------------------------------------------------------------


def asks(step: Step, call_id: str, kind: str, payload: dict[str, Any]) -> None:
    """A tool asks a person. It is asked once, whoever tells it first (EVT-3)."""
    questions = about.read(payload) if kind == "question" else ()
    if not questions or call_id in step.state.settled or frame.find(step, call_id) is not None:
        return
    calls.change(step, call_id, state="parked")
    frame.open(step, QuestionPanel(id=call_id, questions=questions, given=tuple(Given() for _ in questions)))
    step.do(fx.Notify(words.WAITING_FOR_ANSWER))
    phases.refresh(step)


def over(step: Step, call_id: str) -> None:
    """Answered, by whomever, or nobody answered in time: the panel goes, the draft is back (QST-6)."""
    step.set(settled=step.state.settled | {call_id})
    if frame.find(step, call_id) is not None:
        frame.close(step, call_id, keep=True)
        calls.change(step, call_id, state="waiting")
        calls.mark_running(step)
        phases.refresh(step)


def withdraw(step: Step) -> None:
    """The turn ended or the session died: nobody waits for an answer any more."""
    for panel in (step.state.panel, *step.state.waiting_panels):
        if isinstance(panel, QuestionPanel):
            over(step, panel.id)


def refused(step: Step, call_id: str, sentence: str) -> None:
    """The engine did not take the answer: the question waits on, and says why."""
    panel = frame.find(step, call_id)
    if isinstance(panel, QuestionPanel):
        frame.change(step, replace(panel, sent=False, wrong=sentence))
