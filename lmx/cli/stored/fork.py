"""`lmx fork`: a copy of a conversation, or of its beginning, to go on with another way (C1-82)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TextIO

from lmx import sessions
from lmx.exit_status import CommandError, usage
from lmx_core import JSONLStore
from lmx_core.errors import UnknownEntry, UnsafeFork
from lmx_core.transcript import fork as transcript


def fork(
    session: str,
    *,
    sessions_dir: Path,
    out: TextIO,
    at_turn: int | None = None,
    at: str | None = None,
    at_seq: int | None = None,
    unsafe: bool = False,
) -> int:
    """Prints the new session's id, alone. At most one of `at_turn`, `at` and `at_seq` says where to cut.

    Raises CommandError for a cut that is nowhere (2) or among unanswered calls (1), and the `LmxError`s of `lmx log`.
    """
    cut = f"turn={at_turn}" if at_turn is not None else f"seq={at_seq}" if at_seq is not None else at
    store = JSONLStore(sessions_dir)
    session_id = asyncio.run(sessions.resolve(sessions_dir, session))
    try:
        out.write(asyncio.run(transcript.fork(store, session_id, at=cut, unsafe=unsafe)) + "\n")
    except UnknownEntry as error:
        raise usage(_nowhere(store, session_id, at_turn, at, at_seq)) from error
    except UnsafeFork as error:
        raise CommandError(
            f"{error}; cut after a finished turn with --at-turn N ({_range(store, session_id)}), "
            "or copy it as it is with --unsafe"
        ) from error
    return 0


def _nowhere(store: JSONLStore, session_id: str, at_turn: int | None, at: str | None, at_seq: int | None) -> str:
    if at_turn is not None:
        return f"--at-turn {at_turn}: the session's finished turns are {_range(store, session_id)}"
    if at_seq is not None:
        return f"--at-seq {at_seq}: the session's entries are 0 to {len(store.read(session_id)) - 1}"
    return f"--at {at}: the session has no entry of that id; `lmx log --jsonl` shows them"


def _range(store: JSONLStore, session_id: str) -> str:
    turns = len(transcript.turn_ends(store.read(session_id)))
    return f"1 to {turns}" if turns else "none yet"
