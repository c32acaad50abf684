"""`lmx permissions` and the rules of the configuration, as a person meets them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from support.program import LMX, Program, serve

from lmx_core.permissions import Remembered

SECURITY = (Path(__file__).parents[3] / "docs" / "reference" / "security.md").read_text("utf-8")


def configured(program: Program, text: str) -> Path:
    file = program.home / ".lmx" / "config.toml"
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(text, "utf-8")
    file.chmod(0o600)
    return file


def test_the_example_of_the_security_page(program: Program) -> None:
    """What the page shows is what the command prints, for the configuration that stands above it."""
    [toml] = re.findall(r"```toml\n(.*?)```", SECURITY, re.DOTALL)
    [shown] = re.findall(r"```console\n\$ lmx permissions explain '(.*?)'\n(.*?)```", SECURITY, re.DOTALL)
    file = configured(program, toml)
    done = program.run("permissions", "explain", shown[0])
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.replace(str(file), "~/.lmx/config.toml") == shown[1]


def test_list_shows_each_rule_with_its_place_remembered_ones_too(program: Program) -> None:
    file = configured(
        program, '[permissions]\nmode = "accept_edits"\ndeny = [\n  "Read(.env)",\n]\nallow = ["Bash(a:*)"]\n'
    )
    Remembered(program.home / ".lmx", program.work).remember("Bash(b:*)", "ask")
    done = program.run("permissions")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["permission", "mode", "accept_edits", "(config)"]
    assert rows[1] == ["deny", "Read(.env)", f"{file}:4"] and rows[3] == ["allow", "Bash(a:*)", f"{file}:6"]
    assert (
        rows[2][:3] == ["ask", "Bash(b:*)", "remembered:"] and done.stdout == program.run("permissions", "list").stdout
    )


def test_without_rules_it_says_so_and_makes_no_file(program: Program) -> None:
    done = program.run("permissions", "list")
    assert "no permission rules" in done.stdout and done.returncode == 0 and list(program.home.iterdir()) == []
    assert "is refused" in program.run("permissions", "explain", "ls", "--permission-mode", "read_only").stdout


def test_other_words_are_a_usage_mistake(program: Program) -> None:
    for words in (["explain"], ["forget", "x"], ["explain", "git", "log"], ["list", "x"]):
        done = program.run("permissions", *words)
        assert done.returncode == 2 and "lmx permissions explain 'COMMAND'" in done.stderr and done.stdout == ""


def test_c3_16_a_rule_that_is_none_stops_the_start_with_its_place(program: Program) -> None:
    """C3-16, cli.md 5.3: status 2, naming file, list and index."""
    file = configured(program, '[permissions]\nallow = ["Bash(a)", "Edit(a"]\n')
    done = program.run("--print", "x")
    assert done.returncode == 2 and f"{file}: permissions.allow[1]: 'Edit(a'" in done.stderr
    configured(program, '[permissions]\ndeny = [{ rule = "Bash(rm:*)", should_match = ["rmdir x"] }]\n')
    done = program.run("explain")
    assert done.returncode == 2 and "permissions.deny[0]: Bash(rm:*) should match 'rmdir x' and does not" in done.stderr


def bash(*commands: str) -> dict[str, Any]:
    return {"actions": [f"shell: {command}" for command in commands]}


def test_c3_16_rules_hold_in_print_mode_and_a_refusal_names_the_line(program: Program) -> None:
    """C3-16: an allowed command runs without a person, a denied one does not under any mode."""
    file = configured(program, '[permissions]\nallow = ["Bash(echo:*)"]\ndeny = ["Bash(touch:*)"]\n')
    with serve(program, bash("echo fine", "command touch pwned"), {"text": "done"}) as model:
        done = program.ask(model, "--print", "go", "--permission-mode", "full_auto", "--output-format", "json")
    assert json.loads(done.stdout)["refused"] == 1 and not (program.work / "pwned").exists()
    with serve(program, bash("echo fine > x", "echo fine"), {"text": "done"}) as model:
        done = program.ask(model, "--print", "go", "--output-format", "json")
    assert json.loads(done.stdout)["refused"] == 1 and not (program.work / "x").exists()
    entries = [json.loads(line) for path in program.sessions.glob("*.jsonl") for line in path.read_text().splitlines()]
    decisions = [entry["payload"]["decision"] for entry in entries if entry["payload"].get("decision")]
    assert f"{file}:3" in {decision["source"] for decision in decisions if decision["rule"] == "Bash(touch:*)"}
    assert f"{file}:2" in {decision["source"] for decision in decisions if decision["rule"] == "Bash(echo:*)"}


def test_the_grammar_is_loaded_by_the_first_command_that_a_rule_is_compared_with(program: Program) -> None:
    """Design.md section 1: nothing slow at the start. A run without a command pays nothing for the reader."""
    configured(program, '[permissions]\nallow = ["Bash(echo:*)"]\n')
    code = (
        "import sys\nfrom lmx.__main__ import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('tree_sitter' in sys.modules, 'lmx_core.permissions.shell.reader' in sys.modules, file=sys.stderr)"
    )
    for turns, loaded in (({"text": "hi"},), "False False"), ((bash("echo x"), {"text": "hi"}), "True True"):
        with serve(program, *turns) as model:
            line = program.line(model, "--print", "go")[len(LMX) :]
            done = program.finish([sys.executable, "-c", code, *line])
        assert done.stderr.split("\n")[-2] == loaded
    assert "False" in program.finish([sys.executable, "-c", code, "--version"]).stderr
