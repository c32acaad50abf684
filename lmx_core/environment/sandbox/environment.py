"""The local machine as an `Environment` whose commands are confined and whose file tools keep to the same rules (EN-8, EN-9).

It is a `LocalEnvironment` that starts every command behind the walls: limits, process groups, the watchdog and reading on
demand are those of any command. What cannot be confined does not run: there is no way in here that leads around the walls.

A directory is what it was when it was first worked in. A confined command may write beside it, in a temporary directory for
example, and could put a link in its place; followed, the link would open another directory to the next command.
"""

from __future__ import annotations

import copy
import os
import platform
import pwd
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lmx_core.environment import confine
from lmx_core.environment.base import (
    DEFAULT_COMMAND_TIMEOUT_MS,
    MAX_COMMAND_OUTPUT_BYTES,
    Data,
    EnvEntry,
    Failed,
    FileError,
    Reach,
    RunEvent,
)
from lmx_core.environment.local import LocalEnvironment
from lmx_core.environment.sandbox import bwrap, doors, probe, seatbelt, seccomp
from lmx_core.environment.sandbox.namespace import Filter, Namespace
from lmx_core.environment.sandbox.policy import (
    CACHES,
    HIDDEN,
    Layout,
    Policy,
    expanded,
    hidden_paths,
    hides,
    layout,
    unconfinable,
    within,
)
from lmx_core.errors import ConfigError, SandboxUnavailable

if TYPE_CHECKING:
    from lmx_core.environment.sandbox.network.proxy import Proxy

Backend = Literal["auto", "bwrap", "seatbelt"]
_OF_THE_SYSTEM = {"linux": "bwrap", "darwin": "seatbelt"}
PROBE_SECONDS = 10


class Sandbox(LocalEnvironment):
    """Confined commands on this machine. Made by `Sandbox.new`, which tries it out."""

    def __init__(self, policy: Policy, backend: str, inner: LocalEnvironment):
        super().__init__(credentials=inner.credentials(), clock=inner.clock)
        self._inner, self._allowed, self._backend = inner, policy, backend
        self._programs: dict[str, str] = {}
        self._namespace: Namespace | None = None
        self._nested = True  # whether bubblewrap knows how to forbid namespaces inside namespaces
        self._filter: Filter | None = None
        self._roots: dict[str, tuple[str, tuple[int, int]]] = {}
        self._doors: frozenset[str] = frozenset()
        self._proxy: Proxy | None = None
        self._reach: Reach | None = None

    def __repr__(self) -> str:
        return f"Sandbox({self._backend})"

    @classmethod
    def new(
        cls,
        *,
        backend: Backend = "auto",
        network: bool | Sequence[str] = False,
        localhost: bool = True,
        writable: Sequence[str | Path] = (),
        hidden: Sequence[str | Path] = (),
        inner: LocalEnvironment | None = None,
        probe: bool = True,
    ) -> Sandbox:
        """Confinement as asked for, tried out with the options that commands will get unless `probe=False`.

        `writable` and `hidden` are absolute paths or begin with `~`. `inner` is whose variables, credential policy and clock
        commands get; None: a plain LocalEnvironment. `network=False` leaves a loopback of the commands' own, with
        `localhost=False` not even that; a list of hosts (`pypi.org`, `*.pythonhosted.org`, `registry.example:8443`) leads to
        these through a proxy on that loopback. Blocks for some tens of milliseconds.

        Raises ConfigError for a wrong option, SandboxUnavailable where commands cannot be confined: nothing ever runs without.
        """
        inner = inner or LocalEnvironment()
        home = inner.environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - a text, as the policy has it
        policy = Policy(
            home=os.path.realpath(home),
            homes=_account_home(),
            writable=_paths("writable", writable, home),
            hidden=_paths("hidden", hidden, home),
            network=network is True,
            localhost=localhost,
            hosts=_hosts(network, localhost),
        )
        made = cls(policy, _backend(backend), inner)
        made._prepare()
        if probe:
            made._try_out()
        return made

    @staticmethod
    def default_hidden() -> list[str]:
        """What is hidden without being asked for, as far as it exists; `~` is the home directory."""
        return list(HIDDEN)

    @staticmethod
    def default_writable() -> list[str]:
        """The caches that are writable as far as they exist, beside directories for temporary files."""
        return list(CACHES)

    @property
    def environ(self) -> Mapping[str, str]:
        """What commands inherit is what those of `inner` do."""
        return self._inner.environ

    def sandboxed(self) -> bool:
        return True

    @property
    def backend(self) -> str:
        """`bwrap` or `seatbelt`."""
        return self._backend

    @property
    def policy(self) -> Policy:
        return self._allowed

    # --- commands -------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Finds the programs and makes the shared network."""
        if self._backend == "seatbelt":
            self._programs = {"sandbox-exec": seatbelt.PROGRAM}
            if self._allowed.hosts is not None:
                self._listen(socket.create_server(("127.0.0.1", 0)))  # the loopback is the machine's own there
            return
        for program in probe.INSTALL:
            found = probe.find(program, self.environ.get("PATH", ""))
            if found is None:
                raise SandboxUnavailable(probe.missing(program))
            self._programs[program] = found
        self._nested = bwrap.DISABLE_USERNS in _help(self._programs["bwrap"])
        self._doors = frozenset(doors.known(self.environ))
        refusals = seccomp.program(platform.machine())
        self._filter = None if refusals is None else Filter(refusals)
        if not self._allowed.network:
            try:
                door = self._allowed.hosts is not None
                self._namespace = Namespace(self._programs["bwrap"], loopback=self._allowed.localhost, door=door)
            except OSError as error:
                raise SandboxUnavailable(probe.forbidden(str(error), probe.text_of)) from error
            if self._namespace.listener is not None:
                self._listen(self._namespace.listener)

    def _try_out(self) -> None:
        """Runs a command that does nothing, with everything else as it will be."""
        place = layout(self._allowed, "/tmp", self.environ, sockets=self._sockets("/tmp"))
        argv = self._argv(place, ["/bin/sh", "-c", ":"], {})
        try:
            ran = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, cwd="/", env={}
            )
            said = ran.stderr.decode("utf-8", "replace").strip() if ran.returncode else None
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
        if said is not None:
            raise SandboxUnavailable(probe.forbidden(said, probe.text_of))

    def _listen(self, listener: socket.socket) -> None:
        from lmx_core.environment.sandbox.network import hosts, proxy  # only where hosts are listed

        self._proxy = proxy.Proxy(listener, hosts.read(self._allowed.hosts or ()), self.clock)

    def asking(self, reach: Reach) -> Sandbox:
        """The same, whose commands have `reach` asked where they want to go."""
        made = copy.copy(self)
        made._reach = reach
        return made

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_ms: float = DEFAULT_COMMAND_TIMEOUT_MS,
        env: Sequence[EnvEntry] = (),
        max_output_bytes: float = MAX_COMMAND_OUTPUT_BYTES,
    ) -> AsyncIterator[RunEvent]:
        """As outside; where hosts are listed, what was kept from a command is said at the end of its output."""
        limits: dict[str, Any] = {"cwd": cwd, "timeout_ms": timeout_ms, "max_output_bytes": max_output_bytes}
        if self._proxy is None:
            async with aclosing(super().run(command, env=env, **limits)) as events:  # type: ignore[type-var]  # a generator
                async for event in events:
                    yield event
            return
        from lmx_core.environment.sandbox.network.command import Held

        timed = copy.copy(self)
        timed._proxy, timed._clock = None, Held(self.clock)
        async with (
            self._proxy.serving(self._reach, timed._clock) as ours,
            aclosing(timed.run(command, env=[*env, *self._proxy.variables(ours)], **limits)) as events,  # type: ignore[type-var]  # as above
        ):
            async for event in events:
                if not isinstance(event, Data) and (notes := ours.notes()):
                    yield Data(notes)
                yield event

    def launch(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]
    ) -> tuple[Sequence[str], Mapping[str, str]] | Failed:
        """The command behind the walls, or why it cannot be put there."""
        root = self._root(cwd)
        if isinstance(root, Failed):
            return root
        real = os.path.realpath(cwd)
        if hides(hidden_paths(self._allowed), real):
            return Failed(f"{cwd} is hidden from commands, so none can be run in it")
        place = layout(self._allowed, root, self.environ, cwd=real, sockets=self._sockets(root))
        inside = bwrap.for_inside(env)
        return self._argv(place, argv, inside), {name: value for name, value in env.items() if name not in inside}

    def _argv(self, place: Layout, argv: Sequence[str], inside: Mapping[str, str]) -> list[str]:
        if self._backend == "seatbelt":
            given = [f"{name}={value}" for name, value in inside.items()]
            return [self._programs["sandbox-exec"], "-p", seatbelt.profile(place), "/usr/bin/env", *given, *argv]
        options = bwrap.arguments(place, inside, disable_userns=self._nested, filtered=self._filter is not None)
        confined = [self._programs["bwrap"], *options, "--", *argv]
        if self._namespace is not None:
            confined = [*bwrap.joined(self._namespace.paths, self._programs["nsenter"]), *confined]
        return confined if self._filter is None else [*bwrap.given(self._filter.path), *confined]

    def _root(self, cwd: Path) -> str | Failed:
        """The working directory that `cwd` is, or is inside of, as it was at first; else why no command may run there."""
        asked, real = os.path.abspath(cwd), os.path.realpath(cwd)  # noqa: PTH100 - not resolved: the name as it was given
        identity = _identity(real)
        if identity is None:
            return Failed(f"the working directory {cwd} does not exist")
        for name, (known, then) in self._roots.items():
            if within(asked, (name, known)):
                if within(real, (known,)) and _identity(known) == then:
                    return known
                return Failed(f"{name} is not the directory any more that it was; start again in it to go on")
        if unconfinable(real):
            return Failed(f"commands in {cwd} cannot be confined; work in a directory below it")
        self._roots[asked] = real, identity
        return real

    def _sockets(self, root: str) -> list[str]:
        """Where programs outside listen. With the network on, new ones in the working directory are the commands' own."""
        now = doors.known(self.environ)
        if not self._allowed.network:
            return now
        return [path for path in now if path in self._doors or not within(os.path.realpath(path), (root,))]

    # --- files ----------------------------------------------------------------------------------------------------------

    def locate(self, cwd: Path, path: str, *, follow_last: bool = True) -> confine.Place | FileError:
        """As outside, and what is hidden from commands is denied, judged by where a path really leads."""
        place = super().locate(cwd, path, follow_last=follow_last)
        if isinstance(place, FileError):
            return place
        if hides(hidden_paths(self._allowed), str(place.path)):
            return FileError("permission_denied", path, f"permission denied: {path}")
        return place


def _backend(asked: str) -> str:
    here = _OF_THE_SYSTEM.get(sys.platform)
    if asked not in ("auto", *_OF_THE_SYSTEM.values()):
        raise ConfigError("backend= is auto, bwrap or seatbelt")
    if here is None:
        raise SandboxUnavailable("commands can be confined on Linux and macOS only")
    if asked not in ("auto", here):
        raise SandboxUnavailable(f"the backend {asked} does not exist on this system; auto is {here}")
    return here


def _paths(option: str, given: Sequence[str | Path], home: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise ConfigError(f"{option}= takes a list of paths")
    paths = tuple(expanded(str(path), home) for path in given)
    for path in paths:
        if not path.startswith("/") or "\0" in path:
            raise ConfigError(f"{option}= takes paths that are absolute or begin with ~")
        if option == "writable" and unconfinable(os.path.realpath(path)):
            raise ConfigError("writable= takes no directory of the kernel's, and not the whole machine")
    return paths


def _hosts(network: bool | Sequence[str], localhost: bool) -> tuple[str, ...] | None:
    """The hosts that are listed; None where no list was given. Raises ConfigError for what is none."""
    if isinstance(network, bool):
        return None
    if isinstance(network, str) or not localhost:
        raise ConfigError(
            "network= takes true, false or a list of hosts"
            if localhost
            else "with localhost=False there is no loopback, and so no proxy that leads to the hosts of network="
        )
    from lmx_core.environment.sandbox.network import hosts

    hosts.read(network)
    return tuple(network)


def _account_home() -> tuple[str, ...]:
    try:
        return (os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir),)
    except KeyError:
        return ()  # a container may run as a number that no account has


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _help(program: str) -> str:
    try:
        ran = subprocess.run(
            [program, "--help"], capture_output=True, text=True, errors="replace", timeout=PROBE_SECONDS, env={}
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout + ran.stderr
