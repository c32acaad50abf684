"""/doctor: how everything stands that a session depends on, in one row that can be pasted into a report (tui.md 4).

No key, no address and no text of the conversation is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmx import words
from lmx.commands.base import Actions, Command
from lmx.sanitize import one_line
from lmx_core.errors import LmxError

Fact = tuple[str, str]


class Doctor(Command):
    name = "doctor"
    summary = "how the model, limits, permissions, undo, sandbox, tools and the terminal stand"
    when = "always"

    async def perform(self, act: Actions, argument: str) -> None:
        facts = [("lmx", act.host.version), *act.host.facts(), *await _of_session(act)]
        act.say(table(facts))
        act.terminal()


async def _of_session(act: Actions) -> list[Fact]:
    handle, rules = act.permission.in_force()
    facts = [("permissions", words.doctor_permissions(handle.mode, handle.source, len(rules.allow), len(rules.deny)))]
    try:
        session = act.session
        info = await session.info()
        status = await session.tool_status()
    except LmxError as error:
        return [("session", str(error)), *facts]
    return [
        ("model", words.doctor_model(info.model, info.reasoning_effort)),
        ("window", words.doctor_window(info.context.window)),
        ("limits", words.doctor_limits(info.requests, info.max_requests, info.spent_usd, info.max_cost_usd)),
        *facts,
        ("tools", " ".join(tool.name if tool.enabled else f"({tool.name})" for tool in status) or words.NO_TOOLS),
    ]


def table(facts: Sequence[Fact]) -> str:
    """A line a fact."""
    wide = max(len(what) for what, _ in facts)
    return "\n".join(f"{what:<{wide}}  {one_line(how)}" for what, how in facts)
