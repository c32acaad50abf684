"""Holds a call to the files that were judged: between a question and its answer a directory may become a link.

Where its paths really lead is looked up before anybody decides, and the environment that the tool is given opens that place or
nothing (case C12). Looking again when the tool runs, which every file operation does anyway, only tells that the new place is
inside the working directory, and not that it is the one a person saw.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lmx_core.calls import Descriptor, ToolCall, ToolContext
from lmx_core.edits import patch

_FILES = frozenset({"file", "directory"})


def pinned(context: ToolContext, call: ToolCall, descriptor: Descriptor) -> ToolContext:
    """The context in which the paths of a call of our own file tools mean what they mean now; others are left as they are."""
    pin = getattr(context.environment, "pinned", None)
    kinds = frozenset(descriptor.effects.resource_types)
    if pin is None or descriptor.origin.get("type") != "built_in" or not kinds or not kinds <= _FILES:
        return context
    environment = pin(context.cwd, [path for path in paths(call.arguments) if "\0" not in path])
    return msgspec.structs.replace(context, environment=environment)


def paths(arguments: dict[str, Any]) -> Iterator[str]:
    """The paths that a call of a file tool names. A search without one is of the working directory."""
    if "input" in arguments or "patch" in arguments:
        yield from patch.paths(arguments)
        return
    path = arguments.get("path")
    yield path if isinstance(path, str) and path else "."
