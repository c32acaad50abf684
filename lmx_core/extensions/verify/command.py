"""Runs a check and tells how it ended (VE-3)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from lmx_core.builtin.bash import NON_INTERACTIVE
from lmx_core.clock import FOREVER
from lmx_core.environment.base import Data, Environment, Exit, Failed, TimedOut, closing
from lmx_core.extensions.verify.record import last
from lmx_core.tools.plain import Plain

KEPT_BYTES = 16_384
_NOT_STARTED = {126: "it cannot be executed", 127: "there is no such program"}


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended: `status` as a check has it, `output` the last of what it wrote."""

    status: str
    exit_status: int | None = None
    output: str = ""
    reason: str = ""


async def run(command: str, environment: Environment, cwd: Path, timeout_ms: int, masked: Callable[[str], str]) -> Ran:
    """Runs it, however much it writes. What it wrote last is kept, for that is where a failure is told."""
    plain, tail = Plain(), ""
    ending: object = None
    events = environment.run(command, cwd=cwd, timeout_ms=timeout_ms, env=NON_INTERACTIVE, max_output_bytes=FOREVER)
    async with closing(events) as said:
        async for event in said:
            if not isinstance(event, Data):
                ending = event
                break
            tail = last(tail + plain.feed(event.data), 4 * KEPT_BYTES)
    output = last(masked(tail + plain.end()), KEPT_BYTES)
    match ending:
        case Exit(status=0):
            return Ran(status="passed", exit_status=0, output=output)
        case Exit(status=status) if status in _NOT_STARTED:
            return Ran(status="not_run", exit_status=status, output=output, reason=_NOT_STARTED[status])
        case Exit(status=status):
            return Ran(status="failed", exit_status=status, output=output)
        case TimedOut():
            return Ran(status="timed_out", output=output)
        case Failed(reason=reason):
            return Ran(status="not_run", output=output, reason=reason)
    return Ran(status="not_run", output=output, reason="the environment did not say how it ended")
