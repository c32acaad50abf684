"""Checkpoints in a session: which calls are looked at, when, and what is noted instead."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from support.sessions import call, world
from support.undo import picture

from lmx_core import (
    Allow,
    Deny,
    Harness,
    LocalEnvironment,
    Pending,
    Result,
    SystemClock,
    assemble,
    default_tools,
    run_in_thread,
)
from lmx_core.calls import Effects
from lmx_core.checkpoints import Undo
from lmx_core.errors import AssemblyError
from lmx_core.extensions import Checkpoints
from lmx_core.providers.scripted import complete, tool_calls
from lmx_core.testing import prompt

pytestmark = pytest.mark.asyncio


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("one")
    return tmp_path / "work"


def session(
    work: Path, *turns: Any, hooks: list[Any] | None = None, tools: list[Any] | None = None, **options: Any
) -> Any:
    base = Harness.new(hooks=hooks or [])
    harness = assemble(base, [(Checkpoints, {"dir": work.parent / "kept", **options.pop("checkpoints", {})})])
    return world(
        turns, harness=harness, tools=[*default_tools(), *(tools or [])], cwd=work, environment=LocalEnvironment(),
        clock=SystemClock(), **options,
    )  # fmt: skip


def undo(work: Path, it: Any) -> Undo:
    return Undo(work.parent / "kept", it.session.id)


def bash(command: str, id: str = "c1", **more: Any) -> Any:
    return tool_calls([call("bash", id, command=command, **more)])


async def test_ck_1_a_turn_with_file_tools_and_commands_is_taken_back(work: Path) -> None:
    """CK-1, CK-2, CK-4"""
    before = picture(work)
    write = tool_calls(
        [call("write", "c1", path="new/b", content="b"), call("edit", "c2", path="a", old="one", new="two")]
    )
    async with session(work, write, bash("echo 3 >> a; rm -r new; mkdir x", "c3"), complete("done")) as it:
        await prompt(it.session, "go")
        assert picture(work) != before
        report = undo(work, it).undo()
    assert report.whole and picture(work) == before
    assert report.turns[0].prompt == "go" and report.commands == ["echo 3 >> a; rm -r new; mkdir x"]


async def test_what_a_person_does_while_asked_is_the_persons(work: Path) -> None:
    """CK-2: the look comes when the call has been allowed, not when it was asked about."""

    async def ask(call: Any, context: Any) -> Any:
        return Pending() if call.name == "bash" else Allow()

    async with session(work, bash("echo 2 > b"), complete("done"), hooks=[("before_tool_call", ask)]) as it:
        await it.session.prompt("go")
        id = await it.until_parked()
        (work / "a").write_text("typed while the question was open")
        await it.session.resolve_tool(id, Allow())
        await it.until(lambda: it.types()[-1] == "assistant" and len(it.of("assistant")) == 2)
        assert undo(work, it).undo().deleted == ["b"]
    assert (work / "a").read_text() == "typed while the question was open"


async def test_a_call_that_was_refused_is_not_looked_at(work: Path) -> None:
    deny = ("before_tool_call", lambda call, context: Deny("no"))
    async with session(work, bash("echo 2 > a"), complete("done"), hooks=[deny]) as it:
        await prompt(it.session, "go")
        assert undo(work, it).turns()[0].commands == []


async def test_ck_2_a_command_that_was_cancelled_or_timed_out_is_recorded(work: Path) -> None:
    """CK-2, cli.md 9.9: snapshotted when they stop."""
    before = picture(work)
    async with session(
        work, bash("echo 2 > a; sleep 30"), bash("echo 3 > b; sleep 30", timeout_ms=300), complete()
    ) as it:
        await it.session.prompt("go")
        await it.until(lambda: (work / "a").read_text() == "2\n")
        await it.session.cancel()
        await it.until(lambda: "cancelled" in it.types())
        assert (await run_in_thread(undo(work, it).undo)).restored == ["a"]
        await prompt(it.session, "again")
        assert (await run_in_thread(undo(work, it).undo)).deleted == ["b"]
    assert picture(work) == before


class Formatter:
    """An `after_tool_call` hook that changes the file."""

    def __init__(self, work: Path):
        self.work = work

    def __call__(self, call: Any, outcome: Any, context: Any) -> None:
        (self.work / "a").write_text("formatted")


async def test_ck_1_a_hook_behind_the_tool_is_part_of_the_call(work: Path) -> None:
    """CK-1: the digest is taken again after earlier post-tool hooks."""
    write = tool_calls([call("edit", "c1", path="a", old="one", new="two")])
    async with session(work, write, complete(), hooks=[("after_tool_call", Formatter(work))]) as it:
        await prompt(it.session, "go")
        assert (work / "a").read_text() == "formatted"
        assert undo(work, it).undo().whole and (work / "a").read_text() == "one"


class Foreign:
    """A tool of an MCP server."""

    name, description, schema = "remote", "does something", {"type": "object", "properties": {}}
    metadata = {"origin": {"type": "mcp"}, "effects": Effects(effect="write")}  # noqa: RUF012 - what the protocol asks for

    async def run(self, args: dict[str, Any], context: Any) -> str:
        return "done"


class Generator:
    """A tool of the host's that changes files its own way."""

    name, description, schema = "generate", "writes", {"type": "object", "properties": {}}

    async def run(self, args: dict[str, Any], context: Any) -> Result:
        (context.cwd / "made").write_text("x")
        return Result(model_text="done")


async def test_ck_5_what_is_not_recorded_is_noted(work: Path) -> None:
    """CK-5: calls of MCP servers and what went on in the background; a tool of the host's is looked at like a command."""
    turn = tool_calls([call("remote", "c1"), call("generate", "c2")])
    async with session(work, turn, complete(), tools=[Foreign(), Generator()]) as it:
        await prompt(it.session, "go")
        report = undo(work, it).undo()
    assert report.deleted == ["made"] and any("remote belongs to an MCP server" in said for said in report.not_undone)


async def test_ck_5_with_commands_off_each_is_noted(work: Path) -> None:
    turn = tool_calls([call("bash", "c1", command="echo 2 > a"), call("write", "c2", path="b", content="b")])
    async with session(work, turn, complete(), checkpoints={"commands": False}) as it:
        await prompt(it.session, "go")
        report = undo(work, it).undo()
    assert report.deleted == ["b"] and (work / "a").read_text() == "2\n"
    assert any(said.startswith("echo 2 > a") for said in report.not_undone)


async def test_ck_2_a_tree_that_is_too_large_is_said(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmx_core.checkpoints.tree.MAX_ENTRIES", 5)
    for number in range(6):
        (work / f"f{number}").touch()
    turn = tool_calls([call("bash", "c1", command="echo 2 > a"), call("write", "c2", path="b", content="b")])
    async with session(work, turn, complete()) as it:
        await prompt(it.session, "go")
        report = undo(work, it).undo()
    assert report.deleted == ["b"] and any("more than 200,000 files" in said for said in report.not_undone)


async def test_evt_5_the_model_is_told_once_of_what_was_put_back(work: Path) -> None:
    """EVT-5, CK-4: with the next prompt; an aside is no turn and is not told."""
    async with session(work, bash("echo 2 > a"), complete(), complete("noted"), complete("ok")) as it:
        await prompt(it.session, "go")
        undo(work, it).undo()
        await prompt(it.session, "on")
        await prompt(it.session, "and on")
        said = [entry["text"] for entry in it.of("user")]
    assert said[1].startswith("on\n\n[lmx undo] ") and "these files: a." in said[1] and said[2] == "and on"
    assert [turn.prompt for turn in undo(work, it).turns()] == ["and on", "on", "go"]


async def test_the_loop_is_not_held_while_a_tree_is_looked_at(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look blocks; it is done in a thread, and nobody waits for the one after a call."""
    import threading

    from lmx_core.checkpoints.tree import Tree

    threads = []
    real = Tree.look
    monkeypatch.setattr(Tree, "look", lambda *args: (threads.append(threading.current_thread()), real(*args))[1])
    async with session(work, bash("echo 2 > a"), complete()) as it:
        await prompt(it.session, "go")
        await it.until(lambda: len(threads) == 2)
    assert threading.main_thread() not in threads


async def test_recording_that_fails_never_stops_a_call(work: Path, caplog: pytest.LogCaptureFixture) -> None:
    (work.parent / "kept").mkdir()
    (work.parent / "kept" / "sessions").write_text("in the way")
    async with session(work, bash("echo 2 > a"), complete("done")) as it:
        done = await prompt(it.session, "go")
    assert done.stop_reason == "stop" and (work / "a").read_text() == "2\n" and "cannot be" in caplog.text


async def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AssemblyError, match="cannot be written"):
        assemble(Harness(), [(Checkpoints, {"dir": tmp_path / "file" / "below"})])
    assert not os.path.exists(tmp_path / "made")
    assemble(Harness(), [(Checkpoints, {"dir": tmp_path / "made"})])
    assert not os.path.exists(tmp_path / "made")


async def test_a_recording_that_is_given_up_ends_as_soon_as_it_has_begun(work: Path) -> None:
    """A call cancelled during the first look must not hold the session's checkpoints for ever."""
    from lmx_core.extensions.checkpoints import _Bracket

    told: list[str] = []
    bracket = _Bracket(lambda: lambda: told.append("ended"))
    bracket.end()
    assert told == []
    bracket.begin()
    bracket.end()
    assert told == ["ended"]
    await asyncio.sleep(0)


class Confined(LocalEnvironment):
    """An environment that says it is a sandbox."""

    def sandboxed(self) -> bool:
        return True


async def test_ck_1_nothing_is_kept_where_confined_commands_could_write(
    work: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """CK-1: a command could put its own contents where an undo would take them from."""
    for kept, recorded in ((work / "kept", False), (work.parent / "kept", True)):
        harness = assemble(Harness(), [(Checkpoints, {"dir": kept})])
        options = {"harness": harness, "tools": default_tools(), "cwd": work, "environment": Confined()}
        async with world([bash("echo 2 > a"), complete()], clock=SystemClock(), **options) as it:
            await prompt(it.session, "go")
            assert kept.exists() is recorded
    assert "confined commands could write" in caplog.text


async def test_ve_4_work_that_is_no_call_belongs_to_the_turn(work: Path) -> None:
    """CK-2: a check is bracketed like a command."""
    kept = Checkpoints(work.parent / "kept")

    async def check(reason: str, context: Any) -> Allow:
        async with kept.window("make test", context):
            (work / "made by the check").write_text("x")
        return Allow()

    harness = assemble(Harness.new(hooks=[("stop", check)]), [kept])
    async with world([complete("done")], harness=harness, tools=[], cwd=work, clock=SystemClock()) as it:
        await prompt(it.session, "go")
        report = await run_in_thread(undo(work, it).undo)
    assert report.deleted == ["made by the check"] and report.commands == ["make test"]


async def test_c2_6_it_is_told_once_that_commands_are_not_recorded(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2-6"""
    monkeypatch.setattr("lmx_core.checkpoints.tree.MAX_ENTRIES", 1)
    (work / "b").touch()
    told: list[str] = []
    async with session(work, bash("true"), bash("true", "c2"), complete(), checkpoints={"tell": told.append}) as it:
        await prompt(it.session, "go")
    (sentence,) = told
    assert sentence.startswith("undo covers file tools only here: ") and "200,000 files" in sentence
