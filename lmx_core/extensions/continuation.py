"""Has work go on that would end in the middle: a cut answer, and a plan with open tasks (cli.md 9.11).

A `stop` hook, so it spends turns, requests and money like any request. What was done so far is read from the transcript and
not remembered here: one extension serves many sessions, and a resumed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmx_core.builtin.session import plan as plans
from lmx_core.builtin.session.plan import Plan
from lmx_core.entry import Entry
from lmx_core.errors import ExtensionRefused
from lmx_core.harness.harness import Harness
from lmx_core.hooks.base import HookContext
from lmx_core.transcript.replay import stop_hook, this_prompt
from lmx_core.verdict import Allow, Deny

MARK = "[lmx continue]"
SENTENCE = (
    f"{MARK} Your answer was cut off at the output limit. Go on exactly where it stopped: repeat nothing of it, and say "
    f"nothing about the cut."
)
OPEN = (
    f"{MARK} Your plan has open tasks. Go on with them; complete or delete what is no longer open. If you cannot, or need a "
    f"word of the person, say so without calling a tool."
)
_NAMED = 20
"""How many open tasks are listed; the model can list the rest."""


class Continuation:
    """An answer that ended with `length` goes on, at most `max_output_continuations` (0 to 10) times a prompt; a plan that was
    written in this prompt and has open tasks, at most `max_continuations` times.

    Where nothing was done since the last time it stays so: a model that only repeats itself would go on for ever. Raises
    ExtensionRefused for another number.
    """

    def __init__(self, *, max_continuations: int = 5, max_output_continuations: int = 3):
        self._plans = _number(max_continuations, "max_continuations")
        self._cuts = _number(max_output_continuations, "max_output_continuations")

    def apply(self, harness: Harness) -> Harness:
        return harness.append_hooks([("stop", self._go_on)])

    def describe(self) -> dict[str, Any]:
        return {"max_continuations": self._plans, "max_output_continuations": self._cuts}

    async def _go_on(self, reason: str, context: HookContext) -> Allow | Deny:
        if reason not in ("stop", "length") or context.session is None or context.aside is not None:
            return Allow()
        entries = (await context.session.snapshot()).entries
        if reason == "length":
            count, worked = _so_far(entries, SENTENCE)
            return Deny(SENTENCE) if count < self._cuts and (count == 0 or worked) else Allow()
        plan = _written(entries)
        if plan is None or not plan.open:
            return Allow()
        count, worked = _so_far(entries, OPEN)
        return Deny(_sentence(plan)) if count < self._plans and (count == 0 or worked) else Allow()


def is_ours(entry: Entry) -> bool:
    """Is this the message that has a cut answer go on?"""
    return stop_hook(entry) and str(entry.payload.get("text", "")).startswith(SENTENCE)


def _number(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 10:
        raise ExtensionRefused(f"{name} must be a whole number from 0 to 10")
    return value


def _so_far(entries: Sequence[Entry], sentence: str) -> tuple[int, bool]:
    """How often this prompt was sent on with these words, and whether a tool has run since the last time."""
    count, worked = 0, False
    for entry in this_prompt(entries):
        if stop_hook(entry) and str(entry.payload.get("text", "")).startswith(sentence):
            count += 1
        elif entry.type == "tool_result" and count == 0:
            worked = True
    return count, worked


def _written(entries: Sequence[Entry]) -> Plan | None:
    """The plan as this prompt has left it; None where it wrote none."""
    for entry in this_prompt(entries):
        if entry.type == "extension_state" and entry.payload.get("namespace") == plans.NAMESPACE:
            return plans.stored(entry.payload.get("value"))
    return None


def _sentence(plan: Plan) -> str:
    lines = [line for task, line in zip(plan.tasks, plan.lines(), strict=True) if task in plan.open]
    more = [f"and {len(lines) - _NAMED} more"] if len(lines) > _NAMED else []
    return "\n".join([OPEN, *lines[:_NAMED], *more])
