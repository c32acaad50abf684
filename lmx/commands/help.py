"""/help: the commands in the order of the table, and the keys, as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lmx import words
from lmx.commands.base import Actions, Command


class Help(Command):
    name = "help"
    aliases = ("?",)
    summary = "the commands and keys, or one command"
    hint = "[COMMAND]"
    when = "always"
    offers = "commands"

    def __init__(self, commands: Callable[[], Sequence[Command]]):
        self._commands = commands

    def check(self, argument: str) -> str | None:
        name = argument.removeprefix("/")
        if not name or any(name == c.name or name in c.aliases for c in self._commands()):
            return None
        return words.UNKNOWN_COMMAND.format(name=name)

    async def perform(self, act: Actions, argument: str) -> None:
        name = argument.removeprefix("/")
        chosen = [c for c in self._commands() if not name or name == c.name or name in c.aliases]
        lines = _columns([(words.spaced(f"/{c.name}", c.hint), _told(c)) for c in chosen])
        if not name:
            lines += ["", *_columns(act.keys())]
        act.say("\n".join(lines))


def _told(command: Command) -> str:
    also = ", ".join(f"/{alias}" for alias in command.aliases)
    return words.joined((command.summary, words.ALSO.format(names=also) if also else ""))


def _columns(pairs: Sequence[tuple[str, str]]) -> list[str]:
    wide = max((len(left) for left, _ in pairs), default=0)
    return [f"{left:<{wide}}  {right}" for left, right in pairs]
