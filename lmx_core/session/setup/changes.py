"""What a host may change of a session at rest: its model, its provider, how hard it thinks, its tools (MET-18 to MET-20).

Each happens in the actor's task, and whole or not at all: everything is checked first, then recorded, then announced. Set on
the fly instead, a change would reach the middle of a prompt, and a request would not be what its record says. A resume takes up
what was recorded last; the tools that are withheld stay so (OPT-18).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from lmx_core import events
from lmx_core.calls import Tool
from lmx_core.errors import Busy, ConfigError, InvalidModel, ToolsDisallowed, UnknownTools, UnsupportedEffort
from lmx_core.providers import base as providers
from lmx_core.providers.base import Provider
from lmx_core.session.setup.settings import Settings
from lmx_core.session.setup.tools import refusal

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor


async def set_model(actor: Actor, model: str) -> None:
    """Raises Busy, or InvalidModel when the provider knows that it cannot serve it."""
    _at_rest(actor)
    if (failure := providers.check(actor.provider, model, actor.settings.using(model).specs)) is not None:
        raise InvalidModel(failure.message)
    await _use_model(actor, model)


async def set_provider(actor: Actor, provider: Provider, models: Sequence[str]) -> None:
    """Sends requests to another provider, with the first of `models` that it can serve. Raises Busy, InvalidModel."""
    _at_rest(actor)
    reasons: list[str] = []
    for model in models:
        failure = providers.check(provider, model, actor.settings.using(model).specs)
        if failure is None:
            break
        reasons.append(failure.message)
    else:
        raise InvalidModel(reasons[0] if reasons else "this provider offers no model")
    previous, actor.provider = actor.provider, provider
    actor.room.forget_model()
    actor.remount()
    if previous is not provider:
        names = type(previous).__name__, type(provider).__name__
        actor.emit(events.ProviderChanged(previous=names[0], current=names[1]))
    await _use_model(actor, model)


async def _use_model(actor: Actor, model: str) -> None:
    previous = actor.settings.model
    actor.fallback.forget()
    if model == previous == actor.settings.chosen:
        return
    had = actor.settings.catalog.names
    actor.use(actor.settings.using(model, chosen=model))
    await actor.record_settings()
    if (has := actor.settings.catalog.names) != had:
        await actor.ledger.append("system", {"text": actor.messages.tools_changed(has)})
    actor.emit(events.ModelChanged(previous=previous, current=model))
    if has != had:
        actor.emit(events.ToolsChanged(previous=had, current=has))


async def set_reasoning_effort(actor: Actor, effort: str | None) -> None:
    """None for the provider's own. Raises Busy, or UnsupportedEffort where it is known that the model has no such level."""
    _at_rest(actor)
    supported = providers.reasoning_efforts(actor.provider, actor.settings.model)
    if effort is not None and supported and effort not in supported:
        raise UnsupportedEffort(actor.settings.model, supported)
    previous = actor.settings.options.reasoning_effort
    if effort == previous:
        return
    options = msgspec.structs.replace(actor.settings.options, reasoning_effort=effort)
    actor.settings = msgspec.structs.replace(actor.settings, options=options)
    await actor.record_settings()
    told = events.ReasoningEffortChanged(previous=previous or "default", current=effort or "default")
    actor.emit(told)


async def set_tools(actor: Actor, tools: Sequence[Tool]) -> None:
    """Replaces the local tools. Raises Busy, ConfigError for a catalog that is none (TO-4), ToolsDisallowed.

    Names that are withheld stay withheld, whatever tool comes under them.
    """
    _at_rest(actor)
    changed = actor.settings.with_tools(tools)
    _check(actor, changed)
    previous = await _put_in_force(actor, changed)
    actor.emit(events.ToolsChanged(previous=previous, current=changed.catalog.names))


async def enable_tools(actor: Actor, names: Iterable[str]) -> None:
    """Offers tools of the session again. Raises Busy, UnknownTools, ToolsDisallowed: the profile's no stays one (PF-2)."""
    named = _known(actor, names)
    if refused := [(name, why) for name in named if (why := actor.settings.refusal(name)) is not None]:
        raise ToolsDisallowed(refused)
    withheld = actor.settings.options.disabled_tools
    await _change_access(actor, "enabled", [n for n in named if n in withheld], [n for n in withheld if n not in named])


async def disable_tools(actor: Actor, names: Iterable[str]) -> None:
    """Withholds tools of the session. Raises Busy, UnknownTools."""
    named = _known(actor, names)
    withheld = actor.settings.options.disabled_tools
    new = [name for name in named if name not in withheld]
    await _change_access(actor, "disabled", new, [*withheld, *new])


def _known(actor: Actor, names: Iterable[str]) -> list[str]:
    """The names, each once. One that no tool of the session has raises UnknownTools, and then nothing is changed."""
    _at_rest(actor)
    named = list(dict.fromkeys(names))
    if unknown := [name for name in named if actor.settings.everything.get(name) is None]:
        raise UnknownTools(unknown)
    return named


async def _change_access(actor: Actor, action: str, names: list[str], withheld: list[str]) -> None:
    if not names:
        return
    changed = actor.settings.with_withheld(withheld)
    _check(actor, changed)
    await _put_in_force(actor, changed)
    actor.emit(events.ToolAccessChanged(action=action, names=names, current=changed.catalog.names))


def _check(actor: Actor, changed: Settings) -> None:
    """Whether the provider takes each tool that is new to it. Raises ToolsDisallowed."""
    known = actor.settings.specs
    new = [spec for spec in changed.specs if spec not in known]
    reasons = [(spec.name, refusal(actor.provider, changed.model, spec)) for spec in new]
    if refused := [(name, why) for name, why in reasons if why is not None]:
        raise ToolsDisallowed(refused)


async def _put_in_force(actor: Actor, changed: Settings) -> list[str]:
    """Records the changed tools, and tells the model which it has now. Returns the names it had."""
    notice = actor.messages.tools_changed(changed.catalog.names)
    previous, actor.settings = actor.settings.catalog.names, changed
    actor.remount()
    await actor.ledger.append(
        "session", changed.record()
    )  # also where tools without a reference took each other's place
    await actor.ledger.append("system", {"text": notice})
    return previous


def _at_rest(actor: Actor) -> None:
    if actor.run is not None:
        raise Busy


def check_names(names: object) -> list[str]:
    """The names of tools that a caller gave. Raises ConfigError."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise ConfigError("the tools to change are a list of names")
    listed = list(names)
    if not all(isinstance(name, str) for name in listed):
        raise ConfigError("the tools to change are a list of names")
    return listed
