"""How a person's environment differs from that of the program that hosts the engine, said once, at its start (EN-7).

A packaged program often runs with variables that only it should see: the library path of its bundle, the interpreter of its
virtual environment. Commands that inherit those run the wrong Python or load the wrong libraries. Changing `os.environ`
instead would take them from the program itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from lmx_core.errors import ConfigError

_changes: dict[str, str | None] = {}


def put(changes: Mapping[str, str | None]) -> None:
    """Records the differences in place of those recorded before: text sets a variable, None takes it away.

    They hold for what inherits the variables of the process. What was given an `environ=` of its own has that and no other.
    Raises ConfigError for what is no such mapping; the record stays as it was then.
    """
    if not isinstance(changes, Mapping) or not all(map(_is_change, changes.items())):
        raise ConfigError('inherited.put takes {"NAME": "its value", "OTHER": None}, where None takes a variable away')
    _changes.clear()
    _changes.update(changes)


def environ() -> Mapping[str, str]:
    """The variables of the process as a person would have them, before any credential policy."""
    if not _changes:
        return os.environ
    kept = {name: value for name, value in os.environ.items() if name not in _changes}
    return kept | {name: value for name, value in _changes.items() if value is not None}


def _is_change(entry: tuple[object, object]) -> bool:
    name, value = entry
    if not isinstance(name, str) or not name or "=" in name or "\0" in name:
        return False
    return value is None or (isinstance(value, str) and "\0" not in value)
