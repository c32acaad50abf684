"""One prompt for a program without an event loop (RT-15).

The loop runs in a thread of its own, for one call. Running it in the caller's thread, the obvious way, would leave Ctrl-C to
asyncio, whose handler is the whole process's, and would fail in a thread that has a loop already. Here the caller's thread only
waits: what interrupts it (Ctrl-C, a signal handler that raises) ends the session in order and then goes on its way.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
from typing import Any

from lmx_core.errors import ConfigError
from lmx_core.runtime import Runtime
from lmx_core.session.handle import PromptResult
from lmx_core.start import run

__all__ = ["run_sync"]

_numbers = itertools.count(1)


def run_sync(prompt: str, **options: Any) -> PromptResult:
    """`lmx_core.run` that blocks. Takes its arguments, except `runtime=`: the call mounts one of its own.

    `on_event`, hooks, tools and the store's methods are called in the private thread. Interrupted, it cancels the prompt and
    stops the session, hooks and lock included, before the interrupt is raised; interrupted again, it leaves at once. Raises
    what `run` raises, and ConfigError inside a running event loop.
    """
    _refuse_a_loop()
    if "runtime" in options:
        raise ConfigError(
            "run_sync takes no runtime=: it mounts one of its own on a loop of its own; use run() to choose"
        )
    call = _Call(prompt, options)
    thread = threading.Thread(target=contextvars.copy_context().run, args=(call.work,), name="lmx-sync", daemon=True)
    try:
        thread.start()
        call.over.wait()  # an interrupted `join` takes the thread for ended (python/cpython#90882)
    except BaseException:
        call.cancel()
        call.over.wait()
        raise
    finally:
        if call.over.is_set():
            thread.join()
    return call.result()


def _refuse_a_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError("an event loop runs in this thread, and run_sync would hold it up: `await run(...)` instead")


class _Call:
    """What the private thread does, and what came of it."""

    def __init__(self, prompt: str, options: dict[str, Any]):
        self._prompt, self._options = prompt, options
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._cancelled = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._result: PromptResult | None = None
        self._error: BaseException | None = None

    def work(self) -> None:
        try:
            self._result = asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001 - it is not swallowed: the caller's thread raises it
            self._error = error
        finally:
            with self._lock:
                self._loop = None
            self.over.set()

    async def _main(self) -> PromptResult:
        with self._lock:
            if self._cancelled:
                raise asyncio.CancelledError
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        async with Runtime(f"lmx-sync-{next(_numbers)}") as runtime:
            return await run(self._prompt, **self._options, runtime=runtime)

    def cancel(self) -> None:
        """Ends the prompt, from the caller's thread. Harmless when it is over."""
        with self._lock:
            self._cancelled = True
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)

    def result(self) -> PromptResult:
        if self._error is not None:
            raise self._error
        assert self._result is not None  # `over` is set when there is the one or the other
        return self._result
