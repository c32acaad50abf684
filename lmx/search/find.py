"""One search over all conversations, whatever state the index is in.

What goes wrong with the index costs time and a sentence, never the answer: a damaged one is made anew once, and where there can
be none the transcripts are read from end to end.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from lmx import sessions
from lmx.search import index, passages, query
from lmx.search.passages import Passage
from lmx.search.query import Term
from lmx.sessions import SessionInfo
from lmx.words import plural
from lmx_core import run_in_thread

WIDTH = 120
"""Characters of an excerpt."""
WORTH_TELLING = 20_000_000
"""Bytes that are read before an answer comes: a second or so."""
EACH = 3
"""Places told of one session."""
DAMAGE = (sqlite3.Error, zlib.error, OverflowError, TypeError)
"""How a damaged index shows: as an error of the database, or of what it gives back."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A place. `kind` is you, answer, call, output or summary; `text` is one sanitised line around it."""

    seq: int
    kind: str
    at_ms: int
    text: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A session with places in it, the newest first; `places` is how many there are, up to what is looked at."""

    info: SessionInfo
    hits: tuple[Hit, ...]
    places: int


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """`found`: newest place first. `more`: sessions beyond the limit. `notice`: why it took long, or what may be missing."""

    found: tuple[Found, ...]
    more: int = 0
    notice: str = ""


async def search(
    wanted: tuple[Term, ...],
    *,
    sessions_dir: Path,
    state: Path | None,
    cwd: Path | None = None,
    limit: int = 20,
    wait: bool = True,
    tell: Callable[[str], None] | None = None,
) -> Results:
    """The sessions, of `cwd` or of all directories, that hold what is `wanted` (not empty).

    `state` is where the index is kept; None: nowhere. Without `wait`, an index that another lmx is bringing up to date is asked
    as it is. `tell` is told, from another thread, that much must be read first. Raises StoreError where the directory of the
    transcripts cannot be read.
    """
    infos = {info.id: info for info in await sessions.listed(sessions_dir, cwd=cwd)}
    held, notice = await run_in_thread(_held, wanted, sessions_dir, state, wait, tell)
    held = {id: places for id, places in held.items() if id in infos}
    newest = sorted(held, key=lambda id: (held[id][0].at_ms, id), reverse=True)
    found = tuple(_found(infos[id], held[id], wanted) for id in newest[:limit])
    return Results(found=found, more=len(newest) - len(found), notice=notice)


def _found(info: SessionInfo, places: list[Passage], wanted: tuple[Term, ...]) -> Found:
    hits = tuple(
        Hit(seq=place.seq, kind=place.kind, at_ms=place.at_ms, text=query.excerpt(place.text, wanted, WIDTH))
        for place in places[:EACH]
    )
    return Found(info=info, hits=hits, places=len(places))


def _held(
    wanted: tuple[Term, ...], directory: Path, state: Path | None, wait: bool, tell: Callable[[str], None] | None = None
) -> tuple[dict[str, list[Passage]], str]:
    files = sessions.files(directory)
    if state is None:
        return _scanned(wanted, directory, files), ""
    path = index.place(state, directory)
    try:
        try:
            return _asked(path, directory, wanted, files, wait, tell)
        except DAMAGE:
            with index.locked(path, wait=True):
                index.thrown_away(path)
            return _asked(path, directory, wanted, files, wait, tell)
    except index.Unusable as error:
        return _scanned(wanted, directory, files), f"searched without an index, which is slower: {error}"
    except DAMAGE as error:
        return _scanned(wanted, directory, files), f"searched without the index, which is damaged again: {error}"


def _asked(
    path: Path,
    directory: Path,
    wanted: tuple[Term, ...],
    files: Mapping[str, os.stat_result],
    wait: bool,
    tell: Callable[[str], None] | None,
) -> tuple[dict[str, list[Passage]], str]:
    notice = ""
    try:
        with index.locked(path, wait=wait), index.opened(path, directory) as kept:
            if tell is not None and kept.unread(files) > WORTH_TELLING:
                tell(f"reading {plural(len(files), 'conversation')} for the index; this takes a while, and only once")
            kept.update(files)
            return kept.find(wanted), ""
    except index.Busy:
        notice = "another lmx is reading the newest conversations; what it has not read yet is not found"
    with index.opened(path, directory) as kept:
        return kept.find(wanted), notice


def _scanned(
    wanted: tuple[Term, ...], directory: Path, files: Mapping[str, os.stat_result]
) -> dict[str, list[Passage]]:
    """The same from the transcripts themselves: those that hold all of it in one place, else those that hold it in several."""
    together: dict[str, list[Passage]] = {}
    apart: dict[str, list[Passage]] = {}
    for id in files:
        whole: list[Passage] = []
        newest: dict[Term, Passage] = {}
        for line in passages.lines(directory / f"{id}.jsonl"):
            for passage in passages.of_line(line):
                words = query.split(passage.text)
                here = [term for term in wanted if query.fits(term, words)]
                newest |= dict.fromkeys(here, passage)
                whole += [passage] if len(here) == len(wanted) else []
        if whole:
            together[id] = whole[::-1]
        elif len(newest) == len(wanted):
            apart[id] = sorted(newest.values(), key=lambda place: place.seq, reverse=True)
    return together or apart
