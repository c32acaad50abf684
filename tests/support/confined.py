"""Whether commands can be confined on this machine, and a place that no confined command may write to."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lmx_core import Sandbox
from lmx_core.errors import SandboxUnavailable


def _confines() -> bool:
    try:
        Sandbox.new()
    except SandboxUnavailable:
        return False
    return True


CONFINES = _confines()


@contextmanager
def beside_temporary_files() -> Iterator[Path]:
    """A directory of ours that is in none of the directories for temporary files, where confined commands may write."""
    temporary = [os.path.realpath(path) for path in ("/tmp", "/var/tmp", tempfile.gettempdir())]
    for parent in (Path(__file__).parents[2], Path.home(), Path("/var/lib"), Path("/opt")):
        real = os.path.realpath(parent)
        if os.access(real, os.W_OK) and not any(f"{real}/".startswith(f"{path}/") for path in temporary):
            made = Path(tempfile.mkdtemp(prefix=".outside-", dir=real))
            try:
                yield made
            finally:
                shutil.rmtree(made)
            return
    raise AssertionError("every directory that these tests may write to is one for temporary files")


REASON = "commands cannot be confined on this machine, where only the refusal is tested"
confined = pytest.mark.skipif(not CONFINES, reason=REASON)
