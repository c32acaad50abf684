"""Gives a model that was taught the patch format `apply_patch` in place of `edit` (AP-3).

Such a model writes patches whatever its tools are called, and fails with `edit` more often than with its own format; the others
the other way round. Offered both, a model mixes them. The session knows both and offers the one of the model in use: also when
a person chooses another model later, or a list of models moves on.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmx_core.builtin import REGISTRY, patch_tool
from lmx_core.harness.harness import Harness
from lmx_core.tools.profile import ToolExchange

PATTERNS = ("gpt-5*", "codex-*")
"""Models by the last part of their name, whoever serves them: `gpt-5-mini` of `openrouter:openai/gpt-5-mini`."""


class ApplyPatch:
    """`patterns` says which models have the tool. Without the shipped `edit` nothing is exchanged."""

    def __init__(self, patterns: Sequence[str] = PATTERNS):
        self._exchange = ToolExchange(tool=REGISTRY["edit"], by=patch_tool(), models=tuple(patterns))

    def apply(self, harness: Harness) -> Harness:
        return harness.append_exchanges([self._exchange])
