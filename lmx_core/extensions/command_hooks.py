"""Hooks that are commands, from files and settings a person named; those of a repository are only named (C3-48, C4-19).

A repository that could bring hooks would run its code as soon as somebody opens it (C31). So its settings are read as data, to
tell the person that something there did not run, and how to have it run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmx_core.clock import Clock
from lmx_core.harness.harness import Harness
from lmx_core.hooks.base import Hook
from lmx_core.workspace.files import Skipped, read_inside, repository_root

_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
_RULES = ".claude/rules"
_LIMIT = 1_000_000
_ELSEWHERE = ("MultiEdit", "NotebookEdit", "NotebookRead", "LS")
"""Tools of the other format that have no counterpart here."""


class CommandHooks:
    """The hooks of `files`, then of `documents`: texts that name where each comes from, and what was parsed there. A document
    may also be a table of events alone, in our format.

    With `cwd`, notices name the hooks in the settings of its repository, which are never run unless they are among `files`;
    `home` is the person's (None: the home directory).
    Raises ConfigError, in a sentence that names file and place.
    """

    def __init__(
        self,
        files: Sequence[str | Path] = (),
        documents: Mapping[str, Any] | None = None,
        *,
        cwd: str | Path | None = None,
        home: str | Path | None = None,
        clock: Clock | None = None,
    ):
        self.hooks: list[Hook] = []
        self._notices: list[str] = []
        if files or documents:
            self._load(files, documents or {}, clock)
        if cwd is not None:
            self._notices += not_run(Path(cwd), files, Path.home() if home is None else Path(home))

    def _load(self, files: Sequence[str | Path], documents: Mapping[str, Any], clock: Clock | None) -> None:
        from lmx_core.hooks import config  # it brings what runs processes, which a start without hooks has no use for

        loaded = [config.load_file(path, clock=clock) for path in files]
        for source, document in documents.items():
            bare = isinstance(document, Mapping) and "hooks" not in document
            whole = {"version": config.VERSION, "hooks": document} if bare else document
            loaded.append(config.load(whole, source=source, clock=clock))
        self.hooks = [hook for one in loaded for hook in one.hooks]
        self._notices = [warning for one in loaded for warning in one.warnings]

    def apply(self, harness: Harness) -> Harness:
        notices = [*self._notices, *(self._unmatched(harness) if self.hooks else ())]
        return harness.append_hooks(self.hooks).append_notices(notices)

    def describe(self) -> dict[str, Any]:
        return {"hooks": len(self.hooks)}

    def _unmatched(self, harness: Harness) -> list[str]:
        """Sentences about matchers that are probably mistyped: a guard of such a name never runs."""
        from lmx_core.hooks import config
        from lmx_core.hooks.dialect import NAMES

        own = harness.update_tools(lambda tools: tools).tools or ()
        here = [tool.name for tool in [*own, *(harness.host_tools or ())]]
        known = [*here, *(tool for tools in NAMES.values() for tool in tools), *_ELSEWHERE]
        found = [*config.unmatched(self.hooks, known), *config.idle(self.hooks, known)]
        odd = [matcher for matcher in found if "__" not in matcher]  # servers may connect later
        return [f"hooks: the matcher {matcher!r} matches no tool, so its hooks never run" for matcher in odd]


def not_run(cwd: Path, named: Iterable[str | Path], home: Path) -> list[str]:
    """Sentences about what the repository of `cwd` brings and nobody named: hooks in its settings, rules. None of it is run."""
    root = repository_root(cwd) or Path(os.path.realpath(cwd))
    chosen = {os.path.realpath(path) for path in named}
    found = [
        said for name in _SETTINGS if os.path.realpath(root / name) not in chosen and (said := _told(root, name, home))
    ]
    if (root / _RULES).is_dir():
        found.append(f"{_RULES} of this repository is not read; what is to hold here goes into AGENTS.md")
    return found


def _told(root: Path, name: str, home: Path) -> str | None:
    head = read_inside(root, root / name, _LIMIT, home)
    if head is None:
        return None
    if isinstance(head, Skipped):
        return f"{name} of this repository was not looked at: {head.reason}"
    try:
        document = json.loads(head.data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return f"{name} of this repository cannot be read as JSON, so it is not known whether it has hooks; none is run"
    if not isinstance(document, dict) or not document.get("hooks"):
        return None
    return f"{name} of this repository has hooks, which are not run; read it, and if you trust them add --hooks {name}"
