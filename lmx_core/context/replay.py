"""A recorded request, made again from the transcript (AU-2).

The record names entries and a digest, not texts. So the same projection that made the request makes it again from what was
written before it; a second reading of the transcript, written for audits, would sooner or later disagree with what was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from lmx_core.context.compaction import Compaction, closing_message
from lmx_core.context.project import Lost, Projection
from lmx_core.context.stubs import Rules
from lmx_core.entry import Entry
from lmx_core.messages import Messages
from lmx_core.request import Request, ToolSpec
from lmx_core.transcript.audit import Sent, entry_ids, recorded_request
from lmx_core.transcript.replay import is_aside

NOTHING_SHRANK = Rules(stubs=None, keep_attachments=None, keep_media=None)
"""The rules of records that name none: those of releases before there were any."""


def replay_request(
    entries: Sequence[Entry], request_id: str, *, lost: Lost | None = None, compaction: Compaction | None = None
) -> Request:
    """The provider-neutral request as it was made, with its private parameters redacted.

    `lost` and `compaction` are those of the session, where it had its own. Raises ValueError when there is none of that id,
    when only digests were kept, or when record or conversation no longer match their digests; a request whose entries a hook
    rewrote cannot be had again. It promises neither the same bytes on the wire nor the same tokens.
    """
    record = recorded_request(entries, request_id)
    payload = record.payload
    if "system" not in payload:
        raise ValueError(f"of request {request_id} only digests were kept")
    recorded = payload.get("projection")
    projection = Projection(
        lost or Messages().lost_call,
        (entry for entry in entries if entry.seq < record.seq),
        rules=NOTHING_SHRANK if recorded is None else msgspec.convert(recorded, Rules),
        compaction=compaction,
    )
    ids = {*entry_ids(entries, payload), *payload["entries"].get("synthetic", ())}
    carried = _carried(projection.entries(), ids, payload)
    carried += [entry for entry in entries if is_aside(entry) and entry.id in ids]  # the question of an aside, its last
    if Sent.of(carried).summary()["digest"] != payload["entries"]["digest"]:
        raise ValueError(f"the conversation of request {request_id} does not match its digest")
    return Request(
        model=payload["model"],
        entries=tuple(carried),
        system=payload["system"],
        tools=tuple(ToolSpec(**tool) for tool in payload["tools"]),
        params=payload["params"],
        reasoning_effort=payload["reasoning_effort"],
        output_schema=payload["output_schema"],
        context={"request_id": request_id},
    )


def _carried(projected: Sequence[Entry], ids: set[str], payload: dict[str, Any]) -> list[Entry]:
    """The part of the projection that the record names; a summary request ends with its own closing message."""
    carried = [entry for entry in projected if entry.id in ids]
    if carried and (closing := payload.get("closing")) is not None:
        carried.append(closing_message(carried[-1], closing))
    return carried
