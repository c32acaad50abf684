"""The check after edits, told like the command it is (tui.md 2.1): no model has called it, and it has no `tool_result`.

A person who was asked about it has its card, and the row of the card is the one that ends. Left to the rules of calls, it
would be said to have been interrupted, because nothing that ends a call ever comes.
"""

from __future__ import annotations

from typing import Any

from lmx import words
from lmx.conversation.session import calls, phases
from lmx.conversation.step import Step
from lmx.sanitize import one_line
from lmx_core import Entry, ToolCall
from lmx_core.extensions.verify.record import Check, check_of

_ASKED, _DRAWN = "own-", "check:"
"""How the ids of its rows begin: the engine's where a person was asked, else ours."""

_OUTCOMES = {"passed": "ok", "failed": "ok", "timed_out": "error", "denied": "denied", "not_run": "error"}


def told(step: Step, entry: Entry) -> None:
    """An entry of its document: that it begins, or how it ended. Other entries are left alone."""
    if (check := check_of(entry)) is None:
        return
    row = _row(step)
    if check.status == "running":
        call = row or ToolCall(id=f"{_DRAWN}{entry.seq}", name="bash", arguments={"command": check.command})
        calls.announce(step, call)
        calls.mark_running(step)
    elif row is None:
        step.note(_sentence(check), tone="notice")  # refused before anybody was asked: nothing has begun
    else:
        calls.result(step, _result(row, check))
        if check.status in ("passed", "failed"):
            step.note(_sentence(check), tone="muted")
    phases.refresh(step)


def _row(step: Step) -> ToolCall | None:
    """The call whose row stands for the check that is open."""
    found = [call.call for id, call in step.state.wave.items() if id.startswith((_ASKED, _DRAWN)) and not call.over]
    return found[-1] if found else None


def _result(row: ToolCall, check: Check) -> dict[str, Any]:
    """How the command ended, as a result of `bash` tells it."""
    said = check.reason if check.status in ("denied", "not_run") else check.output
    ended = f"\n[exit status {check.exit_status}]" if check.exit_status and check.status == "failed" else ""
    late = f"{words.CHECK_IS_LATE}\n" if check.status == "timed_out" else ""
    typed = {} if check.exit_status is None else {"ending": "exited", "exit_status": check.exit_status}
    return {
        "call_id": row.id,
        "name": row.name,
        "arguments": {"command": check.command},
        "output": f"{late}{said}{ended}",
        "outcome": _OUTCOMES.get(check.status, "error"),
        "structured_content": typed,
    }


def _sentence(check: Check) -> str:
    facts = ("command", "status", "exit_status", "reason", "duration_ms", "tree")
    return one_line(words.check(**{name: getattr(check, name) for name in facts}), "evidence")
