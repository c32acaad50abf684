"""What a session says of its tools when asked (MET-21): which it has, where each comes from, which a model is offered.

Two questions are kept apart: whether a tool is *allowed* at all, and whether it is *enabled*, so that a model is offered it
now. Told as one, a person would try to enable a tool that nobody can.
"""

from __future__ import annotations

import msgspec

from lmx_core.calls import Tool
from lmx_core.errors import UnknownTools
from lmx_core.providers import base as providers
from lmx_core.providers.base import Provider
from lmx_core.request import ToolSpec
from lmx_core.session.setup.settings import Settings
from lmx_core.tools.base import descriptor
from lmx_core.verdict import Decision


class ToolStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of a session. `source` is its origin: `built_in`, `host_module`, `configured_instance` or `mcp`."""

    name: str
    source: str
    allowed: bool
    enabled: bool


def refusal(provider: Provider, model: str, tool: ToolSpec) -> str | None:
    """Why the provider does not take this tool for this model, as far as it knows; None where it does."""
    failure = providers.check(provider, model, (tool,))
    return None if failure is None else failure.message


def status(settings: Settings, provider: Provider) -> list[ToolStatus]:
    """Every tool of the session in its order, the withheld ones too."""
    return [
        ToolStatus(
            name=tool.name,
            source=str(descriptor(tool).origin["type"]),
            allowed=settings.refusal(tool.name) is None and refusal(provider, settings.model, _spec(tool)) is None,
            enabled=settings.catalog.get(tool.name) is not None,
        )
        for tool in settings.everything.tools
    ]


def decision(settings: Settings, provider: Provider, tool: Tool | str) -> Decision:
    """Whether a tool, one of the session's by name or any, may be offered to its model. Raises UnknownTools, ConfigError."""
    found = settings.everything.get(tool) if isinstance(tool, str) else tool
    if found is None:
        raise UnknownTools([str(tool)])
    if (why := settings.refusal(descriptor(found))) is not None:
        return Decision(verdict="deny", sentence=why, rule="tool_profile", source="host")
    if (why := refusal(provider, settings.model, _spec(found))) is not None:
        return Decision(verdict="deny", sentence=why, source="provider")
    if found.name in settings.options.disabled_tools:
        sentence = f"{found.name} is allowed, and withheld until it is enabled"
        return Decision(verdict="allow", sentence=sentence, rule="disabled_tools", source="session")
    return Decision(verdict="allow", sentence=f"nothing keeps {found.name} from being offered", source="session")


def _spec(tool: Tool) -> ToolSpec:
    described = descriptor(tool)
    return ToolSpec(name=tool.name, description=described.description, schema=described.input_schema)
