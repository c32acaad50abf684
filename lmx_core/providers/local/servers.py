"""The servers of one provider object: one a model file, started when it is first asked and shared by every session.

One a session would load the same gigabytes twice. A server that has ended is started again for the next request; where native
code crashed, without the processor's newest units, and where that crashes as well, not again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from lmx_core.clock import Clock
from lmx_core.errors import Failure
from lmx_core.providers.failures import AttemptFailed
from lmx_core.providers.http import Http
from lmx_core.providers.local import failures
from lmx_core.providers.local.start import Ended, Running, Starter, still_runs
from lmx_core.providers.local.weights import DEMO, NoModel, Weights, find, is_demo_installed
from lmx_core.tasks import run_in_thread

START_MS = 180_000
"""A file of many gigabytes on a slow disk takes minutes to read."""

SMALL_BYTES = 5_000_000_000
"""About eight billion parameters at four bits. A smaller model gets a short prompt and few tools (`extensions/small_model`)."""

_STARTS = 3
"""A port that was taken, or one crash, costs a start."""


class Servers:
    """`window`: the tokens of context that a server is asked for; a model gets no more than it was trained for."""

    def __init__(
        self,
        http: Http,
        clock: Clock,
        environ: Callable[[], Mapping[str, str]],
        window: int,
        start_ms: float = START_MS,
    ):
        self._starter = Starter(http, clock, environ, window, start_ms)
        self._running: dict[Path, Running] = {}
        self._crashed: set[Path] = set()
        self._starting: dict[Path, asyncio.Lock] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def check(self, model: str) -> Failure | None:
        """What is known to be wrong without starting anything."""
        try:
            find(model)
        except NoModel as error:
            return failures.failed("model_not_found", str(error)).failure
        return None if self._starter.can_start() else failures.no_server().failure

    def window(self, model: str) -> int | None:
        """The tokens that a server of this model has or, while there is none, will be asked for."""
        try:
            return self._window(find(model))
        except NoModel:
            return None

    def _window(self, weights: Weights) -> int | None:
        running = self._running.get(weights.path)
        return running.window if running else self._starter.asked(weights)

    def metadata(self, model: str) -> dict[str, Any]:
        """What is known of a model: `context_window` in tokens, and whether it is `small`. `{}` where there is no such file."""
        try:
            weights = find(model)
        except NoModel:
            return {}
        return {"context_window": self._window(weights), "small": weights.size < SMALL_BYTES}

    def installed(self) -> list[str]:
        """Specs of the models that can be asked without naming a file."""
        return [f"local:{DEMO}"] if is_demo_installed() and self._starter.can_start() else []

    async def serve(self, model: str) -> Running:
        """The server of a model, started if there is none. Raises AttemptFailed."""
        try:
            weights = await run_in_thread(find, model)
        except NoModel as error:
            raise failures.failed("model_not_found", str(error)) from None
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # a lock belongs to a loop; a server does not
            self._loop, self._starting = loop, {}
        async with self._starting.setdefault(weights.path, asyncio.Lock()):
            running = self._running.get(weights.path)
            if running is None or running.process.status is not None:
                running = await self._start(weights)
                self._running[weights.path] = running
            running.process.listen()
            return running

    async def _start(self, weights: Weights) -> Running:
        for left in reversed(range(_STARTS)):
            safe = weights.path in self._crashed
            try:
                return await self._starter.start(weights, safe=safe)
            except AttemptFailed as failed:
                code = failed.failure.code
                again = code == "local_port" or (code == "local_crash" and not safe)
                if not again or not left:
                    raise
                if code == "local_crash":
                    self._crashed.add(weights.path)
        raise AssertionError

    async def why_lost(self, running: Running) -> Failure | None:
        """Why an answer broke off, where the server has ended; None where it runs."""
        try:
            await still_runs(running.process)
        except Ended:
            ended = failures.ended(running.weights, running.process.status or 0, running.process.log, ready=True)
        else:
            return None
        path = running.weights.path
        first = ended.failure.code == "local_crash" and path not in self._crashed
        self._crashed.add(path)
        return msgspec.structs.replace(ended.failure, retryable=first)

    async def aclose(self) -> None:
        """Ends the servers."""
        while self._running:
            await self._running.popitem()[1].process.end()
        self._starter.watchdog.close()
