"""Has an answer go on that was cut at the output limit, instead of ending the work in the middle of it (cli.md 9.11).

A `stop` hook, so it spends turns, requests and money like any request. What was done so far is read from the transcript and
not remembered here: one extension serves many sessions, and a resumed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmx_core.entry import Entry
from lmx_core.errors import ExtensionRefused
from lmx_core.harness.harness import Harness
from lmx_core.hooks.base import HookContext
from lmx_core.transcript.replay import stop_hook
from lmx_core.verdict import Allow, Deny

MARK = "[lmx continue]"
SENTENCE = (
    f"{MARK} Your answer was cut off at the output limit. Go on exactly where it stopped: repeat nothing of it, and say "
    f"nothing about the cut."
)


class Continuation:
    """An answer that ended with `length` is continued, at most `max_output_continuations` (0 to 10) times a prompt.

    One that is cut again with no tool call in between stays so: a model that only repeats itself would go on for ever. Raises
    ExtensionRefused for another number.
    """

    def __init__(self, *, max_output_continuations: int = 3):
        right = isinstance(max_output_continuations, int) and not isinstance(max_output_continuations, bool)
        if not right or not 0 <= max_output_continuations <= 10:
            raise ExtensionRefused("max_output_continuations must be a whole number from 0 to 10")
        self._most = max_output_continuations

    def apply(self, harness: Harness) -> Harness:
        return harness.append_hooks([("stop", self._go_on)])

    def describe(self) -> dict[str, Any]:
        return {"max_output_continuations": self._most}

    async def _go_on(self, reason: str, context: HookContext) -> Allow | Deny:
        if reason != "length" or context.session is None or context.aside is not None:
            return Allow()
        count, worked = _so_far((await context.session.snapshot()).entries)
        return Deny(SENTENCE) if count < self._most and (count == 0 or worked) else Allow()


def is_ours(entry: Entry) -> bool:
    """Is this the message that has an answer go on?"""
    return stop_hook(entry) and str(entry.payload.get("text", "")).startswith(MARK)


def _so_far(entries: Sequence[Entry]) -> tuple[int, bool]:
    """How often this prompt's answers were continued, and whether a tool has run since the last time."""
    count, worked = 0, False
    for entry in reversed(entries):
        if is_ours(entry):
            count += 1
        elif entry.type == "tool_result" and count == 0:
            worked = True
        elif entry.type == "user" and not stop_hook(entry) and not entry.payload.get("steer"):
            break
    return count, worked
