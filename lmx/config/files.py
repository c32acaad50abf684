"""Reading and creating configuration files (cli.md 3.1).

A file is judged by what is opened, not by its name: the mode is taken from the open descriptor, so that nothing can be
exchanged between the look and the read. Files are created with their final mode, never tightened afterwards.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from lmx.config import schema
from lmx.exit_status import CommandError

MAX_BYTES = 16 * 1024 * 1024


def read(path: Path) -> dict[str, Any] | None:
    """The parsed file, or None where there is none. Raises CommandError (status 2) for one that must not be used."""
    try:
        with open(path, "rb", opener=_at_once) as file:
            mode = os.fstat(file.fileno()).st_mode
            os.set_blocking(file.fileno(), True)
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        if path.is_symlink():  # what the person had set is not in force: to go on without it would be looser
            raise _bad(path, f"cannot be read: it is a link to {path.readlink()}, and nothing is there") from error
        return None
    except OSError as error:
        raise _bad(path, f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise _bad(path, f"is larger than {MAX_BYTES:,} bytes")
    if stat.S_ISFIFO(mode) and not data:
        raise _bad(path, "is a pipe that brings nothing")
    others = stat.S_IMODE(mode) & (stat.S_IWGRP | stat.S_IWOTH)
    if others and stat.S_ISREG(mode):
        raise _bad(path, f"can be changed by other users; run: chmod 600 {path}")
    document = _parse(path, data)
    readable = stat.S_IMODE(mode) & (stat.S_IRGRP | stat.S_IROTH)
    if readable and stat.S_ISREG(mode) and _holds_key(document):
        raise _bad(path, f"holds an API key and can be read by other users; run: chmod 600 {path}")
    return document


def _at_once(path: str, flags: int) -> int:
    """Opens without waiting: a pipe nobody writes to would hold up the start for ever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    try:
        text = data.decode("utf-8-sig")
        document = _json(text) if path.suffix == ".json" else _toml(text)
    except UnicodeDecodeError as error:
        raise _bad(path, f"is not UTF-8 text (byte {error.start})") from error
    except ValueError as error:
        raise _bad(path, f"cannot be read: {error}") from error
    except RecursionError as error:
        raise _bad(path, "cannot be read: it is nested too deeply") from error
    if not isinstance(document, dict):
        raise _bad(path, "takes one JSON object")
    return document


def _toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _json(text: str) -> Any:
    if not text.strip():
        return {}
    return json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_constant)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON lets a key stand twice and keeps the last; here one of the two would be a guard nobody sees is gone."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(name for index, (name, _) in enumerate(pairs) if name in dict(pairs[:index]))
        raise ValueError(f"the key {twice!r} stands there twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _holds_key(value: Any) -> bool:
    if isinstance(value, dict):
        return any((key == "api_key" and bool(item)) or _holds_key(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_holds_key, value))


def create(path: Path) -> str | None:
    """Writes the commented template where no file is (0600 in 0700). Returns why not, if it could not."""
    if path.exists() or path.is_symlink():
        return None
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(schema.template())
        except OSError:
            path.unlink()  # half a template would stay for ever
            raise
    except OSError as error:
        return f"{path} could not be created ({error.strerror}); lmx goes on with its defaults and remembers nothing"
    return None


def _bad(path: Path, reason: str) -> CommandError:
    return CommandError(f"the configuration {path} {reason}", "usage")
