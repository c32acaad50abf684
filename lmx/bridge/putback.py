"""/undo, /rewind and /redo for the session that is shown: looked at and put back in a thread, told as one row (GEN-4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from lmx.receipts import undo as told
from lmx_core import run_in_thread
from lmx_core.checkpoints import Report, Undo
from lmx_core.errors import LmxError


async def put_back(
    checkpoints: Path | None,
    session_id: str,
    action: Literal["undo", "redo", "rewind"],
    turns: int,
    *,
    sure: bool,
    force: bool,
) -> str:
    """What was done, or without `sure` what would be, and how to go on. Raises LmxError where there is nothing to do."""
    if checkpoints is None:
        raise LmxError(told.OFF)
    undo = Undo(checkpoints, session_id, avoid=[checkpoints.parent])
    does: dict[str, Callable[..., Report]] = {
        "undo": undo.undo,
        "redo": undo.redo,
        "rewind": partial(undo.rewind, turns),
    }
    report = await run_in_thread(partial(does[action], force=force, preview=not sure))
    typed = f"/{action}{f' {turns}' if action == 'rewind' else ''}"
    return "\n".join([*told.lines(report), *told.next_steps(report, typed)])
