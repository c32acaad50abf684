"""A recorded request can be had again, or it is said why not."""

from __future__ import annotations

import msgspec
import pytest
from support.transcripts import Conversation

from lmx_core.context.project import Projection
from lmx_core.context.replay import replay_request
from lmx_core.entry import Entry
from lmx_core.request import Request, ToolSpec
from lmx_core.transcript.audit import request_payload
from lmx_core.transcript.codec import decode, encode
from lmx_core.transcript.dedup import Compactor, expand
from lmx_core.transcript.replay import in_conversation

SYSTEM = "You are careful. " * 100
TOOL = ToolSpec(name="bash", description="Runs a command.", schema={"type": "object", "properties": {}})


class Session(Conversation):
    """A conversation that records its requests as a session does."""

    def __init__(self) -> None:
        super().__init__()
        self.projection = Projection(lambda call: "lost")

    def add(self, type, **fields):
        entry = super().add(type, **fields)
        self.projection.add(entry)
        return entry

    def ask(self, evidence: str = "full") -> Entry:
        request = Request(
            model="openai:m",
            entries=self.projection.entries(),
            system=SYSTEM,
            tools=(TOOL,),
            context={"request_id": f"r{len(self.entries)}"},
        )
        sent = self.projection.account(request.entries)
        return self.add("request", **request_payload(request=request, sent=sent, catalog=[], evidence=evidence))


def turns(count: int) -> Session:
    session = Session()
    session.user("go")
    for _ in range(count):
        session.ask()
        session.answer("", "c1")
        session.add("approval", call_id="c1", kind="approval", status="allowed")
        session.result("c1")
    return session


def stored(entries: list[Entry]) -> list[Entry]:
    """What comes back after writing with references and reading."""
    compactor = Compactor()
    return expand([decode(encode(compactor.compact(entry))) for entry in entries])


def test_au_2_a_request_can_be_had_again():
    """AU-2, DD-2: the canonical request, from a stored transcript with references; digests are over whole values."""
    session = turns(5)
    entries = stored(session.entries)
    records = [entry for entry in entries if entry.type == "request"]
    for record in records:
        again = replay_request(entries, record.payload["id"])
        assert (again.model, again.system, again.tools) == ("openai:m", SYSTEM, (TOOL,))
        assert again.entries == tuple(e for e in entries if e.seq < record.seq and in_conversation(e))


def test_au_2_a_changed_record_or_conversation_is_noticed():
    """AU-2"""
    entries = turns(2).entries
    place, record = next((i, e) for i, e in enumerate(entries) if e.type == "request" and e.seq > 1)
    id = record.payload["id"]

    def replaced(at: int, **fields) -> list[Entry]:
        changed = msgspec.structs.replace(entries[at], payload=entries[at].payload | fields)
        return [*entries[:at], changed, *entries[at + 1 :]]

    with pytest.raises(ValueError, match="record of request"):
        replay_request(replaced(place, system="other"), id)
    with pytest.raises(ValueError, match="conversation of request"):
        replay_request(replaced(0, text="other"), id)
    with pytest.raises(ValueError, match="conversation of request"):
        replay_request(entries[1:], id)
    with pytest.raises(ValueError, match="no request"):
        replay_request(entries, "r99")


def test_au_2_of_digests_no_request_can_be_made():
    """AU-2, AU-3"""
    session = Session()
    session.user("hello")
    record = session.ask("digests")
    with pytest.raises(ValueError, match="only digests"):
        replay_request(session.entries, record.payload["id"])
