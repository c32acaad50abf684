"""The part of a session's handle that is about what it works with: its model, provider and tools, asked for and changed.

Changes are made by the actor (`changes.py`). What only the provider knows is asked for here, in the caller's task: a catalogue
comes over the network, and an actor that waited for one would hold up whoever cancels meanwhile (SE-1).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lmx_core.calls import Tool
from lmx_core.errors import ConfigError, SessionDown
from lmx_core.options import check_model, checks
from lmx_core.providers import base as providers
from lmx_core.providers.base import Provider
from lmx_core.session.setup import changes, tools
from lmx_core.session.setup.tools import ToolStatus
from lmx_core.tools.catalog import Catalog
from lmx_core.verdict import Decision

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor


class Configured:
    """What `Session` has of this. Every method raises SessionDown once the session has ended."""

    _actor: Actor

    def _alive(self) -> Actor:
        if self._actor.down is not None:
            raise SessionDown(self._actor.down)
        return self._actor

    # -- model and provider

    async def set_model(self, model: str) -> None:
        """Uses another model from the next prompt on. Raises ConfigError for what names none, Busy, InvalidModel."""
        check_model(model)
        await self._actor.ask(changes.set_model, self._actor, model)

    async def set_provider(self, provider: Provider, model: str | None = None) -> None:
        """Sends requests to another provider from the next prompt on (MET-18).

        Without `model` the present one stays, where the provider offers it or cannot say what it offers; else it is the first
        that is offered and can be used with the session's tools. The provider is the host's: it is neither recorded nor closed
        here. Raises ConfigError for what is no provider, Busy, InvalidModel.
        """
        if isinstance(provider, type) or not inspect.iscoroutinefunction(getattr(provider, "run", None)):
            raise ConfigError("a provider is an object with a method `async def run(self, request, emit)`")
        if model is not None:
            check_model(model)
            models: Sequence[str] = [model]
        else:
            present = self._alive().settings.model
            offered = await providers.available_models(provider)
            models = [present] if not offered or present in offered else offered
        await self._actor.ask(changes.set_provider, self._actor, provider, models)

    async def set_reasoning_effort(self, effort: str | None) -> None:
        """How hard the model thinks from the next prompt on; None or `default` leaves that to the provider (MET-18).

        Raises ConfigError for what is no text, Busy, UnsupportedEffort where it is known that the model has no such level.
        """
        if effort is not None and (not isinstance(effort, str) or not effort.strip()):
            raise ConfigError("a reasoning effort is a word such as low or high, or None")
        wanted = None if effort == "default" else effort
        await self._actor.ask(changes.set_reasoning_effort, self._actor, wanted)

    async def available_models(self, provider: str | None = None) -> list[str]:
        """Specs of the models that can be asked now, of one provider or of all; `[]` when that cannot be told (MET-22)."""
        return await providers.available_models(self._alive().provider, provider)

    async def available_providers(self) -> list[str]:
        """Names of the providers whose models can be asked now; `[]` when that cannot be told."""
        return providers.available_providers(self._alive().provider)

    async def model_metadata(self, model: str | None = None) -> dict[str, Any]:
        """What the provider knows of a model (the present one) without asking anybody; `{}` for nothing."""
        actor = self._alive()
        return providers.model_metadata(actor.provider, model or actor.settings.model)

    async def reasoning_efforts(self, model: str | None = None) -> list[str]:
        """The levels of reasoning that a model (the present one) knows, from least to most; `[]` when that cannot be told."""
        actor = self._alive()
        return providers.reasoning_efforts(actor.provider, model or actor.settings.model)

    # -- tools

    async def set_tools(self, new: Sequence[Tool]) -> None:
        """Replaces the local tools from the next prompt on; those of `host_tools=` stay (MET-19).

        A name that is withheld stays so. Like any configured tool, those without a reference must be passed again to a resume.
        Raises ConfigError for what is no list of tools or no catalog (TO-4), Busy, ToolsDisallowed (the provider refuses one).
        """
        if (wrong := checks.tools(new)) is not None:
            raise ConfigError(f"tools= {wrong}")
        await self._actor.ask(changes.set_tools, self._actor, list(new))

    async def enable_tools(self, names: Iterable[str]) -> None:
        """Offers tools of the session again that were withheld (MET-20). Raises Busy, UnknownTools, ToolsDisallowed.

        All or none: it reaches only what the session has, and can make no tool appear that it was not given.
        """
        await self._actor.ask(changes.enable_tools, self._actor, changes.check_names(names))

    async def disable_tools(self, names: Iterable[str]) -> None:
        """Withholds tools of the session, also when it is resumed (MET-20). Raises Busy, UnknownTools; all or none."""
        await self._actor.ask(changes.disable_tools, self._actor, changes.check_names(names))

    async def tool_status(self) -> list[ToolStatus]:
        """Every tool of the session, withheld ones too: its source, whether it is allowed, whether it is offered (MET-21)."""
        actor = self._alive()
        return tools.status(actor.settings, actor.provider)

    async def tools(self) -> list[Tool]:
        """The tool objects of the session in their order, withheld ones too."""
        return self._alive().settings.everything.tools

    async def tool_decision(self, tool: Tool | str) -> Decision:
        """Whether a tool (any, or one of the session's by name) may be offered to a model. Raises UnknownTools, ConfigError."""
        actor = self._alive()
        return tools.decision(actor.settings, actor.provider, tool)

    async def catalog(self) -> Catalog:
        """The tools in force: what the model is offered, with their descriptors. It is not changed by a later change."""
        return self._alive().settings.catalog
