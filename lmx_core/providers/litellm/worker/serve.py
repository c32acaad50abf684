"""The worker's work: asks litellm what it is told to ask, several requests at a time, and tells what comes.

One thread reads from the parent, so that its death is noticed even while litellm is imported or busy: the process ends at
once. The loop writes to the pipe itself: while the parent does not read, nothing more is taken from a provider.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import os
import threading
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from typing import Any

import msgspec

from lmx_core.providers.litellm.messages import (
    READ_BYTES,
    Ask,
    End,
    Failed,
    Frames,
    FromWorker,
    Head,
    Pieces,
    Ready,
    Stop,
    ToWorker,
    Unusable,
    frame,
)
from lmx_core.providers.litellm.worker.chunks import Joined, plain

JOIN_SECONDS = 0.015
"""For how long chunks are collected before they are sent; the first one of a pause goes at once."""

TAIL_SECONDS = 2.0
"""How long, after an answer has said why it ended, its usage may take to come."""

MAX_TEXT = 64 * 1024
_PREFIX = "llm_provider-"
"""What litellm puts before the names of some providers' response headers."""

_ALWAYS = ("retry-after", "retry-after-ms", "x-should-retry")


def serve(source: int, sink: int) -> None:
    """Runs until the parent closes `source`; never returns."""
    worker = _Worker(sink)
    threading.Thread(target=worker.listen, args=(source,), name="lmx-parent", daemon=True).start()
    try:
        worker.litellm = _imported()
    except Exception as error:  # noqa: BLE001 - whatever a foreign package raises, the parent is told and this ends
        worker.send(Unusable(f"{type(error).__name__}: {error}"[:1_000]))
        os._exit(1)
    worker.send(Ready(_version()))
    worker.loop.run_forever()


def _imported() -> Any:
    """litellm, which reads no `.env` and fetches nothing, because the parent has set its variables so (LL-1)."""
    for name in ("LiteLLM", "httpx", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    openai, httpx = import_module("openai"), import_module("httpx")
    _always(openai.AsyncOpenAI, max_retries=0)  # litellm forgets what it was told on its way to many providers (LL-3)
    for client in (httpx.AsyncClient, httpx.Client):
        _always(client, follow_redirects=False)  # would carry the key elsewhere
    return litellm


def _always(made: Any, **options: Any) -> None:
    """Every object of this class is made with these options, whoever makes it."""
    init = made.__init__

    @functools.wraps(init)
    def make(self: Any, *args: Any, **given: Any) -> None:
        init(self, *args, **given | options)

    made.__init__ = make


def _version() -> str:
    from importlib.metadata import version

    return version("litellm")


class _Worker:
    def __init__(self, sink: int):
        self.loop = asyncio.new_event_loop()
        self.litellm: Any = None
        self._sink = sink
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def listen(self, source: int) -> None:
        """In a thread of its own."""
        frames, decoder = Frames(), msgspec.json.Decoder(ToWorker)
        while block := os.read(source, READ_BYTES):
            for body in frames.feed(block):
                self.loop.call_soon_threadsafe(self._take, decoder.decode(body))
        os._exit(0)

    def send(self, message: FromWorker) -> None:
        data = memoryview(frame(message))
        try:
            while data:
                data = data[os.write(self._sink, data) :]
        except BrokenPipeError:
            os._exit(0)

    def _take(self, message: ToWorker) -> None:
        if isinstance(message, Stop):
            if (task := self._tasks.get(message.id)) is not None:
                task.cancel()
            return
        task = self.loop.create_task(self._answer(message))
        self._tasks[message.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(message.id, None))

    async def _answer(self, ask: Ask) -> None:
        begun = False
        try:
            call: dict[str, Any] = msgspec.json.decode(ask.call)
            stream = await self.litellm.acompletion(**(call | ask.options))
            begun = True
            self.send(Head(id=ask.id, headers=_chosen(_headers_of(stream), ("content-type", *ask.headers))))
            with _Sending(self, ask.id) as sending:
                async for chunk in _until_its_end(stream):
                    sending.add(chunk)
        except Exception as error:  # noqa: BLE001 - the border to litellm: whatever it raises is told as data
            self.send(_failed(ask, error, begun))
        else:
            self.send(End(ask.id))


async def _until_its_end(stream: Any) -> AsyncIterator[dict[str, Any]]:
    """The chunks of an answer. One that has said why it ended is not waited for longer than its usage takes to come."""
    limit = asyncio.timeout(None)  # noqa: TID251 - there is no engine clock in this process
    try:
        async with limit:
            async for chunk in stream:
                made = plain(chunk)
                if any(choice.get("finish_reason") for choice in made.get("choices", ())):
                    limit.reschedule(asyncio.get_running_loop().time() + TAIL_SECONDS)
                yield made
    except TimeoutError:
        if not limit.expired():
            raise


class _Sending:
    """Sends the chunks of one answer: at once after a pause, then joined.

    By the clock and not by a timer alone: a stream that is faster than litellm never lets the loop get to one.
    """

    def __init__(self, worker: _Worker, id: int):
        self._worker, self._id = worker, id
        self._joined = Joined()
        self._sent_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, chunk: dict[str, Any]) -> None:
        self._joined.add(chunk)
        if self._worker.loop.time() - self._sent_at >= JOIN_SECONDS:
            self._flush()
        elif self._timer is None:
            self._timer = self._worker.loop.call_later(JOIN_SECONDS, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if chunks := self._joined.take():
            self._worker.send(Pieces(self._id, chunks))
            self._sent_at = self._worker.loop.time()

    def __enter__(self) -> _Sending:
        return self

    def __exit__(self, *error: object) -> None:
        """What is still waiting is told, also when the answer broke: a person keeps the words that were paid for."""
        self._flush()


def _headers_of(response: Any) -> Mapping[str, str]:
    found = getattr(response, "_response_headers", None)
    return {str(name).lower().removeprefix(_PREFIX): str(value) for name, value in dict(found or {}).items()}


def _chosen(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: headers[name] for name in names if name in headers}


def _failed(ask: Ask, error: Exception, begun: bool) -> Failed:
    """The facts of an exception. litellm's own status and text are its reading of the answer; the answer itself is often still
    to be had from what it was raised from, and where the wait is told depends on the route."""
    errors = [error, *_causes(error)]
    response = next(
        (r for e in errors[1:] if isinstance(getattr(r := getattr(e, "response", None), "status_code", None), int)),
        None,
    )
    told = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    headers = {str(name).lower().removeprefix(_PREFIX): str(value) for name, value in dict(told or {}).items()}
    status = getattr(response, "status_code", getattr(error, "status_code", None))
    return Failed(
        id=ask.id,
        kinds=tuple(kind.__name__ for kind in type(error).__mro__ if kind not in (Exception, BaseException, object)),
        message=_text(getattr(error, "message", None) or error),
        body=_body(response, errors),
        causes=tuple(f"{type(c).__module__.partition('.')[0]}.{type(c).__name__}" for c in errors[1:]),
        status=status if isinstance(status, int) else None,
        headers=_chosen(headers, (*_ALWAYS, *ask.headers)),
        answered=bool(headers),
        begun=begun,
    )


def _text(value: Any) -> str:
    return str(value)[:MAX_TEXT].encode("utf-8", "replace").decode()


def _body(response: Any, errors: list[BaseException]) -> str:
    """What the server said, where an exception kept it: its whole answer, else what was read of it."""
    if body := _content(response):
        return _text(body.decode("utf-8", "replace"))
    found = (getattr(error, "body", None) for error in errors)
    told = next((body for body in found if isinstance(body, dict)), None)
    return "" if told is None else _text(json.dumps({"error": told}, default=str))


def _content(response: Any) -> bytes:
    try:
        return bytes(response.content)
    except Exception:  # noqa: BLE001 - a response whose body was not read refuses to show it, each library in its own way
        return b""


def _causes(error: BaseException) -> list[BaseException]:
    """What an exception was raised from, the innermost last."""
    found: list[BaseException] = []
    current: Any = error
    while isinstance(current, BaseException) and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__ or getattr(current, "original_exception", None)
    return found[1:]
