"""A file's bytes as text that can be searched, and back again without touching a byte outside the edit (ED-2).

Decoding with `errors="replace"` and writing the result back destroys every byte that is not UTF-8, and rewriting line ends
rewrites lines nobody mentioned (cases C01, C02). So text is only a view: matching happens on it, and what is written back is
the file's own bytes around the new ones.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property

BOM = b"\xef\xbb\xbf"
ALIGNED_LINES = 400
"""A longer middle is not compared line by line: that costs the square of its length."""

_ESCAPED = re.compile("[\udc80-\udcff]")


class EncodingConflict(ValueError):
    """The new text cannot be written into this file without making it a file of two encodings."""


def lf(text: str) -> str:
    """`text` with CR LF as LF: how all matching sees text."""
    return text.replace("\r\n", "\n") if "\r" in text else text


class Edit:
    """Puts `new` in place of `text[start:end]` (offsets into `Text.text`)."""

    __slots__ = ("end", "new", "start")

    def __init__(self, start: int, end: int, new: str):
        self.start, self.end, self.new = start, end, lf(new)


class Text:
    """The view of one file. `text` has LF line ends and no BOM; bytes that are not UTF-8 are lone surrogates in it."""

    def __init__(self, data: bytes):
        self.bom = data[:3] if data.startswith(BOM) else b""
        self._raw = data[len(self.bom) :].decode("utf-8", "surrogateescape")

    @cached_property
    def text(self) -> str:
        return lf(self._raw)

    @cached_property
    def shown(self) -> str:
        """The same as a model or a person may see it: what is not UTF-8 is U+FFFD."""
        return _ESCAPED.sub("\ufffd", self.text)

    @cached_property
    def bad_bytes(self) -> int:
        """How many bytes are not UTF-8."""
        return 0 if self._raw.isascii() else len(_ESCAPED.findall(self._raw))

    @cached_property
    def newline(self) -> str:
        """The predominant line end; of as many CR LF as LF, the first; of none, LF."""
        crlf = len(self._crlf)
        plain = self.text.count("\n") - crlf
        if crlf == plain and crlf:
            return "\r\n" if self._raw.find("\n") == self._crlf[0] + 1 else "\n"
        return "\r\n" if crlf > plain else "\n"

    @property
    def is_mixed(self) -> bool:
        return 0 < len(self._crlf) < self.text.count("\n")

    @cached_property
    def _crlf(self) -> list[int]:
        """Where in `text` the line ends are that the file has as CR LF, ascending."""
        if "\r" not in self._raw:
            return []
        return [match.start() - n for n, match in enumerate(re.finditer("\r\n", self._raw))]

    def _raw_offset(self, offset: int) -> int:
        return offset + bisect_left(self._crlf, offset)

    def apply(self, edits: Sequence[Edit]) -> bytes:
        """The file's bytes after `edits`, which are in order and do not overlap. Raises EncodingConflict."""
        parts: list[str] = []
        done = 0
        for edit in edits:
            self._check(edit)
            parts += self._raw[done : self._raw_offset(edit.start)], self._written(edit)
            done = self._raw_offset(edit.end)
        parts.append(self._raw[done:])
        return self.bom + "".join(parts).encode("utf-8", "surrogateescape")

    def _check(self, edit: Edit) -> None:
        """A file whose letters are in an older encoding must not get letters in UTF-8 (case C02)."""
        if not self.bad_bytes or edit.new.isascii():
            return
        if "\ufffd" in edit.new:
            raise EncodingConflict("U+FFFD stands for bytes that are not UTF-8; writing it would destroy them")
        letters = sum(not char.isascii() for char in self._raw) - self.bad_bytes
        if self.bad_bytes > letters:
            raise EncodingConflict(
                "the file is in an encoding other than UTF-8, and the new text has letters beyond ASCII"
            )

    def _written(self, edit: Edit) -> str:
        """The new text with the file's line ends; a line the edit repeats unchanged keeps its own."""
        if not self.is_mixed:
            return edit.new if self.newline == "\n" else edit.new.replace("\n", self.newline)
        old, new = lines_of(self.text[edit.start : edit.end]), lines_of(edit.new)
        starts = [edit.start]
        for line in old:
            starts.append(starts[-1] + len(line))
        written: list[str] = []
        for same, old_from, old_to, new_from, new_to in aligned(old, new):
            if same:
                written.append(self._raw[self._raw_offset(starts[old_from]) : self._raw_offset(starts[old_to])])
            else:
                written += (line.replace("\n", self.newline) for line in new[new_from:new_to])
        return "".join(written)


def lines_of(text: str) -> list[str]:
    """Lines with their LF, and only LF: `splitlines` would also split at U+2028 and form feeds."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def aligned(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Which lines stay and which become which: `(same, old_from, old_to, new_from, new_to)`, in order, covering both."""
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    tail = next((n for n in range(shortest - head) if old[-1 - n] != new[-1 - n]), shortest - head)
    old_end, new_end = len(old) - tail, len(new) - tail
    if head:
        yield True, 0, head, 0, head
    if max(old_end, new_end) - head > ALIGNED_LINES:
        yield False, head, old_end, head, new_end
    else:
        middle = SequenceMatcher(None, old[head:old_end], new[head:new_end], autojunk=False)
        for tag, i, j, k, m in middle.get_opcodes():
            yield tag == "equal", head + i, head + j, head + k, head + m
    if tail:
        yield True, old_end, len(old), new_end, len(new)


def line_number(text: str, offset: int) -> int:
    """The line, from 1, that holds `offset`."""
    return text.count("\n", 0, offset) + 1
