"""What a person has written and not sent: text, caret, and the long pastes that stand in it as chips (CMP-14).

A chip is one character of a private-use plane, so that caret motion, deletion, wrapping and undo treat it as the one thing it
is; its text is kept beside the draft. Keeping the label in the text (the obvious other way) lets a person edit half of it, and
then what is sent is no longer what was pasted.
"""

from __future__ import annotations

import re

import msgspec

from lmx import words

CHIP_FIRST = 0x10F000
CHIP_LAST = 0x10FFFD
_CHIP = re.compile(f"[{chr(CHIP_FIRST)}-{chr(CHIP_LAST)}]")

CHIP_LINES = 8
CHIP_CHARACTERS = 1_000
"""A paste of more lines or more characters becomes a chip."""

PASTE_LIMIT_BYTES = 2_000_000
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """`pastes[n - 1]` is the text of chip n. `caret` counts characters of `text`."""

    text: str = ""
    caret: int = 0
    pastes: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        """Nothing but white space: not sent (CMP-6), and nothing that could be lost."""
        return not self.text.strip()

    def expanded(self) -> str:
        """What is sent: every chip replaced by what was pasted."""
        return _CHIP.sub(lambda match: self._paste(match[0]), self.text) if self.pastes else self.text

    def label(self, char: str) -> str | None:
        """What is drawn for a cluster, if it is a chip of this draft."""
        number = chip_number(char) if len(char) == 1 else 0
        return words.chip_label(number, self.pastes[number - 1]) if 0 < number <= len(self.pastes) else None

    def _paste(self, char: str) -> str:
        number = chip_number(char)
        return self.pastes[number - 1] if number <= len(self.pastes) else char


EMPTY = Draft()


def of(text: str) -> Draft:
    """A plain draft with the caret at its end."""
    return Draft(text=text, caret=len(text))


def chip_number(char: str) -> int:
    """Which chip a character is, counting from 1; 0 for an ordinary character."""
    code = ord(char)
    return code - CHIP_FIRST + 1 if CHIP_FIRST <= code <= CHIP_LAST else 0


def is_long(text: str) -> bool:
    """Whether a paste becomes a chip (CMP-14)."""
    return len(text) > CHIP_CHARACTERS or words.lines(text) > CHIP_LINES


def pasted(draft: Draft, text: str) -> Draft:
    """The draft with `text` inserted at the caret: plainly, or as a chip. `text` has been through `plain`."""
    pastes = draft.pastes
    if is_long(text) and len(pastes) < CHIP_LAST - CHIP_FIRST:
        pastes = (*pastes, text)
        text = chr(CHIP_FIRST + len(pastes) - 1)
    before, after = draft.text[: draft.caret], draft.text[draft.caret :]
    return Draft(text=before + text + after, caret=draft.caret + len(text), pastes=pastes)


def may_be_picture(text: str) -> bool:
    """Does a paste look like the path of a picture, as terminals type one that is dragged onto them (CMP-35)?"""
    line = text.strip()
    bare = line.strip("'\"")
    path = bare.startswith(("/", "~/", "file:///")) and bare.lower().endswith(PICTURES)
    return path and "\n" not in line and len(line) < 4_096


def plain(text: str) -> str:
    """Typed or pasted text without characters that would pass for chips. The terminal's filter cleaned the rest (CMP-13)."""
    return _CHIP.sub("\ufffd", text)
