"""What a session works with: its options, its model and its tools, and which of it the transcript records.

Only what describes the conversation is recorded (PR-2). Hooks, environment, budgets and tool objects carry a host's
authority; writing them down would let a transcript give itself permissions (PR-3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from lmx_core.background.registry import Registry
from lmx_core.builtin import REGISTRY, default_tools
from lmx_core.calls import Descriptor, Tool
from lmx_core.environment.base import Environment
from lmx_core.environment.local import LocalEnvironment
from lmx_core.options import UNSET, Options
from lmx_core.providers.admission import Admission, Limits
from lmx_core.request import Request, ToolSpec
from lmx_core.tasks import Spawn
from lmx_core.telemetry import Telemetry
from lmx_core.tools.catalog import Catalog
from lmx_core.tools.profile import WHY, ToolExchange, exchanged
from lmx_core.transcript.audit import recordable


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """What a session gets from the runtime it lives in: its name, how to start a task, whom to tell what happens, who
    owns its background commands, and the runtime itself for hooks.
    """

    name: str
    spawn: Spawn
    telemetry: Telemetry
    admission: Admission | None
    background: Registry
    runtime: Any

    def limits(
        self, options: Options, *, root_id: str, estimate: Callable[[Request], int], longest_penalty_ms: float
    ) -> Limits | None:
        """What the session's requests pass: its own limiter where it was given one, else the mount's (OPT-35)."""
        chosen: Any = options.provider_limiter
        admission = self.admission if chosen is UNSET else chosen
        if admission is None:
            return None
        return Limits(
            admission=admission,
            root_id=root_id,
            key=options.provider_limit_key,
            estimate=estimate,
            longest_penalty_ms=longest_penalty_ms,
        )


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One session's configuration. While it lives only `changes.py` replaces it, between prompts.

    `chosen` is the person's model, and recorded; `model` the one in use, which is another while that does not answer.
    `tools` are the local ones as they were given, `everything` those that the model in use has in their places and the host's
    as well, `catalog` the ones in force. `specs` is what a model sees of them, `inventory` what a request record says of them,
    the withheld ones too (AU-1); both are made once a change.
    """

    options: Options
    model: str
    chosen: str
    tools: tuple[Tool, ...]
    everything: Catalog
    catalog: Catalog
    specs: tuple[ToolSpec, ...]
    inventory: list[dict[str, Any]]
    environment: Environment

    def record(self) -> dict[str, Any]:
        """The payload of a `session` entry (REC-1)."""
        options = self.options
        assembly = {} if options.harness_assembly is None else {"harness_assembly": options.harness_assembly}
        return {
            "model": self.chosen,
            "system": options.system,
            "tools": references(self.tools, options.tool_registry),
            "disabled_tools": list(options.disabled_tools),
            "mcp_servers": [],
            "params": recordable(options.params),
            "reasoning_effort": options.reasoning_effort,
            "cwd": str(options.cwd),
            "tool_profile": self.profile,
            **assembly,
        }

    def with_tools(self, tools: Sequence[Tool]) -> Settings:
        """The same with other local tools. Raises ConfigError for a catalog that is none.

        What the host said the session was assembled from is no longer true, and is dropped (EX-11).
        """
        return self._settled_anew(msgspec.structs.replace(self.options, tools=list(tools), harness_assembly=None))

    def with_withheld(self, names: Sequence[str]) -> Settings:
        """The same where the tools of these names are withheld."""
        return self._settled_anew(msgspec.structs.replace(self.options, disabled_tools=list(names)))

    @property
    def profile(self) -> dict[str, Any] | None:
        """The tool profile as it is told of (PF-2)."""
        profile = self.options.tool_profile
        return None if profile is None else profile.record()

    def using(self, model: str, *, chosen: str | None = None) -> Settings:
        """The same on another model, with the tools as that one has them; `chosen` where a person chose it."""
        settled = settle(self.options, model)
        return msgspec.structs.replace(settled, chosen=chosen or self.chosen, environment=self.environment)

    def refusal(self, tool: str | Descriptor) -> str | None:
        """Why the tool profile leaves a tool out, in words; None where it does not."""
        described = self.everything.descriptor(tool) if isinstance(tool, str) else tool
        profile = self.options.tool_profile
        why = None if profile is None or described is None else profile.refuses(described)
        return None if why is None else WHY[why]

    def _settled_anew(self, options: Options) -> Settings:
        settled = settle(options, self.model)
        return msgspec.structs.replace(settled, chosen=self.chosen, environment=self.environment)


def settle(options: Options, model: str) -> Settings:
    """The configuration that `options` describe. Raises ConfigError for an invalid catalog (TO-4)."""
    tools = tuple(default_tools() if options.tools is None else options.tools)
    everything = Catalog([*exchanged(tools, _exchanges(options), model), *options.host_tools])
    left_out = _left_out(everything, options)
    catalog = Catalog([tool for tool in everything.tools if tool.name not in left_out])
    return Settings(
        options=options,
        model=model,
        chosen=model,
        tools=tools,
        everything=everything,
        catalog=catalog,
        specs=catalog.specs(),
        inventory=[_entry(everything.descriptor(name), left_out.get(name)) for name in everything.names],
        environment=options.environment or LocalEnvironment(),
    )


def _exchanges(options: Options) -> list[ToolExchange]:
    """Those that are in force. Nothing comes for a tool that is withheld: it would bring back what was taken away."""
    return [each for each in options.tool_exchanges if each.tool.name not in options.disabled_tools]


def _left_out(everything: Catalog, options: Options) -> dict[str, str]:
    """Why a tool is not offered, by its name. What the profile refuses is told first: nobody can enable that."""
    reasons: dict[str, str] = dict.fromkeys(options.disabled_tools, "disabled_tools")
    for name in everything.names:
        described = everything.descriptor(name)
        assert described is not None  # it was asked for by a name of the catalog
        if options.tool_profile is not None and (why := options.tool_profile.refuses(described)) is not None:
            reasons[name] = f"tool_profile: {why}"
    return reasons


def _entry(descriptor: Descriptor | None, left_out: str | None) -> dict[str, Any]:
    assert descriptor is not None  # it was asked for by a name of the catalog
    return {
        "enabled": left_out is None,
        "disabled_reason": left_out,
        "descriptor": descriptor.to_dict(),
    }


def references(tools: tuple[Tool, ...], registry: Mapping[str, Tool]) -> list[str]:
    """The names by which a resume finds these tools again; a configured instance has none (TO-2)."""
    known = {id(tool): name for name, tool in {**REGISTRY, **registry}.items()}
    return [known[id(tool)] for tool in tools if id(tool) in known]
