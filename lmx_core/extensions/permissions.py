"""Puts the permission gate into a session. Without it the engine asks nobody (NO-5)."""

from __future__ import annotations

from typing import Any

from lmx_core.harness.harness import Harness
from lmx_core.permissions.book import Rules
from lmx_core.permissions.gate import Gate, NonInteractive
from lmx_core.permissions.modes import Handle
from lmx_core.permissions.rules import VERBS


class Permissions:
    """The gate as an extension.

    `rules` are what `lmx_core.permissions.read_rules` makes of lists of texts. `mode` is one of
    `lmx_core.permissions.MODES` or a synonym, `source` says who chose it. `non_interactive` is `ask` where a
    person can answer, `deny` or `allow` where none can. Pass a `handle` instead of a mode to share one between sessions;
    either way `self.handle` switches the mode while they run. Raises ConfigError for an unknown mode.
    """

    def __init__(
        self,
        mode: str = "ask",
        *,
        non_interactive: NonInteractive = "ask",
        source: str = "default",
        handle: Handle | None = None,
        rules: Rules | None = None,
    ):
        self.handle = handle if handle is not None else Handle(mode, source=source)
        self._non_interactive, self._rules = non_interactive, rules if rules is not None else Rules()
        self._gate = Gate(self.handle, non_interactive, rules)

    def apply(self, harness: Harness) -> Harness:
        return harness.append_hooks([("before_tool_call", self._gate)])

    def describe(self) -> dict[str, Any]:
        rules = {verb: [rule.text for rule in getattr(self._rules, verb)] for verb in VERBS}
        stands = {"mode": self.handle.mode, "source": self.handle.source, "non_interactive": self._non_interactive}
        return stands | {"rules": {verb: texts for verb, texts in rules.items() if texts}}
