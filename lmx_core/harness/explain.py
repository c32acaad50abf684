"""Says what a session made from a harness would start with: names, limits and origins (EX-7).

It is printed into bug reports, so it holds no prompt, no callback, no option of an extension that the extension does not tell
by itself, and no credential. It claims nothing about a request: it describes a harness, and a session may still change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from lmx_core.calls import Tool
from lmx_core.clock import FOREVER
from lmx_core.errors import ConfigError
from lmx_core.harness.harness import Harness
from lmx_core.harness.provenance import dotted_name
from lmx_core.hooks.base import HookChain
from lmx_core.options import UNSET
from lmx_core.tools import profile as profiles
from lmx_core.tools.base import descriptor

SCHEMA_VERSION = 1
DEFAULT = "session_default"
"""Stands for what nobody set: the session's own default applies."""

LIMITS = (
    "approval_timeout_ms",
    "compact_at",
    "compaction_window_cap",
    "context_window",
    "context_window_fallback",
    "keep",
    "keep_attachments",
    "keep_media",
    "keep_recent_tokens",
    "max_cost_usd",
    "max_requests",
    "max_turns",
    "summary_max_bytes",
    "tool_output_bytes",
    "tool_timeout_ms",
)
STRATEGIES = ("compaction", "environment", "guard", "messages", "secrets")


def explain(
    harness: Harness, overrides: Mapping[str, Any] | None = None, *, model: str | None = None
) -> dict[str, Any]:
    """A JSON-shaped report, version 1; `overrides` are the options a host will set by keyword, which win.

    With `model` the tools are told as that one has them (`tool_exchanges`).

    Keys: `schema_version`, `tools` (name, origin, wrappers from the outside in, enabled, reason, which is `profile` or
    `disabled`; as they would be sent),
    `collisions` (names of two tools: such a session refuses to start), `settings` (the limits; None is one that was lifted),
    `strategies` (import paths), `hooks` (names by point), `extensions` (name, module, digest, options, changed_fields),
    `host_overrides` (names). Equal for equal input.
    """
    overrides = overrides or {}
    options = harness.session_options() | {name: value for name, value in overrides.items() if value is not UNSET}
    disabled = options.get("disabled_tools") or ()
    tools = _tools(options, disabled, model)
    profile = profiles.profile(options.get("tool_profile"))
    return {
        "schema_version": SCHEMA_VERSION,
        "tools": [_tool(tool, disabled, profile) for tool in tools],
        "collisions": _collisions(tools),
        "settings": {name: _limit(options.get(name, UNSET)) for name in LIMITS},
        "strategies": {name: _strategy(options.get(name)) for name in STRATEGIES},
        "hooks": HookChain(options.get("hooks") or ()).names(),
        "extensions": [_extension(item) for item in harness.applied],
        "host_overrides": sorted(overrides),
    }


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What two reports of `explain` differ in: the changed top-level keys, each with its `before` and its `after`.

    A key that one of them lacks is told as None there. Equal reports give {}.
    """
    return {
        key: {"before": before.get(key), "after": after.get(key)}
        for key in [*before, *(key for key in after if key not in before)]
        if key not in before or key not in after or before[key] != after[key]
    }


def _tools(options: Mapping[str, Any], disabled: Sequence[str], model: str | None) -> list[Tool]:
    chosen = options.get("tools")
    if chosen is None:
        from lmx_core.builtin import default_tools  # the built-in tools load only for who asks for them

        chosen = default_tools()
    if model is not None:
        exchanges = [each for each in options.get("tool_exchanges") or () if each.tool.name not in disabled]
        chosen = profiles.exchanged(chosen, exchanges, model)
    return [*chosen, *(options.get("host_tools") or ())]


def _tool(tool: Tool, disabled: Sequence[str], profile: profiles.ToolProfile | None) -> dict[str, Any]:
    reason = "profile" if _is_refused(tool, profile) else "disabled" if tool.name in disabled else None
    return {
        "name": tool.name,
        "origin": _origin(tool),
        "wrappers": _wrappers(tool),
        "enabled": reason is None,
        "reason": reason,
    }


def _is_refused(tool: Tool, profile: profiles.ToolProfile | None) -> bool:
    try:
        return profile is not None and profile.refuses(descriptor(tool)) is not None
    except ConfigError:  # what is no tool is told as such; the session itself will refuse to start
        return False


def _origin(tool: Tool) -> str:
    try:
        return str(descriptor(tool).origin.get("type"))
    except ConfigError:  # the report says so; the session itself will refuse to start
        return "invalid"


def _wrappers(tool: object) -> list[str]:
    """Import paths of the layers around a tool that name what they wrap in `__wrapped__`, from the outside in."""
    layers: list[str] = []
    while (inner := getattr(tool, "__wrapped__", None)) is not None and len(layers) < 100:
        layers.append(dotted_name(type(tool)))
        tool = inner
    return layers


def _collisions(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    origins: dict[str, list[str]] = defaultdict(list)
    for tool in tools:
        origins[tool.name].append(_origin(tool))
    return [{"name": name, "origins": found} for name, found in sorted(origins.items()) if len(found) > 1]


def _limit(value: Any) -> Any:
    if value is UNSET:
        return DEFAULT
    return "forever" if value == FOREVER else value


def _strategy(value: object) -> str:
    return DEFAULT if value is None else dotted_name(type(value))


def _extension(record: Mapping[str, Any]) -> dict[str, Any]:
    module = record["module"]
    return {
        "name": module.rpartition(".")[2],
        "module": module,
        "digest": record["digest"],
        "options": record["options"],
        "changed_fields": list(record["changes"]),
    }
