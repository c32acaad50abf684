"""The shipped opinions, one thin file each: what a recipe switches on, and a stranger could have written.

Resolved when first used: a host that takes one does not pay for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "ApplyPatch": "apply_patch",
    "Checkpoints": "checkpoints",
    "CommandHooks": "command_hooks",
    "Continuation": "continuation",
    "EnvironmentContext": "environment_context",
    "Interactive": "interactive",
    "Permissions": "permissions",
    "Planning": "planning",
    "Search": "search",
    "SmallModel": "small_model",
    "Verify": "verify",
    "Web": "web",
    "Workspace": "workspace",
    "coding": "recipe",
}

__all__ = [
    "ApplyPatch",
    "Checkpoints",
    "CommandHooks",
    "Continuation",
    "EnvironmentContext",
    "Interactive",
    "Permissions",
    "Planning",
    "Search",
    "SmallModel",
    "Verify",
    "Web",
    "Workspace",
    "coding",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lmx_core.extensions' has no attribute {name!r}")
    value = getattr(import_module(f"lmx_core.extensions.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
