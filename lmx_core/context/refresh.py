"""Which attached files have changed since a model was shown them, and what they hold now (MET-9).

Each is read by itself and compared with what was attached of it. Compared by time or size, the obvious way, a file that was
touched and not changed would be sent again, and one changed within the second would not. What the session's model cannot read
any more is no change of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lmx_core.context.attach import Attachment, Refuses, attach
from lmx_core.entry import Entry
from lmx_core.environment.base import Environment
from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.turn.effects import Reference

READ = ("file", "directory", "image", "document")
"""Kinds of attachments that were read, and so can be read again."""

MEDIA = frozenset({"image", "document"})


def latest_attachments(entries: Iterable[Entry]) -> list[Attachment]:
    """What the conversation was shown last of each attached path, in order: since it was cleared, if it was."""
    latest: dict[str, Attachment] = {}
    for entry in entries:
        if entry.type == "compaction" and entry.payload.get("summary") is None:
            latest.clear()
        for attached in _attachments(entry):
            path = attached.get("path")
            if isinstance(path, str) and (path in latest or attached.get("kind") in READ):
                latest[path] = attached
    return list(latest.values())


def _attachments(entry: Entry) -> list[dict[str, Any]]:
    listed = entry.payload.get("attachments") if entry.type == "user" else None
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


async def refresh(
    attached: Sequence[Attachment],
    environment: Environment,
    cwd: Path,
    modalities: frozenset[str],
    secrets: Masker = NOTHING,
    refuses: Refuses | None = None,
) -> list[Attachment]:
    """Those of the attachments that are another now, as they are now, within the limits of one prompt."""
    changed: list[Reference] = []
    for before in attached:
        reference = Reference(ref=str(before.get("ref") or before["path"]), path=before["path"], explicit=True)
        now = await attach([reference], environment, cwd, MEDIA, secrets, refuses)
        if now and not _is_same(before, now[0], modalities):
            changed.append(reference)
    return await attach(changed, environment, cwd, modalities, secrets, refuses)


def _is_same(before: Attachment, now: Attachment, modalities: frozenset[str]) -> bool:
    if before.get("kind") == "error" and str(now["kind"]) in MEDIA - modalities:
        return True
    if before.get("kind") != now["kind"]:
        return False
    if "data" in now:
        return bool(before.get("data") == now["data"])
    text = str(before.get("text"))
    if "cut" not in before:
        return text == str(now["text"])
    shown = text.removesuffix(f"[{before['cut']}]")  # only what was shown of it can be told to be another
    return str(now["text"]).startswith(shown)
