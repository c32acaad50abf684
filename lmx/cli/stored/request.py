"""`lmx request`: what a model was asked, and where a request stopped beginning as the one before did (C1-83).

Everything is read from the transcript; nothing is asked of anybody, so it shows a request of last year as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from lmx import sessions
from lmx.cli.stored.log import escaped
from lmx.exit_status import CommandError, shown, usage
from lmx.sanitize import one_line
from lmx_core import Entry, JSONLStore, replay_request
from lmx_core.transcript.audit import entry_ids
from lmx_core.transcript.prefix import Difference, difference
from lmx_core.transcript.replay import requests


def request(session: str, request_id: str, *, sessions_dir: Path, out: TextIO, tty: bool) -> int:
    """Prints the record as JSON: values in place of references, `entry_ids`, and whether it matches its digests.

    Raises CommandError (2) for an id that is no request's, and the `LmxError`s of `lmx log`.
    """
    entries, records = _read(session, sessions_dir)
    record = records[_place(records, request_id)]
    try:
        replay_request(entries, record.payload["id"])
        verified: dict[str, Any] = {"verified": True}
    except ValueError as error:
        verified = {"verified": False, "not_verified_because": str(error)}
    told = record.payload | {"at": record.at, "entry_ids": entry_ids(entries, record.payload)} | verified
    text = msgspec.json.format(msgspec.json.encode(told), indent=2).decode()
    out.write(escaped(text, tty) + "\n")
    return 0


def compare(session: str, request_id: str | None, *, sessions_dir: Path, out: TextIO) -> int:
    """Prints where the request, by default the newest, stopped beginning as the one before it of its kind did.

    Raises CommandError: 2 for an id that is no request's, 1 where a record does not match its digests or has only digests.
    """
    entries, records = _read(session, sessions_dir)
    place = _place(records, request_id) if request_id is not None else len(records) - 1
    now = records[place]
    before = next((r for r in reversed(records[:place]) if r.payload.get("kind") == now.payload.get("kind")), None)
    if before is None:
        out.write(
            f"request {now.payload['id']} is the first of its kind ({now.payload.get('kind')}): none came before it\n"
        )
        return 0
    ids = [str(record.payload["id"]) for record in (before, now)]
    try:
        found = difference(*(replay_request(entries, id) for id in ids))
    except ValueError as error:
        raise CommandError(f"{error}, so the two requests cannot be compared") from error
    out.write(f"before {ids[0]}\nnow    {ids[1]}\n")
    for line in _told(found):
        out.write(line + "\n")
    return 0


def _told(found: Difference) -> Sequence[str]:
    if found.why is None:
        lines = [
            f"all {found.before:,} bytes of the request before are the beginning of this one ({found.now:,} bytes)"
        ]
    else:
        lines = [
            f"the prefix broke at byte {found.same:,} of {found.before:,}: {one_line(found.why, 'evidence')}",
            f"  was {one_line(found.was, 'evidence') or '(nothing)'}",
            f"  is  {one_line(found.is_now, 'evidence') or '(nothing)'}",
        ]
    if found.settings:
        lines.append(
            f"also changed: {one_line(', '.join(found.settings), 'evidence')}; a cache may start afresh for that alone"
        )
    return lines


def _read(session: str, sessions_dir: Path) -> tuple[list[Entry], list[Entry]]:
    """All entries of a session and its request records."""
    session_id = asyncio.run(sessions.resolve(sessions_dir, session))
    entries = JSONLStore(sessions_dir).read(session_id)
    if not (records := requests(entries)):
        raise usage(f"session {shown(session)} has made no request")
    return entries, records


def _place(records: Sequence[Entry], wanted: str) -> int:
    """Which record has this id, or the only one whose id begins or ends so."""
    ids = [str(record.payload.get("id")) for record in records]
    exact = [place for place, id in enumerate(ids) if id == wanted]
    near = [
        place for place, id in enumerate(ids) if len(wanted) >= 6 and (id.startswith(wanted) or id.endswith(wanted))
    ]
    found = exact or near
    if len(found) == 1:
        return found[0]
    problem = "fits several requests" if found else "is no request of the session"
    newest = ", ".join(ids[-3:])
    raise usage(f"{shown(wanted)} {problem}; the newest of its {len(ids)} are {newest}")
