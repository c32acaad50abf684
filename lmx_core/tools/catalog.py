"""The tools of one session: checked once, before any request, and looked up by name after that (TO-4, DE-2).

A catalog belongs to its session. A registry for the whole process would let one session's tools appear in another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lmx_core.calls import Descriptor, Tool
from lmx_core.errors import ConfigError
from lmx_core.request import ToolSpec
from lmx_core.tools.base import descriptor


class Catalog:
    """`tools` in their order. Raises ConfigError naming the index of the tool and what it lacks, or the name given twice."""

    def __init__(self, tools: Iterable[Tool] = ()):
        self._tools: dict[str, Tool] = {}
        self._descriptors: dict[str, Descriptor] = {}
        self._digests: dict[str, str] = {}
        for index, tool in enumerate(tools):
            try:
                described = descriptor(tool)
            except ConfigError as error:
                raise ConfigError(f"tools= item {index} ({_called(tool)}): {error}") from None
            if tool.name in self._tools:
                raise ConfigError(f"tools= item {index}: there are two tools named {tool.name!r}")
            self._tools[tool.name], self._descriptors[tool.name] = tool, described

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    @property
    def tools(self) -> list[Tool]:
        return list(self._tools.values())

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def descriptor(self, name: str) -> Descriptor | None:
        return self._descriptors.get(name)

    def digest(self, name: str) -> str | None:
        """The digest of a tool's descriptor, as its results record it."""
        if name not in self._digests and name in self._descriptors:
            self._digests[name] = self._descriptors[name].to_dict()["digest"]
        return self._digests.get(name)

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model sees: names, descriptions and input schemas, nothing else."""
        return tuple(
            ToolSpec(name=name, description=d.description, schema=d.input_schema)
            for name, d in self._descriptors.items()
        )


def decorate(tools: Iterable[Tool], wrappers: Mapping[str, Callable[[Tool], Tool]]) -> list[Tool]:
    """`tools` with some of them wrapped, each in its place (TO-6).

    A key is a tool's name or `namespace/name`. Raises ConfigError when one fits no tool, when two fit the same tool, or when
    two tools share the name.
    """
    tools = list(tools)
    chosen: dict[int, str] = {}
    for key in wrappers:
        places = [i for i, tool in enumerate(tools) if key in (tool.name, descriptor(tool).identity.canonical_name)]
        if len(places) != 1:
            raise ConfigError(f"decorate: {key!r} names {'no tool' if not places else 'several tools'}")
        if places[0] in chosen:
            raise ConfigError(f"decorate: {chosen[places[0]]!r} and {key!r} are the same tool")
        chosen[places[0]] = key
    return [wrappers[chosen[i]](tool) if i in chosen else tool for i, tool in enumerate(tools)]


def _called(tool: object) -> str:
    name = getattr(tool, "name", None)
    return name if isinstance(name, str) and name else type(tool).__name__
