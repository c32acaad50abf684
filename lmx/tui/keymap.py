"""Which key does what: one table, which the composer obeys and /help prints (tui.md 3.1).

Textual's own bindings are not used: several of them quit, open a palette or copy where a person of a terminal expects something
else, and a binding that is looked up on the way to a widget cannot know what stands in the composer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmx import words
from lmx.tui.terminal import keys

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
    ("paste_image", "ctrl+v", "paste the picture, or the text, of the clipboard"),
    ("pager", "ctrl+o", "the newest outputs, whole"),
    ("page_up", "pageup", ""),
    ("page_down", "pagedown", ""),
    ("scroll_up", "shift+up", ""),
    ("scroll_down", "shift+down", ""),
    ("top", "ctrl+home", ""),
    ("bottom", "ctrl+end", ""),
    ("escape", "escape", "close what is open; twice: put the draft aside"),
    ("interrupt", "ctrl+c", "cancel the turn; idle, twice: quit"),
    ("help", "f1", "this list"),
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
    ("yank_older", "alt+y", ""),
    ("cut", "ctrl+x", ""),
    ("select_left", "shift+left", ""),
    ("select_right", "shift+right", ""),
    ("select_word_left", "ctrl+shift+left alt+shift+left", ""),
    ("select_word_right", "ctrl+shift+right alt+shift+right", ""),
    ("select_to_start", "shift+home", ""),
    ("select_to_end", "shift+end", ""),
)

DEFAULTS = {key: action for action, bound, _ in TABLE for key in bound.split()}

EDITING = frozenset(
    "left right word_left word_right line_start line_end delete_left delete_right kill_word_left kill_word_right "
    "kill_to_start kill_to_end yank yank_older expand_paste undo redo select_left select_right select_word_left "
    "select_word_right select_to_start select_to_end".split()
)
"""What the editor does with its text. These keys are a shell's, and stay where they are; `expand_paste` has none of its own."""

_CALLED = {
    "up": "previous", "down": "next", "older": "history_previous", "newer": "history_next", "search": "history_search",
    "escape": "dismiss", "take_back": "revoke_steer", "approve": "approve_once",
}  # fmt: skip
"""Actions that a configuration calls by another name than the code does (tui.md 3.1)."""

FORWARD = "forward"
BINDABLE = {_CALLED.get(action, action): action for action, _, _ in TABLE if action not in EDITING and action != "cut"}
BINDABLE |= {"expand_paste": "expand_paste", FORWARD: FORWARD}
"""What a key may be bound to (KEY-2). `forward` gives the key back to the editor."""

_KEYS = {"esc": "escape", "page_up": "pageup", "page_down": "pagedown"}
_NAMED = frozenset("enter esc tab backspace delete insert up down left right home end page_up page_down space".split())
_MODIFIERS = {"ctrl": keys.CTRL, "alt": keys.ALT, "shift": keys.SHIFT}


class Keymap:
    """The bindings in force: `action(key)` of a key as the terminal's filter names it, empty where there is none."""

    def __init__(self, bindings: Mapping[str, str] | None = None):
        self.bindings = dict(DEFAULTS if bindings is None else bindings)

    def action(self, key: str) -> str:
        return self.bindings.get(key, "")

    def keys(self, action: str) -> list[str]:
        return [key for key, bound in self.bindings.items() if bound == action]

    def listed(self, *, told_apart: bool = True) -> Sequence[tuple[str, str]]:
        """(keys, what they do) for /help, as they are bound now.

        `told_apart`: the terminal spells modifiers out. Where it does not, keys that it may be unable to send are marked
        (KEY-5).
        """

        def said(key: str) -> str:
            return spoken(key) if told_apart or every_terminal_sends(key) else f"{spoken(key)}*"

        told = [(self.keys(action), does) for action, _, does in TABLE if does]
        together = [([key for action in actions for key in self.keys(action)], does) for actions, does in _TOGETHER]
        rows = [(", ".join(map(said, bound)), does) for bound, does in (*told, *together) if bound]
        marked = [_MAY_NOT_COME] if any("*" in keys for keys, _ in rows) else []
        return [*rows, _OF_A_SHELL, *marked]


_MOVES = frozenset("up down left right home end pageup pagedown insert delete".split()) | {
    f"f{n}" for n in range(1, 13)
}
_CONTROLS = frozenset("@ backslash right_square_bracket circumflex_accent underscore".split())


def every_terminal_sends(key: str) -> bool:
    """Has this key an encoding of its own in the oldest terminals?"""
    *modifiers, name = key.split("+")
    others = set(modifiers) - {"alt"}
    if not others or name in _MOVES or key == "shift+tab":
        return True
    return others == {"ctrl"} and ((len(name) == 1 and name.isascii() and name.isalpha()) or name in _CONTROLS)


def key_named(text: str) -> str | None:
    """The key of a description such as `ctrl-j`, `Alt-Page_Up` or `ctrl--`, as the filter names it (KEY-1); None for none."""
    parts = text.split("-")
    if len(parts) > 1 and parts[-1] == "" and parts[-2] == "":  # a trailing - is the hyphen
        parts = [*parts[:-2], "-"]
    *modifiers, name = parts
    bits = 0
    for word in modifiers:
        bit = _MODIFIERS.get(word.lower(), 0)
        if not bit or bits & bit:
            return None
        bits |= bit
    lowered = name.lower()
    if lowered == "back_tab":
        return keys.modified("tab", bits | keys.SHIFT).key
    if lowered in _NAMED or lowered in {f"f{number}" for number in range(1, 13)}:
        return keys.modified(_KEYS.get(lowered, lowered), bits).key
    if len(name) != 1 or not name.isprintable():
        return None
    return keys.typed(name if not bits & ~keys.SHIFT else lowered, bits).key


def merged(wanted: Mapping[str, str]) -> tuple[Keymap, list[str]]:
    """The defaults with a configuration's bindings over them, key by key, and a sentence for each thing that is wrong (KEY-1 to
    KEY-3). What is wrong is left out, and all of it is told together: a start is never stopped by a key.
    """
    bindings, problems = dict(DEFAULTS), []
    spelled: dict[str, str] = {}
    unknown = sorted({action for action in wanted.values() if action not in BINDABLE})
    if unknown:
        problems.append(
            words.KEYS_UNKNOWN_ACTIONS.format(actions=", ".join(unknown), known=", ".join(sorted(BINDABLE)))
        )
    for text, action in wanted.items():
        key = key_named(text)
        if key is None:
            problems.append(words.KEYS_NO_KEY.format(key=text))
        elif key in spelled:
            problems.append(words.KEYS_TWICE.format(first=spelled[key], second=text))
        elif action in BINDABLE:
            spelled[key] = text
            if action == FORWARD:
                _give_back(bindings, key)
            else:
                bindings[key] = BINDABLE[action]
    if "interrupt" not in bindings.values():
        bindings["ctrl+c"] = "interrupt"
        problems.append(words.KEYS_NO_INTERRUPT)
    return Keymap(bindings), problems


def _give_back(bindings: dict[str, str], key: str) -> None:
    """The editor has this key: what it does with it by default, or the character that it types."""
    default = DEFAULTS.get(key, "")
    bindings.pop(key, None)
    if default in EDITING or default == "cut":
        bindings[key] = default


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


_TOGETHER: tuple[tuple[tuple[str, ...], str], ...] = (
    (("up", "older"), "what was written before"),
    (
        ("select_queued_1", "select_queued_9", "revise_queued", "unstage_queued"),
        "select, revise or drop a queued message",
    ),
    (("approve", "deny"), "run or refuse the oldest call that waits"),
    (("page_up", "scroll_up", "top"), "scroll back"),
    (("bottom",), "to the newest row"),
)
"""Keys that are told by the handful, so that the list fits on a screen."""

_MAY_NOT_COME = ("*", "this terminal may send it as the key without Shift or Ctrl; /doctor says more")

_OF_A_SHELL = ("Ctrl-A/E/W/U/K/Y, Alt-B/F/D/Y", "the line editing of a shell; Ctrl-_ undoes")
