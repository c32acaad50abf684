"""Transcripts of every release so far load, say what they said then, and can be gone on with."""

from __future__ import annotations

import hashlib
import io
import shutil
from pathlib import Path

import msgspec
import pytest
from support.transcripts import Conversation

from lmx.cli.stored.log import log
from lmx_core.context.project import Projection
from lmx_core.context.replay import replay_request
from lmx_core.entry import TYPES, Entry
from lmx_core.stores.jsonl import JSONLStore
from lmx_core.transcript.audit import entry_ids
from lmx_core.transcript.codec import decode
from lmx_core.transcript.replay import latest_assistant_text, requests, unanswered_calls, validate

HERE = Path(__file__).parent
FROZEN = {
    "0.1.0/every_type.jsonl": (
        "5c17900e75d23dd5b7f489e71df69f8b72de3ed756c191e70c24353cdbd65ea5",
        "655ee4fb6bd24ce194ea457474aa832b068bffad7637473b360049721d0acf61",
    ),
    "0.1.0/session.jsonl": (
        "5dc52a5a8dc451ce052307bf44aa866b52249c41b098fec90684d4687c1c07aa",
        "def7a3628d2294ce5d9017ff7da48def46fccb6c5fdd55b2e486d60285abcc32",
    ),
}
"""SHA-256 of each file as it was released, and of the canonical entries that must be read from it."""
FILES = sorted(FROZEN)
FIELDS = ("id", "parent_id", "seq", "type", "payload", "usage", "meta", "at", "v")


@pytest.fixture(params=FILES)
def golden(request, tmp_path) -> tuple[Path, JSONLStore, list[Entry]]:
    """The file, a store with a copy of it as session `golden`, and what that store reads."""
    path = HERE / request.param
    shutil.copyfile(path, tmp_path / "golden.jsonl")
    store = JSONLStore(tmp_path)
    return path, store, store.read("golden")


def digests(path: Path, entries: list[Entry]) -> tuple[str, str]:
    canonical = msgspec.json.encode([[getattr(entry, field) for field in FIELDS] for entry in entries], order="sorted")
    return hashlib.sha256(path.read_bytes()).hexdigest(), hashlib.sha256(canonical).hexdigest()


def test_tr_6_every_released_file_is_pinned():
    """TR-6: fixtures from every release are kept; nobody changes one quietly."""
    assert [path.relative_to(HERE).as_posix() for path in sorted(HERE.glob("*/*.jsonl"))] == FILES


def test_tr_6_it_reads_as_it_was_meant(golden):
    """TR-6, TR-5: every entry, every field, references expanded."""
    path, _, entries = golden
    assert digests(path, entries) == FROZEN[path.relative_to(HERE).as_posix()]
    assert validate(entries) == []


def test_it_can_be_projected_read_and_gone_on_with(golden):
    path, store, entries = golden
    assert unanswered_calls(entries) == []
    assert Projection(lambda call: "lost", entries).entries()
    for jsonl in (True, False):
        out = io.StringIO()
        assert log("golden", sessions_dir=store.directory, jsonl=jsonl, out=out, tty=False) == 0
        assert latest_assistant_text(entries) in out.getvalue()
    following = Conversation()
    following.entries = list(entries)
    store.append("golden", [following.user("and on")])
    assert JSONLStore(store.directory).read("golden") == following.entries
    assert (store.directory / "golden.jsonl").read_bytes().startswith(path.read_bytes())


@pytest.mark.parametrize("file", [file for file in FILES if file.endswith("/session.jsonl")])
def test_au_2_every_request_of_a_real_session_can_be_had_again(file):
    """AU-1, AU-2: records of an earlier release still match their digests, and their runs name what was sent."""
    entries = JSONLStore((HERE / file).parent).read("session")
    records = requests(entries)
    assert len(records) > 5
    for record in records:
        request = replay_request(entries, record.payload["id"])
        assert request.system == record.payload["system"]
        assert request.entries[-1].seq < record.seq
        assert entry_ids(entries, record.payload) == [entry.id for entry in request.entries]


def test_rec_14_every_type_and_both_versions_are_among_them():
    """REC-12, REC-13, REC-14: the types later releases write are already understood."""
    entries = [decode(line) for path in FILES for line in (HERE / path).read_bytes().split(b"\n") if line]
    assert {entry.type for entry in entries} == TYPES
    assert {entry.v for entry in entries} == {1, 2}
