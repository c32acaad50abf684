"""A person's own extensions, in lmx as it is started: named ones, from outside the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pexpect
import pytest
from support.own_extension import CODE, write
from support.program import LMX, Program, serve

SAYS = "The word is none."

WRAPS = """
from lmx_core import search_tools

class Guarded:
    def __init__(self, inner):
        self.__wrapped__, self.name, self.description, self.schema = inner, inner.name, "guarded", inner.schema

    def run(self, args, context):
        return self.__wrapped__.run(args, context)

class Extension:
    def apply(self, harness):
        return harness.update_tools(lambda tools: [Guarded(tools[0]), *tools[1:]])
"""

TWIN = """
from lmx_core import search_tools

class Extension:
    def apply(self, harness):
        return harness.append_host_tools(search_tools()[:1])
"""

REMOVES_THE_GATE = """
class Extension:
    def apply(self, harness):
        return harness.replace(hooks=[])
"""


@pytest.fixture
def root(program: Program) -> Path:
    """Where named extensions are; the first start has made its configuration."""
    program.run("explain")
    return program.home / ".lmx" / "extensions"


def asked(program: Program, *words: str) -> dict[str, Any]:
    """What the model was sent."""
    with serve(program, {"text": "ok"}) as model:
        done = program.ask(model, "--print", "hi", *words)
        assert done.returncode == 0, done.stderr
        body: dict[str, Any] = model.requests("main")[-1]["body"]
    return body


def system_of(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def configured(program: Program, text: str) -> None:
    (program.home / ".lmx" / "config.toml").write_text(text)


def test_c1_59_c1_60_a_named_one_is_part_of_the_session(program: Program, root: Path) -> None:
    """C1-59, C1-60, C3-32, C3-33: by flag, by path, by configuration with options; otherwise not."""
    write(root)
    write(program.work, "here", CODE.replace("none", "here"))
    assert SAYS not in system_of(asked(program))
    assert SAYS in system_of(asked(program, "--extension", "mine"))
    both = system_of(asked(program, "--extension", "mine", "--extension-dir", "here"))
    assert both.index(SAYS) < both.index("The word is here.")
    configured(program, 'extensions = ["mine"]\nextension_options = { mine = { word = "configured" } }\n')
    assert "The word is configured." in system_of(asked(program))
    assert "The word is" not in system_of(asked(program, "--no-user-extensions"))


def test_c3_50_a_checkout_brings_none(program: Program, root: Path) -> None:
    """C3-50, EX-15: what stands in a working directory is never looked for, also by a name that is typed."""
    write(program.work / ".lmx" / "extensions", "theirs", "raise SystemExit('planted')")
    assert SAYS not in system_of(asked(program))
    done = program.run("explain", "--extension", "theirs")
    assert done.returncode == 2 and "planted" not in done.stderr and str(root / "theirs") in done.stderr


@pytest.mark.parametrize("command", [["explain"], ["run", "hi"], ["--print", "hi", "--output-format", "json"]])
def test_c10_21_one_that_cannot_be_loaded_ends_the_start(program: Program, root: Path, command: list[str]) -> None:
    """C10-21, EX-15: status 2, one sentence with name, reason and the way out; no request, no transcript."""
    write(root, "mine", "import not_there_at_all")
    configured(program, 'extensions = ["mine"]\n')
    with serve(program, {"text": "never"}) as model:
        done = program.ask(model, *command)
        assert done.returncode == 2 and not model.requests("main") and not program.transcripts()
    said = done.stderr + done.stdout
    assert "mine" in said and "not_there_at_all" in said and "--no-user-extensions" in said and "Traceback" not in said
    assert program.run("explain", "--no-user-extensions").returncode == 0


def test_c10_21_the_screen_does_not_open_either(program: Program, root: Path) -> None:
    """C10-21: the sentence stands on an ordinary terminal, which no full screen has wiped."""
    write(root, "mine", "import not_there_at_all")
    line = [*LMX, "--extension", "mine"]
    child = pexpect.spawn(line[0], line[1:], cwd=str(program.work), env=program.env, timeout=30, dimensions=(24, 200))
    shown = child.read().decode()
    child.wait()
    assert child.exitstatus == 2 and "not_there_at_all" in shown and "\x1b[?1049h" not in shown


def test_what_was_loaded_is_in_the_report_and_in_the_transcript(program: Program, root: Path) -> None:
    """EX-15, C1-89: `loaded` beside `applied`: name, directory, digests of manifest and code; options only as described."""
    directory = write(root, options={"word": "canary"})
    told = json.loads(program.run("explain", "--extension", "mine").stdout)
    assert [item["name"] for item in told["extensions"]][-5:] == [
        "mine",
        "hooks",
        "checkpoints",
        "verify",
        "permissions",
    ]
    assert told["extensions"][-5]["options"] == {"letters": 6}
    (facts,) = told["diagnostics"]["extensions"]
    assert facts["name"] == "mine" and facts["directory"] == str(directory)
    assert "canary" not in json.dumps(told)
    assert json.loads(program.run("explain", "--extension", "mine", "--no-user-extensions").stdout)["extensions"][-5][
        "name"
    ] == ("environment_context")
    asked(program, "--extension", "mine")
    (snapshot,) = [entry["payload"] for entry in program.entries() if entry["type"] == "harness_snapshot"]
    assert snapshot["harness_context"]["extensions"]["loaded"] == [facts]
    assert snapshot["extensions"][-5]["module"] == "lmx_extension_mine.Extension"


def test_ex_11_a_session_keeps_to_the_extension_that_changed_its_tools(program: Program, root: Path) -> None:
    """EX-11, C9-5, appendix B: missing, it is named; `--no-user-extensions` is no way around; one that only adds is gone."""
    write(root, "wraps", WRAPS)
    write(root)
    first = asked(program, "--extension", "wraps", "--extension", "mine")
    again = asked(program, "-c", "--extension", "wraps", "--extension", "mine")
    assert again["messages"][0] == first["messages"][0] and again["tools"] == first["tools"]
    assert [tool["function"]["description"] for tool in again["tools"]].count("guarded") == 1
    assert SAYS not in system_of(asked(program, "-c", "--extension", "wraps"))
    for words in ([], ["--extension", "mine"], ["--extension", "wraps", "--no-user-extensions"]):
        done = program.run("run", "on", "-c", *words)
        assert done.returncode == 2 and "extension wraps changed the tools" in done.stderr


def test_c1_87_two_tools_of_one_name_end_the_session_and_not_the_report(program: Program, root: Path) -> None:
    """C1-87, C10-22: here for real: the report is printed, and a session does not start."""
    write(root, "twin", TWIN)
    done = program.run("explain", "--extension", "twin")
    assert done.returncode == 1 and json.loads(done.stdout)["collisions"][0]["name"] == "grep"
    assert done.stderr.count("\n") == 1 and "disabled_extensions" in done.stderr
    with serve(program, {"text": "never"}) as model:
        refused = program.ask(model, "--print", "hi", "--extension", "twin")
        assert refused.returncode != 0 and "grep" in refused.stderr and not model.requests("main")


def test_the_gate_stands_behind_every_extension(program: Program, root: Path) -> None:
    """NO-5, C34: an extension that empties the hooks has not taken the gate away."""
    write(root, "mine", REMOVES_THE_GATE)
    with serve(program, {"actions": ["shell: touch ran"]}, {"text": "ok"}) as model:
        done = program.ask(model, "--print", "go", "--extension", "mine")
    assert done.returncode == 0 and not (program.work / "ran").exists()
