"""A link that was clicked: judged first, then opened by whatever opens such things here (SAF-5).

The address comes from a model or a page. So it is opened only where opening cannot run it: web addresses without credentials in
them, local text in the person's editor, and of any other file no more than the folder that it lies in.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from lmx import words
from lmx_core import run_in_thread
from lmx_core.errors import LmxError

RUN = frozenset(
    ".app .apk .appimage .bash .bat .cmd .com .command .cpl .desktop .dll .dmg .exe .fish .hta .inf .jar .jnlp .jse .ksh "
    ".lnk .msc .msi .msp .pif .pkg .ps1 .psm1 .reg .run .scf .scpt .scr .sh .terminal .tool .url .vb .vbe .vbs "
    ".webloc .workflow .wsf .wsh .xpi .zsh".split()
)
"""Ends of names of what a click might start, whatever their permissions say."""

_PLAIN = re.compile(r"[\x21-\x7e]+")
_PROBE_BYTES = 8_192


class Target(NamedTuple):
    """`how`: `web`, `text` (a file to be edited) or `folder`."""

    how: str
    what: str


def judged(address: str) -> Target:
    """What may be opened of it. Raises LmxError with the sentence why nothing may."""
    if not _PLAIN.fullmatch(address):
        raise LmxError(words.LINK_ODD)
    try:
        parts = urlsplit(address)
        login = parts.username is not None or parts.password is not None or "@" in parts.netloc
    except ValueError as error:
        raise LmxError(words.LINK_ODD) from error
    if login:
        raise LmxError(words.LINK_CREDENTIALS)
    if parts.scheme in ("http", "https") and parts.hostname:
        return Target("web", address)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return _file(Path(unquote(parts.path)))
    raise LmxError(words.LINK_SCHEME)


def _file(path: Path) -> Target:
    try:
        real = path.resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise LmxError(words.LINK_GONE) from error
    if any(part.suffix.casefold() in RUN for name in (path, real) for part in (name, *name.parents)):
        raise LmxError(words.LINK_RUNS)
    if real.is_dir():
        return Target("folder", str(real))
    if not real.is_file():
        raise LmxError(words.LINK_GONE)
    try:
        with real.open("rb") as file:
            head = file.read(_PROBE_BYTES)
    except OSError as error:
        raise LmxError(words.LINK_GONE) from error
    if head.startswith(b"#!") or os.access(real, os.X_OK):
        raise LmxError(words.LINK_RUNS)
    return Target("text", str(real)) if _is_text(head) else Target("folder", str(real.parent))


def _is_text(head: bytes) -> bool:
    if b"\0" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4 and len(head) == _PROBE_BYTES  # a character cut in two
    return True


def program(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """What opens addresses and folders here. Raises LmxError where nothing does."""
    desktop = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    names = ["open"] if platform == "darwin" else ["wslview", *(["xdg-open"] if desktop else [])]
    for name in names:
        if (found := shutil.which(name, path=environ.get("PATH"))) is not None:
            return found
    raise LmxError(words.LINK_NO_PROGRAM)


async def opened(target: Target, environ: Mapping[str, str]) -> None:
    """Hands an address or a folder to the desktop. Raises LmxError."""
    name = await run_in_thread(program, environ)
    nowhere = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            name, target.what, stdin=nowhere, stdout=nowhere, stderr=nowhere, env=environ, start_new_session=True
        )
        status = await process.wait()
    except OSError as error:
        raise LmxError(words.LINK_NO_PROGRAM) from error
    if status != 0:
        raise LmxError(words.LINK_FAILED.format(program=Path(name).name, status=status))
