"""Gives a model that was taught the patch format `apply_patch` in place of `edit` (AP-3).

Such a model writes patches whatever its tools are called, and fails with `edit` more often than with its own format; the others
the other way round. Offered both, a model mixes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from lmx_core.builtin import patch_tool
from lmx_core.calls import Tool
from lmx_core.harness.harness import Harness

PATTERNS = ("gpt-5*", "codex-*")
"""Models by the last part of their name, whoever serves them: `gpt-5-mini` of `openrouter:openai/gpt-5-mini`."""


class ApplyPatch:
    """`model` is the one the session begins with, `patterns` says which have the tool. Without `edit` nothing is exchanged."""

    def __init__(self, model: str, patterns: Sequence[str] = PATTERNS):
        self._wanted = patches(model, patterns)

    def apply(self, harness: Harness) -> Harness:
        return harness.update_tools(exchanged) if self._wanted and _has_edit(harness) else harness


def patches(model: str, patterns: Sequence[str] = PATTERNS) -> bool:
    """Whether a model, by its spec, writes patches."""
    name = model.rpartition(":")[2].rpartition("/")[2].lower()
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def exchanged(tools: Sequence[Tool]) -> list[Tool]:
    """The tools with `apply_patch` where `edit` was."""
    return [patch_tool() if tool.name == "edit" else tool for tool in tools]


def _has_edit(harness: Harness) -> bool:
    return harness.tools is None or any(tool.name == "edit" for tool in harness.tools)
