"""Bounds what a tool says: head and tail kept, the cut counted, always valid text (RE-1, RE-2).

Cutting the end off is the obvious way and loses what matters most: a build says what failed in its last lines. Both halves are
kept while the text streams in, so that an endless command costs no memory.
"""

from __future__ import annotations

import hashlib
from collections import deque
from typing import Any

import msgspec

from lmx_core.calls import Result
from lmx_core.entry import json_shaped, valid_text

MAX_STREAM_BYTES = 8_000_000
"""A stream is stopped after so many bytes of text."""

_EVIDENCE = ("structured_content", "content", "artifacts", "metadata", "cost")


def clean(text: str) -> str:
    """`text` as any provider takes it: no lone surrogates, and NUL spelled out, which some refuse in JSON."""
    return valid_text(text).replace("\0", "\\x00")


class HeadTail:
    """Collects text and keeps at most `limit` bytes of it: the first half and the last half. `total` counts all bytes."""

    def __init__(self, limit: int):
        self._head_limit, self._tail_limit = limit - limit // 2, limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.total = 0

    def add(self, text: str) -> None:
        data = clean(text).encode()
        self.total += len(data)
        if (room := self._head_limit - len(self._head)) > 0:
            self._head += data[:room]
            data = data[room:]
        data = data[max(0, len(data) - self._tail_limit) :]
        if not data:
            return
        self._tail.append(data)
        self._tail_bytes += len(data)
        while self._tail_bytes - len(self._tail[0]) >= self._tail_limit:
            self._tail_bytes -= len(self._tail.popleft())

    def text(self) -> str:
        """The whole text if it fitted, else both halves with a line between them that says how much was cut."""
        tail = b"".join(self._tail)
        kept = tail[len(tail) - self._tail_limit :] if len(tail) > self._tail_limit else tail
        if self.total == len(self._head) + len(kept):
            return (bytes(self._head) + kept).decode("utf-8", "replace")
        # A character cut in two at the seam is dropped and not replaced, so that no half looks damaged.
        head, end = bytes(self._head).decode("utf-8", "ignore"), kept.decode("utf-8", "ignore")
        cut = self.total - len(head.encode()) - len(end.encode())
        return f"{head}\n[... {cut:,} bytes cut from the middle ...]\n{end}"


def bound(text: str, limit: int) -> str:
    """At most about `limit` bytes of `text` (plus the line that says what was cut)."""
    kept = HeadTail(limit)
    kept.add(text)
    return kept.text()


def bound_evidence(result: Result, limit: int) -> tuple[Result, list[str]]:
    """A result whose evidence fits in `limit` bytes of JSON, and a sentence for each part that was too large or no JSON.

    A part is kept whole or replaced by its size and digest: half a JSON value would be worse than none.
    """
    kept: dict[str, Any] = {}
    said: list[str] = []
    for part in _EVIDENCE:
        value = getattr(result, part)
        if value is None:
            continue
        try:
            shaped = json_shaped(value, part)
            data = msgspec.json.encode(shaped)
        except ValueError as error:
            kept[part] = None
            said.append(f"[{part} was dropped: {error}]")
            continue
        if len(data) <= limit:
            limit -= len(data)
            kept[part] = shaped
            continue
        stub = {"truncated": True, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        kept[part] = [stub] if part in ("content", "artifacts") else stub
        said.append(f"[{part} of {len(data):,} bytes was too large to keep]")
    return msgspec.structs.replace(result, **kept), said
