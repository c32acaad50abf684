"""Commands about what a session works with: provider, effort, tools (tui.md 4)."""

from __future__ import annotations

from lmx import words
from lmx.commands.base import Actions, Command
from lmx.sanitize import one_line
from lmx_core.errors import LmxError
from lmx_core.providers.catalog import EFFORTS


class Provider(Command):
    name = "provider"
    summary = "show the providers, or switch to another and keep the conversation"
    hint = "[NAME]"
    when = "idle-always"
    offers = "providers"
    asks = True

    async def perform(self, act: Actions, argument: str) -> None:
        mine = act.model().partition(":")[0]
        if argument and argument.lower() != mine:
            used = await _used_here(act, argument.lower())
            await act.set_model(used or await act.host.model_of(argument.lower()))
            return
        rows = [f"{'›' if name == mine else ' '} {name}  {what}" for name, what in await act.host.providers()]
        act.say("\n".join([words.PROVIDER_IS.format(provider=mine) if mine else words.NO_MODEL, *rows]))


async def _used_here(act: Actions, provider: str) -> str | None:
    """The model of a provider that this session was on before."""
    try:
        entries = (await act.session.snapshot()).entries
    except LmxError:
        return None  # there is no session to have used any
    used = (str(entry.payload.get("model")) for entry in reversed(entries) if entry.type == "request")
    return next((spec for spec in used if spec.startswith(f"{provider}:")), None)


class Effort(Command):
    name = "effort"
    summary = "show how hard the model thinks, or change it"
    hint = "[LEVEL]"
    when = "idle"
    offers = "efforts"
    asks = True

    def check(self, argument: str) -> str | None:
        known = argument.lower() in ("", "default", *EFFORTS)
        return None if known else words.EFFORT_UNKNOWN.format(levels=", ".join(("default", *EFFORTS)))

    async def perform(self, act: Actions, argument: str) -> None:
        session = act.session
        if argument:
            await session.set_reasoning_effort(argument.lower())
        info = await session.info()
        levels = ", ".join(info.reasoning_efforts)
        act.say(words.effort_is(one_line(info.model), info.reasoning_effort, levels))


class Tools(Command):
    name = "tools"
    summary = "list the tools of this session, or offer some to the model or withhold them"
    hint = "[list | enable NAME… | disable NAME…]"

    def check(self, argument: str) -> str | None:
        first, *names = argument.split()[:2] or ["list"]
        known = (first == "list" and not names) or (first in ("enable", "disable") and bool(names))
        return None if known else words.TOOLS_USAGE

    async def perform(self, act: Actions, argument: str) -> None:
        first, *names = argument.split() or ["list"]
        session = act.session
        if first == "enable":
            await session.enable_tools(names)
        elif first == "disable":
            await session.disable_tools(names)
        status = await session.tool_status()
        wide = max((len(tool.name) for tool in status), default=0)
        rows = [f"{tool.name:<{wide}}  {words.tool_is(tool.enabled, tool.allowed, tool.source)}" for tool in status]
        act.say("\n".join(one_line_each(rows)) if rows else words.NO_TOOLS)


def one_line_each(rows: list[str]) -> list[str]:
    """Names of tools may come from a server: none of them makes a row of its own."""
    return [row.replace("\n", " ") for row in rows]
