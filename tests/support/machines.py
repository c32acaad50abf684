"""A machine that has only some programs: an environment whose PATH is a folder of links."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from lmx_core.environment.local import LocalEnvironment

SEARCHING = "bash sh git find grep cut printf".split()
"""What `grep` and `glob` make do with where there is no ripgrep."""


def machine(programs: Path, wanted: Sequence[str]) -> LocalEnvironment:
    """Skips the test where one of them is not installed here."""
    programs.mkdir()
    for name in wanted:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        (programs / name).symlink_to(found)
    return LocalEnvironment(environ={"PATH": str(programs), "HOME": str(programs.parent)})
