"""Background commands through the program: started, looked at and stopped over real HTTP, and gone whatever happens to lmx."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from support.mock_llm import MockLLM
from support.processes import Line, ended
from support.program import Program, serve

SERVER = 'echo $$ > pid; echo $$ > "$HOME/said"; echo ready; while :; do sleep 0.05; done'
START = {"actions": [{"tool": "bash", "args": {"command": SERVER, "background": True}}]}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def about(**args: Any) -> dict[str, Any]:
    """A turn that asks about the newest background command of the conversation."""
    return {"actions": [{"tool": "bash", "args": {"task_id": "${task}", **args}}]}


def knowing_the_task(model: MockLLM) -> MockLLM:
    """The same server, whose turns may name the last task id in the conversation, as a model does."""
    build = model.server._build

    def built(ask: Any, scenario: Any, turn: dict[str, Any], *rest: Any) -> Any:
        found = re.findall(r"bg-[0-9a-f]{8}", json.dumps(model.requests()[-1]["body"]))
        return build(
            ask, scenario, {**turn, "vars": {**turn["vars"], "task": found[-1] if found else "bg-none"}}, *rest
        )

    model.server._build = built
    return model


def results(program: Program) -> list[dict[str, Any]]:
    return [entry["payload"] for entry in program.entries() if entry["type"] == "tool_result"]


def runs(pid: int) -> bool:
    """Whether it is there and no zombie, which in a container may have nobody who collects it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_bg_1_a_server_is_started_looked_at_and_stopped(program):
    """BG-1: the start returns at once, a poll has what is new, a cancel ends the group."""
    model = serve(program, START, about(), about(cancel=True), about(), {"text": "stopped it"})
    with knowing_the_task(model) as m:
        done = program.ask(m, "--print", "try the server", "--permission-mode", "full_auto")
    assert (done.returncode, done.stdout) == (0, "stopped it\n"), done.stderr
    started, polled, stopped, later = results(program)
    assert started["output"].startswith("ready\n[started in the background; task_id ")
    assert started["structured_content"]["status"] == polled["structured_content"]["status"] == "running"
    assert "no new output" in polled["output"] and "ready" not in polled["output"]
    assert stopped["structured_content"]["status"] == later["structured_content"]["status"] == "cancelled"
    assert not runs(int((program.work / "pid").read_text()))


@pytest.mark.parametrize("how", ["the end", "SIGTERM", "SIGKILL"])
def test_bg_4_nothing_is_left_behind(program, how):
    """BG-4, EN-4, C1-38: at the end of a run, at a signal, and when lmx is killed with -9."""
    last = {"text": "bye"} if how == "the end" else {"actions": ["shell: sleep 60"]}
    with knowing_the_task(serve(program, START, last, {"text": "bye"})) as m:
        said = Line(program.home / "said")
        process = program.start(program.line(m, "--print", "go", "--permission-mode", "full_auto"))
        pid = int(said.read(process))
        if how != "the end":
            assert m.asked(2)
            process.send_signal(getattr(signal, how))
        process.communicate(timeout=30)
        assert ended(pid)


def test_cli_5_2_a_refused_start_and_a_poll_in_every_mode(program):
    """A start is asked about like any command; to look and to stop is run unasked, even where only reading is allowed."""
    for mode in ("ask", "accept_edits", "read_only"):
        with knowing_the_task(serve(program, START, about(), about(cancel=True), {"text": "done"})) as m:
            program.ask(m, "--print", "go", "--permission-mode", mode)
        refused, polled, stopped = results(program)
        assert refused["outcome"] == "denied" and not (program.work / "pid").exists()
        assert polled["outcome"] == stopped["outcome"] == "error" and "no background command" in polled["output"]
        os.remove(program.transcripts()[0])


def test_bg_4_a_resumed_session_knows_that_its_commands_are_gone(program):
    """BG-4: what died with its process is never told as running, and no new command answers to its id."""
    with knowing_the_task(serve(program, START, {"text": "one"}, about(), {"text": "two"})) as m:
        program.ask(m, "--print", "start it", "--permission-mode", "full_auto")
        id = program.transcripts()[0].stem
        program.ask(m, "--print", "and now?", "--resume", id, "--permission-mode", "full_auto")
    _, asked = results(program)
    assert asked["outcome"] == "error"
    assert "is not brought back when the session is resumed" in asked["output"]
