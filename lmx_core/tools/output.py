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

MEDIA_BYTES = {"image": 3_500_000, "document": 5_000_000}
"""The largest of each kind that may be attached to a result (RE-3)."""

MAX_ATTACHMENTS = 5

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


def bound_attachments(result: Result, modalities: frozenset[str]) -> tuple[Result, list[str]]:
    """A result with the attachments that its model is known to read, and a sentence for each that was left out (RE-3).

    Kept are at most `MAX_ATTACHMENTS` within `MEDIA_BYTES`. Nothing else of a result is sent as anything but text, so an
    attachment of another shape would be paid for and never seen.
    """
    if result.attachments is None:
        return result, []
    kept: list[dict[str, Any]] = []
    said: list[str] = []
    for item in result.attachments:
        if (why := _unattachable(item, modalities, len(kept))) is None:
            kept.append(item)
        else:
            said.append(f"[{_name(item)} is not attached: {why}]")
    return msgspec.structs.replace(result, attachments=kept or None), said


def _unattachable(item: Any, modalities: frozenset[str], before: int) -> str | None:
    if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in ("kind", "media_type", "data")):
        return "it has no kind, media type and data"
    kind = item["kind"]
    if kind not in MEDIA_BYTES or kind not in modalities:
        return f"the model is not known to read its kind ({kind})"
    if len(item["data"]) * 3 // 4 - 2 > MEDIA_BYTES[kind]:
        return f"it is larger than {MEDIA_BYTES[kind]:,} bytes"
    return f"a result carries {MAX_ATTACHMENTS}" if before >= MAX_ATTACHMENTS else None


def _name(item: Any) -> str:
    path = item.get("path") if isinstance(item, dict) else None
    return clean(path) if isinstance(path, str) and path else "an attachment"
