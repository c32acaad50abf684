"""A host's own way to run `bash` commands, told as an environment would tell it (BA-5).

So everything behind it, clean text, bounds, endings, background commands, is the same code whoever runs the command.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from lmx_core.clock import Clock, deadline
from lmx_core.environment.base import Data, Exit, OutputLimit, RunEvent, TimedOut
from lmx_core.tasks import run_in_thread

Runner = Callable[..., Any]
"""`f(command, cwd=, timeout_ms=)`, sync or async, returns `(output, status)`, output text or bytes, or raises."""

_PIECE_BYTES = 65_536


async def by_runner(
    runner: Runner, command: str, cwd: Path, clock: Clock, timeout_ms: float, max_output_bytes: float
) -> AsyncIterator[RunEvent]:
    """What came of `command`. What the runner raises passes through; TypeError for what is no output and status."""
    answer = await _within(runner, command, cwd, clock, timeout_ms)
    if answer is None:
        yield TimedOut(timeout_ms)
        return
    output, status = answer
    shown = output if len(output) <= max_output_bytes else output[: int(max_output_bytes)]
    for start in range(0, len(shown), _PIECE_BYTES):
        yield Data(shown[start : start + _PIECE_BYTES])
    yield OutputLimit(max_output_bytes, written=len(output)) if len(output) > max_output_bytes else Exit(status)


async def _within(runner: Runner, command: str, cwd: Path, clock: Clock, timeout_ms: float) -> tuple[bytes, int] | None:
    """Output and status, or None when the time is over. An async runner is cancelled then, a thread is left behind."""
    try:
        async with deadline(clock, timeout_ms) as timer:
            return _shaped(await _run(runner, command, cwd=cwd, timeout_ms=timeout_ms))
    except TimeoutError:
        if not timer.expired:
            raise  # the runner's own
        return None


async def _run(runner: Runner, command: str, **options: Any) -> Any:
    if inspect.iscoroutinefunction(runner) or inspect.iscoroutinefunction(type(runner).__call__):
        return await runner(command, **options)
    answer = await run_in_thread(runner, command, **options)
    return await answer if inspect.isawaitable(answer) else answer


def _shaped(answer: Any) -> tuple[bytes, int]:
    match answer:
        case (str() as output, int() as status):
            return output.encode("utf-8", "replace"), status
        case (bytes() as output, int() as status):
            return output, status
    raise TypeError("a runner returns (output, status), output as text or bytes and status as a whole number")
