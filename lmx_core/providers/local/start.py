"""Starts the server of one model file and waits until it has shown that it works.

A server is ready when it has answered a short prompt of more than one token: llama.cpp built for a processor's newest units was
seen to die at exactly that. `safe` leaves those out. The whole start is bounded by the engine's clock.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from lmx_core.clock import FOREVER, Clock, deadline
from lmx_core.environment.watchdog import Watchdog
from lmx_core.providers.failures import AttemptFailed, Place
from lmx_core.providers.http import Http
from lmx_core.providers.local import child, failures
from lmx_core.providers.local.process import Process
from lmx_core.providers.local.weights import Weights

_POLL_S = 0.05
_ASK_MS = 5_000
_END_S = 0.5
"""How long after its connection broke a process may take to be seen as ended."""

_SELF_TEST = {"prompt": "one two three four five six seven eight " * 8, "n_predict": 1, "cache_prompt": False}
_ADDRESS = re.compile(re.escape(child.LISTENING) + r"(http://127\.0\.0\.1:\d+)\s")
_KEPT = re.compile(r"(PATH|HOME|LANG|LC_.*|TMPDIR|LD_LIBRARY_PATH|DYLD_.*|(GGML|CUDA|HIP|ROCR?|HSA|OMP|VK)_.*)\Z")
"""What a server gets of the environment: no provider's key, and none of its own settings."""


class Running(msgspec.Struct, frozen=True):
    """A server that is ready. `root` is its address; `window` in tokens; `knows_tools`: its template has a place for them."""

    weights: Weights
    root: str
    key: str
    window: int | None
    knows_tools: bool
    process: Process

    @property
    def place(self) -> Place:
        return _place(self.root, self.key)

    def __repr__(self) -> str:
        return f"Running({self.weights.path.name} at {self.root})"


class _Caps(msgspec.Struct):
    supports_tools: bool | None = None


class _Generation(msgspec.Struct):
    n_ctx: int = 0


class _Props(msgspec.Struct):
    chat_template: str = ""
    chat_template_caps: _Caps = msgspec.field(default_factory=_Caps)
    default_generation_settings: _Generation = msgspec.field(default_factory=_Generation)


class Starter:
    """`window`: the tokens of context that a server is asked for. `environ` gives what PATH is looked up in."""

    def __init__(
        self, http: Http, clock: Clock, environ: Callable[[], Mapping[str, str]], window: int, start_ms: float
    ):
        self._http, self._clock, self._environ = http, clock, environ
        self.window, self._start_ms = window, start_ms
        self.watchdog = Watchdog()

    def can_start(self) -> bool:
        return self._program() is not None or find_spec("xllamacpp") is not None

    async def start(self, weights: Weights, *, safe: bool) -> Running:
        """Raises AttemptFailed; then nothing is left of the server."""
        if not self.can_start():
            raise failures.no_server()
        key = secrets.token_hex(24)
        program, port = self._program(), _free_port()
        argv = self._own_server(weights, safe) if program is None else self._llama_server(program, port, weights, safe)
        try:
            process = Process(argv, self._child_environment(key), self.watchdog)
        except OSError as error:
            text = f"{argv[0]} cannot be started: {(error.strerror or 'it failed').lower()}"
            raise failures.failed("local_server", text) from None
        ready = False
        try:
            async with deadline(self._clock, self._start_ms):
                root = await _address(process) if program is None else f"http://127.0.0.1:{port}"
                running = await self._until_ready(weights, process, key, root)
            ready = True
        except TimeoutError:
            text = f"{weights.path.name} was not ready within {self._start_ms / 1_000:g} s"
            raise failures.failed("local_timeout", text, "timeout") from None
        except Ended:
            raise failures.ended(weights, process.status or 0, process.log, ready=False) from None
        finally:
            if not ready:
                process.kill()
        return running

    async def _until_ready(self, weights: Weights, process: Process, key: str, root: str) -> Running:
        place, headers = _place(root, key), {"authorization": f"Bearer {key}"}
        while True:
            try:
                props = _props(await self._http.get(place, f"{root}/props", headers, _ASK_MS))
                break
            except AttemptFailed:
                await _alive(process)  # it is loading, or not listening yet
        test = msgspec.json.encode(_SELF_TEST)
        try:
            await self._http.get(place, f"{root}/completion", headers, FOREVER, test)
        except AttemptFailed:
            await still_runs(process)
            raise
        caps = props.chat_template_caps.supports_tools
        return Running(
            weights=weights,
            root=root,
            key=key,
            window=props.default_generation_settings.n_ctx or None,
            knows_tools="tools" in props.chat_template if caps is None else caps,
            process=process,
        )

    # --- what is started

    def _program(self) -> str | None:
        return shutil.which("llama-server", path=self._environ().get("PATH", os.defpath))

    def _child_environment(self, key: str) -> dict[str, str]:
        """The key goes here because a list of processes shows command lines, and both servers take it from here."""
        kept = {name: value for name, value in self._environ().items() if _KEPT.match(name)}
        return kept | {"LLAMA_API_KEY": key, "LLAMA_ARG_CACHE_RAM": str(child.CACHE_MB)}

    def _own_server(self, weights: Weights, safe: bool) -> list[str]:
        settings = {"path": str(weights.path), "window": self.asked(weights), "threads": _threads(), "safe": safe}
        return [sys.executable, "-P", str(Path(child.__file__)), msgspec.json.encode(settings).decode()]

    def _llama_server(self, program: str, port: int, weights: Weights, safe: bool) -> list[str]:
        where = ["--host", "127.0.0.1", "--port", str(port), "--no-webui"]
        size = ["--ctx-size", str(self.asked(weights)), "--parallel", "1", "--threads", str(_threads())]
        careful = ["--no-repack"] if safe else []
        return [program, "--model", str(weights.path), *where, *size, "--jinja", *careful]

    def asked(self, weights: Weights) -> int:
        return min(self.window, weights.trained_window or self.window)


class Ended(Exception):
    """The process has ended by itself."""


async def _alive(process: Process) -> None:
    """Waits a moment. Raises Ended."""
    await asyncio.sleep(_POLL_S)
    if process.status is not None:
        raise Ended


async def still_runs(process: Process) -> None:
    """After a connection broke: raises Ended if the process is seen to end within a moment."""
    waited = 0.0
    while waited < _END_S:
        await _alive(process)
        waited += _POLL_S


async def _address(process: Process) -> str:
    while (found := _ADDRESS.search(process.log)) is None:
        await _alive(process)
    return found[1]


def _place(root: str, key: str) -> Place:
    return Place(provider="local", label="The local model", origin=root, local=True, secrets=(key,))


def _props(data: bytes) -> _Props:
    try:
        return msgspec.json.decode(data, type=_Props)
    except msgspec.DecodeError:
        return _Props()


def _threads() -> int:
    """All processors but one: the screen must go on."""
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, (len(affinity(0)) if affinity else os.cpu_count() or 1) - 1)


def _free_port() -> int:
    """A port for a `llama-server`, whose older releases cannot choose one. Another may take it first; then it starts again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
