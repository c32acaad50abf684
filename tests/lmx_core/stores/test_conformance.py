"""One suite that every shipped store passes: a store joins by one row in STORES (STORE-1)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.lane import fewer
from support.transcripts import Conversation, entries

from lmx_core import Runtime, Scripted, fork, resume_session, run, start_session
from lmx_core.errors import (
    ConfigError,
    SessionLocked,
    StoreError,
    StoreUnsupported,
    TranscriptNotFound,
)
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.stores.base import Store, adapt
from lmx_core.stores.jsonl import JSONLStore
from lmx_core.stores.memory import MemoryStore
from lmx_core.stores.sqlite import SQLiteStore
from lmx_core.transcript.dedup import Compactor, expand
from lmx_core.transcript.replay import validate

STORES = {
    "jsonl": lambda path: JSONLStore(path / "sessions"),
    "memory": lambda path: MemoryStore(),
    "sqlite": lambda path: SQLiteStore(path / "data" / "lmx.db"),
}
LONG = "prompt " * 300

pytestmark = pytest.mark.asyncio


@pytest.fixture(params=STORES)
def bare(request, tmp_path):
    return STORES[request.param](tmp_path)


@pytest.fixture
def store(bare):
    return adapt(bare)


def talk(count: int = 3, text: str = "hello"):
    conversation = Conversation()
    for number in range(count):
        conversation.user(f"{text} {number}")
    return conversation.entries


async def test_store_1_it_is_a_store_that_shows_only_its_class(bare):
    """STORE-1, SO-1, OPT-4."""
    assert isinstance(bare, Store)
    assert repr(bare) == repr(adapt(bare)) == f"<{type(bare).__name__}>"


async def test_store_1_what_was_appended_is_read_back_in_order(store):
    """STORE-1, SO-2: batches of any size, the empty one included, and each session for itself."""
    entries, others = talk(7), talk(2, "other")
    await store.append("one", entries[:3])
    await store.append("two", others)
    await store.append("one", [])
    await store.append("one", entries[3:4])
    await store.append("one", entries[4:])
    assert await store.read("one") == entries
    assert await store.read("two") == others


async def test_store_1_only_what_was_written_to_exists(store):
    """STORE-1, SO-2: neither looking for a transcript nor an empty batch makes one."""
    await store.append("none", [])
    for id in ("none", "never"):
        with pytest.raises(TranscriptNotFound):
            await store.read(id)
    assert await store.list_sessions() == []


async def test_store_1_sessions_are_listed_oldest_first(store):
    """STORE-1, SO-2: by when they began, whichever was written to last."""
    for id in ("01A", "01B", "01C"):
        await store.append(id, talk(1))
    await store.append("01A", talk(1))
    assert await store.list_sessions() == ["01A", "01B", "01C"]


@settings(max_examples=fewer(25), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(batches=st.lists(st.lists(entries(), max_size=3), min_size=1, max_size=4))
async def test_store_1_every_entry_survives(store, batches):
    """STORE-1, TR-3: NULs, newlines, other planes, any JSON."""
    id = f"s{hash(repr(batches)) & 0xFFFFFFFFFF:x}"
    wanted = [entry for batch in batches for entry in batch]
    try:
        await store.delete(id)
    except TranscriptNotFound:
        pass
    for batch in batches:
        await store.append(id, batch)
    if wanted:
        assert await store.read(id) == wanted


async def test_so_3_references_come_back_and_can_be_restored(store):
    """SO-3, DD-1: as references, or already restored where the store does that; never lost."""
    conversation, compactor = Conversation(), Compactor()
    for number in range(3):
        conversation.add("request", id=f"r{number}", system=LONG)
    lines = [compactor.compact(entry) for entry in conversation.entries]
    assert [line.v for line in lines] == [1, 2, 2]
    await store.append("one", lines)
    assert expand(await store.read("one")) == conversation.entries


async def test_store_1_a_deleted_transcript_is_gone(store):
    """STORE-1"""
    await store.append("one", talk(1))
    await store.append("two", talk(2))
    await store.delete("one")
    with pytest.raises(TranscriptNotFound):
        await store.read("one")
    with pytest.raises(TranscriptNotFound):
        await store.delete("one")
    assert await store.list_sessions() == ["two"]


async def test_store_1_a_missing_part_is_named():
    """STORE-1: a store of three methods is one, and says what it has not."""

    class Least:
        append = read = list_sessions = lambda *_: []

    store = adapt(Least())
    assert not store.locks and await store.lock("one") is None
    with pytest.raises(StoreUnsupported, match="no delete") as missing:
        await store.delete("one")
    assert missing.value.operation == "delete"


async def test_store_1_one_holder_a_session(store):
    """STORE-1, LK-2: a second claim is told who holds it; freed, it can be claimed; another session is another claim."""
    held = await store.lock("one")
    other = await store.lock("two")
    with pytest.raises(SessionLocked) as refused:
        await store.lock("one")
    assert set(refused.value.holder) == {"host", "os_pid", "process", "since", "path"}
    await store.unlock("one", other)
    with pytest.raises(SessionLocked):
        await store.lock("one")
    await store.unlock("one", held)
    await store.unlock("one", held)
    again = await store.lock("one")
    await store.unlock("one", held)
    with pytest.raises(SessionLocked):
        await store.lock("one")
    await store.unlock("one", again)


async def test_rec_20_a_resumed_session_sees_the_earlier_turn(bare, tmp_path):
    """REC-20, RS-1: written, stopped, resumed: the next request carries what was said before, and so does a fork's."""
    options = {"store": bare, "cwd": str(tmp_path)}
    async with Runtime():
        script = [tool_call("bash", {"command": "echo the-marker"}), complete("First answer.")]
        first = await run("first question", provider=Scripted(script), model="scripted:m", **options)
        copy = await fork(bare, first.session_id, at="turn=2")
        for id in (first.session_id, copy):
            provider = Scripted([complete("Second answer.")])
            await run("second question", resume=id, provider=provider, **options)
            seen = repr(provider.requests[0].entries)
            for words in ("first question", "the-marker", "First answer.", "second question"):
                assert words in seen
            assert validate(expand(await adapt(bare).read(id))) == []
    assert sorted(await adapt(bare).list_sessions()) == sorted([first.session_id, copy])


async def test_store_1_an_open_session_is_claimed_until_it_stops(bare, tmp_path):
    """STORE-1, SE-7: the engine holds the lock of whichever store."""
    options = {"store": bare, "provider": Scripted([]), "cwd": str(tmp_path)}
    async with Runtime():
        session = await start_session(model="scripted:m", **options)
        with pytest.raises(SessionLocked):
            await resume_session(resume=session.id, **options)
        with pytest.raises(ConfigError):
            await start_session(id=session.id, model="scripted:m", **options)
        await session.stop()
        again = await resume_session(resume=session.id, **options)
        await again.stop()


async def test_store_1_only_store_errors_come_out(tmp_path):
    """STORE-1, SO-2: where a store's place is taken by something else, path and reason are told."""
    taken = tmp_path / "taken"
    taken.write_text("no directory, no database")
    for make in (JSONLStore, SQLiteStore):
        for place in (taken, taken / "below"):
            store = adapt(make(place))
            for act in (lambda s: s.append("one", talk(1)), lambda s: s.lock("one")):
                with pytest.raises(StoreError, match=str(taken)):
                    await act(store)
    assert taken.read_text() == "no directory, no database"
