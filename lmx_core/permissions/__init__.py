"""Whether a call runs, asks or is refused. The library imposes nothing (NO-5): a host puts the gate into its hooks.

Resolved when first used: what explains a decision, or reads a command, is not paid for by a session in which none is judged.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmx_core.permissions.book import Rules
    from lmx_core.permissions.book import read as read_rules
    from lmx_core.permissions.explanation import Explanation, explain, listing, told
    from lmx_core.permissions.gate import Gate
    from lmx_core.permissions.modes import MODES, SYNONYMS, Handle, parse_mode
    from lmx_core.permissions.remembered import SCOPES, Remembered
    from lmx_core.permissions.rules import VERBS, Rule, parse

_HOME = {
    "MODES": "modes",
    "SCOPES": "remembered",
    "SYNONYMS": "modes",
    "VERBS": "rules",
    "Explanation": "explanation",
    "Gate": "gate",
    "Handle": "modes",
    "Remembered": "remembered",
    "Rule": "rules",
    "Rules": "book",
    "explain": "explanation",
    "listing": "explanation",
    "parse": "rules",
    "parse_mode": "modes",
    "read_rules": "book",
    "told": "explanation",
}

__all__ = [
    "MODES",
    "SCOPES",
    "SYNONYMS",
    "VERBS",
    "Explanation",
    "Gate",
    "Handle",
    "Remembered",
    "Rule",
    "Rules",
    "explain",
    "listing",
    "parse",
    "parse_mode",
    "read_rules",
    "told",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lmx_core.permissions' has no attribute {name!r}")
    module = import_module(f"lmx_core.permissions.{_HOME[name]}")
    value = globals()[name] = getattr(module, "read" if name == "read_rules" else name)
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
