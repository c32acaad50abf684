"""Taking a session up again: what comes from the transcript, and what it must not be gone on without."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.program import Program, serve

from lmx_core import default_tools


def asked(program: Program, *words: str, request: int = -1, **scenario: Any) -> dict[str, Any]:
    """What the model was sent."""
    with serve(program, {"text": "ok"}, **scenario) as model:
        done = program.ask(model, "--print", "hi", *words)
        assert done.returncode == 0, done.stderr
        body: dict[str, Any] = model.requests("main")[request]["body"]
    return body


def system_of(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def session_entries(program: Program) -> list[dict[str, Any]]:
    return [entry["payload"] for entry in program.entries() if entry["type"] == "session"]


def rewritten(program: Program, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the record in the transcript, as another version of lmx would have written it."""
    (path,) = program.transcripts()
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for line in lines:
        if line["type"] == "session":
            change(line["payload"]["harness_assembly"])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def test_ex_11_the_prompt_of_a_resumed_session_is_the_one_it_had(program: Program) -> None:
    """EX-11: with the same files the same bytes are sent, and the transcript gets no second `session` entry."""
    (program.work / "AGENTS.md").write_text("the rule")
    first, second = asked(program), asked(program, "-c")
    assert second["messages"][0] == first["messages"][0] and second["tools"] == first["tools"]
    (payload,) = session_entries(program)
    assert payload["harness_assembly"]["version"] == 1 and "the rule" not in payload["harness_assembly"]["system"]
    assert payload["harness_assembly"]["tools"] == [tool.name for tool in default_tools()]


def test_ex_11_todays_files_take_the_place_of_those_it_began_with(program: Program) -> None:
    """EX-11, C9-5: swapped, however often the session is taken up; never stacked."""
    asked(program)
    for rule in ("rule one", "rule two", "rule three"):
        (program.work / "AGENTS.md").write_text(rule)
        system = system_of(asked(program, "-c"))
        assert system.count("rule ") == 1 and rule in system


def test_a_limit_of_the_session_holds_when_it_is_taken_up(program: Program) -> None:
    """C9-5, cli.md 3.9: requests already made count, and the ceiling is the recorded one unless this start names one."""
    asked(program, "--max-requests", "1")
    with serve(program, {"text": "ok"}) as model:
        stopped = program.ask(model, "--print", "on", "-c")
        assert stopped.returncode == 4 and not model.requests("main")
        assert program.ask(model, "--print", "on", "-c", "--max-requests", "5").returncode == 0


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"version": 2}, 1, "newer lmx"),
        ({"transforming": ["spelling"]}, 2, "spelling"),
        ({"tools": ["read", "deploy"]}, 2, "deploy"),
        ({"limits": 7}, 1, "damaged"),
    ],
)
def test_ex_11_what_cannot_be_put_together_again_is_refused(
    program: Program, change: dict[str, Any], status: int, said: str
) -> None:
    """EX-11: before anything is sent or written, in one sentence that says what is missing."""
    asked(program)
    rewritten(program, lambda record: record.update(change))
    before = program.transcripts()[0].read_bytes()
    with serve(program, {"text": "never"}) as model:
        done = program.ask(model, "--print", "on", "-c")
        assert not model.requests("main")
    assert done.returncode == status and said in done.stderr and done.stderr.count("\n") == 1
    assert program.transcripts()[0].read_bytes() == before and not list(program.sessions.glob("*.lock"))


def test_a_session_of_an_earlier_lmx_is_taken_up_as_before(program: Program) -> None:
    """EX-11: a transcript without a record keeps its prompt, with today's text in the places marked for it."""
    (program.work / "AGENTS.md").write_text("yesterday")
    first = system_of(asked(program))
    (path,) = program.transcripts()
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for line in lines:
        line["payload"].pop("harness_assembly", None)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (program.work / "AGENTS.md").write_text("today")
    assert system_of(asked(program, "-c")) == first.replace("yesterday", "today")
    assert all("harness_assembly" not in payload for payload in session_entries(program))
