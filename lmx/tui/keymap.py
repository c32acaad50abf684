"""Which key does what: one table, which the composer obeys and /help prints (tui.md 3.1).

Textual's own bindings are not used: several of them quit, open a palette or copy where a person of a terminal expects something
else, and a binding that is looked up on the way to a widget cannot know what stands in the composer.
"""

from __future__ import annotations

from collections.abc import Sequence

TABLE: tuple[tuple[str, str, str], ...] = (
    # action, keys, what /help says; without words it is not listed
    ("submit", "enter", "send; while a turn runs: steer it"),
    ("complete", "tab", "take the completion; while a turn runs: queue the message"),
    ("newline", "shift+enter alt+enter ctrl+j", "a new line (also \\ then Enter)"),
    ("up", "up", ""),
    ("down", "down", ""),
    ("older", "alt+up", ""),
    ("newer", "alt+down", ""),
    ("search", "ctrl+r", "search what was sent"),
    ("external_editor", "ctrl+g", "write in $VISUAL or $EDITOR"),
    ("pager", "ctrl+o", "the newest outputs, whole"),
    ("page_up", "pageup", ""),
    ("page_down", "pagedown", ""),
    ("scroll_up", "shift+up", ""),
    ("scroll_down", "shift+down", ""),
    ("top", "ctrl+home", ""),
    ("bottom", "ctrl+end", ""),
    ("escape", "escape", "close what is open; twice: put the draft aside"),
    ("interrupt", "ctrl+c", "cancel the turn; idle, twice: quit"),
    ("suspend", "ctrl+z", "suspend to the shell"),
    ("repaint", "ctrl+l", "paint the screen anew"),
    ("cycle_mode", "shift+tab", "next permission mode"),
    ("take_back", "alt+z", "take back the waiting message"),
    *((f"select_queued_{number}", f"alt+{number}", "") for number in range(1, 10)),
    ("revise_queued", "alt+e", ""),
    ("unstage_queued", "alt+u", ""),
    ("approve", "alt+a", ""),
    ("deny", "alt+r", ""),
    ("choose_hunks", "alt+h", ""),
    ("undo", "ctrl+underscore", ""),
    ("redo", "alt+underscore", ""),
    ("left", "left", ""),
    ("right", "right", ""),
    ("word_left", "ctrl+left alt+b alt+left", ""),
    ("word_right", "ctrl+right alt+f alt+right", ""),
    ("line_start", "home ctrl+a", ""),
    ("line_end", "end ctrl+e", ""),
    ("delete_left", "backspace ctrl+h shift+backspace", ""),
    ("delete_right", "delete", ""),
    ("delete_or_quit", "ctrl+d", ""),
    ("kill_word_left", "ctrl+w alt+backspace ctrl+backspace", ""),
    ("kill_word_right", "alt+d", ""),
    ("kill_to_start", "ctrl+u", ""),
    ("kill_to_end", "ctrl+k", ""),
    ("yank", "ctrl+y", ""),
)

ACTIONS = {key: action for action, keys, _ in TABLE for key in keys.split()}

_NAMES = {"pageup": "PageUp", "pagedown": "PageDown", "escape": "Esc", "underscore": "_"}


def spoken(key: str) -> str:
    """A key as a person says it: `ctrl+c` is Ctrl-C."""
    return "-".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


def types(character: str | None) -> str:
    """The text a key types, none for a control. Textual's `is_printable` leaves out the joiner in an emoji or a Persian word
    and the no-break space: what was typed would come apart, and not be what is sent."""
    if character is None or any(char < " " or "\x7f" <= char < "\xa0" for char in character):
        return ""
    return character


_TOGETHER = (
    ("Up, Alt-Up", "what was written before"),
    ("Alt-1 to Alt-9, Alt-E, Alt-U", "select, revise or drop a queued message"),
    ("Alt-A, Alt-R", "run or refuse the oldest call that waits"),
    ("Alt-H", "choose among its changes, or edit them"),
    ("PageUp, Shift-Up, Ctrl-Home", "scroll back; Ctrl-End: to the newest row"),
    ("Ctrl-A/E/W/U/K/Y, Alt-B/F/D", "the line editing of a shell; Ctrl-_ undoes"),
)
"""Keys that are told by the handful, so that the list fits on a screen."""


def listed() -> Sequence[tuple[str, str]]:
    """(keys, what they do) for /help."""
    return [*((", ".join(map(spoken, keys.split())), words) for _, keys, words in TABLE if words), *_TOGETHER]
