"""Records what the calls of a session change, so that it can be taken back: what `Undo` reads is written here (CK-1, CK-2).

Each call that may change a file is bracketed: looked at before it runs, when everything has been allowed, and when it is over,
after the hooks that come behind it. A file tool names its paths, so only those are looked at; of anything else the whole tree
is. What happens on other machines is noted as not recorded. Recording never stops a call: what cannot be recorded is logged,
and an undo says so.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmx_core.calls import Descriptor, ToolCall
from lmx_core.checkpoints.files import MAX_FILE_BYTES
from lmx_core.checkpoints.journal import Busy, Places, PutBack, begin_turn
from lmx_core.environment.base import FileError, is_sandboxed
from lmx_core.errors import ExtensionRefused
from lmx_core.harness.harness import Harness
from lmx_core.hooks.base import HookContext
from lmx_core.permissions.effects import act_of
from lmx_core.tasks import run_in_thread
from lmx_core.verdict import Allow, Rewrite

if TYPE_CHECKING:
    from lmx_core.checkpoints.record import Recorder

log = logging.getLogger("lmx_core")

NOTE = "[lmx undo]"
_AT_THE_END_S = 5.0
_NAMED = 20
_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)


class Checkpoints:
    """Records under `dir`, a place that commands cannot write to. Raises ExtensionRefused where it cannot be written.

    `commands` False records file tools only. A file larger than `max_file_bytes` is named as changed and cannot be put back.
    `avoid` are directories never looked at, such as where a host keeps its own files inside a work tree. `tell` is called once
    with a sentence when it turns out that commands are not recorded here.
    """

    def __init__(
        self,
        dir: str | Path,
        *,
        commands: bool = True,
        max_file_bytes: int = MAX_FILE_BYTES,
        avoid: Sequence[str | Path] = (),
        tell: Callable[[str], None] | None = None,
    ):
        self.directory, self._commands, self._max_file_bytes = Path(dir), commands, max_file_bytes
        self._avoid = [Path(path) for path in avoid]
        self._tell = tell if commands else None
        self._recorders: dict[str, Recorder] = {}
        if not _can_be_written(self.directory):
            raise ExtensionRefused(f"{self.directory} cannot be written")

    def apply(self, harness: Harness) -> Harness:
        return harness.append_hooks(
            [("user_prompt", self._prompt), ("around_tool_call", self._around), ("session_end", self._ended)]
        )

    def describe(self) -> dict[str, Any]:
        return {"commands": self._commands, "max_file_bytes": self._max_file_bytes}

    def _places(self, context: HookContext) -> Places | None:
        """Where to record; None where a tool is called without a session, or where commands could forge what is kept."""
        if context.session_id is None:
            return None
        if is_sandboxed(context.environment) and _real(self.directory).is_relative_to(_real(context.cwd)):
            log.warning("nothing is recorded: confined commands could write to where it would be kept")
            return None
        return Places(self.directory, context.session_id)

    def _recorder(self, context: HookContext) -> Recorder | None:
        """The recorder of the session, made for its first call: an answer without one looks at nothing."""
        places, id = self._places(context), context.session_id or ""
        if places is None:
            return None
        if id not in self._recorders:
            from lmx_core.checkpoints.record import Recorder

            self._recorders[id] = Recorder(
                places,
                context.cwd,
                commands=self._commands,
                max_file_bytes=self._max_file_bytes,
                avoid=self._avoid,
            )
        return self._recorders[id]

    def _prompt(self, text: str, context: HookContext) -> Allow | Rewrite:
        """A new turn. What was put back since the last one is told with it, or the model would work from memory (EVT-5)."""
        places = None if context.aside is not None else self._places(context)
        if places is None:
            return Allow()
        recorder = self._recorders.get(context.session_id or "")
        try:
            title = context.secrets.mask(text)  # what a hook before this one added is not masked yet
            untold = begin_turn(places, title) if recorder is None else recorder.begin_turn(title)
        except OSError as error:
            log.warning("this turn cannot be undone: its checkpoints cannot be written (%s)", type(error).__name__)
            return Allow()
        return Rewrite(f"{text}\n\n{told(untold)}") if untold else Allow()

    async def _around(self, call: ToolCall, context: HookContext) -> Callable[[], None] | None:
        recorder = self._recorder(context)
        if recorder is None or (begin := _look(recorder, call, context)) is None:
            return None
        return await self._bracketed(recorder, call.name, begin)

    @asynccontextmanager
    async def window(self, what: str, context: HookContext) -> AsyncIterator[None]:
        """Records work that is no call of a tool, such as a check after the last answer: what it changes belongs to the turn.

        `what` is how a person knows it, such as its command.
        """
        recorder = self._recorder(context)
        if recorder is None:
            yield
            return
        id = f"window-{secrets.token_hex(8)}"
        end = await self._bracketed(recorder, what, lambda: recorder.begin(id, "window", what, None))
        try:
            yield
        finally:
            if end is not None:
                end()

    async def _bracketed(
        self, recorder: Recorder, name: str, begin: Callable[[], Callable[[], None]]
    ) -> Callable[[], None] | None:
        bracket = _Bracket(begin)
        try:
            await run_in_thread(bracket.begin)
        except asyncio.CancelledError:
            bracket.end()
            raise
        except (OSError, Busy) as error:
            log.warning("what %s changes is not recorded (%s)", name, type(error).__name__)
            return None
        if recorder.unrecordable is not None and self._tell is not None:
            tell, self._tell = self._tell, None
            tell(f"undo covers file tools only here: {recorder.unrecordable}")
        return bracket.end

    async def _ended(self, reason: str, context: HookContext) -> None:
        recorder = self._recorders.pop(context.session_id or "", None)
        if recorder is not None and not await run_in_thread(recorder.wait, _AT_THE_END_S):
            log.warning("the last call of the session was not recorded to its end")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _can_be_written(directory: Path) -> bool:
    """Whether files can be made there, or the directory itself; it is made when something is first recorded."""
    there = next((place for place in (directory, *directory.parents) if place.exists()), directory)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


class _Bracket:
    """A recording that is begun in a thread and may be given up meanwhile: then it ends as soon as it has begun."""

    def __init__(self, begin: Callable[[], Callable[[], None]]):
        self._begin, self._lock = begin, threading.Lock()
        self._end: Callable[[], None] | None = None
        self._over = False

    def begin(self) -> None:
        end = self._begin()
        with self._lock:
            self._end = end
            if not self._over:
                return
        end()

    def end(self) -> None:
        with self._lock:
            over, self._over = self._over, True
            end = self._end
        if end is not None and not over:
            end()


def _look(recorder: Recorder, call: ToolCall, context: HookContext) -> Callable[[], Callable[[], None]] | None:
    """How to record the call, as something that blocks; None for one that changes no file here."""
    descriptor, confined = context.tool_descriptor, getattr(context.environment, "confined", None)
    sentence = _not_recorded(call, descriptor, confined is not None)
    if sentence is not None:
        return lambda: _noted(recorder, call, sentence)
    if _only_looks(call, descriptor):
        recorder.warm()
        return None
    named = _named_paths(call, descriptor)
    found = [confined(context.cwd, path) for path in named] if confined is not None else []
    paths = None if not named else [path for path in found if not isinstance(path, FileError)]
    what = call.arguments.get("command") or ", ".join(named) or call.name
    return lambda: _begin(recorder, call, context.secrets.mask(str(what)), paths)


def _begin(recorder: Recorder, call: ToolCall, what: str, paths: Sequence[Path] | None) -> Callable[[], None]:
    if call.arguments.get("background") is True:
        recorder.note(call.name, "a command went on in the background: what it changed after its call is not recorded")
    return recorder.begin(call.id, call.name, what, paths)


def _noted(recorder: Recorder, call: ToolCall, sentence: str) -> Callable[[], None]:
    recorder.note(call.name, sentence)
    return lambda: None


def _not_recorded(call: ToolCall, descriptor: Descriptor | None, local: bool) -> str | None:
    """Why nothing is known of what a call changes, in a sentence; None where it can be looked at."""
    if _only_looks(call, descriptor):
        return None
    if descriptor is not None and descriptor.origin.get("type") == "mcp":
        return f"{call.name} belongs to an MCP server, so what it changed is not recorded"
    return None if local else f"{call.name} worked on another machine, so what it changed is not recorded"


def _only_looks(call: ToolCall, descriptor: Descriptor | None) -> bool:
    """Whether a call changes nothing on this machine."""
    return act_of(call, descriptor, None).kind == "read" or (
        descriptor is not None and descriptor.origin.get("type") != "mcp" and descriptor.effects.effect == "external"
    )


def _named_paths(call: ToolCall, descriptor: Descriptor | None) -> list[str]:
    """The paths a built-in file tool is going to change, as the model wrote them; [] for any other tool."""
    if descriptor is None or descriptor.origin.get("type") != "built_in" or descriptor.effects.effect != "write":
        return []
    path = call.arguments.get("path")
    if isinstance(path, str):
        return [path]
    return [found for text in call.arguments.values() if isinstance(text, str) for found in _PATCHED.findall(text)]


def told(put_back: Sequence[PutBack]) -> str:
    """What the model must know of what was put back since it last looked."""
    paths = dict.fromkeys(change.path for item in put_back for part in item.parts for change in part.changes)
    names = [path.decode("utf-8", "replace") for path in paths]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    what = f"{', '.join(names[:_NAMED])}{more}" if names else "nothing"
    return (
        f"{NOTE} Since the last message the person took back or did again what you had changed in these files: {what}. They "
        f"are not as you last saw them; read what you need before you change it."
    )
