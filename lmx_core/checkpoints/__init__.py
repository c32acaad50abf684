"""What a session changes in files, recorded so that it can be taken back. Why it is done this way: docs/why/undo.md.

`record` looks before and after each call (`tree` at a whole tree, `files` at one path) and keeps `contents`, `looks`, and in
the `journal` what changed; `recover` finishes what a kill cut short. `undo` decides with `plan`, carries out with `put` and
tells in a `report`. `git` reads what git keeps.

The names below are resolved when first used: a session records, and only who puts back needs the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmx_core.checkpoints.report import Left as Left
    from lmx_core.checkpoints.report import Report as Report
    from lmx_core.checkpoints.report import TurnTold as TurnTold
    from lmx_core.checkpoints.undo import Undo as Undo

_HOME = {"Left": "report", "Report": "report", "TurnTold": "report", "Undo": "undo"}

__all__ = ["Left", "Report", "TurnTold", "Undo"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lmx_core.checkpoints' has no attribute {name!r}")
    value = getattr(import_module(f"lmx_core.checkpoints.{_HOME[name]}"), name)
    globals()[name] = value
    return value
