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
"""How long the cancelled work may take to be recorded before the waiting task is cancelled outright."""


class Stop:
    """Whether a signal came: `number` is its own, `status` what the process then exits with.

    `tell` is what a signal calls. Until there is a session to be cancelled, that ends the task that is starting one.
    """

    def __init__(self, task: asyncio.Task[None]):
        self._task = task
        self.number: int | None = None
        self.tell: Callable[[], object] = task.cancel

    @property
    def status(self) -> int | None:
        return None if self.number is None else 128 + self.number

    @property
    def name(self) -> str:
        return "" if self.number is None else signal.Signals(self.number).name

    def received(self, number: int) -> None:
        if self.number is None:
            self.number = number
            self.tell()
            asyncio.get_running_loop().call_later(GRACE_S, self._task.cancel)
        elif number == signal.SIGINT:
            self.leave()

    def leave(self, *_: object) -> None:
        """Asked twice: ends the process at once. The watchdog ends the commands, and the lock is seen to be stale."""
        os._exit(self.status or 0)


@contextmanager
def on_signals() -> Iterator[Stop]:
    """Takes the signals over for as long as the block runs."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    stop = Stop(task)
    taken = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    for number in taken:
        loop.add_signal_handler(number, stop.received, number)
    try:
        yield stop
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
        if stop.number is not None and signal.SIGINT in taken:
            signal.signal(signal.SIGINT, stop.leave)  # the process is on its way out; its status stays what it is
