"""What a conversation weighs: bytes of what a model is sent of it (CW-4).

Only that counts. Weighing entries as they are stored, the obvious way, counts evidence and base64 images as text: it compacts
conversations that have room, and stops a session for money that nobody would have asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.request import ToolSpec

MEDIA = ("image", "document")
MEDIUM_BYTES = 6_400
"""What an image or a document weighs, whatever the size of its file."""


def weight(entry: Entry) -> int:
    """Bytes of what a model is sent of an entry (CW-4). Evidence of a result is never sent and weighs nothing."""
    payload = entry.payload
    if entry.type != "assistant":
        words = payload.get("output") if entry.type == "tool_result" else payload.get("text")
        return _bytes(words) + sum(map(_attached, attachments(entry)))
    words = sum(_bytes(part.get("text")) for part in payload.get("content") or () if part.get("type") == "text")
    calls = sum(_bytes(call.get("name")) + _bytes(call.get("arguments")) for call in payload.get("tool_calls") or ())
    return words + calls + _bytes(payload.get("reasoning_details"))


def _attached(item: Mapping[str, Any]) -> int:
    return MEDIUM_BYTES if item.get("kind") in MEDIA else _bytes(item.get("text"))


def _bytes(value: Any) -> int:
    if not value:
        return 0
    return len(value.encode()) if isinstance(value, str) else len(msgspec.json.encode(value))


def overhead(system: str | None, tools: Sequence[ToolSpec]) -> int:
    """Bytes of what every request carries beside the conversation."""
    return _bytes(system) + sum(_bytes([tool.name, tool.description, tool.schema]) for tool in tools)


def tokens_of(size: int) -> int:
    """An estimate where nothing was measured: four bytes a token."""
    return -(-size // 4)


def attachments(entry: Entry) -> list[dict[str, Any]]:
    listed = entry.payload.get("attachments")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
