"""Tells the model where it works: date, platform, shell, directory, branch. One marked layer at the end of the prompt.

Read once, when the extension is made, and from data only: no program runs, because a repository may have chosen what `git`
runs (C31). It is not refreshed while a session lasts: a prompt that changes costs the provider's cache of it.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from lmx_core.harness.harness import Harness
from lmx_core.options import UNSET
from lmx_core.workspace import git, layers


class EnvironmentContext:
    """`today` is the current date and `shell` is `bash` unless given. `replace_only` as for `Workspace`."""

    def __init__(
        self, cwd: str | Path, *, shell: str = "bash", today: datetime.date | None = None, replace_only: bool = False
    ):
        where, machine = Path(cwd).absolute(), os.uname()
        self._replace_only = replace_only
        facts = [
            f"Date: {(today or datetime.datetime.now().astimezone().date()).isoformat()}",
            f"Platform: {machine.sysname} {machine.machine}, commands run in {shell}",
            f"Working directory: {layers.name_of_path(str(where))}",
        ]
        if head := git.head_of(where):
            facts.append(f"Git: {head}")
        self._body = "\n".join(facts)

    def apply(self, harness: Harness) -> Harness:
        if self._replace_only and harness.system is UNSET:
            return harness
        return harness.update_system(layers.change(layers.ENVIRONMENT, self._body, replace_only=self._replace_only))
