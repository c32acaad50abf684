"""What shrinks in requests as it grows old: large tool results, media, attached files. The transcript keeps all (CP-1, CP-2).

Results shrink a batch at a time. One at a time, the obvious way, would change the middle of the conversation with every call,
and each change throws away what the provider has cached behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from lmx_core.entry import Entry
from lmx_core.transcript.weight import MEDIA, attachments

KEPT_FIELDS = ("call_id", "name", "error", "outcome")
"""What a stub keeps of its result. Evidence and attachments go."""
TOLD = ("error", "elided")
"""Kinds of attachments that are a sentence in the place of a file."""
MEDIA_BATCH = 4


class Stubs(msgspec.Struct, frozen=True, kw_only=True):
    """The newest `keep` results stay whole; older ones over `min_bytes` become stubs, `batch` results at a time."""

    keep: int = 40
    batch: int = 20
    min_bytes: int = 4_096


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What shrinks; None: nothing of its sort. `keep_attachments` counts prompts with files, `keep_media` results with it."""

    stubs: Stubs | None = Stubs()
    keep_attachments: int | None = 3
    keep_media: int | None = 4


def rules(
    stub_tool_results: Mapping[str, Any] | Literal[False], keep_attachments: int | str, keep_media: int | str
) -> Rules:
    """The rules of the options of these names."""
    return Rules(
        stubs=None if stub_tool_results is False else Stubs(**stub_tool_results),
        keep_attachments=None if isinstance(keep_attachments, str) else keep_attachments,
        keep_media=None if isinstance(keep_media, str) else keep_media,
    )


class Old:
    """Entries of one sort, by their places, oldest first: when more than `keep` and a `batch` wait, the batch shrinks."""

    def __init__(self, sort: Callable[[Entry], bool], shrink: Callable[[Entry], Entry], *, keep: int, batch: int):
        self.shrink = shrink
        self._sort, self._keep, self._batch = sort, keep, batch
        self._places: list[int] = []
        self._seen_to = -1  # seq of the newest entry that has had its turn

    def add(self, place: int, entry: Entry) -> None:
        """Takes an entry if it is of this sort and has not had its turn."""
        if entry.seq > self._seen_to and self._sort(entry):
            self._places.append(place)

    def restart(self) -> None:
        """The places are others from now on; add the entries again."""
        self._places = []

    @property
    def oldest(self) -> int | None:
        """The first place that may still change."""
        return self._places[0] if self._places else None

    def due(self, entries: list[Entry]) -> list[int]:
        """The places whose turn it is now; each is told once."""
        if len(self._places) < self._keep + self._batch:
            return []
        due, self._places = self._places[: self._batch], self._places[self._batch :]
        self._seen_to = entries[due[-1]].seq
        return due


def sorts(given: Rules) -> list[Old]:
    """What to look after under these rules."""
    found = []
    if (stubs := given.stubs) is not None:
        found.append(Old(_is_result, lambda result: _stubbed(result, stubs), keep=stubs.keep, batch=stubs.batch))
    if given.keep_media is not None:
        found.append(Old(_has_media, _without_media, keep=given.keep_media, batch=MEDIA_BATCH))
    if given.keep_attachments is not None:
        found.append(Old(_has_files, without_files, keep=given.keep_attachments, batch=1))
    return found


def _is_result(entry: Entry) -> bool:
    return entry.type == "tool_result"


def _has_media(entry: Entry) -> bool:
    return entry.type == "tool_result" and bool(media_paths(entry))


def _has_files(entry: Entry) -> bool:
    return entry.type == "user" and any(item.get("kind") not in TOLD for item in attachments(entry))


def media_paths(entry: Entry) -> list[str]:
    """The names of the images and documents that go out with an entry."""
    return [str(item.get("path") or "attachment") for item in attachments(entry) if item.get("kind") in MEDIA]


def _stubbed(result: Entry, stubs: Stubs) -> Entry:
    size = len(str(result.payload.get("output") or "").encode())
    if size <= stubs.min_bytes:
        return result
    name = result.payload.get("name", "tool")
    kept = {key: result.payload[key] for key in KEPT_FIELDS if key in result.payload}
    text = f"[{size:,} bytes of output of {name} are no longer shown here; calling {name} again recovers them]"
    return msgspec.structs.replace(result, payload={**kept, "output": text})


def _without_media(result: Entry) -> Entry:
    if not (paths := media_paths(result)):
        return result
    kept = {key: value for key, value in result.payload.items() if key != "attachments"}
    name = result.payload.get("name", "tool")
    note = f"[{', '.join(paths)}: no longer shown here; calling {name} again shows it]"
    text = "\n".join(filter(None, [str(result.payload.get("output") or ""), note]))
    return msgspec.structs.replace(result, payload={**kept, "output": text})


def without_files(prompt: Entry) -> Entry:
    """The prompt with a note in the place of each file that was attached to it."""
    if not (listed := attachments(prompt)):
        return prompt
    notes = [
        item
        if item.get("kind") in TOLD
        else {"path": item.get("path"), "kind": "elided", "text": f"This {item.get('kind')} is no longer shown here."}
        for item in listed
    ]
    return msgspec.structs.replace(prompt, payload={**prompt.payload, "attachments": notes})
