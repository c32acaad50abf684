"""One command: a shell in a session of its own, its output read on demand, its whole process group ended with it.

Three obvious ways fail in the field. Waiting for end-of-file instead of for the shell hangs for as long as any background
child holds the pipe. Killing only the shell leaves its children running. And reading ahead into memory dies of `yes`. So: the
end is the shell's end; signals go to the group; a piece is read only when it is asked for.

What the shell leaves in its group gets a moment to end by itself, then SIGTERM, then SIGKILL. What made a session of its own
(`setsid`) is left alone and, while it holds the output, named.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from lmx_core.clock import FOREVER, Clock
from lmx_core.environment import survivors
from lmx_core.environment.base import Data, Exit, Failed, OutputLimit, RunEvent, TimedOut
from lmx_core.environment.watchdog import Watchdog
from lmx_core.tasks import run_in_thread

CHUNK_BYTES = 262_144
PIPE_BYTES = 1_048_576
"""Most that a pipe holds: what is read at most after the shell has ended, since others may go on writing."""
FLOOD_BYTES = 65_536
FLOOD_REST_MS = 4
"""After so many bytes reading rests a little between pieces. A reader woken for every 4 KB costs a busy machine most of its
time, and holds up the producer it waits for."""

KILL_AFTER_MS = 2_000
LEFTOVER_GRACE_MS = 250
LEFTOVER_KILL_AFTER_MS = 400
SETTLE_MS = 50
"""What was just started in the background is named by then with its own name, and no more with that of the shell."""

_POLL_MS = (1, 1, 2, 4, 8, 16, 25)


def can_end_a_group(shell: str) -> bool:
    """Whether a shell gets a session of its own here, and its group is ended by a signal. Tried out, for a few milliseconds."""
    try:
        # It waits for input that ends when nobody holds the other end any more: where no signal works it ends by itself.
        popen = subprocess.Popen(
            [shell, "-c", "read -r _"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    with popen:
        try:
            if os.getsid(popen.pid) == os.getpgid(popen.pid) == popen.pid:
                os.killpg(popen.pid, signal.SIGKILL)
        except OSError:
            pass  # then it ends by itself, and its status says so
    return popen.returncode == -signal.SIGKILL


class Child:
    """A started shell: `wake` is set when there is something to look at, `status` when it has ended and was collected.

    `stdin` and `stderr` are descriptors; without, it reads nothing and its errors are in its output. It is given
    `kill_after_ms` to end when it is told to.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *,
        stdin: int = subprocess.DEVNULL,
        stderr: int = subprocess.STDOUT,
        kill_after_ms: float = KILL_AFTER_MS,
    ):
        self.kill_after_ms = kill_after_ms
        read, write = os.pipe()
        try:
            self._popen = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=write,
                stderr=stderr,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(write)
        os.set_blocking(read, False)
        _widen(read)
        self.pid, self._pipe = self._popen.pid, read
        self.status: int | None = None
        self.lost = False
        self.eof = False
        self._members: tuple[int, ...] = ()
        self._gone = False  # once true it stays true: only a member of a group can add to it
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._exit_fd = _exit_descriptor(self.pid)
        if self._exit_fd is not None:
            self._loop.add_reader(self._exit_fd, self.collect)

    def wake(self) -> None:
        self._wake.set()

    def read(self) -> bytes | None:
        """What is there to read, at most CHUNK_BYTES; None when there is nothing (more) now."""
        if self.eof:
            return None
        try:
            data = os.read(self._pipe, CHUNK_BYTES)
        except BlockingIOError:
            return None
        self.eof = not data
        return data or None

    def drain(self) -> int:
        """Throws away what nobody will read, at most what a pipe holds, and says how many bytes it was."""
        dropped = 0
        while dropped < PIPE_BYTES and (data := self.read()) is not None:
            dropped += len(data)
        return dropped

    async def something(self) -> None:
        """Returns when output may be readable, the shell may have ended, or `wake` was called."""
        if not self.eof:
            self._loop.add_reader(self._pipe, self.wake)
        try:
            if self._exit_fd is not None:
                await self._wake.wait()
            else:
                await self._poll_until_woken()
        finally:
            self._wake.clear()
            if not self.eof:
                self._loop.remove_reader(self._pipe)

    async def rest(self, ms: float) -> None:
        """Returns after `ms`, or before if the shell ends or `wake` is called."""
        timer = self._loop.call_later(ms / 1_000, self.wake)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
            self._wake.clear()

    async def _poll_until_woken(self) -> None:
        """For systems that cannot make a descriptor of a process: looks at growing intervals."""
        for attempt in range(1_000_000):
            self.collect()
            if self._wake.is_set():
                return
            await asyncio.sleep(_POLL_MS[min(attempt, len(_POLL_MS) - 1)] / 1_000)

    def collect(self) -> bool:
        """Takes the exit status if the shell has ended. True when it has."""
        if self.status is not None or self.lost:
            return True
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            self.lost = True
            self._popen.returncode = -1  # Popen must not wait for what somebody else has collected
        else:
            if pid == 0:
                return False
            code = os.waitstatus_to_exitcode(status)
            self.status = code if code >= 0 else 128 - code
            self._popen.returncode = code
        if self._exit_fd is not None:
            self._loop.remove_reader(self._exit_fd)
        self.wake()
        return True

    def signal(self, number: int) -> bool:
        """Sends a signal to the whole group (0: only looks). False when nothing is left of it."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            return False  # macOS says this of a group of zombies; elsewhere it is not ours to end
        return True

    def gone(self) -> bool:
        """The shell has ended and nothing that runs is left in its group.

        Zombies do not count: in a container whose first process collects none they stay in the group for ever.
        """
        if self._gone or not self.collect():
            return self._gone
        if not self.signal(0):
            self._gone = True
        elif survivors.HAS_PROC:
            self._members = survivors.running(self.pid, self._members)
            self._gone = not self._members
        return self._gone

    async def gone_within(self, ms: float) -> bool:
        end = self._loop.time() + ms / 1_000
        attempt = 0
        if self.collect() and self.signal(0):
            # Most are about to be collected, and looking through all processes costs more than this wait.
            await asyncio.sleep(_POLL_MS[0] / 1_000)
        while not self.gone():
            if self._loop.time() >= end:
                return False
            await asyncio.sleep(_POLL_MS[min(attempt, len(_POLL_MS) - 1)] / 1_000)
            attempt += 1
        return True

    async def end(self, kill_after_ms: float | None = None) -> None:
        """SIGTERM to the group, SIGKILL after `kill_after_ms`. Cancelled meanwhile, it kills at once."""
        kill_after_ms = self.kill_after_ms if kill_after_ms is None else kill_after_ms
        try:
            if self.gone():
                return
            self.signal(signal.SIGTERM)
            if not await self.gone_within(kill_after_ms):
                self.signal(signal.SIGKILL)
                await self.gone_within(1_000)  # longer only for a process the kernel itself holds
        except asyncio.CancelledError:
            self.kill()
            raise

    def kill(self) -> None:
        """SIGKILL now, and collect the shell, without turning the loop."""
        if self.gone():
            return
        self.signal(signal.SIGKILL)
        if self.status is None and not self.lost:
            try:
                code = self._popen.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                return
            self.status = code if code >= 0 else 128 - code

    def close(self) -> None:
        if self._exit_fd is not None:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
        os.close(self._pipe)

    async def holders(self) -> tuple[str, ...]:
        """Who, outside the group, still holds the output."""
        if self.eof:
            return ()
        await asyncio.sleep(SETTLE_MS / 1_000)
        return await run_in_thread(survivors.holding_pipe, os.fstat(self._pipe).st_ino)


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_ms: float,
    max_output_bytes: float,
    clock: Clock,
    watchdog: Watchdog,
    stdin: int = subprocess.DEVNULL,
    stderr: int = subprocess.STDOUT,
    kill_after_ms: float = KILL_AFTER_MS,
) -> AsyncGenerator[RunEvent, None]:
    """The events of one command (EN-1 to EN-3). However the iterator ends, nothing is left of the command's group.

    `stdin`, `stderr` and `kill_after_ms` as in `Child`; the descriptors stay the caller's.
    """
    watchdog.ready()
    try:
        child = Child(argv, cwd, env, stdin=stdin, stderr=stderr, kill_after_ms=kill_after_ms)
    except (OSError, ValueError) as error:
        yield Failed(_start_failure(cwd, error))
        return
    watchdog.add(child.pid)
    overdue = _Overdue(child)
    timer = clock.call_later(timeout_ms, overdue) if timeout_ms != FOREVER else None
    try:
        async with aclosing(_events(child, overdue, timeout_ms, max_output_bytes)) as events:
            async for event in events:
                yield event
    finally:
        if timer is not None:
            timer.cancel()
        try:
            await child.end()
        finally:
            overdue.cancel()
            child.close()
            watchdog.remove(child.pid)


class _Overdue:
    """The time limit: it signals at once, even while nobody reads, and leaves the rest to the reader."""

    def __init__(self, child: Child):
        self._child, self._kill, self.fired = child, None, False

    _kill: asyncio.TimerHandle | None

    def __call__(self) -> None:
        self.fired = True
        if self._child.signal(signal.SIGTERM):
            loop = asyncio.get_running_loop()
            self._kill = loop.call_later(self._child.kill_after_ms / 1_000, self._child.signal, signal.SIGKILL)
        self._child.wake()

    def cancel(self) -> None:
        if self._kill is not None:
            self._kill.cancel()


async def _events(
    child: Child, overdue: _Overdue, timeout_ms: float, max_output_bytes: float
) -> AsyncGenerator[RunEvent, None]:
    count = 0
    while not overdue.fired and not child.collect():
        data = child.read()
        if data is None:
            await child.something()
            continue
        count += len(data)
        yield Data(_within(data, count, max_output_bytes))
        if count > max_output_bytes:
            await child.end()
            count += child.drain()
            yield OutputLimit(max_output_bytes, await child.holders(), count)
            return
        await (child.rest(FLOOD_REST_MS) if count > FLOOD_BYTES else asyncio.sleep(0))
    timed_out = overdue.fired  # after this the shell has ended by itself, however long its background takes
    ended: tuple[str, ...] = ()
    if timed_out:
        await child.end()
    elif not await child.gone_within(LEFTOVER_GRACE_MS):
        ended = await run_in_thread(survivors.in_group, child.pid)
        await child.end(LEFTOVER_KILL_AFTER_MS)
    end = min(count + PIPE_BYTES, max_output_bytes + 1)
    while count < end and (data := child.read()) is not None:
        count += len(data)
        yield Data(_within(data, count, max_output_bytes))
    left = await child.holders()
    if timed_out:
        yield TimedOut(timeout_ms, left)
    elif count > max_output_bytes:
        yield OutputLimit(max_output_bytes, left, count + child.drain())
    elif child.status is None:
        yield Failed("the command ended, but another part of this program collected its exit status")
    else:
        yield Exit(child.status, ended, left)


def _within(data: bytes, count: int, most: float) -> bytes:
    """`data`, the last of `count` bytes, without those over `most`."""
    return data if count <= most else data[: len(data) - int(count - most)]


def _start_failure(cwd: Path, error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return "a command cannot contain a NUL character"
    if isinstance(error, FileNotFoundError) and not cwd.is_dir():
        return f"the working directory {cwd} does not exist"
    if isinstance(error, OSError) and error.strerror == os.strerror(7):
        return "the command is longer than this system accepts; put long text into a file and use that"
    return f"the shell could not be started: {error.strerror or error}"


def _widen(pipe: int) -> None:
    """A larger pipe where the system allows it: fewer turns for a producer of much output."""
    size: int | None = getattr(fcntl, "F_SETPIPE_SZ", None)
    if size is not None:
        try:
            fcntl.fcntl(pipe, size, PIPE_BYTES)
        except OSError:
            pass  # the user's share of pipe memory is used up; the usual size will do


def _exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the system has no such thing."""
    opener: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return opener(pid)
    except OSError:
        return None  # an old kernel, or a sandbox that forbids it
