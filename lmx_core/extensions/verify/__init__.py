"""Runs the project's own check when a model that edited files says it is done, and sends it back where it fails (VE-1 to VE-4).

A `stop` hook. It runs what the permission gate lets it run: a check is a command, and one that a project names or a model has
written must not run where the model's own would be refused. Its result is kept with the name of the files it ran on.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.clock import SystemClock, steady_ms
from lmx_core.entry import Entry
from lmx_core.errors import Conflict, DocumentTooLarge, ExtensionRefused
from lmx_core.extensions.verify import record
from lmx_core.extensions.verify.record import MARK, NAMESPACE, Check, Kept
from lmx_core.harness.harness import Harness
from lmx_core.hooks.base import HookContext
from lmx_core.verdict import Allow, Deny, Rewrite

if TYPE_CHECKING:
    from lmx_core.environment.base import Environment
    from lmx_core.extensions.verify.tree import Trees

TIMEOUT_MS = 300_000
Window = Callable[[str, HookContext], AbstractAsyncContextManager[None]]
"""Brackets a command so that what it changes is recorded, such as `Checkpoints.window`."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What a host shows of the checks of a session. `command` is the one that was named or ran last, None where there is none.

    `running`: a check runs at this moment. `current`: the files are those that the last check left, so that its result holds;
    None where there is no result, or nobody can tell.
    """

    enabled: bool
    command: str | None
    last: Check | None
    running: bool
    current: bool | None


class Verify:
    """`command` None: looked up in the project. At most `max_continuations` (0 to 10) checks of a prompt send the model back.

    `window` records what a check changes. `avoid` are directories that are no part of the project, such as where a host keeps
    its own files. Raises ExtensionRefused for another number or an empty command.
    """

    def __init__(
        self,
        *,
        command: str | None = None,
        max_continuations: int = 2,
        timeout_ms: int = TIMEOUT_MS,
        window: Window | None = None,
        avoid: Sequence[str | Path] = (),
    ):
        if command is not None and (not isinstance(command, str) or not command.strip()):
            raise ExtensionRefused("command must be text, the command that checks the project")
        if type(max_continuations) is not int or not 0 <= max_continuations <= 10:
            raise ExtensionRefused("max_continuations must be a whole number from 0 to 10")
        if type(timeout_ms) is not int or timeout_ms < 1:
            raise ExtensionRefused("timeout_ms must be a whole number, at least 1")
        self._command, self._most, self._timeout_ms, self._window = command, max_continuations, timeout_ms, window
        self._avoid = [Path(path) for path in avoid]
        self._running: set[str] = set()

    @functools.cached_property
    def _trees(self) -> Trees:
        from lmx_core.extensions.verify.tree import Trees

        return Trees(self._avoid)

    def apply(self, harness: Harness) -> Harness:
        return harness.append_hooks([("stop", self._check)])

    def describe(self) -> dict[str, Any]:
        command = "discovered" if self._command is None else "configured"
        return {"command": command, "max_continuations": self._most, "timeout_ms": self._timeout_ms}

    async def command(self, environment: Environment, cwd: Path) -> str | None:
        """What would check the project in `cwd` now, None where nothing is known to. Runs nothing."""
        from lmx_core.extensions.verify.discover import command_for  # what is needed where a check is due

        return self._command or await command_for(environment, cwd)

    async def status(self, session: Any) -> Status:
        """What is known of the checks of a session (`/verify`). Reads its files. Raises SessionDown."""
        found = record.kept((await session.document(NAMESPACE)).value)
        cwd, last = Path((await session.info()).cwd), found.last
        now = None if last is None or last.left is None else await self._trees.name(cwd)
        return Status(
            enabled=found.enabled,
            command=self._command or (None if last is None else last.command),
            last=last,
            running=session.id in self._running,
            current=None if last is None or now is None or last.status == "running" else now == last.left,
        )

    async def switch(self, session: Any, on: bool) -> None:
        """Turns the check of a session on or off; kept with the session, so that a resume has it so. Raises SessionDown."""
        await _write(session, lambda found: msgspec.structs.replace(found, enabled=on, wrote="switch"))

    async def _check(self, reason: str, context: HookContext) -> Allow | Deny:
        session = context.session
        if reason != "stop" or session is None or context.aside is not None or context.may_run is None:
            return Allow()
        entries: list[Entry] = (await session.snapshot()).entries
        if not record.is_due(entries, self._most) or not record.kept((await session.document(NAMESPACE)).value).enabled:
            return Allow()
        command = await self.command(context.environment, context.cwd)
        if command is None or record.has_passed(entries, command):
            return Allow()
        check = await self._checked(command, context)
        await _keep(session, check)
        return Deny(told(check)) if check.sent_back else Allow()

    async def _checked(self, command: str, context: HookContext) -> Check:
        from lmx_core.extensions.verify import command as commands

        assert context.may_run is not None
        match await context.may_run(command, "the check after edits"):
            case Deny(reason):
                return Check(command=command, status="denied", reason=reason)
            case Rewrite(str() as instead):
                command = instead
        here = getattr(context.environment, "confined", None) is not None  # the files are on this machine
        tree = await self._trees.name(context.cwd) if here else None
        begun = steady_ms(SystemClock())
        self._running.add(context.session.id)
        try:
            await _keep(context.session, Check(command=command, status="running", tree=tree))
            async with self._window(command, context) if self._window is not None else contextlib.nullcontext():
                ran = await commands.run(
                    command, context.environment, context.cwd, self._timeout_ms, context.secrets.mask
                )
        finally:
            self._running.discard(context.session.id)
        return Check(
            command=command,
            tree=tree,
            left=await self._trees.name(context.cwd) if here else None,
            duration_ms=int(steady_ms(SystemClock()) - begun),
            sent_back=ran.status in ("failed", "timed_out"),
            **msgspec.structs.asdict(ran),
        )


async def _keep(session: Any, check: Check) -> None:
    """Writes the newest check; where that is too long, without the beginning of its output."""
    try:
        await _write(session, lambda found: msgspec.structs.replace(found, last=check, wrote="check"))
    except DocumentTooLarge:
        short = msgspec.structs.replace(check, output=record.excerpt(check.output))
        await _write(session, lambda found: msgspec.structs.replace(found, last=short, wrote="check"))


async def _write(session: Any, change: Callable[[Kept], Kept]) -> None:
    while True:
        document = await session.document(NAMESPACE)
        try:
            value = msgspec.to_builtins(change(record.kept(document.value)))
            await session.put_document(NAMESPACE, document.revision, value)
            return
        except Conflict:
            continue  # somebody switched it meanwhile: their word is in what is read next


def told(check: Check) -> str:
    """What the model is sent back with."""
    how = "did not end in time" if check.status == "timed_out" else f"failed with exit status {check.exit_status}"
    on = "the files as you left them" if check.tree is None else f"the files as you left them (tree {check.tree[:12]})"
    last = record.excerpt(check.output).rstrip("\n")
    output = f"The end of its output:\n{last}" if last.strip() else "It wrote nothing."
    changed = " It changed files itself." if check.tree is not None and check.left not in (None, check.tree) else ""
    return (
        f"{MARK} `{check.command}` {how}, run on {on}.{changed} {output}\n\n"
        f"Put right what your changes broke. If it failed before them, or you cannot put it right, say so and stop."
    )
