"""What is left of a fault: a file that only its owner can read, and one sentence (SAF-8).

Textual prints a traceback with every local variable, which hold keys and prompts. A report here has the lines of code and the
messages of the exceptions, with what looks like a secret masked, the versions, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import time
import traceback
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from lmx import __version__
from lmx.sanitize import visible

_SECRET_NAME = re.compile(r"(?i)key|token|secret|password|passwd|credential|auth")
_SECRET_SHAPE = re.compile(
    r"\b(?:sk|pk|rk|xox[abp]|ghp|gho|ghs|github_pat|glpat|AKIA|AIza)[-_A-Za-z0-9]{12,}|(?i:bearer)\s+[-._~+/=A-Za-z0-9]{8,}"
)
MASK = "[masked]"


def without_secrets(text: str, environ: Mapping[str, str]) -> str:
    """`text` with the values of variables that are named like secrets, and anything shaped like a key, masked."""
    values = {value for name, value in environ.items() if len(value) >= 8 and _SECRET_NAME.search(name)}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, MASK)
    return _SECRET_SHAPE.sub(MASK, text)


def report(error: BaseException, directory: Path | None, environ: Mapping[str, str] | None = None) -> str:
    """Writes the report of `error` and returns the sentence for the person. Without a directory, or when it cannot be written,
    the sentence says what kind of fault it was."""
    environ = os.environ if environ is None else environ
    lines = traceback.format_exception(error)
    text = visible(without_secrets("".join([_versions(), *lines]), environ))
    path = _write(text, directory) if directory is not None else None
    kind = type(error).__name__
    if path is None:
        return f"lmx stopped because of a fault of its own ({kind})."
    return (
        f"lmx stopped because of a fault of its own ({kind}). What is known about it: {visible(str(path), 'evidence')}"
    )


def _versions() -> str:
    """What a fault has to be looked for in (C7-9)."""
    python = ".".join(map(str, sys.version_info[:3]))
    return f"lmx {__version__}, Python {python}, Textual {version('textual')}, {platform.platform()}\n\n"


def _write(text: str, directory: Path) -> Path | None:
    path = directory / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    with contextlib.suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        return path
    return None
