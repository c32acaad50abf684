"""What a session changes in files, recorded so that it can be taken back. Why it is done this way: docs/why/undo.md.

`record` looks before and after each call (`tree` at a whole tree, `files` at one path), keeps contents in `contents` and what
changed in `journal`; `undo` decides with `plan`, carries out with `put` and tells in a `report`. `git` reads what git keeps.
"""

from __future__ import annotations

from lmx_core.checkpoints.report import Left, Report, TurnTold
from lmx_core.checkpoints.undo import Undo

__all__ = ["Left", "Report", "TurnTold", "Undo"]
