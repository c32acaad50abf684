"""The one door for text that comes from outside: model, tools, files, names, the clipboard, the environment.

A terminal obeys what it is sent. Text that reaches it unchecked can repaint the screen, write the clipboard, or show a
command other than the one that will run. So nothing foreign is drawn, logged or put into a title before it has passed
here. Doing it at each place where text is drawn (the obvious other way) means that one forgotten place is a hole.

Pure, linear in the length of the text, idempotent, and cheap to import: `--print` uses it too.
"""

from __future__ import annotations

import re
from typing import Literal

Mode = Literal["text", "evidence"]

MARKS_PER_CLUSTER = 8
"""Combining characters kept on one base (SAF-7); more only slow the layout down."""

# One escape sequence. A string (OSC, DCS, APC, PM, SOS) counts only when it is terminated on its own line: an introducer
# without an end loses just itself, so that it cannot swallow what follows (SAF-1). No body may hold another introducer,
# which is also what keeps the scan linear.
_SEQUENCE = (
    r"(?:\x1b\[|\x9b)[\x30-\x3f]*+[\x20-\x2f]*+[\x40-\x7e]"
    r"|(?:\x1b[\]P_^X]|[\x90\x98\x9d-\x9f])[^\x07\x0a\x1b\x80-\x9f]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[\x20-\x2f]{1,2}+[\x30-\x7e]"
    r"|\x1b[\x30-\x7e]"
)
_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_BIDI = r"\u202a-\u202e\u2066-\u2069"
_UNSEEN = r"\u200b\u2060\ufeff"
_TAGS = r"\U000e0000-\U000e007f"
_SURROGATE = r"\ud800-\udfff"
_FLAG = r"\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"
# Characters that take no room, which ordinary text needs (joiners, marks of direction, variation selectors) and evidence
# must not hide.
_JOINERS = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u2061-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    r"\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0080-\U000e0fff"
)

# Not compiled here: `re` does it when one is first used, and keeps it. All of them would cost a short run 3 ms.
_TEXT_SUSPECT = f"[{_CONTROL}\u2028\u2029{_BIDI}{_UNSEEN}{_TAGS}{_SURROGATE}]"
_TEXT = (
    f"(?P<keep>{_FLAG})|{_SEQUENCE}|(?P<line>[\x85\u2028\u2029])|(?P<broken>[{_SURROGATE}])"
    f"|[{_CONTROL}{_BIDI}{_UNSEEN}{_TAGS}]"
)
_PASTED = f"{_SEQUENCE}|[{_CONTROL}]"
_TERMINAL_SUSPECT = f"[{_CONTROL}{_BIDI}{_SURROGATE}]"
_TERMINAL = f"{_SEQUENCE}|(?P<line>\x85)|(?P<broken>[{_SURROGATE}])|(?P<named>[{_BIDI}])|[{_CONTROL}]"
_EVIDENCE = f"[{_CONTROL}\u2028\u2029{_BIDI}{_UNSEEN}{_TAGS}{_SURROGATE}{_JOINERS}]"

# A combining character is no letter or digit for `re`; only runs that might be too long are looked at one by one.
_MARK_RUN = rf"[^\w\x00-\x7f\u2010-\u20cf\u2100-\u2bff]{{{MARKS_PER_CLUSTER + 1},}}"
_HOST = r"(?:(?<=://)|(?<=@))[^\s/?#\"'<>()]+"
_LOOK_ALIKE_SCRIPTS = ("CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE", "LISU", "FULLWIDTH", "MATHEMATICAL")


def visible(text: str, mode: Mode = "text") -> str:
    """Text that can be drawn: no control character but newline and tab, no bidi control, no lone surrogate.

    `text`: escape sequences and invisible characters are dropped; line and paragraph separators become newlines.
    `evidence` (approval cards, diffs, file names, anything a person decides by): nothing is dropped, all of it is written
    out, controls as `\\x1b`, the rest as `<U+202E>`, and so are look-alike letters in host names. Source: SAF-1, SAF-3, APR-2.
    """
    if mode == "evidence":
        text = re.sub(_EVIDENCE, _written_out, text)
        if not text.isascii():
            text = re.sub(_HOST, _without_look_alikes, text)
    elif re.search(_TEXT_SUSPECT, text):
        text = re.sub(_TEXT, _replaced, text)
    return text if text.isascii() else re.sub(_MARK_RUN, _shortened, text)


def for_terminal(text: str) -> str:
    """A line of a command (`run`, `log`, ...) on its way to a terminal: escape sequences and controls removed, bidi
    controls written out, everything else exact (cli.md 2.7). Only for a tty: files and pipes get the text as it is.
    """
    return re.sub(_TERMINAL, _replaced, text) if re.search(_TERMINAL_SUSPECT, text) else text


def one_line(text: str, mode: Mode = "text") -> str:
    """`visible` text for a title, a name or a status: every run of white space is one space."""
    return " ".join(visible(text, mode).split())


def pasted(text: str) -> tuple[str, int]:
    """What a paste inserts, and how many controls and sequences were left out of it (CMP-13). CR and CRLF become LF."""
    return re.subn(_PASTED, "", text.replace("\r\n", "\n").replace("\r", "\n"))


def last_states(text: str) -> str:
    """Progress bars as a person saw them last: of a line rewritten with carriage returns the final state stays (RCP-11)."""
    if "\r" not in text:
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def _replaced(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind is None:
        return ""
    if kind == "keep":
        return match[0]
    if kind == "named":
        return _named(match[0])
    return "\n" if kind == "line" else "\ufffd"


def _written_out(match: re.Match[str]) -> str:
    char = match[0]
    return f"\\x{ord(char):02x}" if ord(char) < 0xA0 else _named(char)


def _named(char: str) -> str:
    return f"<U+{ord(char):04X}>"


def _shortened(match: re.Match[str]) -> str:
    """A run of characters that may be combining, with no more than `MARKS_PER_CLUSTER` of them in a row."""
    import unicodedata

    kept: list[str] = []
    marks = 0
    for char in match[0]:
        is_mark = unicodedata.category(char) in ("Mn", "Me", "Mc", "Cf")
        marks = marks + 1 if is_mark else 0
        if marks <= MARKS_PER_CLUSTER:
            kept.append(char)
        elif marks == MARKS_PER_CLUSTER + 1:
            kept.append("…")
    return "".join(kept)


def _without_look_alikes(match: re.Match[str]) -> str:
    """A host name that mixes Latin letters with scripts that imitate them, with the imitations named."""
    import unicodedata

    host = match[0]
    if host.isascii() or not re.search("[A-Za-z]", host):
        return host
    return "".join(
        _named(char) if not char.isascii() and unicodedata.name(char, "").startswith(_LOOK_ALIKE_SCRIPTS) else char
        for char in host
    )
