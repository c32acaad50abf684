"""`lmx log`, `request`, `fork`, `sessions` and `search`: what they have in common with the other commands (cli.md C1-79).

They need the directory of the transcripts and nothing else, so the configuration is read only where the command line and
the environment do not name that directory already, and it is never created.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from lmx import argv
from lmx.cli import failures
from lmx.config import layers
from lmx.config.layers import NONE
from lmx.exit_status import usage
from lmx.output import lines
from lmx_core import LmxError
from lmx_core.providers.catalog import names


def main(line: argv.Line, environ: Mapping[str, str]) -> int:
    cwd = layers.working_directory(line.values, environ) if _is_about_a_directory(line) else None
    if line.command == "search":
        return _search(line, environ, cwd)
    directory = _sessions_dir(line, environ)
    try:
        return _COMMANDS[line.command](line, directory, cwd)
    except LmxError as error:
        raise failures.command_error(error, directory) from error


def _is_about_a_directory(line: argv.Line) -> bool:
    """Whatever asks for a session by its name works from a directory that is gone too; a `-C` is looked at even so."""
    here = line.has("here") or (line.command == "sessions" and not line.has("all"))
    return here or line.has("cwd")


def _sessions_dir(line: argv.Line, environ: Mapping[str, str]) -> Path:
    named = line.has("sessions_dir") or layers.filled(environ, "LMX_SESSIONS_DIR") is not None
    flags = line.values | ({"config": NONE} if named else {})
    return layers.load(flags, environ, names(), create=False).sessions_dir


def _log(line: argv.Line, directory: Path, cwd: Path | None) -> int:
    from lmx.cli.stored.log import log

    return log(line.words[0], sessions_dir=directory, jsonl=line.has("jsonl"), out=sys.stdout, tty=sys.stdout.isatty())


def _request(line: argv.Line, directory: Path, cwd: Path | None) -> int:
    from lmx.cli.stored.request import compare, request

    session, request_id = line.words[0], line.words[1] if len(line.words) > 1 else None
    if line.has("diff") or request_id is None:
        return compare(session, request_id, sessions_dir=directory, out=sys.stdout)
    return request(session, request_id, sessions_dir=directory, out=sys.stdout, tty=sys.stdout.isatty())


def _fork(line: argv.Line, directory: Path, cwd: Path | None) -> int:
    from lmx.cli.stored.fork import fork

    return fork(
        line.words[0],
        sessions_dir=directory,
        out=sys.stdout,
        at_turn=_number(line, "at_turn", least=1),
        at=line.get("at"),
        at_seq=_number(line, "at_seq", least=0),
        unsafe=line.has("unsafe"),
    )


def _sessions(line: argv.Line, directory: Path, cwd: Path | None) -> int:
    from lmx.cli.stored.sessions import sessions

    return sessions(
        sessions_dir=directory,
        cwd=None if line.has("all") else cwd,
        as_json=line.has("json"),
        out=sys.stdout,
        tty=sys.stdout.isatty(),
        say=lines.say,
    )


def _search(line: argv.Line, environ: Mapping[str, str], cwd: Path | None) -> int:
    """It also wants to know where its index is, which only the settings say."""
    from lmx.cli.stored.search import search

    limit = _number(line, "limit", least=1)
    settings = layers.load(line.values, environ, names(), create=False)
    try:
        return search(
            line.words,
            sessions_dir=settings.sessions_dir,
            state=settings.state,
            cwd=cwd if line.has("here") else None,
            limit=20 if limit is None else limit,
            as_json=line.has("json"),
            out=sys.stdout,
            say=lines.say,
        )
    except LmxError as error:
        raise failures.command_error(error, settings.sessions_dir) from error


_COMMANDS = {"log": _log, "request": _request, "fork": _fork, "sessions": _sessions}


def _number(line: argv.Line, key: str, *, least: int) -> int | None:
    text = line.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) >= least):
        raise usage(f"--{key.replace('_', '-')} takes a whole number, at least {least}")
    return int(text)
