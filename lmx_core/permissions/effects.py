"""What a call would do, as far as its descriptor says and its arguments show (PM-3, cli.md 5.2).

The gate decides by effect and not by name: a list of known tools would let every other tool through or none. What a
descriptor leaves open counts as the most it could be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from lmx_core.calls import Descriptor, ToolCall
from lmx_core.edits import patch
from lmx_core.environment.base import FileError

Kind = Literal["read", "edit", "guarded", "outside", "confined", "other"]

_READING = frozenset({"read", "delegated_read", "attention"})
_FILES = frozenset({"file", "directory"})
_MACHINE = _FILES | {"operating_system"}

_START_UP = """
    .envrc .profile .bashrc .bash_profile .bash_login .bash_logout .zshrc .zprofile .zshenv .zlogin .zlogout
""".split()
GUARDED = {
    **dict.fromkeys((".git", ".gitmodules", ".gitconfig", ".githooks", ".husky"), "where git finds programs to run"),
    **dict.fromkeys((".lmx", ".claude", ".codex", ".mcp.json"), "where an agent finds its settings, hooks and servers"),
    **dict.fromkeys((".vscode", ".idea", ".devcontainer"), "where an editor finds programs to run"),
    **dict.fromkeys(_START_UP, "which a shell runs when it starts"),
    **dict.fromkeys((".ssh", ".gnupg", ".config"), "where programs find settings and keys"),
}
"""Files and folders that hold nothing of a project's own work: what stands in them is run, or believed, later and by others, so
that a write there leaves the working directory, and every sandbox, in time. With the reason, in words."""

Confine = Callable[[str], Path | FileError]
"""Where a path really leads: inside the working directory, or a FileError such as `outside_worktree`."""

_DOES = {
    "write": "changes something",
    "arbitrary": "can change anything",
    "external": "reaches other systems",
}


class Act(msgspec.Struct, frozen=True):
    """`kind`: `read` only looks, `edit` changes files in the working directory, `guarded` some there that only full_auto lets
    be changed unasked, `outside` some elsewhere. `confined` is what a sandbox holds in, `other` is the rest.

    `what` says it in words that begin with the tool's name.
    """

    kind: Kind
    what: str


def act_of(call: ToolCall, descriptor: Descriptor | None, confine: Confine | None) -> Act:
    """What `call` would do. Without a descriptor or a `confine` the answer is the careful one."""
    name = call.name
    if descriptor is None:
        return Act("other", f"{name} does not say what it does")
    effects, mcp = descriptor.effects, descriptor.origin.get("type") == "mcp"
    kinds = frozenset(effects.resource_types)
    if not mcp and (effects.effect in _READING or (kinds and all(map(_of_the_session, kinds)))):
        return Act("read", f"{name} only reads")
    if _own_task(call, descriptor):
        return Act("read", f"{name} only looks at, or stops, a background command that was allowed when it began")
    if not mcp and effects.effect == "write" and kinds and kinds <= _FILES:
        return _edit(call, descriptor, confine)
    what = f"{name} {_DOES.get(effects.effect, 'does not say what it does')}"
    if not mcp and effects.effect in ("write", "arbitrary") and kinds and kinds <= _MACHINE:
        return Act("confined", what)
    return Act("other", what)


def _own_task(call: ToolCall, descriptor: Descriptor) -> bool:
    """Whether this is `bash` about a background command of its own session, and runs nothing."""
    ours = descriptor.identity.canonical_name == "builtin/bash" and descriptor.origin.get("type") == "built_in"
    return ours and bool(call.arguments.get("task_id")) and not call.arguments.get("command")


def _of_the_session(resource: str) -> bool:
    return resource.startswith("session_") or resource in ("human_attention", "agent_tree")


def _edit(call: ToolCall, descriptor: Descriptor, confine: Confine | None) -> Act:
    """Judges an edit by where its paths really lead. What is not known to stay inside is not an edit of the directory."""
    ours = descriptor.origin.get("type") == "built_in"
    paths = _paths(call.arguments, ours=ours)
    if confine is None or not paths:
        return Act("confined", f"{call.name} changes files, and which ones is not known")
    root, guarded = confine("."), None
    above = len(root.parts) if isinstance(root, Path) else 0
    for path in paths:
        place = confine(path)
        if isinstance(place, FileError):
            if not ours or place.kind != "outside_worktree":
                return Act(
                    "confined", f"{call.name} changes {_short(path)}, which may be outside the working directory"
                )
            return Act("outside", f"{call.name} cannot change {_short(path)}, which is outside the working directory")
        parts = [part.lower() for part in place.parts]
        why = GUARDED[".git"] if ".git" in parts else next((GUARDED[p] for p in parts[above:] if p in GUARDED), None)
        if why is not None and guarded is None:
            guarded = Act("guarded", f"{call.name} changes {_short(path)}, {why}")
    return guarded or Act("edit", f"{call.name} changes {_short(paths[0])}")


def _paths(arguments: dict[str, Any], *, ours: bool) -> list[str]:
    """The paths a call would change: `path` or those in the patch of our own tools; of a stranger's, every possible text."""
    if ours:
        if "input" in arguments or "patch" in arguments:
            return patch.paths(arguments)
        path = arguments.get("path")
        return [path] if isinstance(path, str) and path else []
    return [text for text in _texts(arguments) if text and "\n" not in text]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _short(path: str, limit: int = 200) -> str:
    return path if len(path) <= limit else f"{path[: limit - 1]}…"
