"""Commands about the files around a conversation: /init, /refresh, /verify, /diff (tui.md 4)."""

from __future__ import annotations

from lmx import words
from lmx.changes import Change
from lmx.commands.base import Actions, Command
from lmx.sanitize import one_line
from lmx_core.errors import LmxError


class Init(Command):
    name = "init"
    summary = "have the agent draft AGENTS.md, the instructions for work in this directory"
    when = "idle"

    async def perform(self, act: Actions, argument: str) -> None:
        act.prompt(words.INIT_PROMPT)


class Refresh(Command):
    name = "refresh"
    summary = "read the attached files again and give the model those that have changed"
    when = "idle"

    async def perform(self, act: Actions, argument: str) -> None:
        changed = await act.refresh()
        act.say(words.refreshed(changed))


class Verify(Command):
    name = "verify"
    summary = "show the check after edits and what came of it, or switch it on or off for this session"
    hint = "[on | off]"

    def check(self, argument: str) -> str | None:
        return None if argument in ("", "on", "off") else words.VERIFY_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        verify, session = act.host.verify, act.session
        if verify is None:
            raise LmxError(words.VERIFY_NONE)
        if argument:
            await verify.switch(session, argument == "on")
        status, last = await verify.status(session), ""
        if status.last is not None:
            one = status.last
            command, reason = one_line(one.command, "evidence"), one_line(one.reason)
            last = words.verify_last(command, one.status, one.duration_ms / 1_000, status.current, reason)
        act.say(words.verify_told(status.enabled, one_line(status.command or "", "evidence"), last))


class Diff(Command):
    name = "diff"
    summary = "what has changed in the work tree since the last commit; text: as a row"
    hint = "[text]"
    when = "always"

    def check(self, argument: str) -> str | None:
        return None if argument in ("", "text") else words.DIFF_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        if not argument:
            await act.diff()
            return
        changes = await act.changes()
        rows = [_row(change) for change in changes.files] or [words.DIFF_NOTHING]
        act.say("\n".join([*rows, *([words.diff_more(changes.more)] if changes.more else [])]))


def _row(change: Change) -> str:
    before = f" ← {one_line(change.before, 'evidence')}" if change.before else ""
    return f"{words.DIFF_WHERE[change.where]:<10}  {change.how} {one_line(change.path, 'evidence')}{before}"
