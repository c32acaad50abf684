"""May a command of the engine's own run, such as the check after edits? (PM-7, C5-6)

The hooks are asked as for the `bash` call that would run it, the gate among them, and where they want one a person. Run without
asking, it would do what the model was refused: a project names its own check, and a model may have written what it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.builtin.bash import Bash
from lmx_core.calls import ToolCall, ToolContext
from lmx_core.errors import LmxError
from lmx_core.tools.asking import ask
from lmx_core.tools.base import descriptor
from lmx_core.verdict import Allow, Deny, Pending, Rewrite

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

_BASH = Bash()


async def may_run(actor: Actor, context: ToolContext, command: str, purpose: str) -> Allow | Deny | Rewrite:
    """What hooks and persons say; a Rewrite has the command to run instead. A hook that fails has not consented.

    `context` is that of a call with the id under which a person is asked; they read what it is for, `purpose`.
    """
    call = ToolCall(id=context.call_id, name=_BASH.name, arguments={"command": command})

    async def park(call_id: str, kind: str, payload: dict[str, Any]) -> Any:
        return await (await actor.ask(actor.approvals.park, call, kind, payload, None))

    here = msgspec.structs.replace(context, descriptor=descriptor(_BASH), park=park)
    try:
        before = await actor.hooks.before(call, here)
        verdict, decision, asked = before.verdict, before.verdict.decision, before.call
        if isinstance(verdict, Pending):
            answer = await ask(before.call, _explained(verdict, purpose), _BASH, before.call.arguments, here)
            verdict, decision, asked = answer.verdict, answer.decision, answer.call
    except LmxError as error:
        return Deny(str(error))
    if isinstance(verdict, Deny):
        return verdict
    changed = asked.arguments.get("command")
    if not isinstance(changed, str) or not changed.strip():
        return Deny("what a hook or a person made of it is no command", decision=decision)
    return Allow(decision=decision) if changed == command else Rewrite(changed, decision=decision)


def _explained(pending: Pending, purpose: str) -> Pending:
    """No model has called it, so that it is asked about at all must be told."""
    permission = pending.details.get("permission")
    told = permission if isinstance(permission, dict) else {}
    reason = "; ".join(filter(None, [purpose, str(told.get("reason") or "")]))
    return msgspec.structs.replace(pending, details={**pending.details, "permission": {**told, "reason": reason}})
