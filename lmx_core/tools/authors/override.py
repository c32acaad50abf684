"""A tool under another name or with other words, or with a host's function before and after it (TO-7).

The record stays honest: what a transcript says of such a tool names the fields that were overridden, and whether the tool's own
code is all that runs. Copied and edited, the obvious way, a tool would keep the name of one and the behaviour of another.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from lmx_core.calls import Result, Tool, ToolContext
from lmx_core.errors import ConfigError, ToolError
from lmx_core.tools import base
from lmx_core.tools.plan import Plan, Plans
from lmx_core.verdict import Deny

Before = Callable[[dict[str, Any], ToolContext], Any]
"""Given the arguments: other ones to run with, a Deny, or None for as they are. A ToolError refuses, too."""
After = Callable[[Any, ToolContext], Any]
"""Given what the tool returned, a stream included, untouched: what is returned in its place."""


class Override:
    """`tool` with what is given in the place of its own.

    Other words alone leave it the same tool: it keeps its implementation digest, and a change of files by it can still be taken
    in part. With `before` or `after` the digest covers the wrapper as well: `digest` where the host says what it is, else their
    source. A synchronous tool takes synchronous functions, for all three then run in its thread. Raises ConfigError.
    """

    def __new__(cls, tool: Tool, **given: Any) -> Override:
        wraps = given.get("before") is not None or given.get("after") is not None
        kind = _Async if base.is_async(tool) else Override
        if not wraps and isinstance(tool, Plans):
            kind = _AsyncPlans if kind is _Async else _SyncPlans
        return super().__new__(kind)

    def __init__(
        self,
        tool: Tool,
        *,
        name: str | None = None,
        description: str | None = None,
        schema: Mapping[str, Any] | None = None,
        before: Before | None = None,
        after: After | None = None,
        digest: str | None = None,
    ):
        for option, function in (("before", before), ("after", after)):
            if function is not None and not callable(function):
                raise ConfigError(f"{option}= of an Override must be a function")
            if inspect.iscoroutinefunction(function) and not base.is_async(tool):
                raise ConfigError(f"{option}= of an Override of the synchronous tool {tool.name} must be synchronous")
        self.__wrapped__ = tool
        self.name = tool.name if name is None else name
        self.description = tool.description if description is None else description
        self.schema = tool.schema if schema is None else schema
        self._before, self._after = before, after
        words = {"name": name, "description": description, "schema": schema}
        fields = [field for field, value in words.items() if value is not None]
        if before is not None or after is not None:
            fields.append("run")
        self.metadata = _metadata(tool, self.name, fields, [f for f in (before, after) if f is not None], digest)
        base.descriptor(self)  # what is wrong with it is said here and not at a session's start

    def run(self, args: dict[str, Any], context: ToolContext) -> Any:
        given = args if self._before is None else _allowed(self._before(args, context), args)
        returned = self.__wrapped__.run(given, context)
        return returned if self._after is None else self._after(returned, context)


class _Async(Override):
    async def run(self, args: dict[str, Any], context: ToolContext) -> Any:
        given = args if self._before is None else _allowed(await _awaited(self._before(args, context)), args)
        returned = await _awaited(self.__wrapped__.run(given, context))
        return returned if self._after is None else await _awaited(self._after(returned, context))


class _Planned(Override):
    """Of a tool whose changes a person may take in part."""

    async def plan(self, args: dict[str, Any], context: ToolContext) -> Plan:
        tool = self.__wrapped__
        assert isinstance(tool, Plans)
        return await tool.plan(args, context)

    async def carry_out(self, plan: Plan, context: ToolContext) -> Result:
        tool = self.__wrapped__
        assert isinstance(tool, Plans)
        return await tool.carry_out(plan, context)


class _SyncPlans(_Planned):
    pass


class _AsyncPlans(_Planned, _Async):
    pass


def _allowed(answer: Any, args: dict[str, Any]) -> dict[str, Any]:
    if answer is None:
        return args
    if isinstance(answer, Deny):
        raise ToolError(answer.reason)
    if not isinstance(answer, dict):
        raise TypeError(f"before= of an Override returned {type(answer).__name__}")
    return answer


async def _awaited(value: Awaitable[Any] | Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _metadata(
    tool: Tool, name: str, fields: list[str], wrappers: list[Callable[..., Any]], digest: str | None
) -> dict[str, Any]:
    """The parts of the tool's own descriptor, with what was overridden in `origin` (it may be overridden already)."""
    described = base.descriptor(tool)
    inner = described.identity.implementation_digest
    own = inner if not wrappers else _folded(inner, digest or _source(wrappers))
    before = described.origin.get("overrides", {}).get("fields", [])
    overrides = {"fields": list(dict.fromkeys([*before, *fields])), "of": described.identity.canonical_name}
    return {
        "effects": described.effects,
        "policy": described.policy,
        "runtime": described.runtime,
        "identity": msgspec.structs.replace(described.identity, name=name, implementation_digest=own),
        "origin": {**described.origin, "overrides": overrides},
        "output_schema": described.output_schema,
        "content_types": described.content_types,
    }


def _folded(inner: str | None, wrapper: str | None) -> str:
    return hashlib.sha256(f"{inner} {wrapper}".encode()).hexdigest()


def _source(wrappers: list[Callable[..., Any]]) -> str:
    """Where the functions are defined and what is written there, as far as there is a file."""
    told = [
        f"{base.file_digest(function)} {getattr(function, '__qualname__', type(function))}" for function in wrappers
    ]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()
