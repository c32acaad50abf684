"""What panels say: their titles, keys and choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmx.words.amounts import joined, plural


def panel_more(above: int, below: int) -> str:
    """How many rows are out of sight above and below, in the frame; nothing where all are in sight."""
    return joined((f"↑{above}" if above else "", f"↓{below}" if below else ""))


PASTE_PUT_ASIDE = "this panel takes no text: the paste is put aside, and Up brings it back once the panel is closed"
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


# --- hunks ---------------------------------------------------------------------------------------------------------------

HUNKS_OFFER = "Alt-H chooses among the changes, or edits the text before it is written"
HUNKS_OFFER_SHORT = "Alt-H parts"
NO_HUNKS = "this call shows no changes to choose among; y runs it, n refuses it"
HUNKS_ARE_CHOSEN = "the changes are being chosen: Enter runs the chosen ones, Esc goes back to the card"
HUNK_KEYS = ("Enter runs the chosen", "Space chooses", "e edits", "a all or none", "Esc back")
HUNK_IS_EDITED = "the text of this file is yours now, and is written as it is"
HUNKS_NOT_BOTH = "with a text of yours, files that are made, deleted or moved cannot be left out; choose them, or Esc"
HUNK_NO_TEXT = "the text of this file is not known here, so it cannot be edited; Space still chooses"
HUNK_TOO_LONG = "too long to be shown here; Ctrl-O shows the whole call"
HUNK_UNCHANGED = "nothing was changed in the editor"
NO_HUNK_CHOSEN = "nothing is chosen; Space chooses, or Esc and n refuses the call"
_HUNK_KINDS = {"create": "make {path}", "delete": "delete {path}", "move": "move {path}"}


def hunks_title(title: str, chosen: int, total: int, edited: int) -> str:
    return joined((title, f"{chosen} of {total} changes", f"{edited} edited" if edited else ""))


def hunk_place(kind: str, path: str, line: int) -> str:
    return _HUNK_KINDS[kind].format(path=path) if kind in _HUNK_KINDS else f"{path}, line {line}"


def hunk_edited(path: str) -> str:
    return f"{path}, as you have written it"


def hunks_ran(record: Mapping[str, object]) -> str:
    """Which changes of a call were made: `of 3 changes: #1 and #3 as proposed, #2 left out`."""
    told = []
    total = 0
    for name, said in (("accepted", "as proposed"), ("edited", "as you wrote it"), ("refused", "left out")):
        numbers = record.get(name)
        if isinstance(numbers, Sequence) and numbers:
            total += len(numbers)
            named = _listed([f"#{number}" for number in numbers])
            told.append(f"{named} {said}")
    elsewhere = record.get("elsewhere")
    if isinstance(elsewhere, int) and elsewhere:
        told.append(f"{plural(elsewhere, 'place')} more of yours")
    return f"of {plural(total, 'change')}: {', '.join(told)}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# --- the first run -------------------------------------------------------------------------------------------------------

FIRST_RUN_TITLE = "which model?"
FIRST_RUN_KEYS = ("Enter or a digit takes it", "↑ ↓ move", "Esc leaves it for now")
FIRST_RUN_ELSE = "a model file: Esc, then /model local:FILE.gguf"
CHOOSE_PROVIDER = "choose one first: ↑ ↓, or its digit"
KEY_SET = "key set"
NO_KEY_NEEDED = "no key needed"
KEY_TITLE = "API key"
KEY_ASKED = "{variable}, the key of {label}"
KEY_SAVED_IN = "saved in {path}, for you alone; it is shown nowhere"
KEY_NOT_SAVED = "used until lmx is left: there is no place to save it"
KEY_HINT = "paste the key"
KEY_KEYS = ("Enter uses it", "Esc back")
KEY_EMPTY = "paste the key first, or Esc"
KEY_ODD = "that is no key: one has no spaces and only plain characters"
KEY_SAVED = "the key of {label} is saved in {path}"
KEY_KEPT = "the key of {label} is used until lmx is left; there is no place to save it"
KEY_UNSAVED = "the key of {label} could not be saved ({reason}); it is used until lmx is left"


def first_run_left(why: str, variables: Sequence[str], now: Sequence[str]) -> str:
    """After Esc: nothing was saved, how a key is added, what works at once, and why the start failed (FIR-4)."""
    works = f"; {' and '.join(f'/provider {name}' for name in now)} works now" if now else ""
    named = " or ".join(dict.fromkeys(variables[:3]))
    return f"no key was saved{works}; set {named}, or type /provider NAME to paste one\n{why}"
