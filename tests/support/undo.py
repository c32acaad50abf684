"""A folder, a recorder over it, and pictures of trees: what the tests of checkpoints need."""

from __future__ import annotations

import itertools
import os
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmx_core.checkpoints import Undo
from lmx_core.checkpoints.journal import Places
from lmx_core.checkpoints.record import Recorder

Picture = dict[str, tuple[Any, ...]]


def picture(root: Path, *, without: Sequence[str] = (".git",)) -> Picture:
    """Everything that is below a folder, as far as an undo is to put it back: kind, permission bits, content."""
    found: Picture = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in without]
        for name in (*names, *files):
            path = Path(folder, name)
            facts = path.lstat()
            if stat.S_ISLNK(facts.st_mode):
                told: tuple[Any, ...] = ("link", os.readlink(path))
                if name in names:
                    names.remove(name)
            elif stat.S_ISDIR(facts.st_mode):
                told = ("folder", stat.S_IMODE(facts.st_mode))
            else:
                told = ("file", stat.S_IMODE(facts.st_mode), path.read_bytes())
            if name not in without:
                found[str(path.relative_to(root))] = told
    return found


class Session:
    """A session that changes files: `turn()`, then `shell(...)` or `tool(...)`, then `undo`."""

    def __init__(self, base: Path, id: str = "s1", **options: Any):
        self.base, self.id, self.work = base, id, base / "work"
        self.work.mkdir(exist_ok=True)
        self.store = base / "checkpoints"
        self._ids = itertools.count(1)
        self._options = options
        self.recorder = self.again()

    def again(self, cwd: Path | None = None) -> Recorder:
        """As after a restart of lmx."""
        self.recorder = Recorder(Places(self.store, self.id), cwd or self.work, **self._options)
        return self.recorder

    def turn(self, prompt: str = "do it") -> None:
        self.recorder.begin_turn(prompt)

    @contextmanager
    def command(self, what: str = "command") -> Iterator[None]:
        end = self.recorder.begin(f"c{next(self._ids)}-{os.urandom(4).hex()}", "bash", what, None)
        try:
            yield
        finally:
            end()
            assert self.recorder.wait(30)

    def shell(self, script: str) -> None:
        with self.command(script):
            subprocess.run(["sh", "-ec", script], cwd=self.work, check=True, capture_output=True)

    @contextmanager
    def tool(self, *paths: str) -> Iterator[None]:
        end = self.recorder.begin(
            f"c{next(self._ids)}-{os.urandom(4).hex()}", "write", ", ".join(paths), [self.work / path for path in paths]
        )
        try:
            yield
        finally:
            end()
            assert self.recorder.wait(30)

    def write(self, path: str, text: str | bytes) -> None:
        with self.tool(path):
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_bytes(text if isinstance(text, bytes) else text.encode())

    @property
    def undo(self) -> Undo:
        return Undo(self.store, self.id, wait_s=0.2)

    def picture(self) -> Picture:
        return picture(self.work)
