"""The newest outputs, whole, for the pager, also while they are still written (PGR-1, PGR-3).

What streams is cleaned a line at a time and never again: cleaning all of a long output for each delta would cost more with
every line that comes.
"""

from __future__ import annotations

from collections import OrderedDict

from lmx.sanitize import last_states, visible

OUTPUTS, OUTPUT_BYTES = 20, 2_000_000
UNFINISHED = 20_000
"""Characters that are kept of a line that does not end: of a progress bar only the newest state is shown."""


class Output:
    """Clean lines, and `rest`: a line that is still being written. `dropped` counts lines that made room for newer ones."""

    def __init__(self, title: str, text: str = "", *, open: bool = False):
        self.title, self.open = title, open
        self.lines = [] if open else _bounded(text).rstrip("\n").split("\n")
        self.dropped = self.bytes = 0
        self._rest = ""

    @property
    def rest(self) -> str:
        return visible(last_states(self._rest))

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, *([self.rest] if self._rest else [])])

    def add(self, text: str) -> None:
        """More of it, raw. Beyond two megabytes the oldest lines go."""
        done, newline, self._rest = (self._rest + text).rpartition("\n")
        self._rest = self._rest[-UNFINISHED:]
        if newline:
            clean = visible(last_states(done))
            self.lines.extend(clean.split("\n"))
            self.bytes += len(clean.encode("utf-8", "replace")) + 1
        if self.bytes > OUTPUT_BYTES:
            self._make_room()

    def _make_room(self) -> None:
        gone = 0
        while gone < len(self.lines) and self.bytes > OUTPUT_BYTES * 3 // 4:
            self.bytes -= len(self.lines[gone].encode("utf-8", "replace")) + 1
            gone += 1
        del self.lines[:gone]
        self.dropped += gone


class Outputs:
    """Keeps the last twenty; one that is kept again becomes the newest."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Output] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._kept)

    def keep(self, id: str, title: str, text: str) -> None:
        """An output that is whole."""
        self._put(id, Output(title, text))

    def stream(self, id: str, title: str, text: str) -> None:
        """More of an output whose call still runs. An id may come again: one that was whole is another output."""
        output = self._kept.get(id)
        if output is None or not output.open:
            output = Output(title, open=True)
            self._put(id, output)
        output.add(text)

    def settle(self) -> None:
        """No call runs any more: what still streamed has all it will have."""
        for output in self._kept.values():
            output.open = False

    def newest_first(self) -> list[tuple[str, Output]]:
        """(id, output) of each."""
        return list(reversed(self._kept.items()))

    def _put(self, id: str, output: Output) -> None:
        self._kept.pop(id, None)
        self._kept[id] = output
        while len(self._kept) > OUTPUTS:
            self._kept.popitem(last=False)


def _bounded(text: str) -> str:
    if len(text) * 4 <= OUTPUT_BYTES:
        return text
    return text.encode("utf-8", "replace")[:OUTPUT_BYTES].decode("utf-8", "ignore")
