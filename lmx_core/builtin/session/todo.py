"""`todo`: keeps the plan of the session's work (TOOL-8, TD-1).

The plan is a document of the session and no memory of the tool's: a screen shows it, a resume and a fork have it, and two who
change it at once do not undo each other's change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lmx_core.builtin.session import plan as plans
from lmx_core.builtin.session.plan import NAMESPACE, Plan
from lmx_core.calls import Effects, Policy, Result, Runtime, ToolContext
from lmx_core.errors import Conflict, DocumentTooLarge, ToolError

_TEXT = {"type": "string"}
_TASK: dict[str, Any] = {
    "id": _TEXT,
    "title": _TEXT,
    "status": {"type": "string", "enum": list(plans.STATUSES)},
    "owner": _TEXT,
    "depends_on": {"type": "array", "items": _TEXT},
    "evidence": _TEXT,
}
_CHANGES: dict[str, Callable[[Plan, Mapping[str, Any]], Plan]] = {
    "create": plans.created,
    "update": plans.updated,
    "reopen": plans.reopened,
    "delete": plans.deleted,
}
_ATTEMPTS = 3
"""How often a whole list is written while somebody else writes, too. It rests on nothing that was there."""


class Todo:
    """Answers with the plan and its revision, which the next change must name."""

    name = "todo"
    description = (
        "Keep the plan of work that takes several steps. set writes the whole list of tasks, and is enough for most; keep one "
        "in_progress, and complete each when it is done. create, update, reopen, delete change one task and need the revision."
    )
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["set", "list", *_CHANGES]},
            "tasks": {"type": "array", "items": {"type": "object", "properties": _TASK, "additionalProperties": False}},
            "revision": {"type": "integer"},
            **_TASK,
            "reason": _TEXT,
        },
        "required": ["action"],
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="write", resource_types=["session_plan"]),
        "policy": Policy(approval="never"),
        "runtime": Runtime(concurrency="resource", resource_key="session_plan"),
    }

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        if context.session is None:
            raise ToolError("There is no plan here, because there is no session that keeps it.")
        action = args["action"]
        if action == "list":
            revision, plan = await _read(context)
            return _told(revision, _ours(plan))
        if action == "set":
            if "tasks" not in args:
                raise ToolError("set needs tasks, the whole list; an empty one clears the plan.")
            return await _restate(args["tasks"], context)
        return await _change(action, args, context)


async def _read(context: ToolContext) -> tuple[int, Plan | None]:
    document = await context.session.document(NAMESPACE)
    return document.revision, plans.stored(document.value)


def _ours(plan: Plan | None) -> Plan:
    if plan is None:
        raise ToolError("What is kept as the plan is none; action set writes a new one.")
    return plan


async def _restate(tasks: list[Mapping[str, Any]], context: ToolContext) -> Result:
    for _ in range(_ATTEMPTS):
        revision, plan = await _read(context)
        made = plans.restated(plan or Plan(), tasks)
        try:
            return _told(await _write(revision, made, context), made)
        except Conflict:
            continue
    raise ToolError("Somebody else keeps changing the plan. Try again.")


async def _change(action: str, args: Mapping[str, Any], context: ToolContext) -> Result:
    if "revision" not in args:
        raise ToolError(f"{action} needs the revision that list returned.")
    revision, plan = await _read(context)
    try:
        if args["revision"] != revision:
            raise Conflict(revision)
        made = _CHANGES[action](_ours(plan), args)
        return _told(await _write(revision, made, context), made)
    except Conflict as conflict:
        raise ToolError(
            f"The plan was changed since: its revision is {conflict.revision}. Look at it with list first."
        ) from None


async def _write(revision: int, plan: Plan, context: ToolContext) -> int:
    try:
        written: int = await context.session.put_document(NAMESPACE, revision, msgspec.to_builtins(plan))
    except DocumentTooLarge:
        raise ToolError("The plan is too large to be kept: use fewer tasks, or fewer words.") from None
    return written


def _told(revision: int, plan: Plan) -> Result:
    counts = {"revision": revision, "tasks": len(plan.tasks), "open": len(plan.open)}
    text = "\n".join([f"revision {revision}", *(plan.lines() or ["The plan is empty."])])
    return Result(model_text=text, structured_content=counts)
