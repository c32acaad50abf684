"""A command that the person runs: where it runs, what comes of it, and how it is ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.sessions import world

from lmx_core import LocalEnvironment, Scrub
from lmx_core.environment.base import Data, Failed, OutputLimit
from lmx_core.errors import ConfigError, SessionDown

pytestmark = pytest.mark.asyncio


async def test_cmp_37_it_runs_where_the_tools_run_and_leaves_no_entry(tmp_path: Path):
    """CMP-37: the session's directory and environment; no call, no entry, and credentials are not seen."""
    environment = LocalEnvironment(
        credentials=Scrub(), environ={"PATH": "/usr/bin:/bin", "SOME_API_KEY": "x", "PLAIN": "y"}
    )
    heard: list[str] = []
    async with world(cwd=tmp_path, environment=environment) as w:
        before = (await w.session.snapshot()).entries
        result = await w.session.run_command("pwd; echo $PLAIN-$SOME_API_KEY; exit 3", heard.append)
        assert result.output == f"{tmp_path}\ny-\n" == "".join(heard)
        assert (result.ending, result.exit_status) == ("exited", 3)
        assert (await w.session.snapshot()).entries == before
        for empty in ("", "  "):
            with pytest.raises(ConfigError):
                await w.session.run_command(empty)
    with pytest.raises(SessionDown):
        await w.session.run_command("true")


async def test_cmp_37_cancelling_ends_it_with_its_process_group(tmp_path: Path):
    """CMP-37: its children too; what it had said was heard."""
    heard = asyncio.Event()
    async with world(cwd=tmp_path, environment=LocalEnvironment()) as w:
        command = "(trap 'touch ended; exit' TERM; echo up; while :; do sleep 0.05; done) & wait"
        running = asyncio.ensure_future(w.session.run_command(command, lambda text: heard.set()))
        waits = asyncio.ensure_future(heard.wait())
        await asyncio.wait((waits, running), return_when=asyncio.FIRST_COMPLETED)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (tmp_path / "ended").exists()


class Said:
    """An environment that says this of every command."""

    def __init__(self, *events: object):
        self.events = events

    async def run(self, command: str, **options: object):
        for event in self.events:
            yield event

    async def read_file(self, cwd: Path, path: str): ...
    async def write_file(self, cwd: Path, path: str, data: bytes): ...


@pytest.mark.parametrize(
    "events, ending",
    (
        ([Data(b"a" * 100_000), OutputLimit(8_000_000)], "output_limit"),
        ([Failed("no shell")], "failed"),
        ([], "failed"),
    ),
)
async def test_cmp_37_other_endings(tmp_path: Path, events, ending):
    """CMP-37: output is bounded, and what failed says why."""
    async with world(cwd=tmp_path, environment=Said(*events)) as w:
        result = await w.session.run_command("x")
    assert result.ending == ending and result.exit_status is None and len(result.output) < 31_000
    assert bool(result.reason) == (ending == "failed")
