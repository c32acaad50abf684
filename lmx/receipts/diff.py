"""The difference of two texts as rows: numbered, with what is unchanged folded away (RCP-13), in bounded time (RCP-14).

Most edits change a few lines of a large file, so what both ends share is set aside first and only the middle is compared; a
middle too large to compare is told as removed and added as a whole. Comparing everything costs the square of the file.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import msgspec

from lmx import words
from lmx.rows import Row
from lmx.sanitize import visible

CONTEXT = 2
DIFF_ROWS = 48
COMPARED_LINES = 800
"""A longer changed part is not compared line by line."""


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """`rows` without bounds; `added` and `removed` count lines."""

    rows: tuple[Row, ...]
    added: int
    removed: int

    @property
    def counts(self) -> str:
        return f"(+{self.added} -{self.removed})"

    def bounded(self, limit: int = DIFF_ROWS) -> tuple[Row, ...]:
        """At most `limit` rows, and then how many more there are."""
        if len(self.rows) <= limit:
            return self.rows
        more = words.more_diff_lines(len(self.rows) - limit)
        return (*self.rows[:limit], Row(kind="hidden", text=more, gutter="    ", tone="muted"))

    def text(self) -> str:
        """As plain text with signs, for the pager."""
        signs = {"added": "+", "removed": "-", "context": " "}
        return "\n".join(f"{row.gutter}{signs.get(row.kind, ' ')} {row.text}" for row in self.rows)


def between(before: str, after: str, *, lexer: str | None = None, first: int | None = 1) -> Diff:
    """The difference, numbered from `first`; `first` None leaves the numbers out (they are not known)."""
    old, new = _lines(before), _lines(after)
    rows: list[Row] = []
    added = removed = 0
    for tag, old_from, old_to, new_from, new_to in _opcodes(old, new):
        if tag == "equal":
            rows.extend(_context(old, old_from, old_to, new_from, lexer, first, is_last=old_to == len(old)))
            continue
        removed += old_to - old_from
        added += new_to - new_from
        for kind, lines, start, end in (("removed", old, old_from, old_to), ("added", new, new_from, new_to)):
            rows.extend(_row(kind, lines[place], place, lexer, first) for place in range(start, end))
    return Diff(rows=tuple(rows), added=added, removed=removed)


def numbered(text: str, *, lexer: str | None, limit: int) -> tuple[Row, ...]:
    """The first lines of a new file, as added ones."""
    lines = _lines(text)
    rows = tuple(_row("added", line, place, lexer, 1) for place, line in enumerate(lines[:limit]))
    if len(lines) <= limit:
        return rows
    return (*rows, Row(kind="hidden", text=words.more_lines(len(lines) - limit), gutter="    ", tone="muted"))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines and lines[-1] == "" else lines


def _row(kind: str, line: str, place: int, lexer: str | None, first: int | None) -> Row:
    tone = {"added": "ok", "removed": "error"}.get(kind, "muted")
    gutter = f"{place + first:>5} " if first is not None else "    "
    return Row(kind=kind, text=visible(line, "evidence"), gutter=gutter, tone=tone, lexer=lexer)


def _context(
    lines: list[str], start: int, end: int, new_start: int, lexer: str | None, first: int | None, *, is_last: bool
) -> Iterator[Row]:
    """Unchanged lines: a few beside each change, the rest told by their number. Numbers are those of the new text."""
    shift = new_start - start
    head = 0 if start == 0 else CONTEXT
    tail = 0 if is_last else CONTEXT
    if end - start <= head + tail + 1:
        head, tail = end - start, 0
        if start == 0:
            head, tail = 0, min(CONTEXT, end)
        elif is_last:
            head = min(CONTEXT, head)
    for place in range(start, start + head):
        yield _row("context", lines[place], place + shift, lexer, first)
    hidden = (end - start) - head - tail
    if hidden and start != 0 and not is_last:
        yield Row(kind="hidden", text=words.unchanged_lines(hidden), gutter="    ", tone="muted")
    for place in range(end - tail, end):
        yield _row("context", lines[place], place + shift, lexer, first)


def _opcodes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    start = 0
    shortest = min(len(old), len(new))
    while start < shortest and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < shortest - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    codes: list[tuple[str, int, int, int, int]] = []
    if start:
        codes.append(("equal", 0, start, 0, start))
    old_middle, new_middle = old[start : len(old) - tail], new[start : len(new) - tail]
    if max(len(old_middle), len(new_middle)) > COMPARED_LINES:
        codes.append(("replace", start, len(old) - tail, start, len(new) - tail))
    elif old_middle or new_middle:
        matcher = difflib.SequenceMatcher(None, old_middle, new_middle, autojunk=False)
        codes += [(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in matcher.get_opcodes()]
    if tail:
        codes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return codes
