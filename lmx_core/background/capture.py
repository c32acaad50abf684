"""What a background command has said, in bounded memory, to be read whole or piece by piece (BG-4).

A server logs for hours. Kept whole it fills the memory, kept as a file it fills the disk, and with only its end kept nobody
sees how it began. So the first and the last part are kept and everything is counted. A reader remembers how far it has read;
what was dropped meanwhile is said with its size.
"""

from __future__ import annotations

from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.tools.plain import Plain

MAX_BYTES = 1_000_000
"""Kept of one command's output: the first half and the last half of so many bytes of text."""


class Capture:
    """Takes bytes, gives text as `Plain` has it, without what `secrets` masks.

    `received` counts the bytes of the command, `total` those of its text.

    `total` ends with the last complete line: one that is still being written, such as a progress bar, is shown in its state of
    the moment and counted when it is finished.
    """

    def __init__(self, limit: int = MAX_BYTES, secrets: Masker = NOTHING):
        self._limit, self._head_limit, self._tail_limit = limit, limit - limit // 2, limit // 2
        self._plain, self._secrets, self._masks = Plain(), secrets, secrets.stream()
        self._head, self._tail = bytearray(), bytearray()
        self.received = self.total = 0

    def feed(self, data: bytes) -> None:
        self.received += len(data)
        self._keep(self._masks.feed(self._plain.feed(data)))

    def end(self) -> None:
        """No more will come: what was still held is the end of the text."""
        self._keep(self._masks.feed(self._plain.end()) + self._masks.end())

    @property
    def kept(self) -> int:
        """Bytes of memory that its text takes."""
        return len(self._head) + len(self._tail)

    def shrink(self, limit: int) -> None:
        """Keeps only so much of it from here on, at both ends. Nothing may be fed any more."""
        if self.kept > limit:
            end = self._tail if len(self._tail) >= limit // 2 else self._head + self._tail
            self._tail = end[len(end) - limit // 2 :]
            del self._head[limit - limit // 2 :]

    def text(self, since: int = 0, limit: int | None = None) -> str:
        """The text from its byte `since`, at most about `limit` bytes: the first half, the last, and how much is between."""
        held = self._masks.held + self._secrets.mask(self._plain.held, cut=True)
        first, last = self._parts(since, self._limit if limit is None else limit)
        if first[1] == last[0]:
            return (self._bytes(*first) + self._bytes(*last)).decode("utf-8", "replace") + held
        # A character cut in two at the seam is dropped and not replaced, so that no half looks damaged.
        head, end = (self._bytes(*part).decode("utf-8", "ignore") for part in (first, last))
        cut = self.total - since - len(head.encode()) - len(end.encode())
        return f"{head}\n[... {cut:,} bytes cut from the middle ...]\n{end}{held}"

    def _parts(self, since: int, limit: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The two stretches of the text that are given. Where nothing is left out, the second begins where the first ends."""
        end, start = self.total, self.total
        if self.total - since > limit:
            end, start = since + limit - limit // 2, self.total - limit // 2
        dropped_from, dropped_to = len(self._head), self.total - len(self._tail)
        if dropped_from < dropped_to and since < dropped_to and end > dropped_from:
            end = max(since, dropped_from)
            start = max(dropped_to, self.total - limit // 2)
        return (since, end), (start, self.total)

    def _bytes(self, start: int, end: int) -> bytes:
        """A stretch of the text that is kept."""
        tail_from = self.total - len(self._tail)
        return bytes(self._head[start:end] + self._tail[max(0, start - tail_from) : max(0, end - tail_from)])

    def _keep(self, text: str) -> None:
        data = text.encode()
        self.total += len(data)
        if (room := self._head_limit - len(self._head)) > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) >= self._tail_limit:
            self._tail[:] = data[len(data) - self._tail_limit :]
            return
        self._tail += data
        if len(self._tail) > 2 * self._tail_limit:  # seldom, so that many small pieces cost no more than few large ones
            del self._tail[: len(self._tail) - self._tail_limit]
