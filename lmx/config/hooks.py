"""The command hooks of one start: the file a flag names, then those of the configuration (cli.md 9.12).

A file that cannot be read stops the start: a guard that somebody wrote down must not be missing in silence. What a repository
brings is never among them, only named (C3-48).
"""

from __future__ import annotations

from pathlib import Path

from lmx.config.layers import Settings, path_of
from lmx.exit_status import CommandError
from lmx_core.errors import ConfigError
from lmx_core.extensions import CommandHooks

NAME = "hooks"


def wanted(settings: Settings, *, cwd: Path, home: Path) -> CommandHooks:
    """The hooks, and the notices about what of them is not used. Raises CommandError (status 2) naming file and place."""
    off = NAME in settings.get("disabled_extensions", [])
    named = settings.get("hooks_file")
    if named is not None and off:
        raise CommandError("--hooks asks for what disabled_extensions leaves out; take hooks off that list", "usage")
    if named is not None and not named.strip():
        raise CommandError("--hooks needs the path of a file", "usage")
    files = [] if named is None else [path_of(named, {"HOME": str(home)})]
    table = settings.get("hooks")
    documents = {} if table is None or off else {f"{settings.config}: hooks": table}
    try:
        return CommandHooks(files, documents, cwd=cwd, home=home)
    except ConfigError as error:
        raise CommandError(str(error), "usage") from error
