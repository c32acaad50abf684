"""The index over all transcripts: one SQLite database with FTS5, which only ever saves time.

The transcripts are the truth. The index is brought up to date before it is asked, each transcript from where it was read to;
one that is gone takes its words with it. Whatever is wrong with the file (another version, damage, a half-written page), it is
thrown away and made anew; where it cannot be kept at all, `scan` reads the transcripts themselves.

The words are kept compressed beside an index without contents, because SQLite could otherwise only forget a transcript that is
still there to be read. A lock file keeps two programs from reading the same transcripts at once; it is the kernel's, so none is
left behind by a crash.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lmx.search import passages, query
from lmx.search.passages import Passage
from lmx.search.query import Term

VERSION = 1
BATCH_BYTES = 4_000_000
"""Transcripts read between two commits: what a crash costs, and how long a reader may wait."""
CANDIDATES = 2_000
"""Passages looked at, the newest first: a word that is everywhere is found everywhere, and nobody reads all of it."""
BUSY_S = 10.0

_SCHEMA = f"""
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, read INTEGER NOT NULL, ending BLOB NOT NULL
);
CREATE TABLE passages (
    number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at_ms INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX passages_of ON passages (session);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = "unicode61 remove_diacritics 2");
PRAGMA user_version = {VERSION};
"""


class Unusable(Exception):
    """There can be no index here; `str` says why."""


class Busy(Exception):
    """Another program brings the index up to date just now."""


def place(state: Path, sessions_dir: Path) -> Path:
    """Where the index of these transcripts is: by their directory, for there may be several."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(sessions_dir))).hexdigest()[:16]
    return state / "search" / f"{digest}.sqlite"


class Index:
    """Open it with `opened`; used by one thread."""

    def __init__(self, database: sqlite3.Connection, sessions_dir: Path):
        self._database, self._directory = database, sessions_dir

    def close(self) -> None:
        self._database.close()

    # --- keeping it up to date ----------------------------------------------------------------------------------------

    def unread(self, files: Mapping[str, os.stat_result]) -> int:
        """Bytes of transcripts that `update` will read."""
        known = dict(self._database.execute("SELECT id, read FROM sessions").fetchall())
        return sum(max(0, facts.st_size - known.get(id, 0)) for id, facts in files.items())

    def update(self, files: Mapping[str, os.stat_result]) -> None:
        """Forgets transcripts that are gone and reads what is new of the others. Raises sqlite3.Error."""
        known = {row[0]: row[1:] for row in self._database.execute("SELECT id, inode, size, mtime_ns FROM sessions")}
        gone = [id for id in known if id not in files]
        if gone:
            with self._writing():
                for id in gone:
                    self._forget(id)
                self._database.execute(
                    "INSERT INTO words (words) VALUES ('optimize')"
                )  # else the words stay in the file
        changed = [id for id, facts in files.items() if known.get(id) != _facts(facts)]
        for batch in _batches(sorted(changed, key=lambda id: files[id].st_mtime_ns), files):
            with self._writing():
                for id in batch:
                    self._read(id, files[id])

    def _read(self, id: str, facts: os.stat_result) -> None:
        path = self._directory / f"{id}.jsonl"
        row = self._database.execute("SELECT number, inode, read, ending FROM sessions WHERE id = ?", (id,)).fetchone()
        if row is not None and (row[1] != facts.st_ino or passages.ending(path, row[2]) != row[3]):
            self._forget(id)  # another file of that name
            row = None
        if row is None:
            made = "INSERT INTO sessions (id, inode, size, mtime_ns, read, ending) VALUES (?, 0, 0, 0, 0, x'') RETURNING number"
            row = (*self._database.execute(made, (id,)).fetchone(), 0, 0)
        number, _, read, *_ = row
        for line in passages.lines(path, read):
            read += len(line)
            for passage in passages.of_line(line):
                self._add(number, passage)
        self._database.execute(
            "UPDATE sessions SET inode = ?, size = ?, mtime_ns = ?, read = ?, ending = ? WHERE number = ?",
            (*_facts(facts), read, passages.ending(path, read), number),
        )

    def _add(self, session: int, passage: Passage) -> None:
        body = zlib.compress(passage.text.encode("utf-8", "replace"), 1)
        made = self._database.execute(
            "INSERT INTO passages (session, seq, kind, at_ms, body) VALUES (?, ?, ?, ?, ?)",
            (session, passage.seq, passage.kind, passage.at_ms, body),
        )
        self._database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (made.lastrowid, _indexed(body)))

    def _forget(self, id: str) -> None:
        row = self._database.execute("SELECT number FROM sessions WHERE id = ?", (id,)).fetchone()
        if row is None:
            return
        kept = self._database.execute("SELECT number, body FROM passages WHERE session = ?", row).fetchall()
        forget = "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)"
        self._database.executemany(forget, ((number, _indexed(body)) for number, body in kept))
        self._database.execute("DELETE FROM passages WHERE session = ?", row)
        self._database.execute("DELETE FROM sessions WHERE number = ?", row)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    # --- asking ---------------------------------------------------------------------------------------------------------

    def find(self, wanted: tuple[Term, ...]) -> dict[str, list[Passage]]:
        """Passages by session, newest first: those that hold all of it, else sessions that hold all of it in several.

        Raises sqlite3.Error.
        """
        found = self._holding(query.match(wanted))
        if found or len(wanted) == 1:
            return found
        apart = [self._holding(query.match((term,))) for term in wanted]
        ids = set(apart[0]).intersection(*apart[1:])
        return {id: [passage for part in apart for passage in part[id][:1]] for id in apart[0] if id in ids}

    def _holding(self, match: str) -> dict[str, list[Passage]]:
        rows = self._database.execute(
            """SELECT sessions.id, passages.seq, passages.kind, passages.at_ms, passages.body
            FROM (SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?) AS hits
            JOIN passages ON passages.number = hits.rowid JOIN sessions ON sessions.number = passages.session
            ORDER BY passages.at_ms DESC""",
            (match, CANDIDATES),
        )
        found: dict[str, list[Passage]] = {}
        for id, seq, kind, at_ms, body in rows:
            found.setdefault(id, []).append(Passage(seq=seq, kind=kind, at_ms=at_ms, text=_text(body)))
        return found


def _facts(facts: os.stat_result) -> tuple[int, int, int]:
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _text(body: bytes) -> str:
    return zlib.decompress(body).decode("utf-8", "replace")


def _indexed(body: bytes) -> str:
    """What the index is given of a passage; made from what is kept, for it must be told the same again to forget it.

    The words are ours already: SQLite has another idea of which letters there are.
    """
    return " ".join(query.split(_text(body)))


def _batches(ids: Iterable[str], files: Mapping[str, os.stat_result]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for id in ids:
        batch.append(id)
        size += files[id].st_size
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# --- the file -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Only one program changes the index at a time. Raises Busy where another does and this one does not `wait`; Unusable."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unusable(f"{path.parent} cannot be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise Busy from error
        except OSError:
            pass  # a file system without locks: SQLite's own have to do
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened(path: Path, sessions_dir: Path) -> Iterator[Index]:
    """The index, made if there is none. Raises sqlite3.Error for a damaged one, Unusable where there can be none."""
    _own(path)
    try:
        database = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    except sqlite3.Error as error:
        raise Unusable(f"{path} cannot be opened: {error}") from error
    try:
        database.execute("PRAGMA secure_delete = ON")
        database.execute("PRAGMA journal_mode = WAL").fetchall()
        database.execute("PRAGMA synchronous = NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            _make(database)
        elif version != VERSION:
            raise sqlite3.DatabaseError("the index of another version")
        yield Index(database, sessions_dir)
    finally:
        database.close()


def _make(database: sqlite3.Connection) -> None:
    """Raises Unusable where this SQLite has no FTS5."""
    try:
        database.executescript(f"BEGIN EXCLUSIVE;{_SCHEMA}COMMIT;")
    except sqlite3.OperationalError as error:
        if "fts5" in str(error):
            raise Unusable("the SQLite of this Python has no full-text search (FTS5)") from error
        raise


def _own(path: Path) -> None:
    """The file is there, 0600 and nobody's link. Raises Unusable."""
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid():
            raise Unusable(f"{path} is no file of yours")
        if stat.S_IMODE(facts.st_mode) != 0o600:
            path.chmod(0o600)
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error.strerror}") from error


def thrown_away(path: Path) -> None:
    """Removes a damaged index and what SQLite keeps beside it. Raises Unusable."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"):
        try:
            path.with_name(name).unlink(missing_ok=True)
        except OSError as error:
            raise Unusable(f"{path} cannot be replaced: {error.strerror}") from error
