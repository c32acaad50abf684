"""The lmx engine: a coding agent's loop, tools, transcript and providers, to embed in any program.

Importing it starts nothing and is cheap (RT-1): the names below are resolved when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "lmx_core.errors": (
        "LmxError ConfigError AssemblyError ExtensionRefused ToolError StoreError TranscriptNotFound "
        "TranscriptUnreadable SessionLocked AmbiguousSession UnknownEntry UnsafeFork Busy Cancelled HookDenied "
        "HookFailed UnknownCall InvalidAnswer AlreadySent NothingToDo UnknownTools ToolsDisallowed InvalidModel "
        "AwaitTimeout SnapshotTimeout SessionDown Failure"
    ),
    "lmx_core.clock": "FOREVER Clock SystemClock ManualClock",
    "lmx_core.usage": "Usage",
    "lmx_core.entry": "Entry",
    "lmx_core.calls": "Tool ToolCall ToolContext Result Descriptor Effects Policy",
    "lmx_core.verdict": "Allow Deny Rewrite Pending Feedback Decision",
    "lmx_core.request": "Request ToolSpec",
    "lmx_core.runtime": "Runtime",
    "lmx_core.start": "start_session resume_session run PromptResult",
    "lmx_core.session.handle": "Session",
    "lmx_core.session.subscribers": "Subscription",
    "lmx_core.options": "UNSET",
    "lmx_core.harness.harness": "Harness",
    "lmx_core.harness.extension": "Extension",
    "lmx_core.harness.assemble": "assemble",
    "lmx_core.harness.explain": "explain",
    "lmx_core.hooks.base": "HookContext",
    "lmx_core.messages": "Messages",
    "lmx_core.turn.guard": "Guard",
    "lmx_core.providers.base": "Provider parse_spec",
    "lmx_core.providers.default": "DefaultProvider",
    "lmx_core.providers.scripted": "Scripted",
    "lmx_core.stores.base": "Store",
    "lmx_core.stores.jsonl": "JSONLStore",
    "lmx_core.stores.memory": "MemoryStore",
    "lmx_core.environment.base": "Environment",
    "lmx_core.environment.local": "LocalEnvironment",
    "lmx_core.environment.credentials": "Inherit Scrub",
    "lmx_core.builtin": "default_tools search_tools",
    "lmx_core.tasks": "run_in_thread",
    "lmx_core.transcript.fork": "fork",
}

_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_WHERE)  # noqa: PLE0605 - built from the table above, which a test snapshots


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'lmx_core' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
