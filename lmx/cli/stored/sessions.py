"""`lmx sessions`: the conversations there are (C1-84), the same list that `/resume` shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from lmx import sessions as stored
from lmx.output.result import encode
from lmx.sanitize import for_terminal, one_line
from lmx.sessions import SessionInfo

PREVIEW = 60


def sessions(
    *,
    sessions_dir: Path,
    cwd: Path | None,
    as_json: bool,
    out: TextIO,
    tty: bool,
    say: Callable[[str], None],
) -> int:
    """Prints the sessions of `cwd`, or of every directory when it is None; most recent first.

    `say` is told, on standard error, when there are none.
    """
    found = asyncio.run(stored.listed(sessions_dir, cwd=cwd))
    if as_json:
        out.write(encode([_object(info) for info in found]) + "\n")
        return 0
    shown: Callable[[str], str] = for_terminal if tty else str
    width = max((len(info.name) for info in found), default=0)
    for info in found:
        out.write(shown(_line(info, width, directory=cwd is None)) + "\n")
    if not found:
        say("no sessions yet" if cwd is None else "no sessions in this directory yet; --all lists those of every one")
    return 0


def _line(info: SessionInfo, width: int, directory: bool) -> str:
    turns = f"{info.turns} turn" + ("" if info.turns == 1 else "s")
    where = f"{one_line(info.cwd or '', 'evidence')}  " if directory else ""
    return (
        f"{info.name:<{width}}  {info.id}  {info.last_activity}  {turns:>9}  {where}{info.preview[:PREVIEW]}".rstrip()
    )


def _object(info: SessionInfo) -> dict[str, Any]:
    moment = datetime.fromtimestamp(info.last_activity_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return {
        "id": info.id,
        "name": info.name,
        "cwd": info.cwd,
        "last_activity": moment.replace("+00:00", "Z"),
        "turns": info.turns,
        "preview": info.preview,
    }
