"""The text being written: caret, deletion, kill and undo, on grapheme clusters (CMP-1). Pure; the editor widget draws it.

Textual's TextArea counts code points, so that one Backspace inside a family emoji leaves a broken cluster, and half a chip
could be deleted. Here the caret only ever stands between clusters, and a chip is one of them.
"""

from __future__ import annotations

import re

from rich.cells import split_graphemes

from lmx.conversation.draft import Draft, chip_number

UNDO_LIMIT = 200
_WORD = re.compile(r"\w+")
_REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff]")


def clusters(text: str) -> list[tuple[int, int, int]]:
    """(start, end, cells) of every grapheme cluster; two regional indicators are one flag."""
    if text.isascii():
        return [(place, place + 1, 1) for place in range(len(text))]
    spans = split_graphemes(text)[0]
    joined: list[tuple[int, int, int]] = []
    for start, end, size in spans:
        if chip_number(text[start]) and end - start > 1:  # a mark after a chip is no part of it
            joined += [(start, start + 1, size), (start + 1, end, 0)]
        elif joined and _is_lone_regional(text, joined[-1]) and _REGIONAL.match(text, start):
            joined[-1] = (joined[-1][0], end, 2)
        else:
            joined.append((start, end, size))
    return joined


def _is_lone_regional(text: str, span: tuple[int, int, int]) -> bool:
    return span[1] - span[0] == 1 and _REGIONAL.match(text, span[0]) is not None


class Buffer:
    """A draft under edit. Every method that changes the text can be undone; typing is undone by the word."""

    def __init__(self, draft: Draft | None = None):
        self._draft = draft or Draft()
        self._undo: list[Draft] = []
        self._redo: list[Draft] = []
        self._typing = False
        self._killed = ""

    @property
    def draft(self) -> Draft:
        return self._draft

    @property
    def text(self) -> str:
        return self._draft.text

    @property
    def caret(self) -> int:
        return self._draft.caret

    def load(self, draft: Draft) -> None:
        """Another draft altogether; what was undone in the old one is not offered here."""
        self._draft = draft
        self._undo.clear()
        self._redo.clear()
        self._typing = False

    # --- changes ----------------------------------------------------------------------------------------------------

    def insert(self, text: str) -> None:
        """Typed text at the caret."""
        word = text.isalnum() and self._typing
        self._remember(coalesce=word)
        self._typing = text.isalnum()
        before, after = self.text[: self.caret], self.text[self.caret :]
        self._set(before + text + after, self.caret + len(text))

    def put(self, draft: Draft) -> None:
        """The draft with a paste in it, as one change."""
        self._remember()
        self._draft = draft

    def delete_left(self) -> None:
        self._delete(self._left(self.caret), self.caret)

    def delete_right(self) -> None:
        self._delete(self.caret, self._right(self.caret))

    def kill_word_left(self) -> None:
        self._kill(self._word_left(), self.caret)

    def kill_word_right(self) -> None:
        self._kill(self.caret, self._word_right())

    def kill_to_start(self) -> None:
        start = self._line_start(self.caret)
        self._kill(start if start < self.caret else max(0, start - 1), self.caret)

    def kill_to_end(self) -> None:
        end = self._line_end(self.caret)
        self._kill(self.caret, end if end > self.caret else min(len(self.text), end + 1))

    def yank(self) -> None:
        if self._killed:
            self._remember()
            before, after = self.text[: self.caret], self.text[self.caret :]
            self._set(before + self._killed + after, self.caret + len(self._killed))

    def undo(self) -> None:
        if self._undo:
            self._redo.append(self._draft)
            self._draft = self._undo.pop()
            self._typing = False

    def redo(self) -> None:
        if self._redo:
            self._undo.append(self._draft)
            self._draft = self._redo.pop()
            self._typing = False

    # --- motion -----------------------------------------------------------------------------------------------------

    def to(self, caret: int) -> None:
        self._typing = False
        self._set(self.text, min(max(caret, 0), len(self.text)))

    def left(self) -> None:
        self.to(self._left(self.caret))

    def right(self) -> None:
        self.to(self._right(self.caret))

    def word_left(self) -> None:
        self.to(self._word_left())

    def word_right(self) -> None:
        self.to(self._word_right())

    def line_start(self) -> None:
        self.to(self._line_start(self.caret))

    def line_end(self) -> None:
        self.to(self._line_end(self.caret))

    def end(self) -> None:
        self.to(len(self.text))

    # --- places -----------------------------------------------------------------------------------------------------

    def _line_start(self, place: int) -> int:
        return self.text.rfind("\n", 0, place) + 1

    def _line_end(self, place: int) -> int:
        end = self.text.find("\n", place)
        return len(self.text) if end < 0 else end

    def _left(self, place: int) -> int:
        """The start of the cluster that ends at `place`, or the newline before it."""
        start = self._line_start(place)
        if start == place:
            return max(0, place - 1)
        return start + clusters(self.text[start:place])[-1][0]

    def _right(self, place: int) -> int:
        end = self._line_end(place)
        if end == place:
            return min(len(self.text), place + 1)
        return place + clusters(self.text[place:end])[0][1]

    def _word_left(self) -> int:
        ends = [m.start() for m in _WORD.finditer(self.text, 0, self.caret)]
        return ends[-1] if ends else 0

    def _word_right(self) -> int:
        match = _WORD.search(self.text, self.caret)
        return match.end() if match else len(self.text)

    # --- making -----------------------------------------------------------------------------------------------------

    def _set(self, text: str, caret: int) -> None:
        self._draft = Draft(text=text, caret=caret, pastes=self._draft.pastes)

    def _remember(self, *, coalesce: bool = False) -> None:
        if not coalesce:
            self._undo.append(self._draft)
            del self._undo[:-UNDO_LIMIT]
        self._redo.clear()
        self._typing = False

    def _delete(self, start: int, end: int) -> None:
        if start < end:
            self._remember()
            self._set(self.text[:start] + self.text[end:], start)

    def _kill(self, start: int, end: int) -> None:
        if start < end:
            self._killed = self.text[start:end]
            self._delete(start, end)
