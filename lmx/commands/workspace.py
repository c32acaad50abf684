"""Commands about the files around a conversation: /init, /refresh, /diff (tui.md 4)."""

from __future__ import annotations

from lmx import words
from lmx.changes import Change
from lmx.commands.base import Actions, Command
from lmx.sanitize import one_line


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
