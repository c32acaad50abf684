"""What lmx keeps by itself: `state.json`, what it remembers, and `managed.toml`, the settings that it saves (cli.md 3.1, 8.3).

What is remembered is a convenience, so damage to it is never an error. A setting that is saved, such as a key that was pasted,
is written whole and put in place at once, readable by its owner alone, with whatever else the file holds kept; the person's own
file is never touched. Python reads TOML and does not write it, and what is saved is little, so writing it is here too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lmx.config import files


def _load(state: Path) -> dict[str, Any]:
    try:
        document = json.loads((state / "state.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def remembered_model(state: Path | None) -> str | None:
    model = None if state is None else _load(state).get("model")
    return model if isinstance(model, str) else None


def remember_model(state: Path | None, model: str) -> None:
    """Keeps the model for the next start; whatever else the file holds stays. Without a state directory, nothing."""
    if state is None or remembered_model(state) == model:
        return
    import tempfile

    text = json.dumps(_load(state) | {"version": 1, "model": model}, indent=1, ensure_ascii=False) + "\n"
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=state, prefix="state.", suffix=".tmp")  # 0600, never an existing file
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(state / "state.json")
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError:
        return  # a full or read-only disk costs the memory, not the session


# --- settings ------------------------------------------------------------------------------------------------------------

MANAGED = "managed.toml"
_HEAD = "# Written by lmx. What stands in config.toml beside it counts before this.\n"


def save(path: Path, changes: Mapping[str, Any]) -> None:
    """Puts `changes`, tables within tables, into the file. Raises OSError, or CommandError where it cannot be read."""
    import tempfile

    document = _merged(files.read(path) or {}, changes)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix="managed.", suffix=".tmp")  # 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_HEAD + toml(document))
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


def toml(document: Mapping[str, Any]) -> str:
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
    from datetime import date, datetime, time

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
