"""`lmx search`: which conversations hold these words, and where (the picker of /resume searches the same way)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from lmx import exit_status
from lmx import search as stored
from lmx.exit_status import usage
from lmx.output.result import encode
from lmx.sanitize import one_line
from lmx.search import Found, Results, query
from lmx.words import plural

SAID_BY = {"you": "you", "answer": "lmx", "call": "call", "output": "output", "summary": "summary"}


def search(
    words: Sequence[str],
    *,
    sessions_dir: Path,
    state: Path | None,
    cwd: Path | None,
    limit: int,
    as_json: bool,
    out: TextIO,
    say: Callable[[str], None],
) -> int:
    """Prints the sessions that hold the words, newest place first; the status says whether there are any.

    Raises CommandError (2) where there is nothing to look for, StoreError where the transcripts cannot be read.
    """
    wanted = query.terms(" ".join(words))
    if not wanted:
        raise usage("`lmx search` needs a word with letters or digits in it")
    results = asyncio.run(stored.search(wanted, sessions_dir=sessions_dir, state=state, cwd=cwd, limit=limit, tell=say))
    if results.notice:
        say(one_line(results.notice))
    if as_json:
        out.write(encode(_object(results)) + "\n")
    else:
        _print(results, out, directory=cwd is None)
        if not results.found:
            say("no session holds that" if cwd is None else "no session of this directory holds that")
        elif results.more:
            say(f"and {plural(results.more, 'more session')}; --limit N shows more")
    return exit_status.OK if results.found else exit_status.OTHER


def _print(results: Results, out: TextIO, *, directory: bool) -> None:
    """What stands in a transcript came from anywhere, and here it is only told: it is made safe for a file as well."""
    for found in results.found:
        info = found.info
        where = f"  {one_line(info.cwd or '', 'evidence')}" if directory else ""
        out.write(f"{info.name}  {info.id}  {info.last_activity}  {plural(info.turns, 'turn')}{where}\n")
        for hit in found.hits:
            out.write(f"    {SAID_BY[hit.kind]:>7}  {one_line(hit.text)}\n")
        if (more := found.places - len(found.hits)) > 0:
            out.write(f"             and {plural(more, 'more place')}\n")


def _object(results: Results) -> dict[str, Any]:
    return {"sessions": [_session(found) for found in results.found], "more": results.more}


def _session(found: Found) -> dict[str, Any]:
    info = found.info
    return {
        "id": info.id,
        "name": info.name,
        "cwd": info.cwd,
        "last_activity": _time(info.last_activity_ms),
        "turns": info.turns,
        "places": found.places,
        "hits": [{"seq": hit.seq, "kind": hit.kind, "at": _time(hit.at_ms), "text": hit.text} for hit in found.hits],
    }


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
