"""/help: the commands in the order of the table, and the keys, as they are."""

from __future__ import annotations

from collections.abc import Sequence

from lmx import words
from lmx.commands.base import Actions, Command
from lmx.sanitize import one_line
from lmx_core.errors import LmxError


class Help(Command):
    name = "help"
    aliases = ("?",)
    summary = "the commands and keys, or one command"
    hint = "[COMMAND]"
    when = "always"
    offers = "commands"

    async def perform(self, act: Actions, argument: str) -> None:
        name, there = argument.removeprefix("/"), act.commands()
        chosen = [c for c in there if not name or name == c.name or name in c.aliases]
        if not chosen:
            raise LmxError(words.UNKNOWN_COMMAND.format(name=one_line(name)))
        lines = _columns([(words.spaced(f"/{c.name}", c.hint), _told(c)) for c in chosen])
        if not name:
            lines += ["", *_columns(act.keys()), "", words.HELP_MORE]
        act.say("\n".join(lines))


def _told(command: Command) -> str:
    also = ", ".join(f"/{alias}" for alias in command.aliases)
    return words.joined((command.summary, words.ALSO.format(names=also) if also else ""))


def _columns(pairs: Sequence[tuple[str, str]]) -> list[str]:
    wide = max((len(left) for left, _ in pairs), default=0)
    return [f"{left:<{wide}}  {right}" for left, right in pairs]
