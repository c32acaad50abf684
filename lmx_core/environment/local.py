"""This machine: files below the working directory, commands in a shell, both as the user who runs the host.

It is no sandbox (EN-10, NO-8). A command may read and change whatever its user may; confinement holds only for the file
operations. A host with several tenants gives each an environment of its own kind and runs no command in its own process space.
"""

from __future__ import annotations

import copy
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Self

from lmx_core.clock import Clock, SystemClock
from lmx_core.environment import confine, files, inherited, process, together
from lmx_core.environment.base import (
    DEFAULT_COMMAND_TIMEOUT_MS,
    MAX_COMMAND_OUTPUT_BYTES,
    Changed,
    DirEntry,
    EnvEntry,
    Failed,
    FileChange,
    FileError,
    RunEvent,
    Written,
)
from lmx_core.environment.credentials import CredentialPolicy, Inherit, check_policy, command_environment
from lmx_core.environment.watchdog import Watchdog
from lmx_core.tasks import run_in_thread

_SYSTEM_PATH = ("/usr/bin", "/bin")


class LocalEnvironment:
    """The local machine as an `Environment`.

    `credentials` is `Inherit()` or `Scrub(allow=[...])`. `environ` is what commands inherit; None: the process's own at the
    time of the command, with the differences that `inherited.put` has recorded. Time limits of commands run on `clock`.
    Raises ConfigError for an invalid policy.
    """

    def __init__(
        self,
        *,
        credentials: CredentialPolicy | type[CredentialPolicy] = Inherit,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ):
        self._policy = check_policy(credentials)
        self._environ = None if environ is None else dict(environ)
        self._clock = clock or SystemClock()
        self._watchdog = Watchdog()
        self._pins: confine.Pins | None = None

    def __repr__(self) -> str:
        return "LocalEnvironment()"

    def credentials(self) -> CredentialPolicy:
        return self._policy

    @property
    def environ(self) -> Mapping[str, str]:
        """What commands inherit, before the credential policy."""
        return inherited.environ() if self._environ is None else self._environ

    @property
    def clock(self) -> Clock:
        """What time limits run on."""
        return self._clock

    def sandboxed(self) -> bool:
        return False

    @staticmethod
    def confined(cwd: Path, path: str) -> Path | FileError:
        """The real path, if it is inside `cwd` (EN-5). For wrappers; the operations below check by themselves."""
        return confine.confined(cwd, path)

    def locate(self, cwd: Path, path: str, *, follow_last: bool = True) -> confine.Place | FileError:
        """Where a file operation takes place. A subclass may refuse more; every operation on one path asks here."""
        place = confine.locate(cwd, path, follow_last=follow_last)
        return place if self._pins is None else self._pins.checked(cwd, path, place, follow_last=follow_last)

    def pinned(self, cwd: Path, paths: Iterable[str]) -> Self:
        """The same, but each of these paths leads where it leads now, or nowhere. What it opens is what was looked at here."""
        made = copy.copy(self)
        made._pins = pins = confine.Pins(cwd, paths)
        made.confined = pins.confined  # type: ignore[method-assign]  # what asks it has to hear the same
        return made

    def launch(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]
    ) -> tuple[Sequence[str], Mapping[str, str]] | Failed:
        """What is started for a command, and with which variables; or why nothing is. Every command asks here.

        A subclass may put something in front.
        """
        return argv, env

    @staticmethod
    def find_bash(environ: Mapping[str, str] | None = None) -> str | None:
        """The shell that commands run in: `bash`, else `sh`, from the absolute entries of PATH, else from /bin.

        `environ` is what the commands inherit; None: the process's own.
        """
        variables = inherited.environ() if environ is None else environ
        # A relative entry would let a repository bring its own shell.
        entries = [entry for entry in variables.get("PATH", "").split(os.pathsep) if entry.startswith("/")]
        candidates = (f"{entry}/{shell}" for shell in ("bash", "sh") for entry in (*entries, *_SYSTEM_PATH))
        return next((path for path in candidates if os.access(path, os.X_OK) and os.path.isfile(path)), None)  # noqa: PTH113 - hot

    @staticmethod
    def process_groups_available() -> bool:
        """Whether a command can have a process group of its own here, and be ended with everything it started (RT-14).

        Tried out: starts a shell in a session of its own and kills its group, which takes milliseconds and blocks. A container
        may forbid either; then a command that is stopped may leave processes behind. No `kill` or `ps` program is needed.
        """
        shell = LocalEnvironment.find_bash()
        return shell is not None and process.can_end_a_group(shell)

    async def read_file(self, cwd: Path, path: str) -> bytes | FileError:
        place = self.locate(cwd, path)
        return place if isinstance(place, FileError) else await run_in_thread(files.read_whole, place)

    async def stream_file(self, cwd: Path, path: str) -> AsyncIterator[bytes | FileError]:
        place = self.locate(cwd, path)
        if isinstance(place, FileError):
            yield place
            return
        try:
            file = await run_in_thread(files.OpenFile, place)
            while piece := await run_in_thread(file.read):
                yield piece
        except OSError as error:
            yield files.read_error(place, error)

    async def write_file(self, cwd: Path, path: str, data: bytes) -> Written | FileError:
        place = self.locate(cwd, path)
        return place if isinstance(place, FileError) else await run_in_thread(files.write_whole, place, data)

    async def list_dir(self, cwd: Path, path: str) -> list[DirEntry] | FileError:
        place = self.locate(cwd, path)
        return place if isinstance(place, FileError) else await run_in_thread(files.entries, place)

    async def delete_file(self, cwd: Path, path: str) -> FileError | None:
        place = self.locate(cwd, path, follow_last=False)
        return place if isinstance(place, FileError) else await run_in_thread(files.delete, place)

    async def change_files(self, cwd: Path, changes: Sequence[FileChange]) -> Changed:
        return await run_in_thread(together.change_files, cwd, changes, self.locate)

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_ms: float = DEFAULT_COMMAND_TIMEOUT_MS,
        env: Sequence[EnvEntry] = (),
        max_output_bytes: float = MAX_COMMAND_OUTPUT_BYTES,
    ) -> AsyncIterator[RunEvent]:
        variables = self.environ
        shell = self.find_bash(variables)
        if shell is None:
            yield Failed("there is neither bash nor sh on this machine, so no command can be run")
            return
        given = command_environment(variables, self._policy, env)
        launched = self.launch([shell, "-c", "--", command], cwd, given)
        if isinstance(launched, Failed):
            yield launched
            return
        events = process.run(
            launched[0],
            cwd=cwd,
            env=launched[1],
            timeout_ms=timeout_ms,
            max_output_bytes=max_output_bytes,
            clock=self._clock,
            watchdog=self._watchdog,
        )
        async with aclosing(events):
            async for event in events:
                yield event
