"""A place to work in, a home with secrets, something outside; and confinement with a wall taken out, to see that it held."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from support.confined import beside_temporary_files

from lmx_core import LocalEnvironment, Sandbox
from lmx_core.environment.base import Data, RunEvent
from lmx_core.environment.sandbox import bwrap, doors, policy


class Ground:
    """`work` is worked in, `home` has secrets, `outside` is writable for the person and for no command."""

    SECRET = "the-secret-itself"

    def __init__(self, tmp_path: Path, outside: Path):
        self.work, self.home, self.outside = tmp_path / "work", tmp_path / "home", outside
        self.work.mkdir()
        (self.home / ".ssh").mkdir(parents=True)
        for path in (self.home / ".ssh/id", self.home / ".netrc", self.work / "a/private/key"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.SECRET)

    def environ(self, **more: str) -> dict[str, str]:
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), **more}

    def sandbox(self, *, environ: dict[str, str] | None = None, **how: Any) -> Sandbox:
        hidden = [self.work / "a/private", *how.pop("hidden", ())]
        return Sandbox.new(inner=LocalEnvironment(environ=environ or self.environ()), hidden=hidden, **how)

    async def run(self, environment: LocalEnvironment, command: str, **how: Any) -> tuple[str, RunEvent]:
        """What a command said, and how it ended."""
        said, last = b"", None
        async with aclosing(environment.run(command, cwd=self.work, **how)) as events:  # type: ignore[type-var]  # a generator
            async for event in events:
                if isinstance(event, Data):
                    said += event.data
                else:
                    last = event
        assert last is not None
        return said.decode("utf-8", "replace"), last


@pytest.fixture
def sockets_count_at_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """However young they are; those of this test only, since others come and go with the tests beside it."""
    monkeypatch.setattr(policy, "SETTLED_SECONDS", -60)
    if "ground" in request.fixturenames:
        outside = str(request.getfixturevalue("ground").outside)
        every = doors.listening
        own = (outside, f"-{os.getpid()}")
        monkeypatch.setattr(doors, "listening", lambda table: [s for s in every(table) if any(o in s for o in own)])


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with beside_temporary_files() as outside:
        yield Ground(tmp_path, outside)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Takes words in a row out of what bubblewrap is told from now on; `a=>b` puts others in their place.

    A row that the first command is not told is a mistake of the test.
    """

    def take(*rows: str) -> None:
        told, met = bwrap.arguments, set[str]()

        def fewer(*args: Any, **how: Any) -> list[str]:
            text = "\n".join(told(*args, **how)) + "\n"
            for row in rows:
                old, _, new = row.partition("=>")
                old, new = old.replace(" ", "\n") + "\n", new.replace(" ", "\n") + "\n" if new else ""
                assert old in text or row in met, f"no such option: {row}"
                met.add(row)
                text = text.replace(old, new)
            return text.split("\n")[:-1]

        monkeypatch.setattr(bwrap, "arguments", fewer)

    return take
