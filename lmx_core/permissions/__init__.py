"""Whether a call runs, asks or is refused. The library imposes nothing (NO-5): a host puts the gate into its hooks."""

from __future__ import annotations

from lmx_core.permissions.gate import Gate
from lmx_core.permissions.modes import MODES, SYNONYMS, Handle, parse_mode

__all__ = ["MODES", "SYNONYMS", "Gate", "Handle", "parse_mode"]
