"""What panels say: their titles, keys and choices."""

from __future__ import annotations

from lmx.words.amounts import joined


def panel_more(above: int, below: int) -> str:
    """How many rows are out of sight above and below, in the frame; nothing where all are in sight."""
    return joined((f"↑{above}" if above else "", f"↓{below}" if below else ""))


PANEL_WAITS = "something else is asked; it is shown when this is closed"

# --- questions -----------------------------------------------------------------------------------------------------------

NO_QUESTION = "no question waits for an answer"
WAITING_FOR_ANSWER = "lmx: waiting for your answer"
REVIEW_TAB = "Review"
SUBMIT = "Submit"
ANSWER_SENT = "sent"
OTHER_ROW = "Other…"
OTHER_GUTTER = "Other: "
OTHER_HINT = "what you would rather have"
NOTE_GUTTER = "note: "
NOTE_HINT = "a word to go with it"
TEXT_HINT = "your answer"
NUMBER_HINT = "a number"
NONE_OF_THESE = "none of these"

CHOOSE_ONE = "choose one"
CHOOSE_SOME = "choose some, or go on with Enter for none of these"
OTHER_EMPTY = "write what you would rather have, or choose an option"
TEXT_EMPTY = "write an answer"
NUMBER_EMPTY = "write a number"
NUMBER_WRONG = "that is no number; 42, -3 and 2.5 are"

QUESTION_KINDS = {"multi_select": "as many as you like", "ranking": "all of them, 1 is the best"}
QUESTION_KEYS = {
    "single_choice": ("←→ questions", "Enter takes it", "1-6 choose", "n note", "Esc back"),
    "multi_select": ("Enter goes on", "Space or 1-6 toggle", "←→ questions", "n note", "Esc back"),
    "ranking": ("1-6 rank it", "Enter goes on", "←→ questions", "n note", "Esc back"),
    "text": ("Enter goes on", "Shift-Enter new line", "Tab questions", "Esc back"),
    "number": ("Enter goes on", "Tab questions", "n note", "Esc back"),
}
REVIEW_KEYS = ("Enter changes or sends", "1-4 go to it", "←→ questions", "Esc back")
WRITING_KEYS = ("Enter takes it", "Shift-Enter new line", "Esc back")
LEAVE_QUESTION = "leave without an answer? Esc ends the turn; d says that you decline, and the turn goes on"
LEAVING_KEYS = ("Esc ends the turn", "d declines", "any other key goes back")


def question_title(number: int) -> str:
    return "a question" if number == 1 else f"{number} questions"


def rank_all(missing: int) -> str:
    return f"{missing} still without a number"


def noted(label: str, text: str) -> str:
    return f"({label}: {text})" if label else f"({NOTE_GUTTER}{text})"


def other_said(text: str) -> str:
    return f"Other: {text}" if text else "Other"
