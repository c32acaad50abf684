"""The commands that run, as the proxy knows them: each by a word that only its own environment has, with whom to ask about it.

Programs connect from processes of their own, so a connection says nothing of the command behind it; the user name in the
address of the proxy does, which programs send along by themselves or when they are asked for it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from lmx_core.addresses import Refusal
from lmx_core.clock import Clock, Deadline, Handle, steady_ms
from lmx_core.environment.base import Destination, Reach

MOST_NOTED = 8
MOST_HOSTS = 500
"""More than any honest command wants; a loop over names that it makes up ends here."""


class Held:
    """A clock whose timers can be held: while a person is asked, the command's time limit does not run (DI-4)."""

    def __init__(self, clock: Clock):
        self._clock, self._held = clock, 0
        self._timers: list[Deadline] = []

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def steady_ms(self) -> int:
        return steady_ms(self._clock)

    def call_later(self, ms: float, callback: Callable[[], Any]) -> Handle:
        timer = Deadline(self._clock, ms, callback)
        self._timers.append(timer)
        for _ in range(self._held):
            timer.pause()
        return timer

    def hold(self) -> None:
        self._held += 1
        for timer in self._timers:
            timer.pause()

    def go_on(self) -> None:
        self._held -= 1
        for timer in self._timers:
            timer.resume()


class Command:
    """One command that runs. `token` is its word; `connections` are the tasks that serve it."""

    def __init__(self, reach: Reach | None, clock: Held):
        self.token = secrets.token_hex(8)
        self.connections: set[asyncio.Task[object]] = set()
        self._reach, self._clock = reach, clock
        self._turns: dict[tuple[str, int], asyncio.Lock] = {}
        self._decided: dict[tuple[str, int], Refusal | None] = {}
        self._refused: dict[str, str] = {}

    async def judge(self, destination: Destination) -> Refusal | None:
        """Whether this command may go there; asked once, whatever the answer. It waits for no question about another host."""
        where = (destination.host, destination.port)
        if where not in self._turns and len(self._turns) >= MOST_HOSTS:
            return Refusal(f"is not reached from here: the command has tried {MOST_HOSTS} hosts before it")
        async with self._turns.setdefault(where, asyncio.Lock()):
            if where not in self._decided:
                self._decided[where] = await self._asked(destination)
            return self._decided[where]

    async def _asked(self, destination: Destination) -> Refusal | None:
        if self._reach is None:
            return None if destination.listed else UNLISTED
        self._clock.hold()
        try:
            return await self._reach(destination)
        finally:
            self._clock.go_on()

    def refused(self, where: str, why: str) -> None:
        """Notes for the end of its output that something was kept from it."""
        if len(self._refused) < MOST_NOTED:
            self._refused.setdefault(where, why)

    def notes(self) -> bytes:
        """What is said at the end of its output; empty where nothing was kept from it."""
        lines = [f"[the sandbox: {where} {why}]\n" for where, why in self._refused.items()]
        return "".join(lines).encode()


UNLISTED = Refusal("is not reached from here: `network` of the sandbox does not list it")
