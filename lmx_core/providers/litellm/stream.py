"""Sends a request through litellm's worker and lets the wire's decoder fold what comes: what `http.py` is for the direct wires.

The loop is never held up: the process is started in a thread, a request is handed to a writer, and what the reader got is
taken over by one callback however much it was (LL-2). The limits are on the engine's clock, as everywhere.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

from lmx_core.clock import Clock, deadline
from lmx_core.errors import ConfigError, Failure
from lmx_core.providers.failures import AttemptFailed, Place, broken_stream, judge, not_the_api, sentence
from lmx_core.providers.litellm import failures, workers
from lmx_core.providers.litellm.messages import End, Failed, FromWorker, Head, Pieces, Ready
from lmx_core.providers.litellm.process import Gone, Worker
from lmx_core.providers.wire.answer import Answer
from lmx_core.providers.wire.base import Decoder, ErrorEvent, Malformed
from lmx_core.tasks import run_in_thread

START_MS = 120_000
"""Importing litellm takes seconds on an idle machine; on a busy one it is a start all the same, not a provider's silence."""

_SLACK_SECONDS = 60
"""By how much litellm's own limits are longer than ours, which are to end a silent stream."""


class LiteLLM:
    """The litellm side of one provider object. `environ` is asked for the environment at the time of a request."""

    def __init__(self, environ: Callable[[], Mapping[str, str]], clock: Clock):
        self._environ, self._clock = environ, clock

    async def stream(
        self,
        place: Place,
        model: str,
        key: str | None,
        base_url: str,
        body: bytes,
        answer: Answer,
        decoder: Decoder,
        idle_ms: int,
    ) -> None:
        """Asks `model`, named as litellm names it, and folds the answer to its end. Raises `AttemptFailed`."""
        options: dict[str, Any] = {"model": model, "num_retries": 0, "max_retries": 0}
        options["timeout"] = idle_ms / 1_000 + _SLACK_SECONDS
        if key:
            options["api_key"] = key
        if base_url:
            options["api_base"] = base_url
        worker = await self._worker(place)
        call = _Call(place, answer, decoder, self._clock)
        id = worker.ask(body, options, answer.wanted_headers, call.hear)
        try:
            await self._finish(place, call, idle_ms)
        finally:
            call.close()
            worker.forget(id)

    async def aclose(self) -> None:
        await run_in_thread(workers.release, self)

    async def _worker(self, place: Place) -> Worker:
        try:
            return await run_in_thread(workers.acquire, workers.environment(self._environ()), self)
        except (ConfigError, OSError) as error:
            text = str(error) if isinstance(error, ConfigError) else f"the worker cannot be started: {error.strerror}"
            failed = Failure(code="config", message=sentence(place, text), retryable=False, provider=place.provider)
            raise AttemptFailed(failed) from None

    async def _finish(self, place: Place, call: _Call, idle_ms: int) -> None:
        try:
            async with deadline(self._clock, START_MS):
                await call.ready
        except TimeoutError:
            text = f"could not be asked: litellm was not ready within {START_MS // 1_000} s"
            raise AttemptFailed(broken_stream(place, "timeout", text, category="timeout")) from None
        try:
            async with deadline(self._clock, idle_ms) as timer:
                call.alive = timer.restart
                failed = await call.done
        except TimeoutError:
            text = f"sent nothing for {idle_ms // 1_000} s"
            raise AttemptFailed(broken_stream(place, "timeout", text, category="timeout")) from None
        if failed is not None:
            raise AttemptFailed(failed)


class _Call:
    """One request: `hear` is called in the worker's reading thread, everything else on the loop."""

    def __init__(self, place: Place, answer: Answer, decoder: Decoder, clock: Clock):
        self._place, self._answer, self._decoder, self._clock = place, answer, decoder, clock
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._heard: list[FromWorker | Gone] = []
        self._closed = False
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.done: asyncio.Future[Failure | None] = self._loop.create_future()
        self.alive: Callable[[], None] = lambda: None

    def hear(self, message: FromWorker | Gone) -> None:
        with self._lock:
            self._heard.append(message)
            if len(self._heard) > 1:
                return
        try:
            self._loop.call_soon_threadsafe(self._take)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def close(self) -> None:
        """Nothing is emitted from here on."""
        self._closed = True

    def _take(self) -> None:
        with self._lock:
            heard, self._heard = self._heard, []
        for message in heard:
            if self._closed or self.done.done():
                return
            self.alive()
            try:
                self._fold(message)
            except Malformed as error:
                self._end(broken_stream(self._place, "malformed_stream", str(error)))
            except ErrorEvent as error:
                self._end(judge(self._place, error.reported, None))
        if not self._closed and not self.done.done():
            self._answer.flush()

    def _fold(self, message: FromWorker | Gone) -> None:
        match message:
            case Ready():
                self._begin()
            case Head():
                self._answer.answered(200, message.headers, self._place.secrets)
                if message.headers.get("content-type", "").startswith("text/html"):
                    self._end(not_the_api(self._place, b""))
            case Pieces():
                for chunk in message.chunks:
                    self._decoder.feed(bytes(chunk))
            case End():
                self._end(None)
            case Failed():
                if message.answered and message.status is not None:
                    self._answer.answered(message.status, message.headers, self._place.secrets)
                self._end(failures.failure(self._place, message, self._clock.now_ms()))
            case Gone():
                self._end(
                    broken_stream(self._place, "worker", f"was not heard to the end: litellm's worker {message.reason}")
                )

    def _begin(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def _end(self, failure: Failure | None) -> None:
        self._begin()
        if not self.done.done():
            self.done.set_result(failure)
