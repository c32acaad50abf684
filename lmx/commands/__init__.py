"""The slash commands, one class each, in the order in which /help lists them (tui.md 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmx.commands.answers import Approve, Cancel, CancelQuestion, Decline, Deny, Unsteer
from lmx.commands.base import Actions, Command
from lmx.commands.configured import Effort, Provider, Tools
from lmx.commands.doctor import Doctor
from lmx.commands.help import Help
from lmx.commands.looks import Color, Find, Mouse, Name, Notices, Theme, WaitingLine
from lmx.commands.permissions import Permissions
from lmx.commands.session import Clear, Compact, Context, Fork, Model, New, Quit, Resume, Retry
from lmx.commands.shell import Shell
from lmx.commands.taking import Copy, Export, Transcript
from lmx.commands.undo import Redo, Rewind, Undo
from lmx.commands.workspace import Diff, Init, Refresh, Verify
from lmx_core.errors import ConfigError

__all__ = ["COMMANDS", "Actions", "Command", "with_own"]

COMMANDS: tuple[Command, ...] = (
    Help(),
    Model(),
    Provider(),
    Effort(),
    New(),
    Resume(),
    Fork(),
    Retry(),
    Compact(),
    Context(),
    Clear(),
    Undo(),
    Rewind(),
    Redo(),
    Cancel(),
    Unsteer(),
    Approve(),
    Deny(),
    Decline(),
    CancelQuestion(),
    Permissions(),
    Tools(),
    Verify(),
    Diff(),
    Copy(),
    Export(),
    Transcript(),
    Find(),
    Init(),
    Refresh(),
    WaitingLine(),
    Mouse(),
    Notices(),
    Theme(),
    Name(),
    Color(),
    Doctor(),
    Shell(),
    Quit(),
)


def with_own(own: Sequence[Command]) -> tuple[Command, ...]:
    """The commands of a host ahead of ours; one of the same name takes the place of ours (tui.md 12).

    Raises ConfigError for one that nobody could type.
    """
    for command in own:
        for name in (command.name, *command.aliases):
            if not re.fullmatch(r"[a-z0-9][a-z0-9_:-]{0,63}", name):
                raise ConfigError(f"a command is named in lower-case letters, digits, -, _ and :, not {name!r}")
    taken = {command.name for command in own}
    return (*own, *(command for command in COMMANDS if command.name not in taken))
