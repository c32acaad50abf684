"""The record of a request: complete, verifiable, without secrets, and of one size however long the conversation is."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.transcripts import Conversation

from lmx_core.calls import digest
from lmx_core.entry import Entry
from lmx_core.request import Request, ToolSpec
from lmx_core.transcript.audit import Sent, entry_ids, recordable, request_payload
from lmx_core.transcript.codec import encode
from lmx_core.transcript.dedup import Compactor
from lmx_core.transcript.replay import in_conversation

SYSTEM = "You are careful. " * 100
TOOL = ToolSpec(name="bash", description="Runs a command.", schema={"type": "object", "properties": {}})
CATALOG = [{"enabled": True, "disabled_reason": None, "descriptor": {"description": "x" * 2_000}}]


def asked(id: str = "r1", **fields) -> Request:
    given = {"model": "openai:m", "entries": (), "system": SYSTEM, "tools": (TOOL,), "context": {"request_id": id}}
    return Request(**(given | fields))


def payload(request: Request, sent: Sent, evidence: str = "full", **more):
    return request_payload(request=request, sent=sent, catalog=CATALOG, evidence=evidence, **more)


class Session(Conversation):
    """A conversation that records its requests as a session does."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = Sent()
        self._next = 0

    def add(self, type, **fields):
        entry = super().add(type, **fields)
        self.sent.add(entry)
        return entry

    def ask(self, **fields) -> Entry:
        request = asked(f"r{len(self.entries)}", entries=tuple(filter(in_conversation, self.entries)), **fields)
        return self.add("request", **payload(request, self.sent))


def turns(count: int) -> Session:
    session = Session()
    session.user("go")
    for _ in range(count):
        session.ask()
        session.answer("", "c1")
        session.add("approval", call_id="c1", kind="approval", status="allowed")
        session.result("c1")
    return session


def test_au_1_a_record_says_all_there_is_to_know():
    """AU-1, REC-9"""
    session = Session()
    session.user("hello")
    request = asked(
        params={"temperature": 0.5},
        reasoning_effort="high",
        output_schema={"type": "object"},
        entries=tuple(session.entries),
    )
    found = payload(request, session.sent, retry={"attempt": 2, "of": "r0"})
    assert found["schema_version"] == 1
    assert (found["id"], found["kind"], found["model"]) == ("r1", "turn", "openai:m")
    assert (found["system"], found["system_bytes"]) == (SYSTEM, len(SYSTEM))
    assert found["tools"] == [{"name": "bash", "description": "Runs a command.", "schema": TOOL.schema}]
    assert found["catalog"]["tools"] == CATALOG
    assert set(found["catalog"]) == {"profile", "bytes", "sha256", "tools"}
    assert found["params"] == {"temperature": 0.5}
    assert (found["reasoning_effort"], found["output_schema"]) == ("high", {"type": "object"})
    assert found["entries"]["runs"] == [[0, 0]]
    assert found["input_bytes"] > len(SYSTEM)
    assert set(found["versions"]) == {"lmx", "python"}
    assert found["retry"] == {"attempt": 2, "of": "r0"}
    assert found["sha256"] == digest({key: value for key, value in found.items() if key != "sha256"})


def test_au_1_a_record_does_not_grow_with_the_conversation():
    """AU-1: at turn 10 and at turn 1,000 it has the same size but for the digits of its numbers."""
    session = turns(1_000)
    compactor = Compactor()
    sizes = [len(encode(compactor.compact(entry))) for entry in session.entries if entry.type == "request"]
    numbers = 5  # id, last seq, count, input_bytes, the entry's own seq
    assert sizes[999] - sizes[9] <= numbers * 3
    assert max(sizes[9:]) < 1_200


def test_au_1_readers_get_the_ids_back():
    """AU-1: runs cover the conversation between first and last, and nothing else."""
    session = turns(3)
    last = [entry for entry in session.entries if entry.type == "request"][-1]
    before = [entry for entry in session.entries if entry.seq < last.seq]
    assert entry_ids(session.entries, last.payload) == [entry.id for entry in before if in_conversation(entry)]
    assert last.payload["entries"]["runs"] == [[0, last.seq - 1]]


def test_au_1_what_is_left_out_breaks_the_run():
    """AU-1: an entry of the conversation that was not sent is not among the ids; a partial answer never is (TR-8)."""
    conversation, sent = Conversation(), Sent()
    for text in ("a", "b", "c", "d"):
        sent.add(conversation.user(text), sent=text != "b")
    sent.add(conversation.answer("half", partial=True))
    sent.add(conversation.user("e"))
    record = payload(asked(), sent)
    assert record["entries"]["runs"] == [[0, 0], [2, 5]]
    ids = [conversation.entries[place].id for place in (0, 2, 3, 5)]
    assert entry_ids(conversation.entries, record) == ids


def test_ll_6_what_was_sent_can_be_taken_back():
    """An abandoned answer leaves the account as if it had never been added, but that the run is broken."""
    conversation, sent = Conversation(), Sent()
    sent.add(conversation.user("a"))
    before = sent.summary(), sent.bytes
    sent.add(conversation.answer("abandoned"))
    sent.retract()
    assert (sent.summary(), sent.bytes) == before
    sent.add(conversation.user("b"))
    assert sent.summary()["runs"] == [[0, 0], [2, 2]]
    assert sent.summary()["digest"] == Sent.of([conversation.entries[0], conversation.entries[2]]).summary()["digest"]
    sent.retract()
    sent.retract()
    assert sent.summary()["runs"] == [[0, 0]]


def test_tr_9_request_only_messages_are_told_apart():
    """TR-9: synthetic messages are named, belong to no run, and count for the digest."""
    conversation, sent = Conversation(), Sent()
    first = conversation.user("a")
    lead = msgspec.structs.replace(first, id=f"{first.id}-continued", meta={"synthetic": True})
    sent.add(first)
    plain = sent.summary()
    sent.add(lead)
    assert sent.summary()["synthetic"] == [f"{first.id}-continued"]
    assert sent.summary()["runs"] == plain["runs"]
    assert sent.summary()["digest"] != plain["digest"]


@given(st.lists(st.sampled_from(["user", "request", "answer", "partial", "left out", "system"]), max_size=30))
def test_the_account_kept_up_is_the_account_of_the_whole(steps):
    """However a transcript grows, digest and ids are those of what was sent."""
    conversation, sent, carried = Conversation(), Sent(), []
    for step in steps:
        kind = {"answer": "assistant", "partial": "assistant", "left out": "user"}.get(step, step)
        entry = conversation.add(kind, text=step, **({"partial": True} if step == "partial" else {}))
        sent.add(entry, sent=step != "left out")
        if step in ("user", "answer", "system"):
            carried.append(entry)
    record = payload(asked(), sent)
    assert entry_ids(conversation.entries, record) == [entry.id for entry in carried]
    assert record["entries"]["digest"] == Sent.of(carried).summary()["digest"]
    assert record["entries"]["count"] == len(carried)


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "apiKey", "API_KEY", "OPENAI_API_KEY", "authorization", "Authorization", "base_url", "baseURL", "api_base",
        "headers", "extra_headers", "http_options", "httpOptions", "token", "access_token", "password", "client_secret",
        "proxy", "cookies", "endpoint",
    ],
)  # fmt: skip
def test_au_1_credential_shaped_parameters_are_kept_by_name_only(name: str):
    """AU-1, NO-4"""
    for value in ("sk-canary", {"x": "sk-canary"}, ["sk-canary"]):
        record = payload(asked(params={name: value, "nested": [{name: value}]}), Sent())
        assert "sk-canary" not in encode_text(record)
        assert set(record["params"]) == {name, "nested"}


def test_au_1_addresses_are_not_recorded_whatever_they_are_called():
    """AU-1, NO-4"""
    record = payload(asked(params={"where": "https://user:canary@example.org/v1"}), Sent())
    assert "canary" not in encode_text(record)


@pytest.mark.parametrize(
    "params",
    [{"max_tokens": 5, "temperature": 0.1, "top_p": 1, "stop": ["\n"], "seed": 1, "frequency_penalty": 0, "n": None}],
)
def test_generation_parameters_are_recorded_as_they_are(params):
    assert recordable(params) == params


def test_forever_is_written_as_a_word():
    assert recordable({"a": math.inf, "b": [math.inf], "c": math.nan}) == {"a": "forever", "b": ["forever"], "c": None}


@pytest.mark.parametrize("evidence", ["digests", "off"])
def test_au_3_less_evidence_keeps_digests_instead_of_words(evidence: str):
    """AU-3: digests, sizes, ids and params stay; prompt text and schemas do not."""
    session = Session()
    session.user("hello")
    request = asked(params={"temperature": 0.5}, output_schema={"title": "canary-schema"})
    full, less = payload(request, session.sent), payload(request, session.sent, evidence)
    text = encode_text(less)
    for word in ("careful", "Runs a command", "canary-schema", "x" * 2_000, "properties"):
        assert word in encode_text(full)
        assert word not in text
    for field in ("id", "model", "params", "entries", "input_bytes", "system_bytes", "system_sha256"):
        assert less[field] == full[field]
    assert less["tools"] == [{"name": "bash", "sha256": digest(full["tools"][0])}]
    assert less["catalog"] == {key: value for key, value in full["catalog"].items() if key != "tools"}
    assert less["sha256"] == digest({key: value for key, value in less.items() if key != "sha256"})


def encode_text(value) -> str:
    return msgspec.json.encode(value).decode()
