"""A panel as lines, and a typed line as the keys that it stands for, so that every panel can be used here (ACC-1, ACC-5)."""

from __future__ import annotations

from lmx import words
from lmx.conversation.panels.base import Face, Field, Line
from lmx.conversation.state import State
from lmx.rows import Row

WIDTH = 78
_WORDS = {"": "enter", "esc": "escape", "up": "up", "down": "down", "left": "left", "right": "right"}
_NAMED = {"tab": "tab", "space": "space", "back": "shift+tab"}


def said(state: State) -> list[str]:
    """The panel that is shown; `>` stands before the line that Enter takes."""
    if state.panel is None:
        return []
    face: Face = state.panel.face(state, WIDTH)
    inside = [*face.head, *face.lines, *face.beside, *face.foot]
    shown = [_line(line) for line in inside]
    return [f"{words.PLAIN_ASKS} {face.title}", *(line for line in shown if line.strip()), words.PLAIN_PANEL_KEYS]


def secret(state: State) -> bool:
    """Whether what is typed must not be seen."""
    field = _field(state)
    return field is not None and field.secret


def writes(state: State) -> bool:
    """Whether a typed line is text for a field of the panel."""
    return _field(state) is not None


def keys(text: str) -> list[tuple[str, str]]:
    """(key, what it types) of a line: a word for a key, else each of its characters that is no space."""
    said = text.strip().lower()
    if (key := _WORDS.get(said) or _NAMED.get(said)) is not None:
        return [(key, " " if key == "space" else "")]
    return [(char, char) for char in text if not char.isspace()]


def _field(state: State) -> Field | None:
    if state.panel is None:
        return None
    face = state.panel.face(state, WIDTH)
    return next((line.field for line in (*face.head, *face.lines, *face.foot) if line.field is not None), None)


def _line(line: Row) -> str:
    mark = "> " if isinstance(line, Line) and line.marked else "  "
    if not isinstance(line, Line) or line.field is None:
        return mark + line.gutter + line.text
    written = line.field.draft.expanded()
    return mark + line.gutter + ("•" * len(written) if line.field.secret else written or line.text)
