"""Signals of a run without a screen (cli.md 10.1): cancel the work, let the session end as it should, exit with 128 + n.

The handlers belong to the loop, so that a thread that is busy does not delay them. A signal that was ignored when lmx was
started (`nohup`, a shell's background job) stays ignored. A second Ctrl-C does not wait for anything any more.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_S = 3.0
"""How long the cancelled work may take to be recorded before the main task is cancelled outright."""


class Stop:
    """Whether a signal came. `status` is then what the process exits with."""

    def __init__(self) -> None:
        self.number: int | None = None

    @property
    def status(self) -> int | None:
        return None if self.number is None else 128 + self.number


@contextmanager
def on_signals(cancel: Callable[[], None]) -> Iterator[Stop]:
    """Inside, the first signal calls `cancel`; if the work has not ended after the grace, its task is cancelled."""
    loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), Stop()
    assert task is not None

    def received(number: int) -> None:
        if stop.number is not None:
            if number == signal.SIGINT:
                os._exit(128 + stop.number)  # asked twice: the watchdog ends commands, the lock is seen to be stale
            return
        stop.number = number
        cancel()
        loop.call_later(GRACE_S, task.cancel)

    taken = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    for number in taken:
        loop.add_signal_handler(number, received, number)
    try:
        yield stop
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
