"""The gate: decides for every tool call whether it runs, asks or is refused, and says why.

It is a `before_tool_call` hook that runs behind all others, and answers with a `Decision` each time: verdict,
rule, where the rule came from, one sentence. A gate that answers yes or no leaves the model, the person and the transcript
to guess. What it cannot judge asks; where nobody can be asked, it refuses (PK-3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from lmx_core.calls import ToolCall
from lmx_core.environment.base import FileError, is_sandboxed
from lmx_core.errors import ConfigError
from lmx_core.hooks.base import HookContext
from lmx_core.permissions.effects import Act, act_of
from lmx_core.permissions.modes import Handle
from lmx_core.verdict import Allow, Decision, Deny, Pending

NonInteractive = Literal["ask", "deny", "allow"]
NON_INTERACTIVE: tuple[NonInteractive, ...] = ("ask", "deny", "allow")

_NOBODY = (
    "nobody can approve it here. Asking again will not help: go on without it, and say in the end what was left undone"
)
_SUGGEST_EDITS = {"label": "run this and every other edit in the working directory", "mode": "accept_edits"}


class Gate:
    """Policy by mode and effect (PM-1 to PM-6).

    `non_interactive` says what becomes of a call that would ask: `ask` parks it for a person, `deny` refuses it, `allow`
    runs it. A session in which no call can be parked refuses it too.
    """

    name = "permissions"
    decides_last = True  # the chain puts it behind every other hook, so that it judges what will really run

    def __init__(self, handle: Handle, non_interactive: NonInteractive = "ask"):
        if non_interactive not in NON_INTERACTIVE:
            raise ConfigError(f"non_interactive= must be one of {', '.join(NON_INTERACTIVE)}")
        self._handle, self._non_interactive = handle, non_interactive

    async def __call__(self, call: ToolCall, context: HookContext) -> Allow | Deny | Pending:
        mode = self._handle.mode
        act = act_of(call, context.tool_descriptor, _confine(context))
        decision = judge(mode, self._handle.source, act, context)
        if decision.verdict == "allow":
            return Allow(decision=decision)
        if decision.verdict == "deny":
            return Deny(decision.sentence, decision=decision)
        if self._non_interactive == "allow":
            return Allow(decision=_without_a_person(decision, "allow", "without anyone to ask this host allows it"))
        if self._non_interactive == "deny" or not context.can_ask:
            refusal = _without_a_person(decision, "deny", _NOBODY)
            return Deny(refusal.sentence, decision=refusal)
        suggestions = [_SUGGEST_EDITS] if act.kind == "edit" and mode == "ask" else []
        details = context.asked.details if context.asked is not None else {}
        permission = {"mode": mode, "reason": decision.sentence, "suggestions": suggestions}
        return Pending({**details, "permission": permission}, decision=decision)


def judge(mode: str, source: str, act: Act, context: HookContext) -> Decision:
    """What the mode says about an act, in the order of cli.md 5.4; the first that applies decides. Pure."""
    rule, descriptor = f"mode:{mode}", context.tool_descriptor
    if act.kind == "outside":
        return _decision("deny", f"{act.what}; file tools work only inside it", "confinement", "environment")
    if mode == "read_only":
        if act.kind == "read":
            return _decision("allow", f"{act.what}, which every permission mode allows", rule, source)
        return _decision("deny", f"{act.what}, and the permission mode read_only allows only reading", rule, source)
    if context.approved_by is not None:
        return _decision("allow", f"approved by {context.approved_by}", "hook", context.approved_by)
    if context.asked is not None:
        return _asked(context.asked)
    if mode == "full_auto":
        return _decision("allow", f"{act.what}; the permission mode full_auto runs everything", rule, source)
    if descriptor is not None and descriptor.policy.approval == "always":
        return _decision("ask", f"{act.what}, and this tool always asks", "approval:always", "tool")
    if act.kind == "read":
        return _decision("allow", f"{act.what}, which every permission mode allows", rule, source)
    if mode == "auto" and act.kind in ("edit", "confined") and is_sandboxed(context.environment):
        return _decision(
            "allow", f"{act.what}, inside the sandbox, which the permission mode auto allows", rule, source
        )
    if mode in ("accept_edits", "auto") and act.kind == "edit":
        return _decision("allow", f"{act.what}, which the permission mode {mode} allows", rule, source)
    return _decision("ask", f"{act.what}, which the permission mode {mode} does not allow unasked", rule, source)


def _decision(verdict: str, sentence: str, rule: str, source: str) -> Decision:
    return Decision(verdict=verdict, sentence=sentence, rule=rule, source=source)


def _asked(asked: Pending) -> Decision:
    """An earlier hook wants a person's word, which counts as an ask rule: it asks in full_auto too."""
    by = asked.decision
    if by is None:
        return _decision("ask", "a hook wants a person to decide", "hook", "hook")
    return _decision("ask", by.sentence, by.rule or "hook", by.source or "hook")


def _without_a_person(decision: Decision, verdict: str, why: str) -> Decision:
    sentence = f"{decision.sentence}, and {why}"
    return Decision(verdict=verdict, sentence=sentence, rule=decision.rule, source=decision.source)


def _confine(context: HookContext) -> Callable[[str], Path | FileError] | None:
    """How this environment resolves a path, or None where it cannot say; then an edit is not known to stay inside."""
    confined = getattr(context.environment, "confined", None)
    return functools.partial(confined, context.cwd) if callable(confined) else None
