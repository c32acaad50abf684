"""The database of transcripts: its tables, its file, and what a crash in the middle of a batch leaves (nothing)."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.transcripts import Conversation

from lmx_core.errors import SessionLocked, StoreError, TranscriptUnreadable
from lmx_core.stores import sqlite
from lmx_core.stores.base import adapt
from lmx_core.stores.sqlite import SQLiteStore
from lmx_core.transcript.codec import encode
from lmx_core.transcript.replay import validate


def talk(count: int = 4):
    conversation = Conversation()
    for number in range(count):
        conversation.user(f"hello {number}")
    return conversation


@pytest.fixture
def store(tmp_path) -> SQLiteStore:
    return SQLiteStore(tmp_path / "data" / "lmx.db")


@pytest.fixture
def rows(store):
    """What a query gives in a connection of its own."""

    def query(sql: str, *values):
        connection = sqlite3.connect(store.path)
        try:
            with connection:
                return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    return query


def test_rec_15_16_a_row_an_entry_its_line_verbatim(store, rows):
    """REC-15, REC-16: positions go on from batch to batch, each session's own."""
    entries = talk().entries
    store.append("one", entries[:3])
    store.append("two", entries[:1])
    store.append("one", entries[3:])
    found = rows("SELECT id, session_id, position, line FROM lmx_entries ORDER BY id")
    assert [row[1:3] for row in found] == [("one", 0), ("one", 1), ("one", 2), ("two", 0), ("one", 3)]
    assert [row[3].encode() for row in found if row[1] == "one"] == [encode(entry) for entry in entries]
    assert [row[0] for row in found] == [1, 2, 3, 4, 5]
    assert rows("SELECT count(*) FROM lmx_entries WHERE inserted_at GLOB '20??-*Z'") == [(5,)]
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        rows("INSERT INTO lmx_entries (session_id, position, line) VALUES ('one', 3, '')")


def test_rec_16_a_batch_that_fails_leaves_nothing(store, rows):
    """REC-16: one transaction; and the store goes on afterwards."""
    entries = talk(5).entries
    store.append("one", entries[:2])
    rows(
        "CREATE TRIGGER full BEFORE INSERT ON lmx_entries WHEN NEW.position = 4 BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    with pytest.raises(StoreError, match="no room") as refused:
        store.append("one", entries[2:])
    assert str(store.path) in str(refused.value)
    assert store.read("one") == entries[:2]
    rows("DROP TRIGGER full")
    store.append("one", entries[2:])
    assert store.read("one") == entries


@pytest.mark.parametrize("line", ["", "{", '{"v": 3}', b"\xff\xfe"])
def test_rec_17_a_row_that_is_no_entry_is_told_and_left(store, rows, line):
    """REC-17, TR-5: never a conversation with a hole in it, nor another exception."""
    store.append("one", talk().entries)
    store.append("two", talk().entries)
    rows("UPDATE lmx_entries SET line = ? WHERE session_id = 'one' AND position = 2", line)
    with pytest.raises(TranscriptUnreadable, match="row 2") as refused:
        store.read("one")
    assert str(store.path) in str(refused.value)
    assert rows("SELECT line FROM lmx_entries WHERE session_id = 'one' AND position = 2") == [(line,)]
    assert len(store.read("two")) == 4


def test_rec_17_a_damaged_database_is_unreadable(store):
    """REC-17"""
    store.append("one", talk(200).entries)
    store.close()
    data = bytearray(store.path.read_bytes())
    data[4_096:] = b"\xa5" * (len(data) - 4_096)
    store.path.write_bytes(data)
    with pytest.raises(TranscriptUnreadable, match="malformed"):
        store.read("one")


def test_rec_18_the_first_begun_is_listed_first(store):
    """REC-18: not by name, and not by who was written to last."""
    for id in ("b", "c", "a", "b"):
        store.append(id, talk(1).entries)
    assert store.list_sessions() == ["b", "c", "a"]


def test_rec_19_a_lock_is_a_row_with_its_holder(store, rows):
    """REC-19, LK-2: judged like a lock file; one that cannot be judged is never taken over."""
    lock = store.lock("one")
    [(id, token, holder)] = rows("SELECT * FROM lmx_locks")
    assert (id, token) == ("one", lock.token)
    assert f'"os_pid":{os.getpid()}' in holder
    with pytest.raises(SessionLocked) as refused:
        SQLiteStore(store.path).lock("one")
    assert refused.value.holder["os_pid"] == os.getpid()
    assert refused.value.holder["path"] == str(store.path)
    del lock
    again = store.lock("one")  # the session that held it is gone, without a word
    store.unlock("one", again)
    assert rows("SELECT * FROM lmx_locks") == []
    rows("INSERT INTO lmx_locks VALUES ('one', 't', 'not to be read')")
    with pytest.raises(SessionLocked, match="unknown"):
        store.lock("one")


@pytest.mark.parametrize("id", ["", "..", "a/b", "é", "one\0"])
def test_an_id_that_is_none_is_refused(store, id):
    for act in (
        lambda: store.append(id, talk().entries),
        lambda: store.read(id),
        lambda: store.lock(id),
        lambda: store.delete(id),
    ):
        with pytest.raises(StoreError, match="no session id"):
            act()
    assert not store.path.exists()


def test_store_6_another_schema_version_is_refused(store, rows):
    """STORE-6: found and expected are named, and nothing is changed."""
    store.append("one", talk().entries)
    store.close()
    rows("PRAGMA user_version = 9")
    before = rows("SELECT * FROM lmx_entries")
    for act in (
        lambda: store.append("one", []),
        lambda: store.read("one"),
        store.list_sessions,
        lambda: store.lock("x"),
    ):
        try:
            act()
        except StoreError as refused:
            assert "version 9" in str(refused) and "expects 1" in str(refused)
        else:
            assert act is not store.list_sessions
    assert rows("SELECT * FROM lmx_entries") == before


def test_store_6_a_database_of_something_else_is_refused(store, rows):
    """STORE-6: our tables are not put into a stranger's file."""
    store.path.parent.mkdir()
    rows("CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="version 0; this release expects 1"):
        store.append("one", talk().entries)
    assert rows("SELECT name FROM sqlite_master") == [("theirs",)]


@pytest.mark.parametrize("existing", [True, False])
def test_store_10_the_file_is_private_and_the_database_safe(store, rows, existing):
    """STORE-10: made by the first write, 0600 with its companions, WAL, and the pragmas that hold for a connection."""
    assert store.list_sessions() == []
    assert not store.path.parent.exists()
    if existing:
        store.path.parent.mkdir()
        store.path.touch(0o644)
    store.append("one", talk().entries)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
    assert modes == {"lmx.db": 0o600, "lmx.db-wal": 0o600, "lmx.db-shm": 0o600}
    assert rows("PRAGMA journal_mode") == [("wal",)]
    pragmas = {name: store._rows(f"PRAGMA {name}") for name in ("synchronous", "busy_timeout", "foreign_keys")}
    assert pragmas == {"synchronous": [(1,)], "busy_timeout": [(5_000,)], "foreign_keys": [(1,)]}


@pytest.mark.asyncio
async def test_store_10_one_thread_of_its_own_off_the_loop(store, monkeypatch):
    """STORE-10: whatever the session, so a busy database holds no other store's sessions."""
    seen = []
    real = store._open
    monkeypatch.setattr(store, "_open", lambda: seen.append(threading.current_thread()) or real())
    face = adapt(store)
    for number in range(6):
        await face.append(f"s{number}", talk(1).entries)
        store.close()
    assert len(set(seen)) == 1
    assert seen[0].name == "lmx-store-sqlite" and seen[0].daemon


def test_two_threads_and_two_stores_on_one_file(store):
    """Positions never collide: each batch takes the write lock before it looks for the newest."""
    stores, failed = [store, SQLiteStore(store.path)], []
    before = sys.getswitchinterval()

    def write(which: SQLiteStore, id: str) -> None:
        try:
            for _ in range(20):
                which.append(id, talk(2).entries)
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(stores[n % 2], f"s{n % 2}")) for n in range(4)]
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)
    assert failed == []
    assert [len(store.read(id)) for id in ("s0", "s1")] == [80, 80]


def test_tables_that_another_makes_while_a_database_is_opened_are_not_taken_for_a_strangers(store):
    """STORE-6: two processes that open a new file at once."""
    other = SQLiteStore(store.path)

    class Slow(sqlite3.Connection):
        def execute(self, sql, *more):
            found = super().execute(sql, *more).fetchall()
            if sql.startswith(("SELECT count", "PRAGMA user_version")):
                other.append("one", talk(1).entries)
            return type("Found", (), {"fetchone": lambda self: found[0]})()

    store.path.parent.mkdir()
    slow = sqlite3.connect(store.path, factory=Slow, isolation_level=None)
    assert sqlite._version(slow) in (None, sqlite.SCHEMA_VERSION)
    slow.close()


# --- a real crash -------------------------------------------------------------------------------------------------

CHILD = """
import sys
from lmx_core.clock import SystemClock
from lmx_core.entry import make
from lmx_core.ids import UlidFactory
from lmx_core.stores.sqlite import SQLiteStore

store, ids = SQLiteStore(sys.argv[1]), UlidFactory()
lock, last = store.lock("one"), None

def batch(count):
    global last
    made = []
    for _ in range(count):
        seq, parent = (last.seq + 1, last.id) if last else (0, None)
        last = make(id=ids.new(1), seq=seq, type="user", payload={"text": "x" * 50_000}, at_ms=1, parent_id=parent)
        made.append(last)
    return made

def say(word):
    print(word, flush=True)

store.append("one", batch(3))
"""

STOPS_HALFWAY = """
inserted = 0
def watch(sql):
    global inserted
    inserted += sql.startswith("INSERT INTO lmx_entries")
    if inserted == 40:
        say("halfway")
        sys.stdin.read()
store._connection.set_trace_callback(watch)
store.append("one", batch(80))
"""

WRITES_FOR_EVER = """
while True:
    store.append("one", batch(7))
    say(last.seq)
"""


@pytest.fixture
def child(store):
    running = []

    def start(program: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD + program, str(store.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def goes_on(store: SQLiteStore, found) -> None:
    """The lock of the dead is taken over, and the next entry follows the last."""
    lock = store.lock("one")
    following = Conversation()
    following.entries = list(found)
    store.append("one", [following.user("and on")])
    assert SQLiteStore(store.path).read("one") == following.entries
    store.unlock("one", lock)


def test_rec_16_a_process_killed_in_the_middle_of_a_transaction(child, store):
    """REC-16, TK-4: SIGKILL after forty of eighty rows, some of them in the file already: none of the batch is there."""
    writer = child(STOPS_HALFWAY)
    assert writer.stdout.readline() == "halfway\n"
    with pytest.raises(SessionLocked):
        store.lock("one")
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    found = store.read("one")
    assert [entry.seq for entry in found] == [0, 1, 2]
    goes_on(store, found)


@pytest.mark.parametrize("appends", range(3))
def test_rec_16_a_process_killed_anywhere_loses_only_the_batch_at_hand(child, store, appends):
    """REC-16, TK-4"""
    writer = child(WRITES_FOR_EVER)
    for _ in range(appends + 1):
        told = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    found = store.read("one")
    assert validate(found) == []
    assert len(found) > told and (len(found) - 3) % 7 == 0
    goes_on(store, found)
