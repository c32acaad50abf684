"""Forks: where they may cut, what they carry, and that they are whole or not there."""

from __future__ import annotations

from typing import Any

import pytest
from support.transcripts import Conversation

from lmx_core.clock import ManualClock
from lmx_core.entry import Entry
from lmx_core.errors import ConfigError, StoreError, TranscriptNotFound, UnknownEntry, UnsafeFork
from lmx_core.ids import timestamp_ms
from lmx_core.stores.base import adapt
from lmx_core.stores.jsonl import JSONLStore
from lmx_core.stores.memory import MemoryStore
from lmx_core.transcript.dedup import expand
from lmx_core.transcript.fork import fork, turn_ends
from lmx_core.transcript.replay import validate

LONG = "prompt " * 300


def talk() -> Conversation:
    conversation = Conversation()
    conversation.add("session", model="openai:m", cwd="/w")
    conversation.user("one")
    conversation.add("request", id="r1", system=LONG)
    conversation.answer("looking", "c1", "c2")
    conversation.result("c1")
    conversation.add("approval", call_id="c2", kind="approval", status="allowed")
    conversation.result("c2")
    conversation.add("request", id="r2", system=LONG)
    conversation.answer("half", partial=True)
    conversation.add("error", reason="lost", category="server")
    conversation.add("request", id="r3", system=LONG)
    conversation.answer("first answer")
    conversation.user("two")
    conversation.add("request", id="r4", system=LONG)
    conversation.answer("", "c1")
    return conversation


async def forked(at: str | None = None, unsafe: bool = False) -> tuple[list[Entry], list[Entry]]:
    """The source and what a fork of it holds."""
    store, source = MemoryStore(), talk().entries
    store.append("source", source)
    id = await fork(store, "source", at=at, unsafe=unsafe)
    assert store.read("source") == source
    return source, expand(store.read(id))


@pytest.mark.asyncio
@pytest.mark.parametrize("at", ["turn=1", "turn=2", "seq=11", "seq=0", "seq=1"])
async def test_rs_4_a_fork_holds_the_beginning_then_says_where_it_came_from(at: str):
    """RS-4, REC-11: entries keep their ids; the `fork` entry names source and cut, and goes on with seq and parent."""
    source, copy = await forked(at)
    cut = {"turn=1": 7, "turn=2": 12, "seq=11": 12, "seq=0": 1, "seq=1": 2}[at]
    assert copy[:cut] == source[:cut]
    assert len(copy) == cut + 1
    assert copy[cut].type == "fork"
    assert copy[cut].payload == {"from": "source", "at": source[cut - 1].id}
    assert validate(copy) == []


@pytest.mark.asyncio
async def test_rs_4_a_cut_by_entry_id():
    """RS-4"""
    store, source = MemoryStore(), talk().entries
    store.append("source", source)
    copy = expand(store.read(await fork(store, "source", at=source[6].id)))
    assert copy[:-1] == source[:7]


@pytest.mark.asyncio
@pytest.mark.parametrize("at", [None, "seq=3", "seq=4", "seq=5", "seq=14"])
async def test_rs_4_a_cut_inside_an_unfinished_wave_is_refused_unless_unsafe(at: str | None):
    """RS-4"""
    with pytest.raises(UnsafeFork):
        await forked(at)
    source, copy = await forked(at, unsafe=True)
    assert copy[:-1] == (source if at is None else source[: int(at[4:]) + 1])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "at", ["turn=0", "turn=3", "turn=x", "turn=", "seq=15", "seq=-1", "01ARZ3NDEKTSV4RRFFQ69G5FAV", ""]
)
async def test_rs_4_a_cut_that_is_nowhere_is_told(at: str):
    """RS-4"""
    with pytest.raises(UnknownEntry):
        await forked(at)


@pytest.mark.asyncio
@pytest.mark.parametrize("at", [3, True, b"seq=3", ["seq=3"]])
async def test_a_cut_that_is_no_text_is_told_how_one_is_written(at: Any):
    with pytest.raises(ConfigError, match="the id of an entry, seq=N or turn=N"):
        await forked(at)


@pytest.mark.asyncio
async def test_rs_4_a_session_that_is_not_there():
    """RS-4"""
    with pytest.raises(TranscriptNotFound):
        await fork(MemoryStore(), "nobody")


def test_a_turn_ends_with_the_results_of_its_calls():
    """The third turn has no results yet, and a partial answer is no turn."""
    assert turn_ends(talk().entries) == [7, 12]


@pytest.mark.asyncio
async def test_dd_2_a_fork_refers_anew_to_what_it_copies(tmp_path):
    """DD-2: the copy is whole by itself, and as small as the source."""
    store = JSONLStore(tmp_path)
    store.append("source", talk().entries)
    id = await fork(store, "source", at="turn=2")
    text = (tmp_path / f"{id}.jsonl").read_bytes()
    assert text.count(LONG.encode()) == 1
    assert text.count(b"$sha256") == 2
    assert store.read(id)[:12] == talk_as_read(store)[:12]


def talk_as_read(store: JSONLStore) -> list[Entry]:
    return store.read("source")


@pytest.mark.asyncio
async def test_rs_4_the_source_may_be_running(tmp_path):
    """RS-4: a lock on the source, and a line that is being written, are no obstacle."""
    store = JSONLStore(tmp_path)
    store.append("source", talk().entries[:12])
    lock = store.lock("source")
    with (tmp_path / "source.jsonl").open("ab") as file:
        file.write(b'{"id":"half')
    id = await fork(store, "source")
    assert len(store.read(id)) == 13
    assert (tmp_path / "source.jsonl").read_bytes().endswith(b'{"id":"half')
    store.unlock("source", lock)


class Refusing(MemoryStore):
    def append(self, session_id, entries):
        raise StoreError("the disk is full")


@pytest.mark.asyncio
async def test_rs_4_a_fork_that_fails_leaves_nothing():
    """RS-4: one append, so there is no half."""
    full, source = Refusing(), talk().entries
    full._entries["source"] = source
    with pytest.raises(StoreError):
        await fork(full, "source", at="turn=1")
    assert full.list_sessions() == ["source"]


@pytest.mark.asyncio
async def test_forks_take_any_store_and_the_given_clock(tmp_path):
    clock = ManualClock(1_700_000_000_000)
    for store in (JSONLStore(tmp_path), adapt(MemoryStore())):
        face = adapt(store)
        await face.append("source", talk().entries[:7])
        id = await fork(store, "source", clock=clock)
        assert timestamp_ms(id) == 1_700_000_000_000
        assert (await face.read(id))[-1].at == "2023-11-14T22:13:20.000Z"
