"""Commands through the program (cases C05 to C07): what they leave running, how they are ended, what they may write."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from support.processes import Line
from support.program import Program, serve

ALLOWED = ("--permission-mode", "full_auto")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def bash(command: str, **more: Any) -> dict[str, Any]:
    return {"actions": [{"tool": "bash", "args": {"command": command, **more}}]}


def results(program: Program) -> list[dict[str, Any]]:
    return [entry["payload"] for entry in program.entries() if entry["type"] == "tool_result"]


def runs(pid: int) -> bool:
    """Whether it is there and no zombie, which in a container may have nobody who collects it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def named(text: str) -> list[int]:
    return [int(pid) for pid in re.findall(r"pid (\d+)\)", text)]


HOLDERS = {
    "a child with both pipes": "sleep 300 & echo done",
    "a silent child with one": "sleep 300 </dev/null >/dev/null & echo done",
    "a child that goes on": "(while :; do echo tick; sleep 0.2; done) & echo done",
    "a session of its own": "setsid sleep 300 & echo done",
    "nohup and disown": "nohup sleep 300 2>/dev/null & disown; echo done",
}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="processes are named and looked for through /proc")
@pytest.mark.parametrize("holder", HOLDERS)
def test_c05_whoever_holds_the_output_the_run_goes_on_and_ends(program, holder):
    """C05: done, status 0, and what was left behind is named and ended, or named and left: the same each time."""
    begun = time.monotonic()
    with serve(program, bash(HOLDERS[holder]), bash("echo next"), {"text": "answer"}) as m:
        done = program.ask(m, "--print", "go", *ALLOWED)
    assert (done.returncode, done.stdout) == (0, "answer\n")
    assert time.monotonic() - begun < 60  # of the 300 s
    first, following = results(program)
    assert "done\n" in first["output"] and first["structured_content"]["exit_status"] == 0
    assert following["output"] == "next\n"  # nothing of the first flows into it
    (pid,) = named(first["output"])[:1]
    if holder == "a session of its own":
        assert "still running in a session of their own" in first["output"] and runs(pid)
        os.kill(pid, signal.SIGKILL)
    else:
        assert "were ended with the command" in first["output"] and not any(map(runs, named(first["output"])))


def test_c06_sigterm_to_lmx_ends_the_whole_group(program):
    """C06 (e): what a grandchild would have done later never happens."""
    grandchild = 'echo $$ > "$HOME/said"; while [ ! -e go ]; do sleep 0.05; done; touch late'
    command = f"sh -c '{grandchild}' & sleep 600"
    with serve(program, bash(command), {"text": "answer"}) as m:
        said = Line(program.home / "said")
        process = program.start(program.line(m, "--print", "go", *ALLOWED))
        child = int(said.read(process))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    (program.work / "go").touch()
    assert not runs(child) and not (program.work / "late").exists()


def test_c06_a_time_limit_gives_the_output_up_to_then_and_the_run_goes_on(program):
    trapped = "trap '' TERM; echo before; echo $$ > shell; while :; do sleep 1; done"
    with serve(program, bash(trapped, timeout_ms=500), {"text": "answer"}) as m:
        done = program.ask(m, "--print", "go", *ALLOWED)
    assert (done.returncode, done.stdout) == (0, "answer\n")
    (result,) = results(program)
    assert result["output"].startswith("before\n[timed out after 500 ms")
    assert not runs(int((program.work / "shell").read_text()))


NASTY = {
    r"printf 'a\0b\n'": "a\\x00b\n",
    "head -c 300000 /dev/urandom": "bytes cut from the middle",
    r"printf '\xf0'": "�",
    "head -c 200000000 /dev/zero | tr '\\0' x": "ended after 8,000,000 bytes of output",
    "yes | head -c 200000000": "ended after 8,000,000 bytes of output",
    r"i=0; while [ $i -lt 20000 ]; do printf '\rstep %d' $i; i=$((i+1)); done": "step 19999",
    r"printf '\xe2\x82'; sleep 0.2; printf '\xac'": "€",
}


def test_c07_no_output_harms_the_session_and_it_can_be_resumed(program):
    """C07: each result is text any provider takes, bounded, with its true size; memory does not grow with what went by."""
    turns = [turn for command in NASTY for turn in (bash(command), {"text": "and now?"})]
    with serve(program, *turns, {"text": "resumed"}) as m:
        for number in range(len(NASTY)):
            again = ("--continue",) if number else ()
            assert program.ask(m, "--print", "next", *again, *ALLOWED).returncode == 0
        done = program.ask(m, "--print", "last", "--continue", *ALLOWED)
        assert (done.returncode, done.stdout) == (0, "resumed\n")
        assert all(request["status"] == 200 for request in m.requests())
    told = results(program)
    assert [said in result["output"] for said, result in zip(NASTY.values(), told, strict=True)] == [True] * len(NASTY)
    assert all(len(result["output"].encode()) < 31_000 for result in told)
    assert told[1]["output_bytes"] > 300_000 and told[3]["structured_content"]["output_bytes"] > 8_000_000


def peak_kb(program: Program, *turns: dict[str, Any]) -> int:
    """The most memory that a run with these turns took."""
    with serve(program, *turns) as m:
        process = program.start(program.line(m, "--print", "go", *ALLOWED))
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for pipe in (process.stdout, process.stderr):
            pipe.close()
    assert process.returncode == 0
    return used.ru_maxrss // (1 if os.uname().sysname == "Linux" else 1_024)


def test_c07_a_flood_takes_no_memory(program):
    """C07, BG-4: fifty megabytes in front and sixty in the background take less than fifty."""
    plain = peak_kb(program, bash("true"), {"text": "answer"})
    flood = bash("head -c 60000000 /dev/zero | tr '\\0' x", background=True, wait_ms=60_000)
    program.transcripts()[0].unlink()
    assert peak_kb(program, bash("yes | head -c 50000000"), flood, {"text": "answer"}) - plain < 50_000
    assert results(program)[1]["structured_content"]["output_bytes"] == 60_000_000
