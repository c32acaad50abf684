"""Errors of the engine as sentences with a status (cli.md 10.2): what happened, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from lmx import exit_status
from lmx.exit_status import CommandError
from lmx_core import errors


def command_error(error: errors.LmxError, sessions_dir: Path) -> CommandError:
    """The sentence and status for an error that ended a command."""
    if isinstance(error, errors.TranscriptNotFound):
        return exit_status.usage(
            f"there is no session {exit_status.shown(error.id)} in {sessions_dir}; `lmx sessions --all` lists them"
        )
    if isinstance(error, errors.AmbiguousSession | errors.UnknownEntry):
        return exit_status.usage(str(error))
    if isinstance(error, errors.SessionLocked):
        return CommandError(f"{error}; close it there, or fork the session with `lmx fork` and go on with the copy")
    if isinstance(error, errors.StoreError):
        return CommandError(str(error))
    if isinstance(error, errors.InvalidModel | errors.ConfigError):
        return exit_status.usage(str(error))
    return CommandError(str(error))
