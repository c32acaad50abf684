"""A draft in the person's own editor (CMP-36).

The file is private and goes away again whatever happens, for a draft may hold what nobody else is to read. Every way in which
an editor can fail leaves the draft as it was.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmx import words
from lmx.conversation.draft import PASTE_LIMIT_BYTES
from lmx.sanitize import one_line, pasted
from lmx_core.errors import LmxError

Lend = Callable[[Sequence[str]], Coroutine[Any, Any, int]]
"""Gives the terminal to a program and returns its status."""


def command(environ: Mapping[str, str]) -> list[str]:
    """`$VISUAL`, else `$EDITOR`, else `vi`, split as a shell does. Raises LmxError for what cannot be split or is not there."""
    named = environ.get("VISUAL", "").strip() or environ.get("EDITOR", "").strip() or "vi"
    try:
        argv = shlex.split(named)
    except ValueError as error:
        raise LmxError(words.EDITOR_UNREADABLE.format(editor=one_line(named))) from error
    if not argv or shutil.which(argv[0], path=environ.get("PATH")) is None:
        raise LmxError(words.EDITOR_MISSING.format(editor=one_line(named)))
    return argv


async def edit(text: str, lend: Lend, environ: Mapping[str, str]) -> str:
    """The text as the editor left it, without the newline that editors put at the end. Raises LmxError."""
    argv = command(environ)
    directory = Path(tempfile.mkdtemp(prefix="lmx-"))  # 0700
    try:
        path = directory / "draft.md"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        status = await lend([*argv, str(path)])
        if status != 0:
            raise LmxError(words.EDITOR_FAILED.format(editor=one_line(argv[0]), status=status))
        return _read(path, text)
    except OSError as error:
        raise LmxError(words.EDITOR_BROKE.format(reason=error.strerror or error)) from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _read(path: Path, before: str) -> str:
    data = path.read_bytes()
    if len(data) > PASTE_LIMIT_BYTES:
        raise LmxError(words.EDITOR_TOO_LARGE)
    try:
        written = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LmxError(words.EDITOR_NO_TEXT) from error
    clean, _ = pasted(written)
    return clean if clean == before else clean.removesuffix("\n")
