"""What may stand behind an answer or a rule: for how long it is to hold, or another rule than the one that was offered.

Narrowest first: `y` keeps nothing, then this session, then this repository, either with a time after which it ends. Anything
else behind an `a` is no answer but a message for the turn, so the forms are few and looked at exactly.
"""

from __future__ import annotations

import re

import msgspec

from lmx_core.errors import ConfigError
from lmx_core.permissions import parse

_SCOPE = re.compile(r"(session|project|([1-9][0-9]{0,3})([mhd]))", re.IGNORECASE)
_RULE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\(.+\)|mcp__[A-Za-z0-9_*-]+", re.DOTALL)
_UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """`rule` is the person's own, None for the one that was offered; `wrong` says why it is none."""

    rule: str | None = None
    scope: str = "project"
    for_ms: int | None = None
    wrong: str = ""


ONCE = Terms()


def read(text: str) -> Terms | None:
    """`session`, `project`, `30m`, `2h`, `7d`, a rule, or a rule and one of these; None for any other text."""
    text = text.strip()
    if not text:
        return Terms()
    rule, _, last = text.rpartition(" ")
    if (scope := _scope(last)) is None:
        rule, scope = text, Terms()
    elif not rule.strip():
        return scope
    if not _RULE.fullmatch(rule.strip()):
        return None
    try:
        parse(rule.strip(), "allow")
    except ConfigError as error:
        return msgspec.structs.replace(scope, rule=rule.strip(), wrong=str(error))
    return msgspec.structs.replace(scope, rule=rule.strip())


def _scope(text: str) -> Terms | None:
    found = _SCOPE.fullmatch(text)
    if found is None:
        return None
    if found[2]:
        return Terms(for_ms=int(found[2]) * _UNIT_MS[found[3].lower()])
    return Terms(scope=found[1].lower())
