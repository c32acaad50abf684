"""All transcripts in one SQLite database: for a host that keeps its data in one file (REC-15 to REC-20, STORE-1).

A line is kept as it would stand in a file, references included, so a transcript can go from one store to the other as it is.
The obvious table, a row a session with its text appended to, would rewrite the whole conversation at every entry.

One connection, used by one thread at a time; the engine calls it in a lane of its own, since a database that is busy must not
hold the loop (STORE-10). Every batch is one transaction: a crash in its middle leaves nothing of it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from lmx_core.entry import Entry
from lmx_core.errors import SessionLocked, StoreError, TranscriptNotFound, TranscriptUnreadable
from lmx_core.ids import SESSION_ID_TAKES, is_session_id
from lmx_core.stores import lock as locks
from lmx_core.stores.alive import Claim, ThisMachine, provably_gone
from lmx_core.stores.lanes import Lane
from lmx_core.stores.private import PRIVATE, make_directory
from lmx_core.transcript.codec import decode, encode

T = TypeVar("T")

SCHEMA_VERSION = 1
"""`PRAGMA user_version` of a database of this release. Another one is refused: nothing is migrated by itself (STORE-6)."""

BUSY_S = 5.0
"""How long a statement waits for another process that is writing."""

_SCHEMA = (
    """CREATE TABLE lmx_entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        line TEXT NOT NULL,
        inserted_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        UNIQUE (session_id, position)
    )""",
    "CREATE TABLE lmx_locks (session_id TEXT PRIMARY KEY, token TEXT NOT NULL, holder TEXT NOT NULL)",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


class SQLiteStore:
    """Transcripts in the database `path`, which is made by the first write, 0600, and may be open in several processes.

    What was appended survives a crash of the process; a power cut may take the newest batches, never a part of one. Errors
    are `StoreError`s that name the path and the reason. `read` gives back what was appended, references included (SO-3).
    """

    def __init__(self, path: str | os.PathLike[str], *, process: str | None = None):
        """`process` is what the row of a lock tells others about this program, such as "lmx 0.1.0"."""
        self.path = Path(path)
        self.lane = Lane("lmx-store-sqlite")
        self._process = process or locks.default_process()
        self._one_at_a_time = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed: Callable[[], object] = lambda: None

    def __repr__(self) -> str:
        return "<SQLiteStore>"

    def append(self, session_id: str, entries: Sequence[Entry]) -> None:
        """Adds a batch in one transaction; when it fails, nothing of the batch is there."""
        _check(session_id)
        try:
            lines = [encode(entry).decode() for entry in entries]
        except ValueError as error:
            raise StoreError(str(error)) from error
        if not lines:
            return
        with self._database(create=True) as database:
            assert database is not None
            with _transaction(database):
                newest = "SELECT coalesce(max(position), -1) FROM lmx_entries WHERE session_id = ?"
                first = database.execute(newest, (session_id,)).fetchone()[0] + 1
                database.executemany(
                    "INSERT INTO lmx_entries (session_id, position, line) VALUES (?, ?, ?)",
                    ((session_id, position, line) for position, line in enumerate(lines, first)),
                )

    def read(self, session_id: str) -> list[Entry]:
        """Every entry as it was appended. Raises TranscriptNotFound where there is none, else TranscriptUnreadable."""
        _check(session_id)
        query = "SELECT line FROM lmx_entries WHERE session_id = ? ORDER BY position"
        try:
            rows = self._rows(query, session_id)
        except StoreError as error:
            raise TranscriptUnreadable(session_id, str(error)) from error
        if not rows:
            raise TranscriptNotFound(session_id)
        entries = []
        for position, (line,) in enumerate(rows):
            try:
                entries.append(decode(line.encode()))
            except (ValueError, AttributeError) as error:  # AttributeError: a foreign writer put no text there
                where = f"row {position} of the session in {self.path}"
                raise TranscriptUnreadable(session_id, f"{where}: {error} (it is untouched)") from error
        return entries

    def list_sessions(self) -> list[str]:
        """The ids of all transcripts, the one that was begun first before the others."""
        return [row[0] for row in self._rows("SELECT session_id FROM lmx_entries GROUP BY session_id ORDER BY min(id)")]

    def delete(self, session_id: str) -> None:
        """Removes a transcript. Raises TranscriptNotFound."""
        _check(session_id)
        with self._database(create=False) as database:
            gone = (
                None
                if database is None
                else database.execute("DELETE FROM lmx_entries WHERE session_id = ?", (session_id,))
            )
        if gone is None or gone.rowcount == 0:
            raise TranscriptNotFound(session_id)

    def lock(self, session_id: str) -> locks.Lock:
        """Claims the session for this process. Raises `SessionLocked` while another holder may be alive (LK-2)."""
        _check(session_id)
        lock, ours = locks.prepare(self.path, self._process)
        row = (session_id, ours.token, msgspec.json.encode(ours).decode())
        theirs: Claim | None = None
        with self._database(create=True) as database:
            assert database is not None
            for _ in range(locks.ATTEMPTS):
                found = database.execute("SELECT token, holder FROM lmx_locks WHERE session_id = ?", row[:1]).fetchone()
                if found is None:
                    if database.execute("INSERT OR IGNORE INTO lmx_locks VALUES (?, ?, ?)", row).rowcount:
                        return lock
                    continue
                theirs = locks.claim_in(str(found[1]).encode())
                if theirs is None or not provably_gone(theirs, ThisMachine(), locks.in_use):
                    break
                database.execute("DELETE FROM lmx_locks WHERE session_id = ? AND token = ?", (session_id, found[0]))
        raise SessionLocked(locks.holder(self.path, theirs))

    def unlock(self, session_id: str, lock: locks.Lock) -> None:
        """Gives the session free; a claim that is another's by now stays."""
        locks.forget(lock)
        with self._database(create=False) as database:
            if database is not None:
                database.execute("DELETE FROM lmx_locks WHERE session_id = ? AND token = ?", (session_id, lock.token))

    def close(self) -> None:
        """Closes the database file; the next use opens it again."""
        with self._one_at_a_time:
            self._closed()
            self._connection = None

    def _rows(self, query: str, *values: str) -> list[tuple[str]]:
        with self._database(create=False) as database:
            return [] if database is None else database.execute(query, values).fetchall()

    @contextmanager
    def _database(self, *, create: bool) -> Iterator[sqlite3.Connection | None]:
        """The open database, for one thread; None where there is none yet and it is not to be made."""
        with self._one_at_a_time:
            try:
                if self._connection is None and (create or self.path.exists()):
                    self._connection = self._open()
                    self._closed = weakref.finalize(self, self._connection.close)
                yield self._connection
            except (sqlite3.Error, OSError) as error:
                raise StoreError(f"{self.path}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        make_directory(self.path.parent)
        _make_private(self.path)
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            self._check_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        """Makes the tables of an empty database; refuses any that is neither empty nor of this version (STORE-6)."""
        found = _version(connection)
        if found is None:
            with _transaction(connection):
                if _version(connection) is None:  # nobody else has made them meanwhile
                    for statement in _SCHEMA:
                        connection.execute(statement)
            found = _version(connection)
        if found != SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has schema version {found}; this release expects {SCHEMA_VERSION} and changed nothing"
            )


def _version(connection: sqlite3.Connection) -> int | None:
    """The schema version of a database; None of an empty one.

    The tables are looked for first: another process may make both between the two questions, and tables without a version
    would be taken for somebody else's.
    """
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found if found or tables else None


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. It takes the write lock at once: two readers that both want to write then cannot block each other."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite has rolled back by itself
            connection.execute("ROLLBACK")
        raise


def _check(session_id: str) -> None:
    if not is_session_id(session_id):
        raise StoreError(f"{session_id!r} is no session id: that is {SESSION_ID_TAKES}")


def _make_private(path: Path) -> None:
    """Makes the file 0600. One that is there is not opened for it: closing it would drop SQLite's own locks (POSIX)."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
    except FileExistsError:
        if stat.S_IMODE(path.stat().st_mode) & ~PRIVATE:
            try:
                path.chmod(PRIVATE)
            except OSError:
                return  # another's file, or no modes here: what can be protected is
