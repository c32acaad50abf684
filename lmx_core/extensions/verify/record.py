"""What is known of the checks of a session: the document that keeps the newest, and what the transcript says of this prompt.

Counts are read from the transcript, so that a resumed session goes on where it stood, and none of them is kept twice (VE-4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from lmx_core.entry import Entry
from lmx_core.transcript.replay import stop_hook, this_prompt

NAMESPACE = "lmx.verify"
"""The document of a session: `{"version": 1, "enabled": bool, "last": Check or null, "wrote": "check" or "switch"}`."""
VERSION = 1

EXCERPT_BYTES = 4_096
"""What the model reads of a check's output."""

MARK = "[lmx verify]"
EDITS = frozenset({"write", "edit", "apply_patch"})

Ending = Literal["running", "passed", "failed", "timed_out", "denied", "not_run"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check. `status`: `running` (or cut short, where no session runs it), `passed`, `failed`, `timed_out`, `denied` by
    policy, `not_run` because there was nothing to start. `exit_status` is the command's, `output` the end of what it wrote,
    `reason` a sentence where it did not run.

    `tree` names the files it ran on, `left` those it left behind, each None where nobody could tell: the files are elsewhere.
    """

    command: str
    status: Ending
    exit_status: int | None = None
    output: str = ""
    reason: str = ""
    duration_ms: int = 0
    tree: str | None = None
    left: str | None = None
    sent_back: bool = False


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The document. `wrote` says what its newest revision is about: a `check`, or the `switch` that turns checks on and off."""

    version: int = VERSION
    enabled: bool = True
    last: Check | None = None
    wrote: Literal["check", "switch"] = "check"


def kept(value: Any) -> Kept:
    """The document of a value; a fresh one for what is none, which another writer may have put there."""
    try:
        found = msgspec.convert(value, Kept)
    except msgspec.ValidationError:
        return Kept()
    return found if found.version == VERSION else Kept()


def is_due(entries: Sequence[Entry], most: int) -> bool:
    """Whether files were edited since the person's prompt or the last check, and fewer than `most` sent it back (VE-1)."""
    edited, checked, sent_back = False, False, 0
    for entry in this_prompt(entries):
        if stop_hook(entry) and str(entry.payload.get("text", "")).startswith(MARK):
            sent_back += 1
        checked = checked or is_result(entry)
        edited = edited or (not checked and is_edit(entry))
    return edited and sent_back < most


def has_passed(entries: Sequence[Entry], command: str) -> bool:
    """Whether the model ran exactly this command after its last edit, and saw it pass."""
    for entry in this_prompt(entries):
        if is_edit(entry):
            return False
        if _ran(entry, command):
            return True
    return False


def is_edit(entry: Entry) -> bool:
    """A file tool that changed something."""
    return entry.type == "tool_result" and entry.payload.get("name") in EDITS and entry.payload.get("outcome") == "ok"


def is_result(entry: Entry) -> bool:
    """What a check came to, in the transcript."""
    last = check_of(entry)
    return last is not None and last.status != "running"


def check_of(entry: Entry) -> Check | None:
    """The check that an entry records; None for any other entry."""
    if entry.type != "extension_state" or entry.payload.get("namespace") != NAMESPACE:
        return None
    found = kept(entry.payload.get("value"))
    return found.last if found.wrote == "check" else None


def _ran(entry: Entry, command: str) -> bool:
    payload = entry.payload
    if entry.type != "tool_result" or payload.get("name") != "bash":
        return False
    arguments, typed = payload.get("arguments"), payload.get("structured_content")
    same = isinstance(arguments, dict) and str(arguments.get("command", "")).strip() == command.strip()
    ended = isinstance(typed, dict) and typed.get("ending") == "exited" and typed.get("exit_status") == 0
    return same and ended


def excerpt(output: str) -> str:
    """What the model reads of it, from the beginning of a line where one begins in it."""
    text = last(output, EXCERPT_BYTES)
    if len(text) < len(output) and "\n" in text.rstrip("\n"):
        text = text.partition("\n")[2]
    return text


def last(text: str, limit: int) -> str:
    """The last `limit` bytes of a text, less what they cut in two."""
    if len(text) <= limit // 4:
        return text
    return text.encode("utf-8", "replace")[-limit:].decode("utf-8", "ignore")
