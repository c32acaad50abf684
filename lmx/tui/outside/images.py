"""Pictures from the clipboard, or dropped on the terminal, as files that a message can name (CMP-35).

A model is sent files of the project only, so what comes from elsewhere is copied into a folder of its own there, which git does
not see. Nothing of it is trusted to be a picture: the first bytes say what it is.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from lmx import words
from lmx_core.clock import SystemClock, deadline
from lmx_core.errors import LmxError

MOST_BYTES = 3_500_000
"""As much as a message may carry."""

TOOL_MS = 3_000
FOLDER = Path(".lmx") / "pastes"
_KINDS = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif"}
_POWERSHELL = (
    "$i=Get-Clipboard -Format Image; if($i){$m=New-Object IO.MemoryStream; "
    "$i.Save($m,[Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray())}"
)


def kind_of(data: bytes) -> str | None:
    """The end of the name of such a picture, None for what is none that a model reads."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    return next((end for magic, end in _KINDS.items() if data.startswith(magic)), None)


# --- the clipboard --------------------------------------------------------------------------------------------------------


def commands(environ: Mapping[str, str], platform: str = sys.platform) -> list[tuple[list[str], list[str]]]:
    """What reads the clipboard of this desktop: for each way the command for a PNG and the one for text; none over ssh."""
    if any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY")):
        return []
    known: list[tuple[list[str], list[str]]] = []
    if platform == "darwin":
        known.append((["osascript", "-e", "the clipboard as «class PNGf»"], ["pbpaste"]))
    if environ.get("WAYLAND_DISPLAY"):
        known.append((["wl-paste", "--type", "image/png"], ["wl-paste", "--no-newline"]))
    if environ.get("DISPLAY"):
        start = ["xclip", "-selection", "clipboard", "-out"]
        known.append(([*start, "-target", "image/png"], start))
    if environ.get("WSL_DISTRO_NAME"):
        start = ["powershell.exe", "-NoProfile", "-Command"]
        known.append(([*start, _POWERSHELL], [*start, "Get-Clipboard"]))
    return known


async def read_image(environ: Mapping[str, str]) -> bytes | None:
    """The picture on the clipboard as PNG, None where there is none. Raises LmxError for one that is too large."""
    for picture, _ in commands(environ):
        data = _decoded(picture[0], await _said(picture, environ))
        if kind_of(data) == ".png":
            if len(data) > MOST_BYTES:
                raise LmxError(words.IMAGE_TOO_LARGE)
            return data
    return None


async def read_text(environ: Mapping[str, str]) -> str:
    """The text on the clipboard, empty where there is none."""
    for _, text in commands(environ):
        if said := await _said(text, environ):
            return said.decode("utf-8", "replace")
    return ""


def _decoded(tool: str, said: bytes) -> bytes:
    try:
        if tool == "osascript":
            found = re.search(rb"PNGf([0-9A-F]+)", said)
            return bytes.fromhex(found[1].decode()) if found else b""
        return base64.b64decode(said) if tool == "powershell.exe" else said
    except (ValueError, binascii.Error):
        return b""


async def _said(argv: list[str], environ: Mapping[str, str]) -> bytes:
    """What a tool writes, nothing where it is not there, fails, or takes too long."""
    process = None
    nowhere = asyncio.subprocess.DEVNULL
    try:
        async with deadline(SystemClock(), TOOL_MS):
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=nowhere,
                stdout=asyncio.subprocess.PIPE,
                stderr=nowhere,
                env=environ,
                start_new_session=True,
            )
            assert process.stdout is not None
            data = bytearray()
            while (piece := await process.stdout.read(65_536)) and len(data) <= 4 * MOST_BYTES:
                data += piece
            return bytes(data)
    except (OSError, TimeoutError):
        return b""
    finally:
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


# --- files ----------------------------------------------------------------------------------------------------------------


def keep(data: bytes, cwd: Path) -> str:
    """Writes a picture below the project and returns the reference to it. Raises LmxError."""
    end = kind_of(data)
    if end is None:
        raise LmxError(words.IMAGE_NONE)
    if len(data) > MOST_BYTES:
        raise LmxError(words.IMAGE_TOO_LARGE)
    name = f"paste-{hashlib.sha256(data).hexdigest()[:12]}{end}"
    try:
        folder = cwd / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        if folder.resolve() != cwd.resolve() / FOLDER:
            raise LmxError(words.IMAGE_ELSEWHERE.format(folder=FOLDER))
        for path, content in ((folder / ".gitignore", b"*\n"), (folder / name, data)):
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
    except OSError as error:
        raise LmxError(words.IMAGE_NOT_KEPT.format(reason=error.strerror or error)) from error
    return f"@{FOLDER / name}"


def dropped(text: str, cwd: Path) -> str | None:
    """The reference to a picture that was dragged in: where it lies, or to a copy. None for what is none after all."""
    line = text.strip()
    try:
        named = unquote(line.removeprefix("file://")) if line.startswith("file://") else " ".join(shlex.split(line))
        path = Path(named).expanduser().resolve(strict=True)
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        data = path.read_bytes()
    except (OSError, ValueError, RuntimeError):
        return None
    if kind_of(data) is None:
        return None
    if path.is_relative_to(cwd.resolve()):
        inside = str(path.relative_to(cwd.resolve()))
        return f"@{inside}" if re.fullmatch(r"[A-Za-z0-9._/~+-]+", inside) else f'@"{inside}"'
    return keep(data, cwd)
