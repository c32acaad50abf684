"""The permission modes, and the handle by which a person switches between them.

The mode is read anew for every call, from one handle that all sessions of a host share. A mode copied into each session at
its start would leave the others running under the old one after a switch.
"""

from __future__ import annotations

from lmx_core.errors import ConfigError
from lmx_core.permissions.book import Rules
from lmx_core.permissions.remembered import Remembered
from lmx_core.permissions.rules import Rule

MODES = {
    "ask": "reading runs; everything else asks first",
    "accept_edits": "reading and edits of files in the working directory run; everything else asks first",
    "auto": "as accept_edits, and commands run too where the environment is sandboxed",
    "full_auto": "everything runs without asking",
    "read_only": "reading runs; everything else is refused",
}
"""Every mode with what runs under it, in the order in which they are listed (PM-1, cli.md 5.1)."""

SYNONYMS = {
    "default": "ask",
    "acceptEdits": "accept_edits",
    "bypassPermissions": "full_auto",
    "plan": "read_only",
}
"""The names another tool's users know."""

_CYCLE = {"ask": "accept_edits", "accept_edits": "auto", "auto": "read_only", "read_only": "ask", "full_auto": "ask"}


def parse_mode(name: object) -> str:
    """The mode of that name or synonym. Raises ConfigError listing every name."""
    mode = SYNONYMS.get(name, name) if isinstance(name, str) else None
    if mode not in MODES:
        raise ConfigError(f"there is no such permission mode; the modes are {', '.join([*MODES, *SYNONYMS])}")
    return mode


class Handle:
    """The mode in force, who chose it, and the rules a person gave while answering (PM-5).

    Any number of sessions may share one; a switch or a new rule holds for the next decision. `store` keeps the rules.
    """

    def __init__(self, mode: str = "ask", *, source: str = "default", store: Remembered | None = None):
        self._mode, self._source, self._store = parse_mode(mode), source, store

    def rules(self) -> Rules:
        """The remembered rules that hold now."""
        return Rules() if self._store is None else self._store.rules()

    def remember(self, rule: str, verb: str = "allow", *, scope: str = "project", for_ms: int | None = None) -> Rule:
        """Keeps a rule. Raises ConfigError for what is no rule or cannot be kept here, OSError where it cannot be written."""
        if self._store is None:
            raise ConfigError("this host remembers no rules")
        return self._store.remember(rule, verb, scope=scope, for_ms=for_ms)

    def forget(self, rule: str) -> bool:
        """Takes a remembered rule out, False if it was not there."""
        return self._store is not None and self._store.forget(rule)

    @property
    def remembered(self) -> list[Rule]:
        """The remembered rules, those that deny first."""
        found = self.rules()
        return [*found.deny, *found.ask, *found.allow]

    @property
    def mode(self) -> str:
        return self._mode

    @property
    def source(self) -> str:
        """Where the mode comes from, such as a flag, a file, `default`; written into every decision."""
        return self._source

    def set_mode(self, mode: str, *, source: str = "person") -> str:
        """Switches, and returns the mode's own name. Raises ConfigError for an unknown one, changing nothing."""
        self._mode, self._source = parse_mode(mode), source
        return self._mode

    def cycle(self) -> str:
        """The next mode by the key that goes round; full_auto is never reached that way (PM-5)."""
        return self.set_mode(_CYCLE[self._mode])
