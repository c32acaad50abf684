"""`lmx --sandbox`: commands of a real run are confined for real, or the start is refused; never anything between."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from support.confined import CONFINES, beside_temporary_files, confined
from support.program import Program, serve

from lmx_core import Sandbox


@confined
@pytest.mark.parametrize("mode", ["auto", "full_auto"])
def test_c1_48_commands_of_a_run_are_confined(program: Program, mode: str) -> None:
    """C1-48, C12-17, cli.md 5.2: `auto` runs them unasked; nothing outside changes, what is in `~/.ssh` is not seen."""
    (program.home / ".ssh").mkdir()
    (program.home / ".ssh/id").write_text("a private key")
    with beside_temporary_files() as outside:
        command = f"echo in > in.txt; echo out > {outside}/out.txt; cat ~/.ssh/id; echo seen: $(ls -A ~/.ssh)."
        with serve(program, {"actions": [f"shell: {command}"]}, {"text": "done"}) as model:
            done = program.ask(model, "--print", "go", "--sandbox", "--permission-mode", mode)
        assert not list(outside.iterdir())
    assert done.returncode == 0, done.stderr
    assert (program.work / "in.txt").read_text() == "in\n", results(program)
    assert "Read-only file system" in results(program) and "seen: ." in results(program)
    assert "a private key" not in results(program)


@confined
def test_c3_17_the_configuration_confines_and_a_flag_takes_it_away(program: Program) -> None:
    """C3-17, cli.md 5.2: what `auto` runs unasked it runs because of the walls; `--no-sandbox` takes both away."""
    config = written(program, "sandbox = true\n")
    for flags, runs in (([], True), (["--no-sandbox"], False)):
        with serve(program, {"actions": ["shell: echo made > made.txt"]}, {"text": "done"}) as model:
            done = program.ask(model, "run", "go", "--config", config, "--permission-mode", "auto", *flags)
        assert (program.work / "made.txt").exists() is runs, done.stderr
        (program.work / "made.txt").unlink(missing_ok=True)


@confined
def test_c3_17_what_the_table_hides_and_opens(program: Program) -> None:
    """C3-17: `hidden` for commands and the file tools alike, and `writable` beside the working directory."""
    (program.work / "notes").mkdir()
    (program.work / "notes/n.txt").write_text("private words")
    with beside_temporary_files() as outside:
        fields = f'hidden = ["{program.work}/notes"]\nwritable = ["{outside}"]\n'
        config = written(program, f"[sandbox]\nenabled = true\n{fields}")
        actions = ["shell: cat notes/n.txt; echo x > " + f"{outside}/x", "read: notes/n.txt"]
        with serve(program, {"actions": actions}, {"text": "done"}) as model:
            done = program.ask(model, "run", "go", "--config", config, "--permission-mode", "auto")
        assert done.returncode == 0 and (outside / "x").exists(), results(program)
    assert "private words" not in results(program) and "permission denied" in results(program)


@confined
def test_lmxs_own_files_are_hidden_wherever_they_are(program: Program) -> None:
    """cli.md 6: the configuration with its keys, the state and the conversations, of directories named anywhere."""
    state = program.work / "state"
    state.mkdir()
    (state / "history.jsonl").write_text("an earlier prompt")
    config = written(program, '[providers.openai]\napi_key = "a-key-in-a-file"\n')
    command = f"cat {config} state/history.jsonl transcripts/*; echo end"
    with serve(program, {"actions": [f"shell: {command}"]}, {"text": "done"}) as model:
        line = program.line(model, "run", "go", "--sandbox", "--permission-mode", "auto", "--config", config)
        line += ["--sessions-dir", str(program.work / "transcripts")]
        done = program.finish(line, LMX_HOME=str(state))
    assert done.returncode == 0, done.stderr
    (path,) = (program.work / "transcripts").glob("*.jsonl")
    told = [entry for line in path.read_text().splitlines() if (entry := json.loads(line))["type"] == "tool_result"]
    assert "end" in str(told) and "an earlier prompt" not in str(told) and "a-key-in-a-file" not in str(told)
    assert "session_started" not in str(told) and "mock-model" not in str(told)


@confined
def test_searches_pass_over_what_is_hidden(program: Program) -> None:
    """cli.md 6: what searches run is confined too; they find the rest."""
    for name in ("notes", "src"):
        (program.work / name).mkdir()
        (program.work / name / "a.txt").write_text(f"needle in {name}")
    config = written(program, f'[sandbox]\nenabled = true\nhidden = ["{program.work}/notes"]\n')
    searches = [{"tool": "grep", "args": {"pattern": "needle"}}, {"tool": "glob", "args": {"pattern": "**/*.txt"}}]
    with serve(program, {"actions": searches}, {"text": "done"}) as model:
        done = program.ask(model, "run", "go", "--config", config)
    assert done.returncode == 0 and "needle in src" in results(program), done.stderr
    assert "needle in notes" not in results(program) and "notes/a.txt" not in results(program)


@confined
def test_c12_17_a_server_in_the_background_is_reached_by_the_next_call(program: Program) -> None:
    """C12-17: through the tools, and gone when lmx is."""
    serve_it = f"{sys.executable} -m http.server 8765 --bind 127.0.0.1 --directory {program.work}"
    (program.work / "page").write_text("the page itself")
    ask = f"for i in $(seq 100); do {sys.executable} -I -S -c 'import urllib.request as u;"
    ask += 'print(u.urlopen("http://127.0.0.1:8765/page").read())\' 2> /dev/null && break; done'
    start = {"tool": "bash", "args": {"command": serve_it, "background": True}}
    turns = [{"actions": [start]}, {"actions": [{"tool": "bash", "args": {"command": ask}}]}, {"text": "done"}]
    with serve(program, *turns) as model:
        done = program.ask(model, "run", "go", "--sandbox", "--permission-mode", "auto")
    assert done.returncode == 0 and "the page itself" in results(program), results(program)


def test_help_says_what_is_hidden_and_what_is_not_covered(program: Program) -> None:
    """cli.md 1.12, 6: from the lists the sandbox itself works with."""
    told = " ".join(program.run("help", "sandbox").stdout.split())
    assert all(path in told for path in (*Sandbox.default_hidden(), *Sandbox.default_writable()))
    assert all(words in told for words in ("hooks", "MCP servers", "web tools", ".git/config", ".git/hooks"))


@pytest.mark.parametrize(("flags", "on"), [([], False), (["--no-sandbox"], False), (["--sandbox"], True)])
def test_explain_says_whether_it_is_on(program: Program, flags: list[str], on: bool) -> None:
    """cli.md 1.7: and where a session could not start with it, so does explain not."""
    done = program.run("explain", *flags)
    if on and not CONFINES:
        assert done.returncode == 1
    else:
        assert json.loads(done.stdout)["permissions"]["sandbox"] is on


@pytest.mark.parametrize("value", ["1", '"yes"', "{}", "{ enabled = 1 }", "{ enabled = true, hosts = [] }",
                                   '{ enabled = true, writable = "x" }', '{ enabled = true, hidden = ["rel"] }'])  # fmt: skip
def test_c3_17_a_table_that_cannot_be_meant_stops_the_start(program: Program, value: str) -> None:
    """C3-17, 3.4: a guard that is misspelt is never a guard that is off."""
    done = program.run("run", "go", "--config", written(program, f"sandbox = {value}\n"))
    assert done.returncode == 2 and "sandbox takes" in done.stderr


def test_the_two_flags_contradict_each_other(program: Program) -> None:
    assert program.run("run", "go", "--sandbox", "--no-sandbox").returncode == 2


def test_where_commands_cannot_be_confined_lmx_does_not_start(program: Program) -> None:
    """C10-20, EN-8: status 1, one sentence that names the package, no request, and nothing runs without."""
    with serve(program, {"actions": ["shell: echo made > made.txt"]}, {"text": "done"}) as model:
        line = bare(program.line(model, "run", "go", "--sandbox", "--permission-mode", "full_auto"))
        done = program.finish(line, PATH=str(program.work))
        assert not model.requests()
    assert done.returncode == 1 and "bubblewrap" in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and not (program.work / "made.txt").exists()
    assert not program.transcripts()


def test_the_screen_does_not_open_without_it(program: Program) -> None:
    """cli.md 6: told before the terminal is touched; no escape sequence is written."""
    line = bare([sys.executable, "-m", "lmx", "--sandbox", "--model", "openai:mock-model"])
    master, slave = pty.openpty()
    env = program.env | {"PATH": str(program.work)}
    done = subprocess.run(
        line, stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=env, cwd=program.work, timeout=60
    )
    os.close(slave)
    os.set_blocking(master, False)
    try:
        drawn = os.read(master, 10_000)
    except (BlockingIOError, OSError):
        drawn = b""
    os.close(master)
    assert done.returncode == 1 and b"bubblewrap" in done.stderr and drawn == b""


def bare(line: list[str]) -> list[str]:
    """The line in a process that finds no program in the directories of the system."""
    code = (
        "import sys; from lmx_core.environment.sandbox import probe; probe.SYSTEM_PATH = ();"
        "from lmx.__main__ import main; sys.exit(main())"
    )
    return [sys.executable, "-c", code, *line[line.index("lmx") + 1 :]]


def results(program: Program) -> str:
    return json.dumps([entry["payload"] for entry in program.entries() if entry["type"] == "tool_result"])


def written(program: Program, text: str) -> str:
    path: Path = program.home / "written.toml"
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


@confined
def test_c3_17_a_list_of_hosts(program: Program) -> None:
    """C3-17, cli.md 6: a host that is not listed is refused where nobody can answer, and the model reads which it was."""
    config = written(program, '[sandbox]\nenabled = true\nnetwork = ["listed.invalid"]\n')
    command = "curl -sS http://other.invalid/; curl -sS http://listed.invalid/"
    with serve(program, {"actions": [f"shell: {command}"]}, {"text": "done"}) as model:
        done = program.ask(model, "run", "go", "--config", config, "--permission-mode", "auto")
    assert done.returncode == 0, done.stderr
    assert "the list of the sandbox does not name it, and nobody can be asked" in results(program)
    assert "listed.invalid:80 cannot be found" in results(program)  # it was allowed, and there is no such host


@confined
def test_a_rule_of_the_configuration_opens_a_host(program: Program) -> None:
    text = '[sandbox]\nenabled = true\nnetwork = []\n[permissions]\nallow = ["Network(domain:ruled.invalid)"]\n'
    config = written(program, text)
    with serve(program, {"actions": ["shell: curl -sS http://ruled.invalid/"]}, {"text": "done"}) as model:
        program.ask(model, "run", "go", "--config", config, "--permission-mode", "auto")
    assert "ruled.invalid:80 cannot be found" in results(program)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ('["https://pypi.org"]', "network= takes hosts such as pypi.org"),
        ('"pypi.org"', "sandbox takes true, false or"),
        ("[7]", "sandbox takes true, false or"),
        ('["pypi.org"]\nlocalhost = false', "there is no loopback"),
    ],
)
def test_a_list_that_is_none_stops_the_start(program: Program, network: str, said: str) -> None:
    done = program.run(
        "run",
        "go",
        "--model",
        "openai:x",
        "--config",
        written(program, f"[sandbox]\nenabled = true\nnetwork = {network}\n"),
    )
    assert done.returncode == 2 and said in done.stderr, done.stderr
