"""`managed.toml`: what lmx saves by itself, such as a key that was pasted (cli.md 3.1). The person's own file is never touched.

It is written whole and put in place at once, readable by its owner alone, with whatever else it holds kept. Python reads TOML
and does not write it, and what is saved here is little, so writing it is here too.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from lmx.config import files

NAME = "managed.toml"
HEAD = "# Written by lmx. What stands in config.toml beside it counts before this.\n"


def save(path: Path, changes: Mapping[str, Any]) -> None:
    """Puts `changes`, tables within tables, into the file. Raises OSError, or CommandError where it cannot be read."""
    document = _merged(files.read(path) or {}, changes)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix="managed.", suffix=".tmp")  # 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(HEAD + dumps(document))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _merged(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(document)
    for key, value in changes.items():
        inner = merged.get(key)
        merged[key] = _merged(inner if isinstance(inner, dict) else {}, value) if isinstance(value, dict) else value
    return merged


def dumps(document: Mapping[str, Any]) -> str:
    """The document as TOML."""
    return "".join(f"{line}\n" for line in _table(document, ()))


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Plain values first: what comes after a header belongs to that table."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    if path and (plain or not tables):
        yield f"[{'.'.join(map(_key, path))}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_value(value)}"
    for key, value in tables.items():
        yield from _table(value, (*path, key))


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else _text(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case date() | datetime() | time():
            return value.isoformat()
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}"
    raise TypeError(type(value).__name__)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
