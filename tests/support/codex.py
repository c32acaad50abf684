"""Codex's released program as an oracle of the patch format: called as `apply_patch`, it applies a patch in a directory.

    npm install --prefix /tmp/codex @openai/codex
    LMX_CODEX=/tmp/codex .venv/bin/python -m pytest -m codex

It needs no account and no network. `LMX_CODEX` is the program itself or a directory that it lies in.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HOW = "set LMX_CODEX to codex or a directory with it: npm install --prefix /tmp/codex @openai/codex"
SMALLEST = 1_000_000
"""Bytes. What npm links as `codex` is a script that starts the program."""


def program() -> Path:
    """The program. Raises LookupError, for a comparison with nothing proves nothing."""
    named = os.environ.get("LMX_CODEX")
    if not named:
        raise LookupError(f"there is no Codex to compare with: {HOW}")
    place = Path(named)
    found = [place] if place.is_file() else sorted(place.rglob("bin/codex"))
    for path in found:
        if path.is_file() and path.stat().st_size > SMALLEST and os.access(path, os.X_OK):
            return path.resolve()
    raise LookupError(f"{named} is no Codex: {HOW}")


def link(directory: Path) -> Path:
    """The program under the name by which it is the patch tool."""
    alias = directory / "apply_patch"
    alias.symlink_to(program())
    return alias


def apply(tool: Path, cwd: Path, patch: str) -> tuple[bool, str]:
    """Whether it says that the patch was applied in `cwd`, and all it says."""
    done = subprocess.run([tool], cwd=cwd, input=patch.encode(), capture_output=True, timeout=60, check=False)
    return done.returncode == 0, (done.stdout + done.stderr).decode("utf-8", "replace")
