"""One version, told in three places."""

from __future__ import annotations

import tomllib
from pathlib import Path

import lmx
import lmx_core

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == lmx.__version__ == lmx_core.__version__
    assert (ROOT / "tests" / "golden" / project["version"]).is_dir(), (
        "a release keeps a transcript that must load for ever"
    )
