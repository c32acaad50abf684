"""The slash commands, one class each, in the order in which /help lists them (tui.md 4)."""

from __future__ import annotations

from lmx.commands.answers import Approve, Cancel, CancelQuestion, Decline, Deny, Unsteer
from lmx.commands.base import Actions, Command
from lmx.commands.configured import Effort, Provider, Tools
from lmx.commands.doctor import Doctor
from lmx.commands.help import Help
from lmx.commands.looks import Name, WaitingLine
from lmx.commands.permissions import Permissions
from lmx.commands.session import Clear, Compact, Fork, Model, New, Quit, Resume, Retry
from lmx.commands.taking import Copy, Export, Transcript
from lmx.commands.shell import Shell
from lmx.commands.undo import Redo, Rewind, Undo
from lmx.commands.workspace import Diff, Init, Refresh

__all__ = ["COMMANDS", "Actions", "Command"]

COMMANDS: tuple[Command, ...] = (
    Help(lambda: COMMANDS),
    Model(),
    Provider(),
    Effort(),
    New(),
    Resume(),
    Fork(),
    Retry(),
    Compact(),
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
    Diff(),
    Copy(),
    Export(),
    Transcript(),
    Init(),
    Refresh(),
    WaitingLine(),
    Name(),
    Doctor(),
    Shell(),
    Quit(),
)
