"""The log file, and what becomes of an exception nobody expected (cli.md 10.3, C10-30).

Logging that is not directed anywhere ends up on standard error, over the answer's progress or over the screen. So every
record goes to `STATE/logs/lmx.log`, and to standard error only for a person who asked with `LMX_LOG_LEVEL`.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from lmx.config.layers import filled
from lmx.exit_status import usage

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
    "none": logging.CRITICAL + 1,
}
MAX_BYTES = 1_000_000
KEPT = 3
"""Old files beside the current one: lmx.log.0, the newest, to lmx.log.2."""

_HEADER = re.compile(r"""(?i)\b(authorization|x-api-key|(?:set-)?cookie)(['"]?\s*[:=,]\s*b?['"]?)[^'"\n]+""")
_path: Path | None = None


class LogFile(logging.Handler):
    """Appends to one private file, opened when the first record comes; a full disk never breaks the work."""

    def __init__(self, path: Path):
        super().__init__()
        self.path = path

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._append(self.format(record) + "\n")
        except OSError:
            return

    def _append(self, text: str) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            full = file.tell() > MAX_BYTES
        if full:
            self._rotate()

    def _rotate(self) -> None:
        for number in range(KEPT - 1, 0, -1):
            older = self.path.with_name(f"lmx.log.{number - 1}")
            if older.exists():
                older.replace(self.path.with_name(f"lmx.log.{number}"))
        self.path.replace(self.path.with_name("lmx.log.0"))


class Redacting(logging.Formatter):
    """Strikes known keys and the values of credential headers out of every line (C7-8)."""

    def __init__(self, secrets: Collection[str], mask: Callable[[str], str]):
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._mask = mask
        self._secrets = tuple(secret for secret in secrets if len(secret) >= 6)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        text = self._mask(text)
        return _HEADER.sub(r"\1\2[redacted]", text)


def start(
    state: Path | None,
    environ: Mapping[str, str],
    secrets: Collection[str] = (),
    *,
    mask: Callable[[str], str] = str,
    screen: bool = False,
) -> None:
    """Directs every logger of the process.

    `mask` takes credentials out of a line; `screen` says that standard error is the terminal the screen is drawn on. Raises
    CommandError (status 2) for an unknown `LMX_LOG_LEVEL`.
    """
    global _path
    asked = filled(environ, "LMX_LOG_LEVEL")
    if asked is not None and asked.lower() not in LEVELS:
        raise usage(f"LMX_LOG_LEVEL takes one of {', '.join(LEVELS)}")
    _path = None if state is None else state / "logs" / "lmx.log"
    handlers: list[logging.Handler] = [] if _path is None else [LogFile(_path)]
    if asked is not None and not (screen and sys.stderr.isatty()):
        handlers.append(logging.StreamHandler())
    root = logging.getLogger()
    root.handlers[:] = handlers or [logging.NullHandler()]
    root.setLevel(LEVELS["error" if asked is None else asked.lower()])
    for handler in handlers:
        handler.setFormatter(Redacting(secrets, mask))
    logging.captureWarnings(True)


def crashed(error: BaseException) -> str:
    """Logs an exception nobody expected with its traceback; returns the sentence for the person."""
    root = logging.getLogger()
    if (
        not root.handlers
    ):  # it came before `start`, or a command without a log: what the variable asks for holds all the same
        root.addHandler(logging.StreamHandler() if filled(os.environ, "LMX_LOG_LEVEL") else logging.NullHandler())
    logging.getLogger("lmx").critical("unexpected %s", type(error).__name__, exc_info=error)
    where = f"the traceback is in {_path}" if _path else "LMX_LOG_LEVEL=error shows the traceback on standard error"
    return f"something went wrong that lmx did not expect ({type(error).__name__}); {where}"
