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
