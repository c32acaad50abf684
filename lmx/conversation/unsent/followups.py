"""What a person may want to say next, offered in an empty composer (tui.md 12). Pure.

It is made from counters alone. A suggestion made from what was written or run could carry a path or a command out of a tool's
output into a line that the person then sends as their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from lmx import words
from lmx.conversation.state import Signals
from lmx.sanitize import one_line

CHARACTERS = 80
_KINDS = {
    "edit": "edit", "write": "edit", "apply_patch": "edit", "bash": "command",
    "read": "read", "grep": "read", "glob": "read", "list": "read",
}  # fmt: skip


def counted(signals: Signals, result: Mapping[str, Any]) -> Signals:
    """The counters after one more result. A call that goes well makes up for those of its kind that did not."""
    kind = _KINDS.get(str(result.get("name")), "other")
    content = result.get("structured_content")
    status = content.get("exit_status") if isinstance(content, Mapping) else None
    failed = bool(result.get("error") or status)
    if result.get("outcome") in ("denied", "cancelled"):
        return signals
    counts = {
        "edits": signals.edits + (kind == "edit" and not failed),
        "commands": signals.commands + (kind == "command"),
        "reads": signals.reads + (kind == "read"),
        "failures": signals.failures + 1 if failed else 0 if kind == "command" else signals.failures,
    }
    return replace(signals, last=kind, **counts)


def suggest(signals: Signals) -> str | None:
    """The shipped suggestions: after a failure, after edits that nobody has tried, after edits that were."""
    if signals.failures:
        return words.HINT_FIX
    if signals.edits and signals.last == "edit":
        return words.HINT_TEST
    return words.HINT_COMMIT if signals.edits and signals.commands else None


def shown(suggestion: str | None) -> str:
    """A suggestion as it may stand in the composer, a host's too: one clean line."""
    return one_line(suggestion or "").strip()[:CHARACTERS]
