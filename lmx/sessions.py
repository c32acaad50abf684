"""Which conversations there are, and which one is meant by what a person typed (cli.md 9.1, 9.2).

Transcripts are the truth, and reading all of them for every list would take longer the longer somebody uses lmx. So what a
list shows is kept in `index.json` beside them: a cache that is believed only where size and time of the file still agree,
and continued from where it stopped when a file has grown. Missing, damaged, out of date or not to be written, it costs
time and never an error.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from lmx.sanitize import one_line
from lmx_core import run_in_thread
from lmx_core.errors import AmbiguousSession, StoreError, TranscriptNotFound
from lmx_core.names import name_of, names_of

INDEX = "index.json"
SHORTEST_PREFIX = 6
PREVIEW_CHARACTERS = 120
TOLD_APART = 10
"""How many sessions a sentence lists when a word fits several."""

_VERSION = 1
_LATEST_MS = 253_370_764_800_000  # the year 9999, which has no time zones left to spare
_NO_TEXT = re.compile("[\ud800-\udfff]")
_ID = re.compile(r"[A-Za-z0-9_-]+")


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list. `turns` counts whole answers, the number `lmx fork --at-turn` takes; `preview` is one line."""

    id: str
    name: str
    cwd: str | None
    last_activity_ms: int
    turns: int
    preview: str

    @property
    def last_activity(self) -> str:
        """The time of the last entry by the clock on the wall here, to the minute."""
        return datetime.fromtimestamp(self.last_activity_ms / 1_000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


class SeveralSessions(AmbiguousSession):
    """What was typed fits several sessions; the sentence tells them apart (C10-12)."""

    def __init__(self, ref: str, found: Sequence[SessionInfo]):
        super().__init__([info.id for info in found])
        lines = [
            f"  {info.id}  {info.last_activity}  {one_line(info.cwd or '', 'evidence')}".rstrip() for info in found
        ]
        if len(lines) > TOLD_APART:
            lines[TOLD_APART:] = [f"  and {len(lines) - TOLD_APART} more"]
        self.args = ("\n".join([f"{ref!r} fits several sessions; give more of the id:", *lines]),)


async def listed(directory: Path, *, cwd: Path | None = None) -> list[SessionInfo]:
    """The sessions somebody asked something in, newest activity first: those that ran in `cwd`, or all of them.

    Directories are compared by their real path. A sessions directory that is not there holds none.
    """
    found: list[SessionInfo] = await run_in_thread(_listed, directory, cwd)
    return found


async def newest(directory: Path, cwd: Path) -> SessionInfo | None:
    """The session that `-c` takes up."""
    found = await listed(directory, cwd=cwd)
    return found[0] if found else None


async def resolve(directory: Path, ref: str) -> str:
    """The id meant by a full id, a unique beginning of one (6 characters or more), or a name.

    Raises `TranscriptNotFound`, `SeveralSessions`, or `StoreError` when the directory cannot be read.
    """
    found: str = await run_in_thread(_resolve, directory, ref)
    return found


def _resolve(directory: Path, ref: str) -> str:
    ids = sorted(files(directory))
    if ref in ids:
        return ref
    found: list[str] = []
    if len(ref) >= SHORTEST_PREFIX:
        found = [id for id in ids if id.upper().startswith(ref.upper())]
    found = found or [id for id in ids if ref.lower() in names_of(id)]
    if len(found) > 1:
        known = {info.id: info for info in _informed(directory)}
        raise SeveralSessions(ref, [known[id] for id in found if id in known])
    if not found:
        raise TranscriptNotFound(ref)
    return found[0]


def _listed(directory: Path, cwd: Path | None) -> list[SessionInfo]:
    here = None if cwd is None else _real(str(cwd))
    infos = (
        info
        for info in _informed(directory, prompted=True)
        if here is None or (info.cwd is not None and _real(info.cwd) == here)
    )
    return sorted(infos, key=lambda info: (info.last_activity_ms, info.id), reverse=True)


def _real(path: str) -> str | None:
    """Where a path leads, as a transcript writes it: bytes that are no text are U+FFFD there. None for what is no path."""
    try:
        return _NO_TEXT.sub("\ufffd", os.path.realpath(path))
    except ValueError:
        return None


# --- the index ----------------------------------------------------------------------------------------------------


class _Known(msgspec.Struct, kw_only=True):
    """What the index holds of one transcript: `read` bytes of it, which end with a whole line, have been looked at."""

    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    read: int = 0
    cwd: str | None = None
    last_ms: int = 0
    turns: int = 0
    prompts: int = 0
    preview: str = ""


class _Index(msgspec.Struct, kw_only=True):
    version: int
    sessions: dict[str, _Known]


class _Line(msgspec.Struct):
    """What must be decoded of an entry to know whether it matters here."""

    type: str
    at: str
    payload: msgspec.Raw


class _Told(msgspec.Struct):
    """What is looked at inside a payload."""

    cwd: str | None = None
    text: str = ""
    stop_hook: bool = False
    partial: bool = False


_lines = msgspec.json.Decoder(_Line)
_told = msgspec.json.Decoder(_Told)


def _informed(directory: Path, prompted: bool = False) -> Iterable[SessionInfo]:
    for id, known in _current(directory).items():
        if known.prompts or not prompted:
            yield SessionInfo(
                id=id,
                name=name_of(id),
                cwd=known.cwd,
                last_activity_ms=known.last_ms,
                turns=known.turns,
                preview=known.preview,
            )


def _current(directory: Path) -> dict[str, _Known]:
    """The index brought up to date, and saved when that changed it."""
    old = _load(directory)
    new = {}
    changed = False
    for id, facts in files(directory).items():
        known = old.get(id)
        if known is None or (known.inode, known.size, known.mtime_ns) != (
            facts.st_ino,
            facts.st_size,
            facts.st_mtime_ns,
        ):
            known, changed = _looked_at(directory / f"{id}.jsonl", facts, known), True
        new[id] = known
    if changed or len(new) != len(old):
        _save(directory, new)
    return new


def files(directory: Path) -> dict[str, os.stat_result]:
    """The transcripts there are, by id. Raises StoreError where the directory cannot be read."""
    try:
        with os.scandir(directory) as there:
            paths = [file for file in there if file.name.endswith(".jsonl") and _ID.fullmatch(file.name[:-6])]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{directory} cannot be read: {error.strerror}") from error
    found = {}
    for file in paths:
        try:
            if stat.S_ISREG((facts := file.stat()).st_mode):
                found[file.name[:-6]] = facts
        except OSError:
            continue  # deleted under our eyes, or a link that leads nowhere
    return found


def _looked_at(path: Path, facts: os.stat_result, known: _Known | None) -> _Known:
    """What is to be known of a transcript; of one that has only grown, just the new lines are read."""
    if known is None or known.inode != facts.st_ino or known.read > facts.st_size:
        known = _Known()
    try:
        with path.open("rb") as file:
            file.seek(known.read)
            data = file.read()
    except OSError:
        data = b""  # unreadable: it is in the list of files and says nothing
    whole = data.rfind(b"\n") + 1
    for line in data[:whole].split(b"\n"):
        _look_at(line, known)
    known.read += whole
    known.inode, known.size, known.mtime_ns = facts.st_ino, facts.st_size, facts.st_mtime_ns
    return known


def _look_at(line: bytes, known: _Known) -> None:
    """Adds one line. What is no entry is passed over: whoever opens the session is told, a list goes on."""
    try:
        entry = _lines.decode(line)
        known.last_ms = min(max(0, int(datetime.fromisoformat(entry.at).timestamp() * 1_000)), _LATEST_MS)
        if entry.type not in ("session", "user", "assistant"):
            return
        told = _told.decode(entry.payload)
    except (msgspec.DecodeError, ValueError, OverflowError):
        return
    if entry.type == "session":
        known.cwd = told.cwd or known.cwd
    elif entry.type == "assistant":
        known.turns += not told.partial
    elif not told.stop_hook:
        known.prompts += 1
        known.preview = known.preview or " ".join(told.text.split())[:PREVIEW_CHARACTERS]


def _load(directory: Path) -> dict[str, _Known]:
    try:
        index = msgspec.json.decode((directory / INDEX).read_bytes(), type=_Index)
    except (OSError, msgspec.DecodeError):
        return {}
    return index.sessions if index.version == _VERSION else {}


def _save(directory: Path, sessions: dict[str, _Known]) -> None:
    """Puts a whole new index in place of the old one; another process doing the same is no harm."""
    temporary = directory / f".{INDEX}.{secrets.token_hex(8)}"
    data: Any = msgspec.json.encode(_Index(version=_VERSION, sessions=sessions))
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        temporary.replace(directory / INDEX)
    except OSError:
        _remove(temporary)  # a full or read-only disk: the next list reads the transcripts again


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return
