"""The one door through which text leaves: to a model, to a log, to the transcript.

Nothing else in the engine hands text to a provider. A second door would have to be found and closed each time something is
to be kept in. The door makes sure of three things: what leaves is valid UTF-8, it holds no credential that the session
masks, also where an older transcript or a hook has one, and no model is sent an image or a document that it is not known to
read. A conversation keeps what an earlier model was shown, and one part that the next one does not take would have every
further request refused.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lmx_core.entry import Entry, valid_text
from lmx_core.request import Request
from lmx_core.secrets.masker import NOTHING, Masker

MEDIA = frozenset({"image", "document"})


class Outbound:
    """Passes what may leave, in the form in which it may."""

    def __init__(self, secrets: Masker = NOTHING) -> None:
        self._secrets = secrets
        self._looked_at: dict[str, tuple[dict[str, Any], Entry]] = {}  # what an entry held, and as it may leave
        self._system: tuple[str, str] = ("", "")
        self._in_words: dict[str, tuple[dict[str, Any], frozenset[str], Entry]] = {}

    def text(self, text: str) -> str:
        return valid_text(text)

    def request(self, request: Request, reads: frozenset[str] = MEDIA) -> Request:
        """The request to send to a model that `reads` these besides text.

        Its entries were made by `entry.make`, which checked them as they were written.
        """
        request = self.masked(request)
        changes: dict[str, Any] = {}
        if request.system is not None and (system := self.text(request.system)) is not request.system:
            changes["system"] = system
        if not reads >= MEDIA and any("attachments" in entry.payload for entry in request.entries):
            changes["entries"] = tuple(self._readable(entry, reads) for entry in request.entries)
        return msgspec.structs.replace(request, **changes) if changes else request

    def masked(self, request: Request) -> Request:
        """The request without credentials; the same object where it has none. Each entry is looked at once."""
        if not self._secrets.active:
            return request
        changes: dict[str, Any] = {}
        if request.system is not None:
            if request.system is not self._system[0]:
                self._system = request.system, self._secrets.mask(request.system)
            if self._system[1] is not request.system:
                changes["system"] = self._system[1]
        entries = tuple(self._without_secrets(entry) for entry in request.entries)
        if any(entry is not before for entry, before in zip(entries, request.entries, strict=True)):
            changes["entries"] = entries
        return msgspec.structs.replace(request, **changes) if changes else request

    def _without_secrets(self, entry: Entry) -> Entry:
        before, told = self._looked_at.get(entry.id, (None, None))
        if told is not None and entry.payload is told.payload:
            return entry
        if told is None or entry.payload is not before:
            payload = self._secrets.shaped(entry.payload)
            told = entry if payload is entry.payload else msgspec.structs.replace(entry, payload=payload)
            self._looked_at[entry.id] = (entry.payload, told)
        return told

    def _readable(self, entry: Entry, reads: frozenset[str]) -> Entry:
        """The entry with words in place of media that are not read; the same object each time, as long as it is the same."""
        listed = entry.payload.get("attachments")
        if not isinstance(listed, list) or not any(_is_unread(item, reads) for item in listed):
            return entry
        known = self._in_words.get(entry.id)
        if known is not None and known[0] is entry.payload and known[1] == reads:
            return known[2]
        told = msgspec.structs.replace(entry, payload=_in_words(entry, listed, reads))
        self._in_words[entry.id] = (entry.payload, reads, told)
        return told


def _is_unread(item: Any, reads: frozenset[str]) -> bool:
    return isinstance(item, dict) and item.get("kind") in MEDIA - reads


def _in_words(entry: Entry, listed: list[Any], reads: frozenset[str]) -> dict[str, Any]:
    """The payload of an entry whose unread media are told: in the place of each in a prompt, after the text of a result."""
    kept = [item for item in listed if not _is_unread(item, reads)]
    left_out = [item for item in listed if _is_unread(item, reads)]
    if entry.type == "tool_result":
        notes = [f"[{item.get('path') or 'an attachment'}: {_why(item)}]" for item in left_out]
        return entry.payload | {"attachments": kept, "output": "\n".join([str(entry.payload.get("output")), *notes])}
    told = [{"path": item.get("path"), "kind": "elided", "text": _why(item)} for item in left_out]
    return entry.payload | {"attachments": [*kept, *told]}


def _why(item: dict[str, Any]) -> str:
    what = "an image" if item.get("kind") == "image" else "a document"
    return f"{what}, which is not shown to you because it is not known whether you read such"
