"""A call that a person decides about: what they are shown, and what their answer makes of it (PK-1, PK-3).

What they see must be what runs: a call that changes files is shown with its hunks, computed from the files as they are, and an
answer that names hunks holds for these hunks only.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from lmx_core.calls import Tool, ToolCall, ToolContext
from lmx_core.edits.hunks import described
from lmx_core.edits.text import EncodingConflict
from lmx_core.errors import ToolError, for_log
from lmx_core.secrets.masker import Masker
from lmx_core.tools import plan as choices
from lmx_core.tools.plan import Choice, Plan, Plans
from lmx_core.verdict import Allow, Decision, Deny, Pending, Rewrite

log = logging.getLogger("lmx_core")

UNDERWAY = "underway"
"""True in the details of an approval that a call asks for while it runs: it has begun, whatever the answer."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a person decided. `call` is the one to run; `choice` the part of it that was allowed, None for the whole."""

    verdict: Allow | Deny
    decision: Decision | None
    call: ToolCall
    rewritten: bool = False
    choice: Choice | None = None


async def ask(call: ToolCall, pending: Pending, tool: Tool, given: dict[str, Any], context: ToolContext) -> Answer:
    """Parks the call until it is decided. What is no decision is no permission.

    `given` are the arguments as the tool gets them.
    """
    if context.park is None:
        nobody = Deny("this needs approval, and nobody can be asked here")
        return Answer(verdict=nobody, decision=pending.decision, call=call)
    plan = await _plan(tool, given, context)
    details = {name: value for name, value in pending.details.items() if name != "changes"}
    details |= {} if plan is None else {"changes": described(plan.files)}
    shown = context.secrets.shaped({**details, "arguments": call.arguments})
    reply: Any = await context.park(call.id, "approval", shown)
    rewritten, choice = False, None
    if isinstance(reply, Rewrite) and isinstance(reply.value, Mapping):
        call, rewritten = msgspec.structs.replace(call, arguments=dict(reply.value)), True
        reply = Allow(decision=reply.decision)
    elif isinstance(reply, Allow) and choices.is_choice(reply):
        reply, choice = _choose(plan, _restored(reply, context.secrets))
    verdict = reply if isinstance(reply, (Allow, Deny)) else Deny("the request for approval got no decision")
    decision = verdict.decision or _answered(pending.decision, verdict)
    return Answer(verdict=verdict, decision=decision, call=call, rewritten=rewritten, choice=choice)


async def _plan(tool: Tool, given: dict[str, Any], context: ToolContext) -> Plan | None:
    """What the call would change, for the person who is asked; None where the tool cannot say, or it would fail."""
    if not isinstance(tool, Plans):
        return None
    try:
        return await tool.plan(given, context)
    except ToolError:
        return None  # it is told when the call runs: before a person allows it, the model learns nothing of the file
    except Exception as error:  # noqa: BLE001 - the border of a tool call
        log.error("the tool %s could not say what it would change: %s", tool.name, for_log(error))
        return None


def _restored(answer: Allow, secrets: Masker) -> Allow:
    """A person's own text with what its placeholders stand for. Raises ToolError where that is not known any more."""
    if answer.text is None:
        return answer
    if isinstance(answer.text, str):
        return msgspec.structs.replace(answer, text=secrets.restore(answer.text))
    return msgspec.structs.replace(answer, text={path: secrets.restore(text) for path, text in answer.text.items()})


def _choose(plan: Plan | None, answer: Allow) -> tuple[Allow | Deny, Choice | None]:
    """What is left of the plan. A choice that leaves nothing of it is a refusal."""
    if plan is None or choices.problem(answer, described(plan.files)) is not None:
        return Deny("the answer chose among hunks that the call does not have"), None
    try:
        choice = choices.choose(plan, answer)
    except EncodingConflict as conflict:
        return Deny(f"the text a person wrote instead could not be written: {conflict}"), None
    if not choice.chosen.files:
        return Deny("every hunk was refused, so nothing was changed"), None
    return answer, choice


def _answered(asked: Decision | None, answer: Allow | Deny) -> Decision:
    """A person's decision as a record; the rule that made the question is kept."""
    allowed = isinstance(answer, Allow)
    by = (isinstance(answer, Allow) and answer.approved_by) or "a person"
    part = "a part of the call" if isinstance(answer, Allow) and choices.is_choice(answer) else "the call"
    sentence = f"{by} {'allowed' if allowed else 'refused'} {part}"
    return Decision(
        verdict="allow" if allowed else "deny", sentence=sentence, rule=asked.rule if asked else None, source="answer"
    )
