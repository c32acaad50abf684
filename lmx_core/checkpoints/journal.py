"""What a session has changed, in the order in which it did: an append-only file a session.

Each record has its length and checksum in front, so a record that a kill has cut short is seen and left out, and what was
written before it still counts. A call is written when it begins and when it is over: one that only begins was under way when
lmx died, and what it did is found by looking again.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from lmx_core.checkpoints.files import Change, private_directory

_HEAD = struct.Struct(">II")
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""What file systems without locks answer; there two at once are not kept apart."""

_PROMPT_CHARACTERS = 120
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class Turn(msgspec.Struct, tag="turn", frozen=True, kw_only=True):
    """A prompt: what follows belongs to it until the next one. `prompt` is its beginning, on one line."""

    number: int
    prompt: str
    at_ms: int


class Opened(msgspec.Struct, tag="opened", frozen=True, kw_only=True):
    """A call begins. `before` has the states of the paths it names; for a command it is empty, and the file `before` beside
    the journal has the whole tree. `what` is a command, or the path. `part`: the call had begun before, and this is what it has
    done so far.
    """

    call: str
    tool: str
    what: str
    root: bytes
    command: bool
    before: list[Change] = []
    part: bool = False


class Closed(msgspec.Struct, tag="closed", frozen=True, kw_only=True):
    """A call is over, with what changed. `uncertain`: lmx was not there when it ended, so somebody else may have done it."""

    call: str
    changes: list[Change] = []
    notes: list[str] = []
    uncertain: bool = False


class Noted(msgspec.Struct, tag="noted", frozen=True, kw_only=True):
    """A call whose changes are not recorded at all, and why, in a sentence."""

    tool: str
    note: str


class Part(msgspec.Struct, frozen=True, array_like=True):
    """What was put back below one root, and the paths that were left as they are."""

    root: bytes
    changes: list[Change]
    left: list[bytes] = []


class PutBack(msgspec.Struct, tag="put_back", frozen=True, kw_only=True):
    """An undo or a redo: what it did, and the turns it took back or did again.

    `done` False is written before it begins, with what it is going to do: if nothing follows, it was cut short. `forced`: what
    it left cannot be put back by force either.
    """

    action: str
    turns: list[int]
    parts: list[Part]
    done: bool = True
    forced: bool = False


Record = Turn | Opened | Closed | Noted | PutBack
_decoder = msgspec.msgpack.Decoder(Record)


class Places:
    """Where the checkpoints of a session are: `directory/sessions/ID`, and those of a tree: `directory/trees/DIGEST`."""

    def __init__(self, directory: Path, session_id: str):
        name = session_id if _SAFE.fullmatch(session_id) else hashlib.sha256(session_id.encode()).hexdigest()
        self.directory, self.session = directory, directory / "sessions" / name

    @property
    def journal(self) -> Path:
        return self.session / "journal"

    @property
    def before(self) -> Path:
        return self.session / "before"

    def tree(self, root: bytes) -> Path:
        return self.directory / "trees" / hashlib.sha256(root).hexdigest()[:32]


def append(places: Places, record: Record) -> None:
    """Writes one record. One that says what a file held is on the disk when this returns. Raises OSError."""
    private_directory(places.session)
    body = msgspec.msgpack.encode(record)
    fd = os.open(places.journal, _APPEND, 0o600)
    try:
        _cut_off_a_torn_end(fd)
        view = memoryview(_HEAD.pack(len(body), zlib.crc32(body)) + body)
        while view:
            view = view[os.write(fd, view) :]
        if not isinstance(record, Turn):
            os.fsync(fd)
    finally:
        os.close(fd)


def begin_turn(places: Places, prompt: str) -> list[PutBack]:
    """A new prompt. What it returns was put back since the last one, and the model does not know of it. Raises OSError."""
    told = history(read(places))
    number = told.turns[-1].number + 1 if told.turns else 1
    line = " ".join(prompt.split())[:_PROMPT_CHARACTERS]
    append(places, Turn(number=number, prompt=line, at_ms=time.time_ns() // 1_000_000))
    return told.untold


def _cut_off_a_torn_end(fd: int) -> None:
    """What a kill left behind the last whole record would hide every record behind it."""
    end = os.fstat(fd).st_size
    if end and (whole := sum(_HEAD.size + len(body) for body in _bodies(os.pread(fd, end, 0)))) < end:
        os.ftruncate(fd, whole)


def read(places: Places) -> list[Record]:
    """Every whole record; [] where the session has changed nothing. Raises OSError.

    A record of a kind that this lmx does not know, because a newer one wrote it, is passed over.
    """
    try:
        data = places.journal.read_bytes()
    except FileNotFoundError:
        return []
    found = (_decoded(body) for body in _bodies(data))
    return [record for record in found if record is not None]


def _decoded(body: bytes) -> Record | None:
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError:
        return None


def _bodies(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + _HEAD.size <= len(data):
        length, check = _HEAD.unpack_from(data, at)
        body = data[at + _HEAD.size : at + _HEAD.size + length]
        if len(body) < length or zlib.crc32(body) != check:
            return
        yield body
        at += _HEAD.size + length


class Busy(Exception):
    """Somebody else is recording or putting back."""


@contextmanager
def locked(places: Places, wait_s: float = 0) -> Iterator[None]:
    """Alone with the session's checkpoints. Raises Busy when that takes longer than `wait_s`, and OSError."""
    release = lock(places, wait_s)
    try:
        yield
    finally:
        release()


def lock(places: Places, wait_s: float) -> Callable[[], None]:
    """As `locked`; the lock is held until what it returns is called, or the process ends."""
    private_directory(places.session)
    fd = os.open(places.session / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    end = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                break
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() > end:
                os.close(fd)
                if error.errno in (errno.EAGAIN, errno.EACCES):
                    raise Busy from None
                raise
            time.sleep(0.02)
        else:
            break
    return lambda: os.close(fd)


# --- what the records mean ----------------------------------------------------------------------------------------------


class Step(msgspec.Struct, kw_only=True):
    """What one call did. `over` False: it was under way when lmx died, or still is."""

    opened: Opened
    changes: list[Change] = []
    notes: list[str] = []
    uncertain: bool = False
    over: bool = False


class Story(msgspec.Struct, kw_only=True):
    """One turn: its prompt and what its calls did, in the order in which they ended."""

    number: int
    prompt: str = ""
    at_ms: int = 0
    steps: list[Step] = []
    notes: list[str] = []
    undone: bool = False

    @property
    def commands(self) -> list[str]:
        return [step.opened.what for step in self.steps if step.opened.command and not step.opened.part]


class History(msgspec.Struct, kw_only=True):
    """The turns of a session, oldest first, and what can be done again, the newest last.

    `cut_short` is an undo or redo that a kill has ended in the middle. `untold` is what was put back since the last prompt.
    """

    turns: list[Story] = []
    redo: list[PutBack] = []
    cut_short: PutBack | None = None
    untold: list[PutBack] = []

    def numbered(self, numbers: list[int]) -> list[Story]:
        """The turns of these numbers, the newest first."""
        return [turn for turn in reversed(self.turns) if turn.number in numbers]

    def undoable(self) -> list[Story]:
        """The turns that are not undone, the newest first."""
        return [turn for turn in reversed(self.turns) if not turn.undone]


def history(records: list[Record]) -> History:
    told = History()
    open_steps: dict[str, tuple[Story, Step]] = {}
    for record in records:
        _tell(told, open_steps, record)
    return told


def _tell(told: History, open_steps: dict[str, tuple[Story, Step]], record: Record) -> None:
    match record:
        case Turn(number=number, prompt=prompt, at_ms=at_ms):
            told.turns.append(Story(number=number, prompt=prompt, at_ms=at_ms))
            told.untold = []
        case Opened():
            turn, step = open_steps[record.call] = _newest(told), Step(opened=record)
            turn.steps.append(step)
        case Closed() if record.call in open_steps:
            turn, step = open_steps.pop(record.call)
            turn.steps.remove(step)  # of calls that run at the same time, the one that ends last has the last word
            turn.steps.append(step)
            step.changes, step.notes, step.uncertain, step.over = record.changes, record.notes, record.uncertain, True
            if record.changes:
                told.redo = []  # what came later was made on other files
        case Noted():
            _newest(told).notes.append(record.note)
        case PutBack(done=False):
            told.cut_short = record
        case PutBack():
            _put_back(told, record)


def _newest(told: History) -> Story:
    if not told.turns:
        told.turns.append(Story(number=1))
    return told.turns[-1]


def _put_back(told: History, record: PutBack) -> None:
    told.cut_short = None
    told.untold.append(record)
    again = record.action == "redo"
    for turn in told.numbered(record.turns):
        turn.undone = not again
    if not again:
        told.redo.append(record)
    elif told.redo:
        told.redo.pop()
