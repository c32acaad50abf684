"""Which session a command line means: a new one, the newest of the directory (`-c`), or a named one (`--resume`)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from lmx import argv, sessions
from lmx.assembly import SessionFactory
from lmx.cli import failures
from lmx.config import model as models
from lmx_core import Session
from lmx_core.errors import LmxError


async def open_session(line: argv.Line, factory: SessionFactory, *, model: str | None = None) -> Session:
    """The session the line asks for, on `model` where one is given.

    Raises CommandError or LmxError; then nothing is open and nothing was written. A named model is looked at before the
    session is looked for, and its key before anything is claimed (C1-40, cli.md 8.4).
    """
    if model is None and (named := line.get("model")) is not None:
        model = models.spec(named, "--model")
    if model is not None:
        factory.check(model)
    directory = factory.settings.sessions_dir
    if (ref := line.get("resume")) is not None:
        return await take_up(factory, await sessions.resolve(directory, ref), model=model)
    if line.has("continue"):
        newest = await sessions.newest(directory, factory.cwd)
        if newest is not None:
            return await take_up(factory, newest.id, model=model)
        factory.notices.append(f"no earlier session ran in {factory.cwd}; this is a new one")
    model = model or (await factory.choose()).model
    factory.check(model)
    return await factory.new(model)


def recorded(line: argv.Line, factory: SessionFactory) -> dict[str, Any]:
    """What the transcript of the session that `--resume` names says of it. Raises CommandError where there is none."""
    directory = factory.settings.sessions_dir
    try:
        found = asyncio.run(sessions.resolve(directory, line.get("resume") or ""))
        return asyncio.run(factory.recorded(found))
    except LmxError as error:
        raise failures.command_error(error, directory) from error


async def take_up(factory: SessionFactory, session_id: str, *, model: str | None = None) -> Session:
    """A stored session, in the directory of today (C9-6)."""
    recorded = await factory.recorded(session_id)
    if moved := _moved(recorded.get("cwd"), factory.cwd):
        factory.notices.append(moved)
    return await factory.resume(session_id, recorded, model)


def _moved(before: object, now: Path) -> str | None:
    """What to say where a session goes on in another directory than it ran in."""
    if not isinstance(before, str) or os.path.realpath(before) == os.path.realpath(now):
        return None
    return f"this session ran in {before} before; it goes on in {now}"
