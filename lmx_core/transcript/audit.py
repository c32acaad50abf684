"""What a `request` entry records: enough to know, later, exactly what a model was asked (AU-1 to AU-3).

It names the conversation by runs of sequence numbers and a rolling digest. A list of entry ids, the obvious way, grows with
the conversation, so that a thousand requests would write half a million ids. Nothing of the HTTP exchange is kept, and a
parameter shaped like a credential, an address or a header is kept as its name only.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lmx_core import __version__
from lmx_core.calls import digest
from lmx_core.entry import Entry
from lmx_core.request import Request
from lmx_core.transcript.replay import in_conversation

SCHEMA_VERSION = 1
REDACTED = "[redacted]"

_SECRET_WORDS = frozenset(
    "apikey key token secret password passwd authorization auth bearer credential credentials cookie cookies "
    "header headers http https httpx client proxy proxies url uri base endpoint".split()
)
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class Sent:
    """Which part of the conversation requests have carried, kept up as it grows: a request costs what was added.

    Feed it every entry in transcript order, once: `add(entry)` for what the projection sends, `add(entry, sent=False)` for
    a conversation entry it leaves out. Entries of other types are ignored. When the projection starts afresh, start a new one.
    """

    def __init__(self) -> None:
        self._runs: list[list[int]] = []
        self._joined = False
        self._count = 0
        self._bytes = 0
        self._synthetic: list[str] = []
        self._places: list[int] = []
        self._digest = hashlib.sha256()
        self._before: tuple[Any, ...] | None = None

    def add(self, entry: Entry, *, sent: bool = True) -> None:
        if not in_conversation(entry):
            return
        if not sent:
            self.gap()
            return
        runs = [list(run) for run in self._runs[-1:]]
        self._before = (self._digest.copy(), self._bytes, self._count, len(self._runs), runs, len(self._synthetic))
        line = canonical(entry)
        self._digest.update(line + b"\n")
        self._bytes += len(line)
        if entry.meta.get("synthetic"):
            self._places.append(self._count + len(self._synthetic))
            self._synthetic.append(entry.id)
            return
        self._count += 1
        if self._joined:
            self._runs[-1][1] = entry.seq
        else:
            self._runs.append([entry.seq, entry.seq])
        self._joined = True

    def gap(self) -> None:
        """Something of the conversation is left out here: the next entry begins a run of its own."""
        self._joined = False

    def copy(self) -> Sent:
        """The account as it is now, to go on from here twice."""
        twin = Sent()
        twin.__dict__ |= self.__dict__
        twin._runs = [list(run) for run in self._runs]
        twin._synthetic, twin._places = list(self._synthetic), list(self._places)
        twin._digest = self._digest.copy()
        return twin

    def retract(self) -> None:
        """Takes back the last entry that was added as sent: the projection leaves it out after all (LL-6)."""
        if self._before is None:
            return
        self._digest, self._bytes, self._count, runs, last, synthetic = self._before
        self._runs[max(0, runs - 1) :] = last
        del self._synthetic[synthetic:], self._places[synthetic:]
        self._joined = False
        self._before = None

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Sent:
        """That of a whole projection at once."""
        sent = cls()
        for entry in entries:
            sent.add(entry)
        return sent

    @property
    def bytes(self) -> int:
        """Size of the conversation as canonical JSON."""
        return self._bytes

    def summary(self) -> dict[str, Any]:
        """`runs` of first and last seq, `count` of entries, and the `digest` over all of them.

        `synthetic` are the ids of request-only messages (TR-9), `places` where each stood.
        """
        found: dict[str, Any] = {
            "runs": [list(run) for run in self._runs],
            "count": self._count,
            "digest": self._digest.hexdigest(),
        }
        if self._synthetic:
            found |= {"synthetic": list(self._synthetic), "places": list(self._places)}
        return found


def request_payload(
    *,
    request: Request,
    sent: Sent,
    catalog: Sequence[Mapping[str, Any]],
    evidence: str,
    retry: Mapping[str, Any] | None = None,
    snapshot: Mapping[str, str] | None = None,
    projection: Mapping[str, Any] | None = None,
    kind: str = "turn",
    closing: str | None = None,
    unbilled: bool = False,
    profile: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The payload of a `request` entry.

    `kind` is `turn` or the name of what else asks a model, whose `closing` words end the conversation. `projection` holds the
    rules by which old results and files were left out. `catalog` has one `{"enabled", "disabled_reason", "descriptor"}` a tool;
    `profile` is the tool profile that it was narrowed by, as evidence.
    `evidence` `full` keeps prompt text and schemas, anything less keeps their digests. `sha256` covers the rest.
    `snapshot` names the harness snapshot that is in force (EX-6). `unbilled`: the request before this one was turned away.
    """
    tools = [msgspec.to_builtins(tool) for tool in request.tools]
    payload: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "id": request.context.get("request_id"),
        "kind": kind,
        "model": request.model,
        "reasoning_effort": request.reasoning_effort,
        "params": recordable(request.params),
        "input_bytes": sent.bytes + _size(request.system) + _size(tools),
        "entries": sent.summary(),
        "system_bytes": _size(request.system),
        "system_sha256": text_digest(request.system),
        "projection": None if projection is None else dict(projection),
        "versions": {"lmx": __version__, "python": ".".join(map(str, sys.version_info[:3]))},
    }
    told = catalog_record(catalog, "full" if evidence == "full" else "digests", profile)
    payload |= _whole(request, tools, told) if evidence == "full" else _digests(request, tools, told)
    if closing is not None and evidence == "full":
        payload["closing"] = closing
    if snapshot is not None:
        payload |= snapshot
    if retry is not None:
        payload["retry"] = dict(retry)
    if unbilled:
        payload["unbilled"] = True
    return payload | {"sha256": digest(payload)}


def _whole(request: Request, tools: list[Any], catalog: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "system": request.system,
        "tools": tools,
        "catalog": catalog,
        "output_schema": request.output_schema,
    }


def _digests(request: Request, tools: list[Any], catalog: Mapping[str, Any]) -> dict[str, Any]:
    schema = request.output_schema
    return {
        "tools": [{"name": tool["name"], "sha256": digest(tool)} for tool in tools],
        "catalog": catalog,
        "output_schema_sha256": None if schema is None else digest(schema),
    }


def catalog_record(
    catalog: Sequence[Mapping[str, Any]], evidence: str, profile: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A catalog as records keep it, with the tool profile it was narrowed by (PF-2).

    One value wherever it stands, so that it is written out once a file (DD-1).
    """
    text = msgspec.json.encode(catalog, order="sorted")
    narrowed = None if profile is None else dict(profile)
    sizes = {"profile": narrowed, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    return sizes | {"tools": [dict(tool) for tool in catalog]} if evidence == "full" else sizes


def recordable(value: Any) -> Any:
    """Parameters as they may be kept: no credential, address or header, and `"forever"` for no limit."""
    if isinstance(value, Mapping):
        return {str(key): REDACTED if _is_private(str(key)) else recordable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [recordable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "forever" if value == math.inf else None
    if isinstance(value, str):
        return REDACTED if _ADDRESS.match(value) else value
    return value if value is None or isinstance(value, (bool, int, float)) else REDACTED


def _is_private(name: str) -> bool:
    words = {word.lower() for word in _WORD.findall(name)}
    return not words.isdisjoint(_SECRET_WORDS)


def sent_entries(entries: Sequence[Entry], payload: Mapping[str, Any]) -> list[Entry]:
    """The entries of the transcript that the request with this payload carried, in order, as they are stored."""
    runs = payload["entries"]["runs"]
    return [e for e in entries if in_conversation(e) and any(first <= e.seq <= last for first, last in runs)]


def entry_ids(entries: Sequence[Entry], payload: Mapping[str, Any]) -> list[str]:
    """The ids of everything the request with this payload carried, in order, request-only messages included (TR-9)."""
    ids = [entry.id for entry in sent_entries(entries, payload)]
    told = payload["entries"]
    for place, id in zip(told.get("places", ()), told.get("synthetic", ()), strict=False):
        ids.insert(place, id)
    return ids


def recorded_request(entries: Sequence[Entry], request_id: str) -> Entry:
    """The `request` entry of that id. Raises ValueError when there is none, or it does not match its own digest."""
    found = next((e for e in entries if e.type == "request" and e.payload.get("id") == request_id), None)
    if found is None:
        raise ValueError(f"no request {request_id!r} was recorded")
    if digest({key: value for key, value in found.payload.items() if key != "sha256"}) != found.payload.get("sha256"):
        raise ValueError(f"the record of request {request_id} does not match its digest")
    return found


def canonical(entry: Entry) -> bytes:
    """What digests of a conversation are made of: id, type and whole payload."""
    return msgspec.json.encode([entry.id, entry.type, entry.payload], order="sorted")


def _size(value: Any) -> int:
    if value is None:
        return 0
    return len(value.encode()) if isinstance(value, str) else len(msgspec.json.encode(value))


def text_digest(text: str | None) -> str | None:
    """SHA-256 of a text; None of none."""
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
