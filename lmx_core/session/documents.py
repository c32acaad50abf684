"""Small JSON documents of a host's, kept in the transcript (MET-24, REC-13): a list of tasks, a switch, what a check found.

A writer names the revision it read, and is refused when that is no longer in force. Last writer wins, the obvious rule, would
lose a task that a tool added while the screen crossed one off. They live in the transcript and not beside it, so that a resume
and a fork have the documents as they were at that point of the conversation. No model is shown them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lmx_core.entry import Entry, json_shaped, valid_text
from lmx_core.errors import ConfigError, Conflict, DocumentTooLarge
from lmx_core.session.ledger import Ledger
from lmx_core.usage import Usage, is_dollars

VERSION = 1
NAMESPACE_BYTES = 128
DOCUMENT_BYTES = 65_280


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document as it is in force. Revision 0 is one that nobody has written; its value is None."""

    revision: int = 0
    value: Any = None


class Documents:
    """The documents of one session, those of a resumed transcript included. Used in the actor's task only."""

    def __init__(self, ledger: Ledger):
        self._ledger = ledger
        self._kept: dict[str, tuple[int, bytes]] = {}
        for entry in ledger.entries:
            self._take(entry)

    def _take(self, entry: Entry) -> None:
        payload = entry.payload
        namespace, revision = payload.get("namespace"), payload.get("revision")
        is_document = entry.type == "extension_state" and "value" in payload
        if is_document and isinstance(namespace, str) and isinstance(revision, int):
            self._kept[namespace] = revision, msgspec.json.encode(payload["value"])

    async def document(self, namespace: str) -> Document:
        """The document in force; its value is the caller's own copy."""
        if namespace not in self._kept:
            return Document()
        revision, encoded = self._kept[namespace]
        return Document(revision=revision, value=msgspec.json.decode(encoded))

    async def put(self, namespace: str, revision: int, encoded: bytes, usage: dict[str, Any] | None) -> int:
        """The new revision. Raises Conflict, DocumentTooLarge; then only `usage` is recorded, for it is spent all the same."""
        current = self._kept.get(namespace, (0, b""))[0]
        refusal: Conflict | DocumentTooLarge | None = None
        if revision != current:
            refusal = Conflict(current)
        elif len(encoded) > DOCUMENT_BYTES:
            refusal = DocumentTooLarge(len(encoded), DOCUMENT_BYTES)
        payload: dict[str, Any] = {"version": VERSION, "namespace": namespace, "revision": current}
        if refusal is None:
            payload |= {"revision": current + 1, "value": msgspec.json.decode(encoded)}
        if refusal is None or usage is not None:
            self._take(await self._ledger.append("extension_state", payload, usage=usage))
        if refusal is not None:
            raise refusal
        return current + 1


def checked_namespace(namespace: object) -> str:
    """Raises ConfigError for what names no document."""
    if not isinstance(namespace, str) or not 1 <= len(valid_text(namespace).encode()) <= NAMESPACE_BYTES:
        raise ConfigError(f"the namespace of a document is text of 1 to {NAMESPACE_BYTES} bytes")
    return valid_text(namespace)


def checked_revision(revision: object) -> int:
    if not isinstance(revision, int) or isinstance(revision, bool) or revision < 0:
        raise ConfigError("the revision of a document is the whole number that was read with it, 0 for a new one")
    return revision


def encoded_value(value: object) -> bytes:
    """The JSON of a document. Raises ConfigError for what JSON cannot hold."""
    try:
        return msgspec.json.encode(json_shaped(value))
    except ValueError as error:
        raise ConfigError(f"a document holds only what JSON can hold: {error}") from None


def metered(usage: Usage | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What a host spent by itself, as entries keep it. Raises ConfigError for what is no usage."""
    if usage is None:
        return None
    if not isinstance(usage, (Usage, Mapping)):
        raise ConfigError("usage= is a Usage, or a dict such as its to_dict()")
    cost = usage.cost_usd if isinstance(usage, Usage) else usage.get("cost_usd")
    if cost is not None and not is_dollars(cost):
        raise ConfigError("usage= has a cost that is none")
    told = usage if isinstance(usage, Usage) else Usage.from_dict(usage)
    try:
        shaped: dict[str, Any] = json_shaped(told.to_dict())
    except ValueError:
        raise ConfigError("usage= must hold only what JSON can hold") from None
    return shaped
