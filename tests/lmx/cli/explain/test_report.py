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
from lmx.cli.explain import report as explain
from lmx_core import Harness, search_tools

TOP = [
    *("schema_version", "model", "model_source", "tools", "collisions", "settings", "strategies", "hooks"),
    *("extensions", "host_overrides", "permissions", "secrets", "keys", "defaults_applied", "diagnostics"),
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
    assert [tool["name"] for tool in told["tools"]] == [
        "read",
        "write",
        "edit",
        "bash",
        "grep",
        "glob",
        "todo",
        "ask_user",
    ]
    assert all(tool["enabled"] and tool["origin"] == "built_in" for tool in told["tools"])
    assert told["settings"]["max_turns"] == 7 and told["settings"]["max_requests"] == "session_default"
    assert told["permissions"]["mode"] == "read_only" and told["permissions"]["sandbox"] is False
    assert "permissions" in told["hooks"]["before_tool_call"]
    first = ["search", "apply_patch", "planning", "interactive", "continuation", "workspace", "environment_context"]
    names = [*first, "hooks", "checkpoints", "verify", "permissions"]
    assert [item["name"] for item in told["extensions"]] == names
    assert told["extensions"][0]["module"] == "lmx_core.extensions.search.Search"
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


def test_c1_90_it_is_the_same_for_the_same_input(program: Program) -> None:
    """C1-90: so that two reports can be compared with diff; what is a map by name is sorted by name."""
    (program.work / "AGENTS.md").write_text("rule")
    program.run("explain")
    first, *others = (program.run("explain", PYTHONHASHSEED=seed).stdout for seed in "123")
    assert others == [first] * 2
    told = json.loads(first)
    by_name = [told["settings"], told["strategies"], told["defaults_applied"], told["diagnostics"]["credentials"]]
    assert all(list(found) == sorted(found) for found in by_name)


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


def test_a_resumed_session_brings_its_model_and_its_limits(program: Program) -> None:
    with serve(program, {"text": "ok"}) as model:
        program.ask(model, "--print", "hi", "--max-requests", "9")
    id = program.transcripts()[0].stem
    told = report(program, "--resume", id)
    assert (told["model"], told["model_source"]) == ("openai:mock-model", "transcript")
    assert told["settings"]["max_requests"] == 9 and told["settings"]["max_turns"] == "session_default"
    told = report(program, "--resume", id, "--model", "openai:m", "--max-requests", "3")
    assert (told["model"], told["model_source"], told["settings"]["max_requests"]) == ("openai:m", "flag", 3)
    assert program.run("explain", "--resume", "never-was").returncode == 2


def test_what_is_off_is_told_with_the_reason(program: Program) -> None:
    """C3-34, cli.md 1.7: which of lmx's own defaults are on, and why not where they are off."""
    told = report(program)
    assert set(told["defaults_applied"].values()) == {"on"} and told["host_overrides"] == []
    (program.home / ".lmx" / "config.toml").write_text('disabled_extensions = ["search"]\nscrub_credentials = false\n')
    told = report(program, "--effort", "high")
    assert told["defaults_applied"]["search"] == "off: disabled_extensions"
    assert told["defaults_applied"]["credential_scrub"] == "off: scrub_credentials is false"
    assert "grep" not in [tool["name"] for tool in told["tools"]] and told["host_overrides"] == ["reasoning_effort"]
    told = report(program, "--config", "none")
    assert told["defaults_applied"]["environment_context"] == "off: there is no state directory"
    assert told["defaults_applied"]["workspace"] == told["defaults_applied"]["search"] == "on"


def test_c1_86_nothing_private_is_in_it(program: Program) -> None:
    """C1-86: prompt and instruction text, keys, addresses, values of variables and of the configuration are left out."""
    (program.work / "AGENTS.md").write_text("canary-instruction")
    program.run("explain")
    config = program.home / ".lmx" / "config.toml"
    config.write_text(
        'system = "canary-prompt"\nbase_url = "http://canary-user:canary-pass@canary-host:1/v1"\n'
        'canary_unknown = "canary-value"\n'
        '[providers.xai]\napi_key = "canary-key"\nmodel = "grok"\n'
    )
    config.chmod(0o600)
    variables = {"OPENAI_API_KEY": "canary-env-key", "MY_TOKEN": "canary-token", "TERM": "canary-term"}
    done = program.run("explain", **variables)
    assert done.returncode == 0
    assert done.stdout.count("canary") == 1 and "unknown key 'canary_unknown'" in done.stdout
    told = json.loads(done.stdout)["diagnostics"]
    assert told["credentials"]["xai"] == "config" and told["credentials"]["openai"] == "env"
    assert told["route"]["base_url_set"] is True and told["terminal"]["TERM"] is True
    assert set(told["versions"]) == {"lmx", "lmx_core", "python", "litellm", "textual", "platform"}


def saved(program: Program, *words: str) -> str:
    path = program.work / "before.json"
    path.write_text(program.run("explain", *words).stdout)
    return str(path)


def test_c1_88_a_report_is_compared_with_an_earlier_one(program: Program) -> None:
    """C1-88: `same`, and status 0 whether or not it differs."""
    program.run("explain")
    file = saved(program, "--max-turns", "5")
    same = report(program, "--max-turns", "5", "--explain-against", file)
    assert same["same"] is True and list(same) == ["schema_version", "same", "changes"]
    assert list(same["changes"]) == ["tools", "wrappers", "settings", "extensions", "strategies", "model"]
    (program.home / ".lmx" / "config.toml").write_text('disabled_extensions = ["search"]\n')
    told = report(program, "--model", "xai:m", "--permission-mode", "plan", "--explain-against", file)
    changes = told["changes"]
    assert told["same"] is False and list(changes["tools"]["removed"]) == ["grep", "glob"]
    assert changes["settings"]["changed"] == {"max_turns": {"before": 5, "after": "session_default"}}
    assert list(changes["extensions"]["removed"]) == ["search"]
    modes = changes["extensions"]["changed"]["permissions"]
    assert (modes["before"]["options"]["mode"], modes["after"]["options"]["mode"]) == ("ask", "read_only")
    assert changes["model"]["changed"]["model"]["after"] == "xai:m"
    assert changes["strategies"] == {"added": {}, "removed": {}, "changed": {}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        (b"", "no report"),
        (b"not json", "no report"),
        (b"\xff\xfe", "no report"),
        (b"[]", "no report"),
        (b"[" * 100_000, "no report"),
        (b'{"schema_version": "1"}', "no report"),
        (b'{"schema_version": 1}', "no report"),
        (
            b'{"schema_version": 1, "tools": [1], "settings": {}, "extensions": [], "strategies": {}, "model": "m"}',
            "no report",
        ),
        (b'{"schema_version": 9}', "version 9"),
    ],
)
def test_c1_88_what_is_no_report_is_told_in_one_sentence(program: Program, content: bytes | None, said: str) -> None:
    """C1-88: status 2, and the file is named."""
    file = program.work / "before.json"
    if content is not None:
        file.write_bytes(content)
    done = program.run("explain", "--explain-against", str(file))
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert said in done.stderr and "before.json" in done.stderr


def test_c1_88_a_pipe_nobody_writes_to_holds_up_nothing(program: Program) -> None:
    os.mkfifo(program.work / "pipe")
    assert program.run("explain", "--explain-against", "pipe").returncode == 2
    assert "directory" in program.run("explain", "--explain-against", ".").stderr


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
    assert "grep" in printed.err and "built_in and built_in" in printed.err and "disabled_extensions" in printed.err
    assert printed.err.count("\n") == 1
