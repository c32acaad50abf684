"""Who may start a task, and how blocking code is run.

Tasks are started through `Spawn`, which the runtime owns: it names them, holds them, and ends them. Blocking code runs in
daemon threads of our own, because `asyncio.to_thread` uses a pool that is joined at interpreter exit: a hung tool would
keep the process alive.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Spawn(Protocol):
    """Starts `coro` as a task named `<runtime>/<kind>/<id>`. A failure of it cancels nothing else (RT-5)."""

    def __call__(self, coro: Coroutine[Any, Any, T], *, kind: str, id: str) -> asyncio.Task[T]: ...


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a blocking function in a daemon thread of its own and returns what it returns.

    Cancelling the wait abandons the thread: it cannot be killed, and its late result is dropped (SE-8).
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            set_it(value)

    def work() -> None:
        try:
            result = context.run(function, *args, **kwargs)
        except StopIteration as error:  # a future refuses it, and would never be done
            outcome: tuple[Callable[[Any], None], Any] = (
                done.set_exception,
                RuntimeError(f"{type(error).__name__} left the function"),
            )
        except BaseException as error:  # noqa: BLE001 - it is not swallowed: the awaiting task gets it
            outcome = (done.set_exception, error)
        else:
            outcome = (done.set_result, result)
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    threading.Thread(target=work, name=f"lmx-{getattr(function, '__name__', 'call')}", daemon=True).start()
    return await done


async def together(*coros: Coroutine[Any, Any, Any]) -> None:
    """Runs them side by side until all have ended. One that fails ends the others, and raises an ExceptionGroup."""
    async with asyncio.TaskGroup() as group:
        for coro in coros:
            group.create_task(coro)


async def beside(coro: Coroutine[Any, Any, T], side: Coroutine[Any, Any, Any]) -> T:
    """What `coro` returns, with `side` run beside it for as long as that takes. A failure of either ends both."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(side)
        result = await coro
        running.cancel()
    return result


async def run_apart(coro: Coroutine[Any, Any, T], *, name: str, grace_ms: float, abandoned: Callable[[], None]) -> T:
    """Awaits somebody else's coroutine in a task of its own, so that it can be given up.

    Awaited directly, code that catches `CancelledError` and goes on would hold its caller for ever (appendix D 17).
    Cancelling this wait cancels the task; if it has not ended `grace_ms` later (of real time), `abandoned` is called and it
    is left behind. What it returns or raises after the cancellation is dropped.
    """
    task = asyncio.get_running_loop().create_task(coro, name=name)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # looked at, so that nobody is warned
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        try:
            await asyncio.wait({task}, timeout=grace_ms / 1_000)
        finally:
            if not task.done():
                abandoned()
        raise
    return task.result()
