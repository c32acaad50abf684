"""The commands that need no model, and the way from the command line into the screen and out again."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pexpect
from support.program import LMX, Program, serve


def test_stored_sessions_need_no_model_no_key_and_no_configuration(program: Program) -> None:
    """C1-5, C1-6, C1-13, C1-79: log, fork and sessions, offline, with a broken configuration where it is not needed."""
    with serve(program, {"text": "an answer"}) as model:
        program.ask(model, "--print", "a question")
    (path,) = program.transcripts()
    (program.home / ".lmx" / "config.toml").write_text("broken [")
    off: dict[str, Any] = {"OPENAI_API_KEY": "", "LMX_SESSIONS_DIR": str(program.sessions)}
    log = program.run("log", path.stem, **off)
    assert log.returncode == 0 and "a question" in log.stdout and "an answer" in log.stdout and log.stderr == ""
    lines = program.run("log", path.stem[:10], "--jsonl", **off).stdout.split("\n")[:-1]
    assert [json.loads(line)["seq"] for line in lines] == list(range(len(lines)))
    fork = program.run("fork", path.stem, "--at-turn", "1", **off)
    assert fork.returncode == 0 and (program.sessions / f"{fork.stdout.strip()}.jsonl").exists()
    listed = program.run("sessions", "--json", **off)
    assert path.stem in listed.stdout and listed.returncode == 0
    elsewhere = program.run("sessions", cwd=program.home, **off)
    assert path.stem not in elsewhere.stdout and path.stem in program.run("sessions", "--all", **off).stdout
    without = program.run("sessions")
    assert without.returncode == 2 and "config.toml" in without.stderr


def test_what_needs_no_directory_works_where_the_directory_is_gone(program: Program) -> None:
    """C1-43, C1-79: only a list of this directory's sessions, and work in it, need it."""
    with serve(program, {"text": "an answer"}) as model:
        program.ask(model, "--print", "a question")
    (path,) = program.transcripts()

    def there(*words: str) -> Any:
        gone = program.home / "gone"
        gone.mkdir()
        return program.finish(["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *LMX, *words], cwd=gone)

    assert "an answer" in there("log", path.stem).stdout
    assert there("fork", path.stem).returncode == 0
    assert path.stem in there("sessions", "--all").stdout
    assert "--model" in there("help").stdout and "lmx " in there("--version").stdout
    for words in (["sessions"], ["run", "hi"], ["log", path.stem, "-C", "sub"]):
        told = there(*words)
        assert told.returncode == 2 and "no longer exists" in told.stderr
    assert there("log", path.stem, "-C", str(program.home / "none")).returncode == 2


def screen(program: Program, *words: str, **env: str) -> Any:
    return pexpect.spawn(
        LMX[0], [*LMX[1:], *words], cwd=str(program.work), env=program.env | env, dimensions=(30, 100), timeout=20
    )


def enter(child: Any, text: str) -> None:
    child.send(text)
    child.expect(text)
    child.expect(pexpect.TIMEOUT, timeout=0.3)  # an Enter right behind the text would be a pasted newline (CMP-18)
    child.send("\r")


def leave(child: Any) -> str:
    """/quit, and what stands on the terminal when the screen is gone."""
    enter(child, "/quit")
    child.expect(pexpect.EOF)
    child.close()
    return str(child.before.rpartition(b"\x1b[?25h")[2].decode())


def test_the_screen_is_left_with_a_hint(program: Program) -> None:
    """C1-1, C1-4, C1-26, C1-27, C1-29, C1-46, TRM-5: --prompt is sent, /quit is status 0, and the line that goes on is printed.

    What was noticed about the start is shown too.
    """
    (program.work / "AGENTS.md").write_bytes(b"\xff rule")
    with serve(program, {"text": "screen answer"}) as model:
        child = screen(program, *program.line(model, "--prompt", "screen question")[len(LMX) :])
        child.expect("not UTF-8")
        child.expect("screen answer")
        told = leave(child)
        assert child.exitstatus == 0 and "lmx -c" in told and len(program.transcripts()) == 1
        done = program.ask(model, "-c", "--print", "go on")
        assert done.returncode == 0 and len(program.transcripts()) == 1


def test_trm_5_the_last_answer_stays_on_the_terminal_where_that_is_wanted(program: Program) -> None:
    """TRM-5: `exit_print = "answer"`, above the line that goes on."""
    (program.home / ".lmx").mkdir()
    (program.home / ".lmx" / "config.toml").write_text('exit_print = "answer"\n')
    with serve(program, {"text": "screen answer"}) as model:
        child = screen(program, *program.line(model, "--prompt", "screen question")[len(LMX) :])
        child.expect("screen answer")
        child.expect("1 req")
        told = leave(child)
    assert told.index("screen answer") < told.index("lmx -c")


def test_cmp_10_a_screen_that_is_ended_keeps_the_draft(program: Program) -> None:
    """CMP-10: what stood in the composer at a SIGTERM is one Up away in the next sitting."""
    with serve(program, {"text": "screen answer"}) as model:
        words = program.line(model)[len(LMX) :]
        child = screen(program, *words, "--prompt", "screen question")
        child.expect("screen answer")
        child.send("a precious draft")
        child.expect("a precious draft")
        child.kill(signal.SIGTERM)
        child.expect("to go on: lmx -c")
        child.expect(pexpect.EOF)
        child.wait()
        assert child.exitstatus == 143
        again = screen(program, *words)
        again.expect("Enter send")
        again.expect(pexpect.TIMEOUT, timeout=0.3)
        again.send("\x1b[A")
        again.expect("a precious draft")
        again.close(force=True)


def test_the_demo_opens_in_ask_mode_and_keeps_nothing(program: Program) -> None:
    child = screen(program, "demo", TMPDIR=str(program.work))
    child.expect("Approve")
    enter(child, "/quit")
    child.expect("again")  # a call waits for an answer: leaving asks twice
    told = leave(child)
    assert "lmx -c" not in told and not os.listdir(program.home)
    assert not list(program.work.iterdir())
