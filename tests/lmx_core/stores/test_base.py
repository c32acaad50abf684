"""The one face of every store: sync or async, in order, off the loop, and nothing left behind."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from support.transcripts import Conversation

from lmx_core.errors import StoreError, TranscriptNotFound
from lmx_core.stores import lanes
from lmx_core.stores.base import AsyncStore, Store, adapt
from lmx_core.stores.jsonl import JSONLStore
from lmx_core.stores.memory import MemoryStore


def talk(count: int):
    conversation = Conversation()
    for number in range(count):
        conversation.user(str(number))
    return conversation.entries


class SlowSync(MemoryStore):
    """A sync store that waits, the first append longest, and notes in which threads it ran."""

    blocks = True

    def __init__(self):
        super().__init__()
        self.threads = []
        self.gate = threading.Event()

    def append(self, session_id, entries):
        self.threads.append(threading.current_thread())
        if not self._entries:
            self.gate.wait(5)
        super().append(session_id, entries)


class Async:
    def __init__(self):
        self._inner = MemoryStore()

    async def append(self, session_id, entries):
        await asyncio.sleep(0)
        self._inner.append(session_id, entries)

    async def read(self, session_id):
        return self._inner.read(session_id)

    def list_sessions(self):
        return self._inner.list_sessions()


@pytest.mark.asyncio
@pytest.mark.parametrize("make", [MemoryStore, SlowSync, Async, lambda: adapt(MemoryStore())])
async def test_so_1_sync_and_async_stores_have_one_face(make):
    """SO-1: each method either way; what a store lacks is optional."""
    inner = make()
    if isinstance(inner, SlowSync):
        inner.gate.set()
    store = adapt(inner)
    assert adapt(store) is store
    entries = talk(3)
    with pytest.raises(TranscriptNotFound):
        await store.read("one")
    await store.append("one", entries[:2])
    await store.append("one", entries[2:])
    assert await store.read("one") == entries
    assert await store.list_sessions() == ["one"]
    token = await store.lock("one")
    assert (token is None) is (not store.locks) is isinstance(inner, Async)
    await store.unlock("one", token)


def test_so_1_every_shipped_store_is_one(tmp_path):
    """SO-1"""
    for store in (MemoryStore(), JSONLStore(tmp_path)):
        assert isinstance(store, Store)


@pytest.mark.asyncio
async def test_so_1_appends_keep_their_order_without_holding_the_loop():
    """SO-1: a slow first append delays those behind it, and nothing else."""
    slow = SlowSync()
    store = adapt(slow)
    entries = talk(20)
    appends = asyncio.gather(*(store.append("one", [entry]) for entry in entries))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not appends.done(), "the loop goes on while the store waits"
    slow.gate.set()
    await appends
    assert await store.read("one") == entries
    assert all(thread.daemon for thread in slow.threads)
    assert threading.main_thread() not in slow.threads


@pytest.mark.asyncio
async def test_sessions_share_a_few_lanes():
    slow = SlowSync()
    slow.gate.set()
    store = adapt(slow)
    await asyncio.gather(*(store.append(f"session-{number}", talk(1)) for number in range(200)))
    assert 1 < len(set(slow.threads)) <= lanes.LANES


@pytest.mark.asyncio
async def test_a_lane_ends_its_thread_and_starts_another(monkeypatch):
    """Nothing is left behind by an idle session, and the next append works as the first did."""
    monkeypatch.setattr(lanes, "LINGER_S", 0.01)
    slow = SlowSync()
    slow.gate.set()
    store = adapt(slow)
    for _ in range(3):
        await store.append("one", talk(1))
        thread = slow.threads[-1]
        thread.join(5)
        assert not thread.is_alive()
    assert len(set(slow.threads)) == 3


@pytest.mark.asyncio
async def test_a_store_that_never_waits_runs_on_the_loop():
    """So that a manual clock can settle a session over it."""
    ran = []

    class Watched(MemoryStore):
        def append(self, session_id, entries):
            ran.append(threading.current_thread())
            super().append(session_id, entries)

    await adapt(Watched()).append("one", talk(1))
    assert ran == [threading.main_thread()]


@pytest.mark.asyncio
async def test_so_2_errors_come_through(tmp_path):
    """SO-2"""
    (tmp_path / "file").write_text("")
    store = adapt(JSONLStore(tmp_path / "file"))
    with pytest.raises(StoreError):
        await store.append("one", talk(1))
    with pytest.raises(StoreError):
        await store.list_sessions()


@pytest.mark.asyncio
async def test_an_append_that_nobody_waits_for_any_more_still_happens():
    """Taking it back would let the next one of the session overtake it."""
    slow, complaints = SlowSync(), []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    store = adapt(slow)
    entries = talk(2)
    first = asyncio.get_running_loop().create_task(store.append("one", entries[:1]))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    slow.gate.set()
    await store.append("one", entries[1:])
    assert await store.read("one") == entries
    assert complaints == []


def test_a_loop_that_closed_meanwhile_is_no_error():
    """The program ended while the disk was slow: the append is done and nobody is told."""
    slow = SlowSync()
    store = adapt(slow)

    async def leave():
        asyncio.get_running_loop().create_task(store.append("one", talk(1)))
        await asyncio.sleep(0)

    asyncio.run(leave())
    slow.gate.set()
    end = time.monotonic() + 5
    while not slow.list_sessions() and time.monotonic() < end:
        time.sleep(0.001)
    assert slow.list_sessions() == ["one"]


def test_opt_4_a_store_shows_only_its_class(tmp_path):
    """No path and no connection string in any error or log."""
    assert repr(adapt(JSONLStore(tmp_path / "canary"))) == "<JSONLStore>"
    assert repr(AsyncStore(MemoryStore())) == "<MemoryStore>"
