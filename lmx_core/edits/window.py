"""The numbered lines of a file that fit into an answer, out of a stream of its bytes (RD-1).

Nothing but the shown lines is kept: a log of gigabytes, or one line of a gigabyte, costs no memory. Lines are counted on after
the window, so that a reader knows how much there is, up to a limit.
"""

from __future__ import annotations

import hashlib
import re

from lmx_core.edits.text import BOM
from lmx_core.secrets.masker import Masker

LINE_BYTES = 2_000
SCAN_BYTES = 128 * 1024 * 1024
PROBE_BYTES = 8_192
_CUT = re.compile(r" \[\.\.\. line cut, it has [\d,]+ bytes\]\Z")


class Window:
    """Feed it the file from its beginning while `wants_more`; then `end()`.

    Shows lines from `first` (from 1), at most `count` of them and about `limit` bytes, but the first always. `lines` are what
    is shown, without numbers. After the end: `total` lines of the file, None if it was not read to its end; `next` is the line
    to go on from, None if nothing is left; `sha256` of a file that was shown completely, else None.
    """

    def __init__(self, first: int, count: int, limit: int):
        self.first, self._count, self._limit = first, count, limit
        self.lines: list[str] = []
        self.head = b""
        self.total: int | None = None
        self.size = 0
        self.cut_lines = 0
        self.crlf = 0
        self.damaged = 0
        self._line = 1
        self._piece = bytearray()
        self._piece_bytes = 0
        self._ends_in_cr = False
        self._used = 0
        self._full = False
        self._scanned = 0
        self._digest = hashlib.sha256()
        self._ended = False

    @property
    def wants_more(self) -> bool:
        return self._scanned < SCAN_BYTES

    @property
    def is_binary(self) -> bool:
        return b"\0" in self.head

    @property
    def next(self) -> int | None:
        shown = self.first + len(self.lines)
        more = self._full or (self.total is None and not self._ended)
        return shown if more and (self.total is None or shown <= self.total) else None

    @property
    def sha256(self) -> str | None:
        complete = self._ended and self.first == 1 and self.next is None and not self.cut_lines
        return self._digest.hexdigest() if complete else None

    def feed(self, block: bytes) -> None:
        self._digest.update(block)
        if len(self.head) < PROBE_BYTES:
            self.head += block[: PROBE_BYTES - len(self.head)]
        self.size += len(block)
        start = 0
        if self._line < self.first and self._line + (newlines := block.count(b"\n")) < self.first:
            self._line += newlines  # all before the window
            self._piece_bytes = 0 if block.endswith(b"\n") else 1
            return
        while not self._full and start < len(block):
            end = block.find(b"\n", start)
            self._take(block[start : end if end >= 0 else len(block)])
            if end < 0:
                return
            self._end_line()
            start = end + 1
        self._skip(block, start)

    def end(self) -> None:
        """The whole file was fed."""
        self._ended = True
        if self._piece_bytes:
            if self._full:
                self._line += 1
            else:
                self._end_line(newline=False)
        self.total = self._line - 1

    def _skip(self, block: bytes, start: int) -> None:
        """Counts the lines after the window."""
        rest = len(block) - start
        if not rest:
            return
        self._scanned += rest
        self._line += block.count(b"\n", start)
        self._piece_bytes = 0 if block.endswith(b"\n") else 1

    def _take(self, piece: bytes) -> None:
        """A part of the current line; of a long one the beginning is kept."""
        if not piece:
            return
        self._ends_in_cr = piece.endswith(b"\r")
        self._piece_bytes += len(piece)
        if self._line >= self.first and len(self._piece) <= LINE_BYTES:
            self._piece += piece[: LINE_BYTES + 2 - len(self._piece)]

    def _end_line(self, *, newline: bool = True) -> None:
        if self._line >= self.first:
            self._show(newline)
        self._line += 1
        self._piece.clear()
        self._piece_bytes = 0
        self._ends_in_cr = False

    def _show(self, newline: bool) -> None:
        crlf = newline and self._ends_in_cr
        size = self._piece_bytes - crlf
        kept = bytes(self._piece[: min(size, LINE_BYTES)])
        if self._line == 1:
            kept = kept.removeprefix(BOM)
        text = kept.decode("utf-8", "replace" if size <= LINE_BYTES else "ignore")
        cost = len(str(self._line)) + len(text.encode()) + 2
        if self.lines and (len(self.lines) >= self._count or self._used + cost > self._limit):
            self._full = True
            return
        if size > LINE_BYTES:
            text += f" [... line cut, it has {size:,} bytes]"
            self.cut_lines += 1
        self.damaged += "\ufffd" in text and "\ufffd".encode() not in kept
        self.crlf += crlf
        self.lines.append(text)
        self._used += cost
        if len(self.lines) >= self._count:
            self._full = True


def mask_lines(window: Window, secrets: Masker) -> None:
    """Masks what is secret in the shown lines, before anything is put in front of them: a private key is several lines."""
    if not secrets.active:
        return
    lines = secrets.mask("\n".join(window.lines)).split("\n")
    for number, line in enumerate(lines if window.cut_lines else ()):
        if (note := _CUT.search(line)) is not None:
            lines[number] = secrets.mask(line[: note.start()], cut=True) + note[0]
    window.lines = lines


def numbered(window: Window) -> list[str]:
    """The shown lines as `N<TAB>text`, then what a reader cannot see in the lines themselves."""
    lines = [f"{window.first + n}\t{line}" for n, line in enumerate(window.lines)]
    if window.crlf:
        ends = "CRLF" if window.crlf >= len(window.lines) - 1 else f"mixed, {window.crlf} of these lines end in CRLF"
        lines.append(f"[line ends: {ends}]")
    if window.damaged:
        lines.append(f"[{window.damaged} of these lines have bytes that are not UTF-8, shown as \ufffd]")
    return lines
