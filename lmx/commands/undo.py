"""/undo, /rewind and /redo: put files back as they were before a turn, and do it again (tui.md 4, cli.md 9.9).

The bare command shows what would happen and does nothing; `yes` behind it has it done. Nothing that somebody else has changed
since is overwritten without `--force`.
"""

from __future__ import annotations

from typing import Literal

from lmx.commands.base import Actions, Command

Action = Literal["undo", "redo", "rewind"]


class _PutsBack(Command):
    when = "idle"
    action: Action = "undo"
    counts = False

    def check(self, argument: str) -> str | None:
        words = argument.split()
        if self.counts:
            number = words.pop(0) if words else ""
            if not (number.isascii() and number.isdigit() and 1 <= len(number) < 7 and int(number) >= 1):
                return f"/{self.name} needs the number of turns to take back, such as /{self.name} 2"
        wrong = next((word for word in words if word not in ("yes", "--force")), None)
        return None if wrong is None else f"/{self.name} takes {self.hint}"

    async def perform(self, act: Actions, argument: str) -> None:
        words = argument.split()
        turns = int(words[0]) if self.counts else 1
        await act.put_back(self.action, turns, sure="yes" in words, force="--force" in words)


class Undo(_PutsBack):
    name = "undo"
    summary = "show which files the last turn changed; with yes, put them back as they were"
    hint = "[yes] [--force]"


class Rewind(_PutsBack):
    name = "rewind"
    summary = "show or put back the files of the last N turns; the conversation stays"
    hint = "N [yes] [--force]"
    action, counts = "rewind", True


class Redo(_PutsBack):
    name = "redo"
    summary = "do again what the last undo took back"
    hint = "[yes] [--force]"
    action = "redo"
