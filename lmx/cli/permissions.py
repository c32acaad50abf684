"""`lmx permissions list` and `lmx permissions explain COMMAND`: which rules hold here, and how a command would be judged.

Nothing is run and no model is asked. The rules are those a session in this directory would start with.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from lmx import argv, exit_status, words
from lmx.config import layers
from lmx.config.layers import Settings
from lmx.exit_status import usage
from lmx.output import lines
from lmx.sanitize import for_terminal
from lmx_core.permissions import Handle, Remembered, explain, listing, told
from lmx_core.providers.catalog import names

WAYS = "`lmx permissions list`, or `lmx permissions explain 'COMMAND'` with the command in quotes"


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    """Prints to stdout. Raises CommandError (status 2) for other words, and for a configuration that cannot be read."""
    asked, *rest = line.words or ("list",)
    if asked not in ("list", "explain") or len(rest) != (asked == "explain"):
        raise usage(f"`lmx permissions` is {WAYS}")
    cwd = layers.working_directory(line.values, environ)
    settings = layers.load(line.values, environ, names(), create=False)
    remembered = Remembered(settings.state, cwd)
    rules = settings.rules.more(remembered.rules())
    for notice in (*settings.notices, *remembered.notices):
        lines.say(notice)
    handle = handle_of(settings)
    where = words.MODE_IN_FORCE.format(mode=handle.mode, source=handle.source)
    if asked == "list":
        shown = [where, *(f"  {row}" for row in listing(rules) or [words.NO_RULES])]
    else:
        shown = told(explain(rest[0], rules, cwd=cwd, mode=handle.mode, source=handle.source))
    tty = sys.stdout.isatty()
    for row in shown:
        sys.stdout.write((for_terminal(row) if tty else row) + "\n")
    return exit_status.OK


def handle_of(settings: Settings) -> Handle:
    """The permission mode of a start, and who chose it."""
    return Handle(settings.get("permissions.mode", "ask"), source=settings.sources.get("permissions.mode", "default"))
