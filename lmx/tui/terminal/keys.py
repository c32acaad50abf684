"""Names of keys: from the many ways terminals encode a key press to one Textual key string (KEY-4, TRM-9, TRM-11).

Textual's own tables report `ESC 1` as `¡` and `ESC CR` as a plain enter, and its parser ends the app on a key release.
Every form is decoded here instead: legacy, rxvt, xterm `modifyOtherKeys`, kitty.
Modifiers stand in alphabetical order before the key, as in Textual: `alt+ctrl+shift+up`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from lmx.tui.terminal.events import Key

SHIFT, ALT, CTRL = 1, 2, 4
_MODIFIERS = ((2, "alt"), (4, "ctrl"), (16, "hyper"), (32, "meta"), (1, "shift"), (8, "super"))
_REPLACED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}

_LETTERS = dict(zip("ABCDHFPQRSZ", "up down right left home end f1 f2 f3 f4 shift+tab".split(), strict=True))
_TILDES = {1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end"}
_TILDES |= {code: f"f{n}" for n, code in enumerate((11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29), 1)}
_TILDES |= {code: f"f{n}" for n, code in enumerate((31, 32, 33, 34), 17)}
_RXVT_LETTERS = {"a": "up", "b": "down", "c": "right", "d": "left"}
_RXVT_ENDS = {"^": CTRL, "$": SHIFT, "@": CTRL | SHIFT}
_CODES = {8: "backspace", 9: "tab", 13: "enter", 27: "escape", 127: "backspace"}
_CODES |= {
    57414: "enter",
    57417: "left",
    57418: "right",
    57419: "up",
    57420: "down",
    57421: "pageup",
    57422: "pagedown",
}
_CODES |= {57423: "home", 57424: "end", 57425: "insert", 57426: "delete"} | {57363 + n: f"f{n}" for n in range(13, 36)}
_KEYPAD = {57399 + n: char for n, char in enumerate("0123456789./*-+")} | {57415: "=", 57416: ","}
_TYPED = {"enter": "\r", "tab": "\t", "backspace": "\x7f", "space": " "}
_APPLICATION_KEYPAD = {**dict(zip("jklmnopqrstuvwxy", "*+,-./0123456789", strict=True)), "X": "="}
_CONTROL_NAMES = {0: "ctrl+@", 8: "backspace", 9: "tab", 13: "enter", 27: "escape", 127: "backspace"}
_CONTROL_NAMES |= {
    28: "ctrl+backslash",
    29: "ctrl+right_square_bracket",
    30: "ctrl+circumflex_accent",
    31: "ctrl+underscore",
}
# What a control character has always meant stays so when a newer protocol spells it out.
_SAME_AS = {"ctrl+m": "enter", "ctrl+i": "tab", "ctrl+left_square_bracket": "escape", "ctrl+h": "backspace"}
_SAME_AS |= {"ctrl+space": "ctrl+@", "ctrl+at": "ctrl+@"}


@lru_cache(maxsize=1024)
def character_name(char: str) -> str:
    """Textual's name for the key that types `char`: a letter or digit itself, else its Unicode name in snake case."""
    if char.isalnum():
        return char
    name = unicodedata.name(char, "").lower().replace("-", "_").replace(" ", "_")
    return _REPLACED.get(name, name) or char


def modified(name: str, modifiers: int) -> Key:
    """The key `name` with the xterm modifier bits (shift 1, alt 2, ctrl 4, super 8, hyper 16, meta 32)."""
    tokens = [word for bit, word in _MODIFIERS if modifiers & bit]
    if name == "space" and not tokens:
        return Key("space", " ")
    if not tokens:
        return Key(name, _TYPED.get(name))
    whole = "+".join([*tokens, name])
    whole = _SAME_AS.get(whole, whole)
    return Key(whole, _TYPED.get(whole))


def typed(char: str, modifiers: int = 0) -> Key:
    """The key that typed `char`. With alt or ctrl it types nothing: Textual would insert the letter of `alt+a`."""
    if modifiers & ~SHIFT == ALT | CTRL and not (char.isascii() and char.isalnum()) and char.isprintable():
        return Key(character_name(char), char)  # AltGr, as some terminals tell it: it is there to type with (CMP-5)
    if modifiers & ~SHIFT:
        if char.isupper() and len(char.lower()) == 1:
            modifiers, char = modifiers | SHIFT, char.lower()
        return modified(character_name(char), modifiers)
    if modifiers & SHIFT and len(char.upper()) == 1:
        char = char.upper()
    return Key(character_name(char), char)


def control(byte: int, modifiers: int = 0) -> Key:
    """A control byte (0-31, 127): `ctrl+a`, or the key that has always sent it."""
    name = _CONTROL_NAMES.get(byte) or f"ctrl+{chr(byte + 96)}"
    if modifiers & ALT:
        return Key(f"alt+{name}")
    return Key(name, _TYPED.get(name) or (None if byte == 27 else chr(byte)))


def application(letter: str, modifiers: int) -> Key | None:
    """`ESC O letter`: cursor, function and keypad keys in application mode."""
    if letter in _RXVT_LETTERS:
        return modified(_RXVT_LETTERS[letter], modifiers | CTRL)
    if letter in _APPLICATION_KEYPAD:
        return typed(_APPLICATION_KEYPAD[letter], modifiers)
    if letter in "MI ":
        return modified({"M": "enter", "I": "tab", " ": "space"}[letter], modifiers)
    return _letter(letter, modifiers)


def decode(params: str, final: str, modifiers: int = 0) -> Key | None:
    """The key of `CSI params final`; None for what is no key press: a release, a lone modifier, an unknown code.

    `modifiers` are added (an ESC came before). Raises nothing.
    """
    fields = [field.split(":") for field in params.split(";", 8)]
    first = _number(fields[0][0])
    state, event = _modifier_field(fields[1] if len(fields) > 1 else [])
    if first is None or state is None or event == 3 or len(fields) > 8:
        return None
    if final == "~" and first == 27 and len(fields) > 2:
        return _code(_number(fields[2][0]), state | modifiers)
    if final == "u":
        return _unicode_key(fields, state | modifiers)
    if final == "~":
        name = _TILDES.get(first)
        return modified(name, state | modifiers) if name else None
    if final in _RXVT_ENDS:
        name = _TILDES.get(first)
        return modified(name, _RXVT_ENDS[final] | modifiers) if name else None
    if final in _RXVT_LETTERS and not params:
        return modified(_RXVT_LETTERS[final], SHIFT | modifiers)
    if len(fields) == 1 and first > 1:  # an old spelling: CSI 5 A
        state = first - 1
    return _letter(final, state | modifiers)


def _letter(letter: str, modifiers: int) -> Key | None:
    name = _LETTERS.get(letter)
    if name == "shift+tab":
        return modified("tab", modifiers | SHIFT)
    return modified(name, modifiers) if name else None


def _unicode_key(fields: list[list[str]], modifiers: int) -> Key | None:
    """`CSI code:shifted:base ; modifiers:event ; text u` of the kitty protocol."""
    codes = [_number(part) for part in fields[0]]
    texts = [_number(part) for part in fields[2]] if len(fields) > 2 and fields[2][0] else []
    if texts and not modifiers & ~SHIFT:
        text = "".join(char for code in texts if (char := _character(code)))
        return typed(text) if len(text) == 1 else Key(text, text) if text else None
    if modifiers & ~SHIFT and len(codes) > 2 and codes[2]:
        return _code(codes[2], modifiers)  # the same key on a Latin layout: shortcuts work in every script (KEY-6)
    if modifiers & SHIFT and not modifiers & ~SHIFT and len(codes) > 1 and codes[1]:
        return _code(codes[1], 0)
    return _code(codes[0], modifiers)


def _code(code: int | None, modifiers: int) -> Key | None:
    if code in _CODES:
        return modified(_CODES[code], modifiers)
    if code in _KEYPAD:
        return typed(_KEYPAD[code], modifiers & ~SHIFT)
    if code == 32:
        return modified("space", modifiers & ~SHIFT)
    char = _character(code)
    return typed(char, modifiers) if char else None


def _character(code: int | None) -> str | None:
    """A character that can be typed: none of the controls, surrogates and private codes of functional keys."""
    if code is None or not 32 <= code <= 0x10FFFF or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xF900:
        return None
    return chr(code)


def _modifier_field(parts: list[str]) -> tuple[int | None, int]:
    """Modifier bits (caps and num lock left out) and the event type: 1 press, 2 repeat, 3 release. Bits None: malformed."""
    if not parts or not parts[0]:
        value: int | None = 1
    else:
        value = _number(parts[0])
    event = _number(parts[1]) if len(parts) > 1 and parts[1] else 1
    return (None if value is None or event is None else max(value - 1, 0) & 63), event or 1


def _number(text: str) -> int | None:
    """A parameter; empty is 1, as terminals mean it. None for what is no sane number."""
    if not text:
        return 1
    return int(text) if len(text) <= 7 and text.isascii() and text.isdigit() else None
