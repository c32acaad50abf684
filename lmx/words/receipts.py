"""What a call that ran is called (RCP-4), and what a prompt brought along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmx.words.amounts import plural, size

# --- receipts: a call that is asked for, runs, ran, was refused, was stopped (RCP-4) -------------------------------------

RUN_VERBS = ("Run", "Running", "Ran", "Not run", "Stopped")
START_VERBS = ("Start", "Starting", "Started", "Not started", "Stopped starting")
STOP_VERBS = ("Stop", "Stopping", "Stopped", "Not stopped", "Stopped stopping")
EDIT_VERBS = ("Edit", "Editing", "Edited", "Not edited", "Stopped editing")
PATCH_VERBS = ("Patch", "Patching", "Patched", "Not patched", "Stopped patching")
PATCH_CHANGES = {"created": "Added", "edited": "Edited", "deleted": "Deleted", "moved": "Moved"}
WRITE_VERBS = ("Write", "Writing", "Wrote", "Not written", "Stopped writing")
FETCH_VERBS = ("Fetch", "Fetching", "Fetched", "Not fetched", "Stopped fetching")
SEARCH_VERBS = ("Search", "Searching", "Searched", "Not searched", "Stopped searching")
CONNECTION = "a connection to {host}:{port}"
STATUS = "status {status}"
PLAN_VERBS = ("Update the plan", "Updating the plan", "Plan updated", "Plan not updated", "Stopped updating the plan")
ASK_VERBS = ("Ask", "Asking", "Asked", "Not asked", "Stopped asking")
NOT_ANSWERED = {"declined": "declined", "unavailable": "nobody was there to ask", "cancelled": "not answered"}
PLAN_READ = "the plan"
NO_RESULTS = "no results"
FAILED_SILENTLY = "failed without a word"
LOST_VERB = "Interrupted"
WRITE_CHANGES = {"overwrote": "Overwrote", "unchanged": "Unchanged"}
FOUND_LOOSELY = "`old` is not in the file letter for letter; edit will look for it with other white space"
LINES = "(lines {first}-{last})"
EXIT = "exit {status}"
TIMED_OUT = "stopped after {time}, its time limit"
OUTPUT_LIMIT = "stopped at {size} of output"
IN_BACKGROUND = "runs in the background as {id}"
BACKGROUND = {"running": "runs", "timed_out": "stopped at its time limit", "failed": "failed", "cancelled": "stopped"}
"""How a background command is told that has no exit status."""


def more_questions(number: int) -> str:
    return f"+{plural(number, 'question')}"


def more_characters(number: int) -> str:
    return f"… +{plural(number, 'character')} · Ctrl-O shows all"


def earlier_lines(number: int) -> str:
    return f"… {plural(number, 'earlier line')}"


# --- what a prompt brought along -----------------------------------------------------------------------------------------

_ATTACHED = {"directory": "directory", "image": "image", "document": "document"}


def attachment(item: Mapping[str, Any]) -> str:
    """What became of a reference, with the reason where it, or a part of it, was left out (CMP-38). Not sanitised."""
    kind, path = item.get("kind"), item.get("path") or item.get("ref") or "?"
    if kind in ("error", "elided"):
        return f"{item.get('ref') or path}: {item.get('text')}"
    parts = [_ATTACHED.get(str(kind), ""), size(item["bytes"]) if isinstance(item.get("bytes"), int) else ""]
    if item.get("cut"):
        parts.append(f"cut: {item['cut']}")
    return ", ".join(part for part in (f"attached {path}", *parts) if part)
