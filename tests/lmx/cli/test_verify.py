"""The check after edits, through the program: what the person reads of it, and what a script gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.program import Program, serve

from lmx.config import schema
from lmx.exit_status import CommandError

WRITE = {"actions": [{"tool": "write", "args": {"path": "a.txt", "content": "x\n"}}]}
EDIT = {"actions": [{"tool": "edit", "args": {"path": "a.txt", "old": "x", "new": "y"}}]}
DONE = {"text": "done"}
ALLOW = '[permissions]\nmode = "accept_edits"\nallow = ["Bash(grep:*)"]\n'


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def configure(program: Program, text: str) -> None:
    (program.home / ".lmx").mkdir()
    (program.home / ".lmx" / "config.toml").write_text(text)


def asked(program: Program, *turns: Any, words: tuple[str, ...] = ()) -> Any:
    with serve(program, *turns) as model:
        return program.ask(model, "--print", "go", *words)


def test_9_10_c3_21_a_failing_check_sends_back_and_the_result_says_whether_it_holds(program: Program) -> None:
    """cli.md 9.10, C3-21, C12-18: told as it happens, in the answer's object at the end, in the log afterwards."""
    configure(program, f'verify = {{ command = "grep -q y a.txt", max_continuations = 1 }}\n{ALLOW}')
    done = asked(program, WRITE, DONE, EDIT, DONE, words=("--output-format", "json"))
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["text"] == "done"
    assert told["check"]["status"] == "failed" and told["check"]["command"] == "grep -q y a.txt"
    assert told["check"]["current"] is False and told["check"]["tree"] == told["check"]["left"]
    lines = done.stderr.splitlines()
    assert "lmx: check: grep -q y a.txt" in lines
    assert any(line.startswith("lmx: check: grep -q y a.txt failed with exit status 1 (") for line in lines)
    assert any("files were changed after the check" in line for line in lines), "it was sent back for the last time"
    log = program.run("log", told["session_id"])
    assert "check: grep -q y a.txt failed with exit status 1" in log.stdout


def test_9_10_a_check_that_passes_holds_and_stream_json_tells_it(program: Program) -> None:
    configure(program, f'verify = {{ command = "grep -q x a.txt" }}\n{ALLOW}')
    done = asked(program, WRITE, DONE, words=("--output-format", "stream-json"))
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[-1]["check"]["status"] == "passed" and told[-1]["check"]["current"] is True
    notices = [item["text"] for item in told if item["type"] == "notice"]
    assert any(text.startswith("check: grep -q x a.txt passed (") and ", tree " in text for text in notices)


def test_c5_6_c3_52_a_check_that_a_project_names_is_not_run_where_commands_are_not(program: Program) -> None:
    """C5-6, C3-52, C12-18: refused, said, and the turn ends as usual."""
    (program.work / "tests").mkdir()
    (program.work / "tests" / "run.sh").write_text("touch ran\n")
    configure(program, '[permissions]\nmode = "accept_edits"\n')
    done = asked(program, WRITE, DONE)
    assert done.returncode == 0 and done.stdout == "done\n" and not (program.work / "ran").exists()
    assert "check: sh tests/run.sh was not run: bash can change anything" in done.stderr


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("verify = false\n", ()),
        ('disabled_extensions = ["verify"]\n', ()),
        ("", ("--config", "none")),
    ],
)
def test_c3_21_it_can_be_switched_off_and_is_off_where_nothing_is_kept(
    program: Program, config: str, words: tuple[str, ...]
) -> None:
    """C3-21, C3-34 (cli.md 3.5)."""
    (program.work / "tests").mkdir()
    (program.work / "tests" / "run.sh").write_text("touch ran\n")
    configure(program, config)
    done = asked(program, WRITE, DONE, words=(*words, "--permission-mode", "full_auto", "--output-format", "json"))
    assert json.loads(done.stdout)["check"] is None and not (program.work / "ran").exists(), done.stderr


def test_ve_4_what_a_check_changes_is_taken_back_with_its_turn(program: Program) -> None:
    configure(program, 'verify = { command = "echo made > made.txt" }\n[permissions]\nmode = "full_auto"\n')
    asked(program, WRITE, DONE)
    assert (program.work / "made.txt").exists()
    done = program.run("undo", "--yes")
    assert done.returncode == 0 and not (program.work / "made.txt").exists(), done.stdout + done.stderr
    assert not (program.work / "a.txt").exists()


def test_explain_names_it(program: Program) -> None:
    configure(program, "verify = { max_continuations = 5 }\n")
    told = json.loads(program.run("explain").stdout)
    (item,) = [item for item in told["extensions"] if item["name"] == "verify"]
    assert item["options"] == {"command": "discovered", "max_continuations": 5, "timeout_ms": 300_000}
    assert told["diagnostics"]["check"] is None
    (program.work / "go.mod").touch()
    assert json.loads(program.run("explain").stdout)["diagnostics"]["check"] == "go test ./..."
    assert told["defaults_applied"]["verify"] == "on" and told["defaults_applied"]["planning"] == "on"
    assert json.loads(program.run("explain", "--config", "none").stdout)["defaults_applied"]["verify"] == (
        "off: there is no state directory"
    )


@pytest.mark.parametrize(
    "value",
    [3, "yes", {"command": ""}, {"max_continuations": 11}, {"max_continuations": True}, {"timeout_ms": 0}, {"most": 1}],
)
def test_c3_21_what_it_takes_is_said(value: Any) -> None:
    with pytest.raises(CommandError, match=r"config\.toml: verify takes true, false or"):
        schema.check({"verify": value}, "config.toml", [], [])
