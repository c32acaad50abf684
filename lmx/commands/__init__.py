"""The slash commands, one class each, in the order in which /help lists them (tui.md 4)."""

from __future__ import annotations

from lmx.commands.answers import Approve, Cancel, CancelQuestion, Decline, Deny, Unsteer
from lmx.commands.base import Actions, Command
from lmx.commands.help import Help
from lmx.commands.permissions import Permissions
from lmx.commands.session import Clear, Compact, Model, New, Quit, Resume, Retry
from lmx.commands.shell import Shell
from lmx.commands.undo import Redo, Rewind, Undo

__all__ = ["COMMANDS", "Actions", "Command"]

COMMANDS: tuple[Command, ...] = (
    Help(lambda: COMMANDS),
    Model(),
    New(),
    Resume(),
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
    Shell(),
    Quit(),
)
