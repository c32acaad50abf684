"""`lmx explain`: one JSON document, the same for the same input, without anything private in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.program import Program, serve

from lmx import argv
from lmx.assembly import SessionFactory
from lmx.cli import explain
from lmx_core import Harness, search_tools

TOP = [
    *("schema_version", "model", "model_source", "tools", "collisions", "settings", "strategies", "hooks"),
    *("extensions", "host_overrides", "permissions", "defaults_applied", "diagnostics"),
]


def report(program: Program, *words: str, **env: str) -> dict[str, Any]:
    done = program.run("explain", *words, **env)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_it_tells_what_a_session_would_start_with(program: Program) -> None:
    """C1-8 (cli.md 1.7): tools in their order with their origin, limits, extensions, permissions, where things are."""
    (program.work / "AGENTS.md").write_text("rule-canary\n")
    told = report(program, "--permission-mode", "plan", "--max-turns", "7", "--base-url", "http://host-canary:1/v1")
    assert list(told) == TOP and told["schema_version"] == 1
    assert [tool["name"] for tool in told["tools"]] == ["read", "write", "edit", "bash", "grep", "glob"]
    assert all(tool["enabled"] and tool["origin"] == "built_in" for tool in told["tools"])
    assert told["settings"]["max_turns"] == 7 and told["settings"]["max_requests"] == "session_default"
    assert told["permissions"]["mode"] == "read_only" and told["permissions"]["sandbox"] is False
    assert "permissions" in told["hooks"]["before_tool_call"]
    assert [item["name"] for item in told["extensions"]] == ["Search", "Workspace", "EnvironmentContext", "Permissions"]
    diagnostics = told["diagnostics"]
    assert diagnostics["workspace"]["instructions"] == [{"file": "AGENTS.md", "bytes": 12}]
    assert diagnostics["route"] == {"name": "direct", "base_url_set": True}
    assert diagnostics["credentials"]["openai"] == "env" and diagnostics["credentials"]["xai"] == "absent"
    assert diagnostics["config"]["state"] == str(program.home / ".lmx")
    assert diagnostics["log_file"] == str(program.home / ".lmx" / "logs" / "lmx.log")
    assert "rule-canary" not in json.dumps(told) and "host-canary" not in json.dumps(told)


@pytest.mark.parametrize(
    ("words", "env", "chosen"),
    [
        (["--model", "xai:m"], {}, ("xai:m", "flag")),
        ([], {"LMX_MODEL": "xai:m"}, ("xai:m", "LMX_MODEL")),
        ([], {}, ("openai:gpt-6-sol", "provider_key")),
        (["--config", "none"], {}, ("anthropic:claude-sonnet-5", "placeholder")),
        ([], {"OPENAI_API_KEY": ""}, ("anthropic:claude-sonnet-5", "placeholder")),
    ],
)
def test_it_says_what_chose_the_model(
    program: Program, words: list[str], env: dict[str, str], chosen: tuple[str, str]
) -> None:
    told = report(program, *words, OLLAMA_HOST="127.0.0.1:9", **env)
    assert (told["model"], told["model_source"]) == chosen


def test_a_local_ollama_is_the_last_choice(program: Program) -> None:
    """C8-2 (cli.md 8.3): asked what it serves, never to load; named in a notice."""
    with serve(program, {"text": "never"}, model="qwen3:8b") as model:
        told = report(program, OPENAI_API_KEY="", OLLAMA_HOST=model.url.removeprefix("http://"))
        assert told["model"].startswith("ollama:") and told["model_source"] == "ollama"
        assert any(told["model"] in notice for notice in told["diagnostics"]["notices"])
        assert not model.requests("main")


def test_it_is_the_same_for_the_same_input(program: Program) -> None:
    """C1-90: so that two reports can be compared with diff."""
    assert program.run("explain").stdout == program.run("explain").stdout


def test_a_broken_configuration_can_be_left_out(program: Program) -> None:
    """C1-89."""
    program.run("explain")
    (program.home / ".lmx" / "config.toml").write_text("broken [")
    assert program.run("explain").returncode == 2
    assert report(program, "--config", "none")["diagnostics"]["config"] == {
        "source": "none",
        "state": None,
        "sessions_dir": str(program.sessions),
    }


def test_a_resumed_session_brings_its_model(program: Program) -> None:
    with serve(program, {"text": "ok"}) as model:
        program.ask(model, "--print", "hi")
    told = report(program, "--resume", program.transcripts()[0].stem)
    assert (told["model"], told["model_source"]) == ("openai:mock-model", "transcript")
    assert program.run("explain", "--resume", "never-was").returncode == 2


def test_c1_87_two_tools_of_one_name_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C1-87, C10-22: the report is printed all the same, then one sentence with tool and origins; status 1."""

    class Twin:
        def apply(self, harness: Harness) -> Harness:
            return harness.append_host_tools(search_tools()[:1])

    recipe = SessionFactory._recipe
    monkeypatch.setattr(SessionFactory, "_recipe", lambda self, *a, **how: {**recipe(self, *a, **how), "twin": Twin})
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    status = explain.main(argv.parse(["explain", "--model", "openai:m", "-C", str(tmp_path)]), environ)
    printed = capsys.readouterr()
    assert status == 1 and json.loads(printed.out)["collisions"] == [
        {"name": "grep", "origins": ["built_in", "built_in"]}
    ]
    assert "grep" in printed.err and "built_in and built_in" in printed.err
