"""`lmx undo` and `lmx redo`, as processes: what a run changed is put back, and nothing without being asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pexpect
import pytest
from support.processes import Line
from support.program import LMX, Program, serve

FULL = ("--permission-mode", "full_auto")


def bash(command: str) -> dict[str, Any]:
    return {"actions": [f"shell: {command}"]}


def ran(program: Program, *turns: dict[str, Any], flags: tuple[str, ...] = (), **env: str) -> None:
    """One prompt, in full auto, that makes these calls."""
    with serve(program, *turns, {"text": "done"}, count="since_user") as model:
        done = program.ask(model, "--print", "change the files", *FULL, *flags, **env)
        assert done.returncode == 0, done.stderr


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_c1_37_what_a_run_changed_is_put_back_and_done_again(program: Program) -> None:
    """C1-37, CK-4: by a file tool and by commands, without git; the preview changes nothing."""
    (program.work / "kept.txt").write_text("kept\n")
    (program.work / "gone.txt").write_text("gone\n")
    before = contents(program.work)
    write = {"actions": [{"write": {"path": "new/a.txt", "content": "a\n"}}]}
    ran(program, write, bash("rm gone.txt; echo more >> kept.txt"))
    after = contents(program.work)
    assert after == {"kept.txt": "kept\nmore\n", "new/a.txt": "a\n"}

    shown = program.run("undo", "--preview")
    assert shown.returncode == 0 and contents(program.work) == after
    assert "would be put back: gone.txt" in shown.stdout and "would be deleted: new/a.txt" in shown.stdout
    assert "rm gone.txt; echo more >> kept.txt" in shown.stdout
    done = program.run("undo", "--yes")
    assert (done.returncode, done.stderr) == (0, "") and contents(program.work) == before
    assert not (program.work / "new").exists()
    assert program.run("redo", "--yes").returncode == 0 and contents(program.work) == after
    told = json.loads(program.run("undo", "--yes", "--json").stdout)
    assert told["restored"] == ["gone.txt", "kept.txt"] and told["deleted"] == ["new", "new/a.txt"]
    again = program.run("undo", "--yes")
    assert again.returncode == 1 and again.stderr.startswith("lmx: there is nothing to undo")


def test_without_a_terminal_one_must_say_what_is_wanted(program: Program) -> None:
    ran(program, bash("echo x > x"))
    done = program.run("undo")
    assert done.returncode == 2 and "--preview" in done.stderr and "--yes" in done.stderr
    assert contents(program.work) == {"x": "x\n"}
    for other in ("--preview", "--list"):
        assert program.run("undo", other, "--yes").returncode == 2


def test_what_a_person_changed_since_is_named_and_left(program: Program) -> None:
    """CK-4: status 1, the others are put back; --force overwrites, and a redo brings back what was overwritten."""
    (program.work / "a").write_text("a")
    (program.work / "b").write_text("b")
    ran(program, bash("echo 1 > a; echo 1 > b"))
    (program.work / "a").write_text("mine")
    done = program.run("undo", "--yes")
    assert done.returncode == 1 and "left alone: a (it was changed since)" in done.stdout
    assert contents(program.work) == {"a": "mine", "b": "b"}
    assert program.run("undo", "--yes", "--force").returncode == 0
    assert contents(program.work) == {"a": "a", "b": "b"}
    assert program.run("redo", "--yes").returncode == 0 and contents(program.work)["a"] == "mine"


def test_a_person_is_asked_and_only_yes_is_yes(program: Program) -> None:
    ran(program, bash("echo x > x"))
    for answer, left in (("", ["x"]), ("n", ["x"]), ("y", [])):
        child = pexpect.spawn(LMX[0], [*LMX[1:], "undo"], cwd=str(program.work), env=program.env, encoding="utf-8")
        child.expect(r"would be deleted: x.*do this\? \[y/N\] ")
        child.sendline(answer)
        child.expect(pexpect.EOF)
        assert sorted(contents(program.work)) == left


def test_turns_are_listed_and_several_taken_back_at_once(program: Program) -> None:
    """CK-4: rewind."""
    ran(program, bash("echo 1 > a"))
    ran(program, bash("echo 2 > a; echo 2 > b"), flags=("-c",))
    listed = program.run("undo", "--list").stdout.splitlines()
    assert [line.split()[0:2] for line in listed] == [["2", "changed"], ["1", "changed"]]
    assert program.run("undo", "--turns", "2", "--yes").returncode == 0 and contents(program.work) == {}
    assert program.run("redo", "--yes").returncode == 0 and contents(program.work) == {"a": "2\n", "b": "2\n"}
    assert program.run("undo", "--turns", "0", "--yes").returncode == 2


def test_evt_5_the_model_hears_of_it_with_the_next_message(program: Program) -> None:
    """EVT-5"""
    ran(program, bash("echo x > x.txt"))
    program.run("undo", "--yes")
    with serve(program, {"text": "ok"}) as model:
        program.ask(model, "--print", "go on", "-c")
        said = model.requests("main")[-1]["body"]["messages"][-1]["content"]
    assert "go on" in str(said) and "[lmx undo]" in str(said) and "x.txt" in str(said)
    with serve(program, {"text": "ok"}) as model:
        program.ask(model, "--print", "and on", "-c")
        assert "[lmx undo]" not in str(model.requests("main")[-1]["body"]["messages"][-1]["content"])


@pytest.mark.parametrize("how", ["none", "disabled"])
def test_where_nothing_is_recorded_undo_says_so(program: Program, how: str) -> None:
    """cli.md 3.5 and 9.9: no STATE, or the extension left out; with LMX_HOME there is a place again."""
    if how == "none":
        ran(program, bash("echo x > x"), flags=("--config", "none"))
        assert not (program.home / ".lmx" / "checkpoints").exists()
        done = program.run("undo", "--yes", "--config", "none")
        assert done.returncode == 1 and "LMX_HOME" in done.stderr
        home = str(program.home / "elsewhere")
        ran(program, bash("echo y > y"), flags=("--config", "none"), LMX_HOME=home)
        assert program.run("undo", "--yes", "--config", "none", LMX_HOME=home).returncode == 0
        assert sorted(contents(program.work)) == ["x"]
        return
    (program.home / ".lmx").mkdir()
    (program.home / ".lmx" / "config.toml").write_text('disabled_extensions = ["checkpoints"]')
    ran(program, bash("echo x > x"))
    assert program.run("undo", "--yes").returncode == 1 and sorted(contents(program.work)) == ["x"]


def test_c3_83_only_the_person_can_read_checkpoints(program: Program) -> None:
    """C3-83, C32: 0700 and 0600 whatever the umask, and nothing is pruned."""
    old = os.umask(0)
    try:
        ran(program, bash("echo x > x"))
    finally:
        os.umask(old)
    below = list((program.home / ".lmx" / "checkpoints").rglob("*"))
    assert len(below) > 6
    for path in [program.home / ".lmx" / "checkpoints", *below]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_c2_6_a_run_says_on_stderr_that_commands_are_not_recorded(program: Program, tmp_path: Path) -> None:
    """C2-6: once, with the reason; in a folder that is too large, here one of two files."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import lmx_core.checkpoints.tree as t; t.MAX_ENTRIES = 1\n")
    (program.work / "a").touch()
    (program.work / "b").touch()
    with serve(program, bash("true"), bash("true"), {"text": "done"}) as model:
        done = program.ask(model, "--print", "go", *FULL, PYTHONPATH=str(tmp_path / "site"))
    assert done.returncode == 0 and done.stderr.count("undo covers file tools only here: ") == 1


def test_what_a_killed_lmx_had_under_way_is_named_and_taken_back_by_force(program: Program) -> None:
    """CK-4: kill -9 in the middle of a command; what was before is put back, what was under way is uncertain."""
    (program.work / "a").write_text("one\n")
    ran(program, bash("echo two > a"))
    with serve(program, bash('echo three > a; echo > "$HOME/said"; sleep 60'), {"text": "never"}) as model:
        said = Line(program.home / "said")
        running = program.start(program.line(model, "-c", "--print", "go on", *FULL))
        said.read(running)
        running.kill()
        running.communicate()
    done = program.run("undo", "--yes")
    assert done.returncode == 1 and "left alone: a (lmx did not see it change" in done.stdout
    assert program.run("undo", "--yes", "--force").returncode == 0 and contents(program.work) == {"a": "two\n"}
    assert program.run("undo", "--yes").returncode == 0 and contents(program.work) == {"a": "one\n"}
