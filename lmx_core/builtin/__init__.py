"""The tools lmx ships. Each is one small class with one instance, known by its name (TO-2)."""

from __future__ import annotations

from collections.abc import Iterable

from lmx_core.builtin.apply_patch import ApplyPatch
from lmx_core.builtin.bash import Bash
from lmx_core.builtin.edit import Edit
from lmx_core.builtin.glob import Glob
from lmx_core.builtin.grep import Grep
from lmx_core.builtin.read import Read
from lmx_core.builtin.session.ask_user import AskUser
from lmx_core.builtin.session.todo import Todo
from lmx_core.builtin.write import Write
from lmx_core.calls import Tool
from lmx_core.errors import ConfigError

_DEFAULT: tuple[Tool, ...] = (Read(), Write(), Edit(), Bash())
_SEARCH: tuple[Tool, ...] = (Grep(), Glob())

_PATCH: Tool = ApplyPatch()
_ASK: Tool = AskUser()
_TODO: Tool = Todo()

REGISTRY: dict[str, Tool] = {tool.name: tool for tool in (*_DEFAULT, *_SEARCH, _PATCH, _ASK, _TODO)}
"""By the name a transcript records, so that a resume finds them again (PR-5)."""


def default_tools(exclude: Iterable[str] = ()) -> list[Tool]:
    """`read`, `write`, `edit` and `bash`, less those in `exclude`. Raises ConfigError for a name that is none of them."""
    unknown = set(exclude) - {tool.name for tool in _DEFAULT}
    if unknown:
        known = ", ".join(tool.name for tool in _DEFAULT)
        raise ConfigError(
            f"exclude= names no default tool: {', '.join(sorted(unknown))}; the default tools are {known}"
        )
    return [tool for tool in _DEFAULT if tool.name not in exclude]


def search_tools() -> list[Tool]:
    """`grep` and `glob`."""
    return list(_SEARCH)


def ask_tool() -> Tool:
    """`ask_user`, for a session that has a person in front of it."""
    return _ASK


def todo_tool() -> Tool:
    """`todo`, which keeps the plan of a session's work."""
    return _TODO


def patch_tool() -> Tool:
    """`apply_patch`, which a session has instead of `edit` where its model was taught it."""
    return _PATCH
