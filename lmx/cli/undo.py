"""`lmx undo` and `lmx redo`: put files back as they were before a turn of a session, and do it again (cli.md 9.9).

Nothing is put back before it has been shown, unless `--yes` says so: on a terminal a person is asked, elsewhere one of
`--preview` and `--yes` must be given. A script that forgot both would otherwise either do nothing and believe it was done, or
overwrite files that nobody has looked at.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TextIO

import msgspec

from lmx import argv, exit_status, sessions
from lmx.cli import failures
from lmx.config import layers
from lmx.exit_status import CommandError, usage
from lmx.output.result import encode
from lmx.receipts import undo as told
from lmx.sanitize import for_terminal
from lmx_core import LmxError
from lmx_core.checkpoints import Report, Undo
from lmx_core.names import name_of
from lmx_core.providers.catalog import names


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    cwd = layers.working_directory(line.values, environ)
    settings = layers.load(line.values, environ, names(), create=False)
    if settings.state is None:
        raise CommandError(
            "nothing is recorded with --config none, so there is nothing to undo; LMX_HOME names a place"
        )
    try:
        session = _session(line, settings.sessions_dir, cwd)
        undo = Undo(settings.state / "checkpoints", session, avoid=(settings.state, settings.sessions_dir))
        if line.has("list"):
            return _list(line, undo)
        return _put_back(line, undo, session)
    except LmxError as error:
        raise failures.command_error(error, settings.sessions_dir) from error


def _session(line: argv.Line, directory: Path, cwd: Path) -> str:
    if line.words:
        return asyncio.run(sessions.resolve(directory, line.words[0]))
    newest = asyncio.run(sessions.newest(directory, cwd))
    if newest is None:
        raise CommandError(f"no session ran in {cwd}; `lmx sessions --all` lists those of other directories")
    return newest.id


def _list(line: argv.Line, undo: Undo) -> int:
    turns = undo.turns()
    if line.has("json"):
        _print([encode(msgspec.to_builtins(turns))])
    else:
        _print(told.listed(turns) or ["this session has changed nothing"])
    return exit_status.OK


def _put_back(line: argv.Line, undo: Undo, session: str) -> int:
    work = _work(line, undo)
    asks = not (line.has("preview") or line.has("yes"))
    if asks and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise usage(f"give --preview to see what `lmx {line.command}` would do, or --yes to have it done")
    report = work(preview=not line.has("yes"))
    if asks:
        _print([f"session {name_of(session)}, {report.root}", *told.lines(report)])
        if report.nothing or not _agreed(sys.stdin, sys.stdout):
            return exit_status.OK if report.whole else exit_status.OTHER
        report = work(preview=False)
    _print([encode(msgspec.to_builtins(report))] if line.has("json") else told.lines(report))
    return exit_status.OK if report.whole else exit_status.OTHER


def _work(line: argv.Line, undo: Undo) -> Callable[..., Report]:
    force = line.has("force")
    if line.command == "redo":
        return partial(undo.redo, force=force)
    turns = _turns(line.get("turns"))
    return partial(undo.undo, force=force) if turns is None else partial(undo.rewind, turns, force=force)


def _turns(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 7 and int(text) >= 1):
        raise usage("--turns takes a whole number, at least 1")
    return int(text)


def _agreed(source: TextIO, out: TextIO) -> bool:
    """Only an express yes is one; the end of input is no."""
    out.write("do this? [y/N] ")
    out.flush()
    return source.readline().strip().lower() in ("y", "yes")


def _print(lines: list[str]) -> None:
    show = for_terminal if sys.stdout.isatty() else str
    sys.stdout.write("".join(f"{show(line)}\n" for line in lines))
