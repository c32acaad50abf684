"""The demo: a scripted model, and everything else for real."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.program import Program

from lmx.cli.demo import model, project
from lmx_core.entry import Entry, make


def test_the_demo_repairs_the_project_and_says_what_it_is(program: Program) -> None:
    """It needs no key and no network, keeps nothing, and tells each step on standard output."""
    done = program.run("demo", "--print", OPENAI_API_KEY="", TMPDIR=str(program.work))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    for fact in ("scripted", "full_auto", "-> read", "AssertionError", "-> edit", "1 passed", "Repaired", "--print"):
        assert fact in done.stdout, fact
    assert not list(program.work.iterdir()) and not list(program.home.iterdir())


def test_keep_leaves_the_repaired_folder(program: Program) -> None:
    done = program.run("demo", "--print", "--keep", TMPDIR=str(program.work))
    (folder,) = program.work.iterdir()
    assert project.is_repaired(folder) and "stays" in done.stdout
    assert {path.name for path in folder.iterdir()} == set(project.FILES)


def test_a_demo_that_cannot_test_does_not_claim_success(program: Program) -> None:
    """The script reads what the tools answered: with a Python that fails it never says repaired."""
    bin = program.work / "bin"
    bin.mkdir()
    (bin / "python3").write_text("#!/bin/sh\necho broken; exit 1\n")
    (bin / "python3").chmod(0o755)
    done = program.run("demo", "--print", PATH=f"{bin}:{program.env['PATH']}", TMPDIR=str(program.home))
    assert "Repaired" not in done.stdout and "still fails" in done.stdout


def result(name: str, outcome: str = "ok", output: str = "") -> Entry:
    payload = {"call_id": "c", "name": name, "outcome": outcome, "output": output, "error": outcome != "ok"}
    return make(id="01J", seq=0, type="tool_result", payload=payload, at_ms=0)


FAILS, PASSES = result("bash", output="AssertionError"), result("bash", output="1 passed")
REFUSED = result("bash", "denied")


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([], model._LOOK),
        ([result("read")], model._RUN),
        ([result("read"), FAILS], model._REASON),
        ([result("read"), REFUSED], model._REASON),
        ([result("read"), PASSES], model._NOTHING),
        ([result("read"), FAILS, result("edit")], model._AGAIN),
        ([result("read"), FAILS, result("edit", "denied")], model._REFUSED),
        ([result("read"), FAILS, result("edit"), PASSES], model._REPAIRED),
        ([result("read"), FAILS, result("edit"), FAILS], model._STILL),
        ([result("read"), FAILS, result("edit"), REFUSED], model._UNTESTED),
    ],
)
def test_the_script_goes_by_what_the_tools_answered(results: list[Entry], said: str) -> None:
    steps = model.answer(results)
    assert "".join(getattr(step, "text", "") for step in steps) == said


def test_after_its_one_job_the_script_says_so(tmp_path: Path) -> None:
    final = make(id="01J", seq=0, type="assistant", payload={"content": [], "tool_calls": []}, at_ms=0)
    steps = model.answer([final])
    assert "".join(getattr(step, "text", "") for step in steps) == model._OVER
