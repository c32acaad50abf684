"""An output as rows of cells, laid out no further than somebody has looked (PGR-3).

Two megabytes of Chinese take a second to wrap, and nobody reads them all: rows are made up to the one that is asked for, and
all of them only for the end of the output or for a search. What is added later is laid out alone.
"""

from __future__ import annotations

from lmx.tui.outputs import Output
from lmx.tui.view.width import Span, without_tabs, wrap

SEGMENT = 4_000
"""Characters of a line that are wrapped at once."""


class Paper:
    """The rows of one output at one width. `count` lays out everything."""

    def __init__(self, output: Output, width: int, *, wrapped: bool = True):
        self.output, self.width, self.wrapped = output, width, wrapped
        self._done, self._dropped = 0, output.dropped
        self._segments: list[str] = []
        self._rows: list[tuple[int, int, int]] = []
        self._last: tuple[str, list[str]] = "", []

    def row(self, number: int) -> str | None:
        """The text of a row, None beyond the end."""
        self._lay_out(number + 1)
        if number < len(self._rows):
            segment, start, end = self._rows[number]
            return self._segments[segment][start:end]
        rest, number = self._rest(), number - len(self._rows)
        return rest[number] if number < len(rest) else None

    def count(self) -> int:
        self._lay_out(None)
        return len(self._rows) + len(self._rest())

    def find(self, text: str, at: int, *, back: bool = False) -> int | None:
        """The next row from `at` on (`back`: before it) in which a match begins, around the end; case does not matter."""
        wanted = text.casefold()
        if not wanted:
            return None
        total = self.count()
        order = range(at - 1, at - 1 - total, -1) if back else range(at, at + total)
        lower = [segment.casefold() for segment in self._segments]
        for number in (place % total for place in order):
            if number >= len(self._rows):
                found = wanted in self._rest()[number - len(self._rows)].casefold()
            else:
                segment, start, end = self._rows[number]
                place = lower[segment].find(wanted, start)
                found = start <= place < max(end, start + 1)
            if found:
                return number
        return None

    def _lay_out(self, rows: int | None) -> None:
        lines = self.output.lines
        if self._dropped != self.output.dropped:
            self._done, self._dropped = 0, self.output.dropped
            self._segments, self._rows = [], []
        while self._done < len(lines) and (rows is None or len(self._rows) < rows):
            for segment, spans in self._spans(lines[self._done]):
                self._rows.extend((len(self._segments), start, end) for start, end in spans)
                self._segments.append(segment)
            self._done += 1

    def _rest(self) -> list[str]:
        rest = self.output.rest
        if self._last[0] != rest:
            made = [segment[start:end] for segment, spans in self._spans(rest) for start, end in spans]
            self._last = rest, made
        return self._last[1] if rest else []

    def _spans(self, line: str) -> list[tuple[str, list[Span]]]:
        plain = without_tabs(line)
        if not self.wrapped:
            return [(plain, [(0, len(plain))])]
        parts = [plain[at : at + SEGMENT] for at in range(0, len(plain), SEGMENT)] or [""]
        return [(part, wrap(part, self.width, self.width)) for part in parts]
