"""/shell: the person's own command, as `!` runs it (CMP-37)."""

from __future__ import annotations

from lmx import words
from lmx.commands.base import Actions, Command


class Shell(Command):
    name = "shell"
    summary = "run a command yourself, as !COMMAND does; the model reads it with your next message"
    hint = "COMMAND"
    when = "idle"

    def check(self, argument: str) -> str | None:
        return None if argument else words.SHELL_NOTHING

    async def perform(self, act: Actions, argument: str) -> None:
        await act.shell(argument)
