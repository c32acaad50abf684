"""Server-sent events out of bytes that are cut anywhere.

Works on bytes and whole lines: decoding each piece to text first would break characters that are split between two reads, and
`splitlines()` would break events at characters that are no line ends here (U+2028, form feed). Linear: a long event that
arrives in many pieces is joined once.
"""

from __future__ import annotations

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""More than any answer; a server that never ends its line must not fill the memory."""


class EventTooLong(ValueError):
    """The stream holds an event of more than `MAX_EVENT_BYTES`."""


class Events:
    """Feed it what was read; it returns the `data` of each event completed by that, in order.

    Names, ids and comments are skipped: both wires repeat an event's type in its data. Several data lines of one event are
    joined with a newline, as the standard says; CR LF, LF and a lone CR all end a line.
    """

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._data: list[bytes] = []
        self._after_cr = False
        self._started = False

    def feed(self, block: bytes) -> list[bytes]:
        block = self._plain(block)
        if b"\n" not in block:
            self._keep(block)
            return []
        if self._tail:
            self._tail.append(block)
            block = b"".join(self._tail)
            self._tail.clear()
            self._tail_bytes = 0
        *lines, rest = block.split(b"\n")
        if rest:
            self._keep(rest)
        return self._take(lines)

    def close(self) -> list[bytes]:
        """What a stream left that ended without its last blank line."""
        lines = [b"".join(self._tail), b""]
        self._tail.clear()
        return self._take(lines)

    def _plain(self, block: bytes) -> bytes:
        if not self._started and block:
            self._started = True
            block = block.removeprefix(b"\xef\xbb\xbf")
        if self._after_cr and block.startswith(b"\n"):
            block = block[1:]
            self._after_cr = False
        if b"\r" in block:
            self._after_cr = block.endswith(b"\r")
            return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if block:
            self._after_cr = False
        return block

    def _keep(self, rest: bytes) -> None:
        self._tail.append(rest)
        self._tail_bytes += len(rest)
        if self._tail_bytes > MAX_EVENT_BYTES:
            raise EventTooLong(f"an event of more than {MAX_EVENT_BYTES} bytes")

    def _take(self, lines: list[bytes]) -> list[bytes]:
        found: list[bytes] = []
        data = self._data
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and data:
                found.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
            elif line == b"data":
                data.append(b"")
        return found
