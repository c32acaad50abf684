"""What is said of the check after edits."""

from __future__ import annotations

from typing import Any

_HOW = {
    "passed": "passed",
    "failed": "failed with exit status {exit_status}",
    "timed_out": "did not end in time",
    "denied": "was not run: {reason}",
    "not_run": "could not be run: {reason}",
}

CHECK_IS_LATE = "it did not end in time"
CHECK_IS_STALE = "files were changed after the check, so it says nothing about them as they are now"


_VOICES = {"[lmx verify]": "✓", "[lmx continue]": "↻", "[hook]": "↻"}


def harness_voice(text: str) -> str:
    """What a stop hook said to the model, with a mark of its own in the place of the tag that is for the model."""
    for tag, mark in _VOICES.items():
        if text.startswith(tag):
            return f"{mark} {text.removeprefix(tag).lstrip()}"
    return f"↻ {text}"


def check_running(command: str) -> str:
    return f"check: {command}"


def check(
    *, command: str, status: str, exit_status: int | None, reason: str, duration_ms: int, tree: str | None
) -> str:
    """How a check ended, and which files it ran on: what it found holds for them and for no others."""
    how = _HOW[status].format(exit_status=exit_status, reason=reason)
    ran = status in ("passed", "failed", "timed_out")
    facts: list[Any] = [f" ({duration_ms / 1_000:.1f} s)" if ran else "", f", tree {tree[:12]}" if tree and ran else ""]
    return f"check: {command} {how}{''.join(facts)}"
