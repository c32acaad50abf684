"""Which key does what: one table, which the composer obeys and /help prints (tui.md 3.1).

Textual's own bindings are not used: several of them quit, open a palette or copy where a person of a terminal expects something
else, and a binding that is looked up on the way to a widget cannot know what stands in the composer.
"""

from __future__ import annotations

from collections.abc import Sequence

TABLE: tuple[tuple[str, str, str], ...] = (
    # action, keys, what /help says; without words it is not listed
    ("submit", "enter", "send; while a turn runs: steer it"),
    ("complete", "tab", "take the completion"),
    ("newline", "shift+enter alt+enter ctrl+j", "a new line (also \\ then Enter)"),
    ("up", "up", "up a line; on the first: what was written before"),
    ("down", "down", ""),
    ("older", "alt+up", "what was written before"),
    ("newer", "alt+down", ""),
    ("search", "ctrl+r", "search what was sent"),
    ("pager", "ctrl+o", "the newest outputs, whole"),
    ("page_up", "pageup", "scroll the transcript"),
    ("page_down", "pagedown", ""),
    ("scroll_up", "shift+up", "scroll three rows"),
    ("scroll_down", "shift+down", ""),
    ("top", "ctrl+home", "the first row"),
    ("bottom", "ctrl+end", "the newest row"),
    ("escape", "escape", "close what is open; twice: put the draft aside"),
    ("interrupt", "ctrl+c", "cancel the turn; idle, twice: quit"),
    ("suspend", "ctrl+z", "suspend to the shell"),
    ("repaint", "ctrl+l", "paint the screen anew"),
    ("cycle_mode", "shift+tab", "next permission mode"),
    ("take_back", "alt+z", "take back the waiting message"),
    ("approve", "alt+a", "run the oldest call that waits"),
    ("deny", "alt+r", "refuse it"),
    ("undo", "ctrl+underscore", "undo"),
    ("redo", "alt+underscore", "redo"),
    ("left", "left", ""),
    ("right", "right", ""),
    ("word_left", "ctrl+left alt+b alt+left", "a word to the left, to the right: Alt-F"),
    ("word_right", "ctrl+right alt+f alt+right", ""),
    ("line_start", "home ctrl+a", "the start of the line, its end: Ctrl-E"),
    ("line_end", "end ctrl+e", ""),
    ("delete_left", "backspace ctrl+h shift+backspace", ""),
    ("delete_right", "delete", ""),
    ("delete_or_quit", "ctrl+d", ""),
    ("kill_word_left", "ctrl+w alt+backspace ctrl+backspace", "delete a word to the left"),
    ("kill_word_right", "alt+d", ""),
    ("kill_to_start", "ctrl+u", "delete to the start of the line"),
    ("kill_to_end", "ctrl+k", "delete to its end"),
    ("yank", "ctrl+y", "put back what was deleted"),
)

ACTIONS = {key: action for action, keys, _ in TABLE for key in keys.split()}

_NAMES = {"pageup": "PageUp", "pagedown": "PageDown", "escape": "Esc", "underscore": "_"}


def spoken(key: str) -> str:
    """A key as a person says it: `ctrl+c` is Ctrl-C."""
    return "-".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


def listed() -> Sequence[tuple[str, str]]:
    """(keys, what they do) for /help."""
    return [(", ".join(map(spoken, keys.split())), words) for _, keys, words in TABLE if words]
