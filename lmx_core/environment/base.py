"""The contract of an environment: what a tool may ask of the machine it works on, and how each answer can go wrong.

Errors are values (EN-1): a file that is not there is an ordinary answer a tool words for the model. Raised, every tool would
need the exception types of every kind of environment, and one forgotten `except` would turn a typing mistake into a crash.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, cast, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from lmx_core.addresses import Refusal

T = TypeVar("T")

DEFAULT_COMMAND_TIMEOUT_MS = 120_000
MAX_COMMAND_OUTPUT_BYTES = 8_000_000
"""A foreground command is ended when it has written more than this (EN-2)."""

STREAM_CHUNK_BYTES = 65_536

FILE_ERRORS = (
    "not_found",
    "is_directory",
    "not_a_directory",
    "not_a_file",
    "outside_worktree",
    "permission_denied",
    "too_large",
    "no_space",
    "invalid_path",
    "changed",
    "unsupported",
    "io_error",
)
"""What can be wrong with a path. `changed`: it was replaced while it was being opened; `not_a_file`: a pipe or a device."""

Written = Literal["created", "overwritten"]

EnvEntry = tuple[str, str | Literal[False]]
"""A variable set for one command, or with `False` taken away from it."""


class FileError(msgspec.Struct, frozen=True):
    """Why a file operation did not happen. `kind` is one of `FILE_ERRORS`, `path` as it was asked for, `message` a sentence."""

    kind: str
    path: str
    message: str


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """What one file is and is to become; None is no file. `mode_of`: the path of a file whose mode a new one takes over."""

    path: str
    before: bytes | None
    after: bytes | None
    mode_of: str | None = None


class Changed(msgspec.Struct, frozen=True):
    """How a change of several files ended: all of it, or `failure`, and then `left`, the paths that could not be put back."""

    failure: FileError | None = None
    left: tuple[str, ...] = ()


class DirEntry(msgspec.Struct, frozen=True):
    """A name in a directory; `kind` is `file`, `directory`, `symlink` or `other`."""

    name: str
    kind: str


def marked(entry: DirEntry) -> str:
    """Its name on one line, `/` after a directory and `@` after a link (RD-2)."""
    name = entry.name.replace("\n", "\\n")
    return name + {"directory": "/", "symlink": "@"}.get(entry.kind, "")


class Data(msgspec.Struct, frozen=True):
    """A piece of a command's output, stdout and stderr in the order they were written. Any bytes."""

    data: bytes


class Exit(msgspec.Struct, frozen=True):
    """The shell ended: `status` 0 to 255, or 128 + the signal's number.

    `ended` names the background processes that were still in its process group and were ended with it; `left` those that had
    made a session of their own, go on, and still hold the output (whose later output is not read).
    """

    status: int
    ended: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class TimedOut(msgspec.Struct, frozen=True):
    """The command ran for `ms` and was ended, its process group with it. `left` as in `Exit`."""

    ms: float
    left: tuple[str, ...] = ()


class OutputLimit(msgspec.Struct, frozen=True):
    """The command wrote more than `bytes` and was ended. What came before was given as `Data`.

    `written` is all that it had written by its end, where the environment can tell: what was not read is counted too.
    """

    bytes: float
    left: tuple[str, ...] = ()
    written: int | None = None


class Failed(msgspec.Struct, frozen=True):
    """The command could not be started or its fate is not known. `reason` is a sentence."""

    reason: str


RunEvent = Data | Exit | TimedOut | OutputLimit | Failed
"""What `run` yields: any number of `Data`, then exactly one of the others."""


@runtime_checkable
class Environment(Protocol):
    """A machine as tools see it. `cwd` is absolute; paths are relative to it, or absolute inside it.

    Three methods are needed. An environment may also have the following; the functions of the same names below use them, or
    a fallback: `list_dir(cwd, path) -> list[DirEntry] | FileError`, `stream_file(cwd, path) -> AsyncIterator[bytes |
    FileError]`, `delete_file(cwd, path) -> FileError | None`, `change_files(cwd, changes) -> Changed`; `credentials()`, its
    credential policy; `sandboxed() -> bool`; `asking(reach) -> Environment`, whose commands have a
    `Reach` asked before they connect anywhere.
    """

    async def read_file(self, cwd: Path, path: str) -> bytes | FileError: ...

    async def write_file(self, cwd: Path, path: str, data: bytes) -> Written | FileError:
        """Replaces the whole file or nothing, and creates missing parent directories."""
        ...

    def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_ms: float = DEFAULT_COMMAND_TIMEOUT_MS,
        env: Sequence[EnvEntry] = (),
        max_output_bytes: float = MAX_COMMAND_OUTPUT_BYTES,
    ) -> AsyncIterator[RunEvent]:
        """Runs a shell command. Closing the iterator (`aclosing`) or cancelling its reader ends the command.

        Reading is demand-driven: a producer faster than the reader is held up by its pipe and fills no memory (EN-2). An
        option an environment cannot honour is ignored.
        """
        ...


@asynccontextmanager
async def closing(items: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Ends an iterator for certain when the body is left, however it is left: a command must not outlive its reader."""
    try:
        yield items
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


async def list_dir(environment: Environment, cwd: Path, path: str) -> list[DirEntry] | FileError:
    """The names in a directory, sorted; `unsupported` where the environment cannot tell."""
    method = getattr(environment, "list_dir", None)
    if method is None:
        return FileError("unsupported", path, "this environment does not list directories")
    listed: list[DirEntry] | FileError = await method(cwd, path)
    return listed


async def stream_file(environment: Environment, cwd: Path, path: str) -> AsyncIterator[bytes | FileError]:
    """The bytes of a file in pieces; a `FileError`, if any, comes last. Without streaming the whole file is one piece."""
    method = getattr(environment, "stream_file", None)
    if method is None:
        yield await environment.read_file(cwd, path)
        return
    async with closing(method(cwd, path)) as pieces:
        async for piece in pieces:
            yield piece


async def delete_file(environment: Environment, cwd: Path, path: str) -> FileError | None:
    """Deletes a file or a link, never a directory. A file that is not there counts as deleted."""
    method = getattr(environment, "delete_file", None)
    if method is not None:
        failure: FileError | None = await method(cwd, path)
        return failure
    async with closing(environment.run(f"rm -f -- {shlex.quote(path)}", cwd=cwd)) as events:
        async for event in events:
            if isinstance(event, Exit) and event.status == 0:
                return None
            if not isinstance(event, Data):
                break
    return FileError("io_error", path, f"{path} could not be deleted")


async def change_files(environment: Environment, cwd: Path, changes: Sequence[FileChange]) -> Changed:
    """Makes all the changes or, where one fails, none: what was done is put back. Files are written before any is deleted.

    An environment that has no way of its own to do so is asked file by file.
    """
    method = getattr(environment, "change_files", None)
    if method is not None:
        changed: Changed = await method(cwd, changes)
        return changed
    done: list[FileChange] = []
    for change in sorted(changes, key=lambda change: change.after is None):
        failure = await _make(environment, cwd, change.path, change.after)
        if failure is not None:
            left = [c.path for c in reversed(done) if await _make(environment, cwd, c.path, c.before) is not None]
            return Changed(failure, tuple(left))
        done.append(change)
    return Changed()


async def _make(environment: Environment, cwd: Path, path: str, data: bytes | None) -> FileError | None:
    if data is None:
        return await delete_file(environment, cwd, path)
    written = await environment.write_file(cwd, path, data)
    return written if isinstance(written, FileError) else None


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """Where a command wants to connect. `listed`: whoever made the environment has named the host."""

    host: str
    port: int
    listed: bool


Reach = Callable[[Destination], Awaitable["Refusal | None"]]
"""Whether a command may connect somewhere: None, or why not. Asked while the command waits."""


def asking(environment: Environment, reach: Reach) -> Environment:
    """The environment whose commands have `reach` asked where they want to go; itself where it cannot ask."""
    method = getattr(environment, "asking", None)
    return environment if method is None else cast(Environment, method(reach))


def is_sandboxed(environment: Environment) -> bool:
    method = getattr(environment, "sandboxed", None)
    return bool(method()) if method is not None else False
