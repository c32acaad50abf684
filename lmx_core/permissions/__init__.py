"""Whether a call runs, asks or is refused. The library imposes nothing (NO-5): a host puts the gate into its hooks."""

from __future__ import annotations

from lmx_core.permissions.book import Rules
from lmx_core.permissions.book import read as read_rules
from lmx_core.permissions.explain import Explanation, explain, listing, told
from lmx_core.permissions.gate import Gate
from lmx_core.permissions.modes import MODES, SYNONYMS, Handle, parse_mode
from lmx_core.permissions.remembered import SCOPES, Remembered
from lmx_core.permissions.rules import VERBS, Rule, parse

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
