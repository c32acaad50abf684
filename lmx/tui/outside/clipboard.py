"""Text onto the clipboard, by whichever way works here, and the way is named (SEL-3).

A terminal does not say whether it took an OSC 52, so a tool of the desktop comes first where there is a desktop; over ssh it
would fill the clipboard of the wrong machine. What neither takes goes into a file, so that a copy never comes to nothing.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from lmx_core.clock import SystemClock, deadline

TOOL_MS = 1_000
OSC_52_BYTES = 74_000
"""Of one sequence: xterm and those that follow it take no more."""

SCREEN_PIECE = 240
"""Bytes of a sequence that GNU screen passes on at once."""

OSC_52 = "OSC 52"
FILE = "last-copy.txt"


def tools(environ: Mapping[str, str], platform: str = sys.platform) -> list[list[str]]:
    """The commands that may fill the clipboard of this desktop, best first; none over ssh."""
    if any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY")):
        return []
    known: list[list[str]] = []
    if platform == "darwin":
        known.append(["pbcopy"])
    if environ.get("WAYLAND_DISPLAY"):
        known.append(["wl-copy"])
    if environ.get("DISPLAY"):
        known += [["xclip", "-selection", "clipboard", "-in"], ["xsel", "--clipboard", "--input"]]
    if environ.get("WSL_DISTRO_NAME"):
        known.append(["clip.exe"])
    return [argv for argv in known if shutil.which(argv[0], path=environ.get("PATH"))]


async def by_tool(text: str, environ: Mapping[str, str]) -> str | None:
    """Gives it to the first tool that takes it within a second; its name, or None."""
    for argv in tools(environ):
        data = text.encode("utf-16" if argv[0] == "clip.exe" else "utf-8", "replace")
        if await _fed(argv, data, environ):
            return argv[0]
    return None


async def _fed(argv: list[str], data: bytes, environ: Mapping[str, str]) -> bool:
    process = None
    try:
        async with deadline(SystemClock(), TOOL_MS):
            nowhere = asyncio.subprocess.DEVNULL
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=nowhere,
                stderr=nowhere,
                env=environ,
                start_new_session=True,
            )
            await process.communicate(data)
            return process.returncode == 0
    except (OSError, TimeoutError):
        return False
    finally:
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def sequence(text: str, environ: Mapping[str, str]) -> str | None:
    """What asks the terminal for it, wrapped for the multiplexer in between; None where it is too long for that."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode()
    plain = f"\x1b]52;c;{encoded}\x07"
    if len(plain) > OSC_52_BYTES:
        return None
    if environ.get("TMUX"):
        # One or the other is heard: `set-clipboard on` takes the first, `allow-passthrough on` hands the second on.
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environ.get("STY"):
        pieces = (plain[start : start + SCREEN_PIECE] for start in range(0, len(plain), SCREEN_PIECE))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain


def keep(text: str, directory: Path) -> Path:
    """Writes it to a private file, the one of before replaced. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / FILE
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    return path
