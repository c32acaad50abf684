"""What a session was put together from, as its transcript keeps it, and how a resume uses that (core.md EX-11).

A resumed session starts from the inputs that were recorded, the prompt and the tools *before* any extension, and today's
extensions are applied to them anew. Restoring what the extensions had made, and applying them to that, would wrap each tool
once more and append each text once more with every resume.

A record is data: a version, names, a prompt and limits. Nothing is loaded because a transcript names it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from lmx.exit_status import CommandError, shown, usage
from lmx_core import Harness, Tool, assemble, default_tools, search_tools

VERSION = 1

LIMITS = ("max_turns", "max_requests", "max_cost_usd")
"""Ceilings that a resume keeps where this start names none (cli.md 3.9)."""

LAYERS = ("workspace", "environment_context")
"""Extensions that put today's text into the prompt. A session started without one keeps its prompt exactly as it was."""


class Composed(NamedTuple):
    """What a session starts from, its extensions by name, and the record of it for its transcript.

    `record` is None where the inputs are not known.
    """

    harness: Harness
    names: list[str]
    record: dict[str, Any] | None


class Inputs(NamedTuple):
    """A record that was read. `system` is None where the prompt was disabled; `limits` has those that were set."""

    system: str | None
    tools: list[Tool]
    layers: list[str]
    transforming: list[str]
    limits: dict[str, float]


def compose(base: Harness, recipe: Mapping[str, Any], layers: list[str]) -> Composed:
    """`base` after the extensions of `recipe`, in their order; `layers` are those its prompt may have from now on.

    Raises what `assemble` raises.
    """
    harness, transforming = base, []
    for name, spec in recipe.items():
        after = assemble(harness, [spec])
        if _tools(harness) - _tools(after):
            transforming.append(name)
        harness = after
    record = {
        "version": VERSION,
        "system": base.update_system(lambda text: text).system,
        "tools": [tool.name for tool in _own(base)],
        "layers": layers,
        "transforming": transforming,
        "limits": {name: value for name in LIMITS if (value := getattr(base, name)) is not None},
    }
    return Composed(harness, list(recipe), record)


def _own(harness: Harness) -> list[Tool]:
    return list(default_tools() if harness.tools is None else harness.tools)


def _tools(harness: Harness) -> set[int]:
    """Which tool objects there are. One that an extension took away, or put another in the place of, is not there after it."""
    return {id(tool) for tool in [*_own(harness), *(harness.host_tools or ())]}


def resumed(base: Harness, recipe: Mapping[str, Any], inputs: Inputs) -> tuple[Harness, dict[str, Any]]:
    """`base` and `recipe` for a session with these inputs; a ceiling that `base` does not name is the recorded one.

    Raises CommandError for an extension that changed its tools and is not in the recipe: without it the model would go on
    with other tools than the conversation speaks of. One that only added some is simply gone (cli.md 3.9).
    """
    for name in inputs.transforming:
        if name not in recipe:
            raise usage(
                f"the extension {shown(name)} changed the tools of this session and is not switched on now; switch it on "
                f"again (disabled_extensions in the configuration leaves some out), or start a new session"
            )
    limits = {name: limit for name, limit in inputs.limits.items() if getattr(base, name) is None}
    chosen = {name: spec for name, spec in recipe.items() if name in inputs.layers or name not in LAYERS}
    return base.replace(system=inputs.system, tools=inputs.tools, **limits), chosen


def read(recorded: Mapping[str, Any]) -> Inputs | None:
    """The inputs that the payload of a `session` entry names; None for one that names none.

    Raises CommandError for a version or a tool this lmx does not know, or for what is no record.
    """
    record = recorded.get("harness_assembly")
    if record is None:
        return None
    version = record.get("version") if isinstance(record, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise CommandError(
            f"this session was put together by a newer lmx (record version {version}), and this one does not know with which "
            f"tools; take it up with that lmx, or start a new session"
        )
    try:
        inputs = _inputs(record) if version == VERSION else None
    except (KeyError, TypeError, ValueError):
        inputs = None
    if inputs is None:
        raise CommandError(
            "the transcript's record of what this session was put together from is damaged; start a new one"
        )
    return inputs


def _inputs(record: Mapping[str, Any]) -> Inputs | None:
    system, limits = record["system"], dict(record["limits"])
    names, layers, transforming = (_names(record[key]) for key in ("tools", "layers", "transforming"))
    right = all(_is_limit(name, value) for name, value in limits.items())
    if not right or not (system is None or isinstance(system, str)):
        return None
    return Inputs(system, [_tool(name) for name in names], layers, transforming, limits)


def _is_limit(name: str, value: Any) -> bool:
    if name == "max_cost_usd":
        return type(value) in (int, float) and 0 <= value < math.inf
    return name in LIMITS and type(value) is int and value > 0


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TypeError
    return value


def _tool(name: str) -> Tool:
    known = {tool.name: tool for tool in [*default_tools(), *search_tools()]}
    if name not in known:
        raise usage(
            f"this session works with the tool {shown(name)}, which this lmx does not have; start a new session"
        )
    return known[name]
