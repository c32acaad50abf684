"""The text being written: caret, deletion, kill and undo, on grapheme clusters (CMP-1). Pure; the editor widget draws it.

Textual's TextArea counts code points, so that one Backspace inside a family emoji leaves a broken cluster, and half a chip
could be deleted. Here the caret only ever stands between clusters, and a chip is one of them.
"""

from __future__ import annotations

import re

from rich.cells import split_graphemes

from lmx.conversation.draft import Draft, chip_number, pasted

UNDO_LIMIT = 200
RING = 20
"""Killed texts that can be yanked."""

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
        self._ring: list[str] = []
        self._yanked: tuple[int, int] | None = None
        self._anchor: int | None = None

    @property
    def draft(self) -> Draft:
        return self._draft

    @property
    def text(self) -> str:
        return self._draft.text

    @property
    def caret(self) -> int:
        return self._draft.caret

    @property
    def selection(self) -> tuple[int, int] | None:
        """What is selected, from its first character to behind its last."""
        if self._anchor is None or self._anchor == self.caret:
            return None
        return min(self._anchor, self.caret), max(self._anchor, self.caret)

    @property
    def selected(self) -> str:
        """The selected text as it is sent: a chip is what was pasted."""
        start, end = self.selection or (0, 0)
        return Draft(text=self.text[start:end], pastes=self._draft.pastes).expanded()

    def load(self, draft: Draft) -> None:
        """Another draft altogether; what was undone in the old one is not offered here."""
        self._anchor = self._yanked = None
        self._draft = draft
        self._undo.clear()
        self._redo.clear()
        self._typing = False

    # --- changes ----------------------------------------------------------------------------------------------------

    def insert(self, text: str) -> None:
        """Typed text at the caret."""
        word = text.isalnum() and self._typing and self.selection is None
        self._remember(coalesce=word)
        self._take_out()
        self._typing = text.isalnum()
        before, after = self.text[: self.caret], self.text[self.caret :]
        self._set(before + text + after, self.caret + len(text))

    def put(self, draft: Draft) -> None:
        """The draft with a paste in it, as one change."""
        self._remember()
        self._draft = draft

    def paste(self, text: str) -> None:
        """A paste in place of what is selected, as one change."""
        self._remember()
        self._take_out()
        self._draft = pasted(self._draft, text)

    def delete_left(self) -> None:
        start, end = self.selection or (self._left(self.caret), self.caret)
        self._delete(start, end)

    def delete_right(self) -> None:
        start, end = self.selection or (self.caret, self._right(self.caret))
        self._delete(start, end)

    def cut(self) -> str:
        """Takes the selection out, into the kill ring; the text as it is sent."""
        selection, text = self.selection, self.selected
        if selection is not None:
            self._kill(*selection)
        return text

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
        """What was killed last."""
        if self._ring:
            self._remember()
            self._take_out()
            self._put(self._ring[-1])

    def yank_older(self) -> None:
        """Right after a yank: what was killed before that, in its place; round and round the ring."""
        if self._yanked is None:
            return
        start, end = self._yanked
        older = self._ring[(self._ring.index(self.text[start:end]) - 1) % len(self._ring)]
        self._remember()
        self._set(self.text[:start] + self.text[end:], start)
        self._put(older)

    def _put(self, text: str) -> None:
        start = self.caret
        self._set(self.text[:start] + text + self.text[start:], start + len(text))
        self._yanked = start, self.caret

    def expand_paste(self) -> None:
        """A chip beside the caret becomes the text that it stands for (CMP-15)."""
        for place in (self.caret - 1, self.caret):
            number = chip_number(self.text[place]) if 0 <= place < len(self.text) else 0
            if 0 < number <= len(self._draft.pastes):
                whole = self._draft.pastes[number - 1]
                self._remember()
                self._set(self.text[:place] + whole + self.text[place + 1 :], place + len(whole))
                return

    def undo(self) -> None:
        if self._undo:
            self._redo.append(self._draft)
            self._draft = self._undo.pop()
            self._typing, self._anchor, self._yanked = False, None, None

    def redo(self) -> None:
        if self._redo:
            self._undo.append(self._draft)
            self._draft = self._redo.pop()
            self._typing, self._anchor, self._yanked = False, None, None

    # --- motion -----------------------------------------------------------------------------------------------------

    def to(self, caret: int, *, select: bool = False) -> None:
        """`select`: what lies between is selected, together with what was before."""
        anchor = (self.caret if self._anchor is None else self._anchor) if select else None
        self._typing, self._yanked = False, None
        self._set(self.text, min(max(caret, 0), len(self.text)))
        self._anchor = anchor

    def select_word(self, place: int) -> None:
        """The word that this character is in, else the one cluster."""
        word = next((m.span() for m in _WORD.finditer(self.text) if m.start() <= place < m.end()), None)
        start, end = word or (place, self._right(place))
        self.to(start)
        self.to(end, select=True)

    def select_line(self, place: int) -> None:
        self.to(self._line_start(place))
        self.to(self._line_end(place), select=True)

    def deselect(self) -> None:
        self._anchor = None

    def select_left(self) -> None:
        self.to(self._left(self.caret), select=True)

    def select_right(self) -> None:
        self.to(self._right(self.caret), select=True)

    def select_word_left(self) -> None:
        self.to(self._word_left(), select=True)

    def select_word_right(self) -> None:
        self.to(self._word_right(), select=True)

    def select_to_start(self) -> None:
        self.to(self._line_start(self.caret), select=True)

    def select_to_end(self) -> None:
        self.to(self._line_end(self.caret), select=True)

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
        self._typing, self._yanked = False, None

    def _take_out(self) -> None:
        """What is selected goes; whoever calls has remembered the draft of before."""
        if (selection := self.selection) is not None:
            start, end = selection
            self._set(self.text[:start] + self.text[end:], start)
        self._anchor = None

    def _delete(self, start: int, end: int) -> None:
        if start < end:
            self._remember()
            self._set(self.text[:start] + self.text[end:], start)
        self._anchor = None

    def _kill(self, start: int, end: int) -> None:
        if start < end:
            killed = self.text[start:end]
            self._ring = [*(one for one in self._ring if one != killed), killed][-RING:]
            self._delete(start, end)
