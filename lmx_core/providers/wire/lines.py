"""One JSON value a line out of bytes that are cut anywhere: what Ollama's own API streams.

Cut at LF only: `splitlines()` would break a line at characters that JSON may hold (U+2028, form feed). Linear: a long line that
arrives in many pieces is joined once.
"""

from __future__ import annotations

from lmx_core.providers.wire.sse import MAX_EVENT_BYTES, EventTooLong


class Lines:
    """Feed it what was read; it returns each line completed by that, without blank ones."""

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._tail_bytes = 0

    def feed(self, block: bytes) -> list[bytes]:
        *lines, rest = block.split(b"\n")
        if lines:
            self._tail.append(lines[0])
            lines[0] = b"".join(self._tail)
            self._tail.clear()
            self._tail_bytes = 0
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
            if self._tail_bytes > MAX_EVENT_BYTES:
                raise EventTooLong(f"an event of more than {MAX_EVENT_BYTES} bytes")
        return [line for line in lines if line.strip()]

    def close(self) -> list[bytes]:
        """What a stream left that ended without a line end."""
        rest = b"".join(self._tail)
        self._tail.clear()
        return [rest] if rest.strip() else []
