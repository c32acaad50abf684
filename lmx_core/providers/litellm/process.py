"""One worker process as its parent sees it: asked from any thread and any loop, and never waited for by one that runs a loop.

Two threads serve it: one writes, so that handing over a request of megabytes takes no time; one reads, and tells each
listener what came. An asyncio subprocess would belong to one loop; a worker that took seconds to start is of use to all of
them (`lmx_core.sync` opens a loop a call). What a loop that stands still does not take piles up as text of its own answer,
which it would keep anyway.
"""

from __future__ import annotations

import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import IO, Any

import msgspec

from lmx_core.providers.litellm.messages import (
    READ_BYTES,
    Ask,
    End,
    Failed,
    Frames,
    FromWorker,
    Ready,
    Stop,
    Unusable,
    frame,
)

BOOT = Path(__file__).parent / "worker" / "boot.py"
IDLE_SECONDS = 900.0
"""After so long without a request a worker that nobody pinned is ended, and its memory given back."""

END_SECONDS = 2.0
"""A worker whose pipe was closed ends at once; one that does not is killed after this."""

_SAID_BYTES = 4_096
_LAST_WORDS_SECONDS = 0.2


class Gone(msgspec.Struct, frozen=True):
    """The worker is no more; `reason` says why in a few words."""

    reason: str


Listener = Callable[[FromWorker | Gone], None]
"""Called in the worker's reading thread: it must only hand over."""


class Worker:
    """Starts a process at once. `environ` is all that the process sees of the environment.

    `pinned`: it is not ended for want of work. `holders` are those who may ask it at any time, as long as they exist.
    """

    def __init__(self, environ: Mapping[str, str], idle_seconds: float = IDLE_SECONDS):
        self.pinned = False
        self.holders: weakref.WeakSet[Any] = weakref.WeakSet()
        self._idle = idle_seconds
        self._ids = count(1)
        self._lock = threading.Lock()
        self._listeners: dict[int, Listener] = {}
        self._gone: Gone | None = None
        self._ready: Ready | None = None
        self._settled = threading.Event()
        self._said = b""
        self._unusable = ""
        self._closing = False
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(BOOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd="/",
            env=dict(environ),
            start_new_session=True,  # a Ctrl-C at the terminal is for the program, which decides what ends
        )
        self._outbox.put(frame({"path": _module_path()}))
        for work in (self._write, self._read):
            threading.Thread(target=work, name=f"lmx-litellm-{work.__name__.strip('_')}", daemon=True).start()

    def __repr__(self) -> str:
        return f"Worker({self._process.pid})"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it takes requests."""
        return self._gone is None and not self._closing

    def ask(self, call: bytes, options: Mapping[str, object], headers: tuple[str, ...], listener: Listener) -> int:
        """Sends a request; `listener` hears `Ready` if it is still to come, what belongs to the request, or `Gone`."""
        with self._lock:
            id = next(self._ids)
            if not self.alive:
                listener(self._gone or Gone("it was ended"))
                return id
            self._listeners[id] = listener
            if self._ready is not None:
                listener(self._ready)
        self._outbox.put(frame(Ask(id=id, call=msgspec.Raw(call), options=dict(options), headers=headers)))
        return id

    def forget(self, id: int) -> None:
        """Nobody listens to this request any more; one that still runs is stopped."""
        with self._lock:
            running = self._listeners.pop(id, None) is not None
        if running:
            self._outbox.put(frame(Stop(id)))

    def wait(self, seconds: float) -> Ready | Gone | None:
        """Blocks until it is ready or gone; None when neither in time."""
        self._settled.wait(seconds)
        return self._gone or self._ready

    def close(self) -> None:
        """Ends it. Blocks for at most `END_SECONDS` and a moment."""
        with self._lock:
            self._closing = True
        self._outbox.put(None)
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # --- the two threads

    def _write(self) -> None:
        stdin = _pipe(self._process.stdin)
        try:
            while (data := self._outbox.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[os.write(stdin.fileno(), view) :]
        except BrokenPipeError:
            pass  # the reading thread tells everybody that it is gone
        stdin.close()

    def _read(self) -> None:
        frames, decoder = Frames(), msgspec.json.Decoder(FromWorker)
        stdout, stderr = _pipe(self._process.stdout), _pipe(self._process.stderr)
        try:
            with selectors.DefaultSelector() as selector, stdout, stderr:
                selector.register(stdout, selectors.EVENT_READ)
                selector.register(stderr, selectors.EVENT_READ)
                while stdout.fileno() in selector.get_map():
                    if not (readable := selector.select(self._idle)):
                        self._rest()
                    for key, _ in readable:
                        if not (block := os.read(key.fd, READ_BYTES)):
                            selector.unregister(key.fileobj)
                        elif key.fileobj is stderr:
                            self._hear(block)
                        else:
                            for body in frames.feed(block):
                                self._tell(decoder.decode(body))
                while (
                    selector.get_map() and selector.select(_LAST_WORDS_SECONDS) and (block := stderr.read(READ_BYTES))
                ):
                    self._hear(block)
        finally:
            self._end()

    def _hear(self, block: bytes) -> None:
        """What it says on stderr: the end of it is kept, for the sentence about its death."""
        self._said = (self._said + block)[-_SAID_BYTES:]

    def _rest(self) -> None:
        """Nothing came for as long as a worker may be idle."""
        with self._lock:
            if not self._listeners and not self.pinned:
                self._closing = True
                self._outbox.put(None)

    def _tell(self, message: FromWorker) -> None:
        if isinstance(message, Unusable):
            self._unusable = message.reason
            return
        with self._lock:
            if isinstance(message, Ready):
                self._ready = message
                listeners = list(self._listeners.values())
            elif isinstance(message, End | Failed):
                listeners = [found] if (found := self._listeners.pop(message.id, None)) else []
            else:
                listeners = [found] if (found := self._listeners.get(message.id)) else []
        for listener in listeners:
            listener(message)
        if isinstance(message, Ready):
            self._settled.set()

    def _end(self) -> None:
        """Its output is at an end, so it is dying or dead."""
        self._outbox.put(None)
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        with self._lock:
            self._gone = Gone(self._unusable or _why(status, self._said))
            listeners = list(self._listeners.values())
            self._listeners.clear()
        for listener in listeners:
            listener(self._gone)
        self._settled.set()


def _why(status: int, said: bytes) -> str:
    """How a process ended, and the last thing it said."""
    how = f"ended with status {status}"
    if status < 0:
        how = f"was ended by {signal.Signals(-status).name}"
        if -status == signal.SIGKILL:
            how += " (too little memory?)"
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return f"{how}: {lines[-1][:300]}" if lines else how


def _module_path() -> list[str]:
    """Where the parent finds modules, without what is relative to a directory it happens to be in (C7-11)."""
    return [entry for entry in sys.path if Path(entry).is_absolute()]


def _pipe(found: IO[bytes] | None) -> IO[bytes]:
    assert found is not None, "the process was started with pipes"
    return found
