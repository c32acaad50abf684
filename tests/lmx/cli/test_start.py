"""What a start costs and touches: help, version, and which libraries a run loads."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from support.program import LMX, Program, serve

from lmx import __version__, argv
from lmx.cli.help import TOPICS
from lmx.config.layers import VARIABLES
from lmx.config.schema import KEYS
from lmx_core.permissions import MODES, SYNONYMS
from lmx_core.providers.catalog import PROVIDERS

ROOT = Path(__file__).parents[3]
SLOW = {"litellm", "textual", "mcp", "typer", "rich", "pydantic", "anthropic", "openai", "click"}


LATER = (
    "anyio",
    "httpcore2",
    "lmx_core.checkpoints.record",
    "lmx_core.checkpoints.tree",
    "lmx_core.environment.sandbox",
    "lmx_core.otel",
    "lmx_core.permissions.explanation",
    "lmx_core.permissions.shell",
    "lmx_core.permissions.subject",
    "lmx_core.permissions.suggest",
    "lmx_core.providers.litellm.process",
    "lmx_core.providers.litellm.wire",
    "lmx_core.providers.local",
    "lmx_core.providers.ollama",
    "lmx_core.providers.wire.anthropic",
    "lmx_core.providers.wire.ollama",
    "lmx_core.providers.wire.openai_responses",
    "lmx_core.providers.wire.recovered",
    "tree_sitter",
)
"""What a turn without a call, a question, a sandbox or another protocol has no use for."""

MOST = {
    "lmx_core.session": 36,
    "lmx_core.providers": 29,
    "lmx_core.builtin": 17,
    "lmx_core.environment": 14,
    "lmx_core.extensions": 16,
    "lmx_core.tools": 14,
    "lmx_core.context": 12,
    "lmx_core.permissions": 8,
    "lmx_core.turn": 9,
    "lmx_core.transcript": 8,
    "lmx_core.edits": 8,
    "lmx_core.stores": 8,
    "lmx.config": 19,
    "lmx.words": 11,
    "lmx.cli": 7,
}
"""How many modules of a room a run may load; of any other room 6. Each costs a short run a quarter of a millisecond."""


def loaded(program: Program, *words: str, whole: bool = False) -> set[str]:
    """The top-level modules a command has loaded when it ends; `whole`: all of them, by their whole names."""
    named = "name" if whole else "name.partition('.')[0]"
    code = (
        "import sys\nfrom lmx.__main__ import main\n"
        f"try:\n    main({list(words)!r})\nexcept SystemExit as done:\n    status = done.code\n"
        f"print(*{{{named} for name in sys.modules}}, file=sys.stderr)\nsys.exit(status)"
    )
    done = program.finish([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split("\n")[-2].split())


def test_c12_19_version_loads_next_to_nothing(program: Program) -> None:
    """C1-19, C12-19: one line on stdout, nothing on stderr, nothing read or made; not even the engine is imported."""
    done = program.run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"lmx {__version__}\n", "")
    modules = loaded(program, "--version")
    assert not modules & (SLOW | {"lmx_core", "msgspec", "asyncio", "logging", "httpx2"})
    assert not list(program.home.iterdir())


def test_the_version_is_the_packages() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == __version__


def test_a_run_loads_no_slow_library(program: Program) -> None:
    """C11-13, C11-14: what the screen, the help and validation libraries cost is not paid by a run."""
    with serve(program, {"text": "ok"}) as model:
        modules = loaded(program, *program.line(model, "--print", "hi")[len(LMX) :])
    assert "httpx2" in modules and not modules & SLOW


def test_a_run_loads_no_more_than_it_uses(program: Program) -> None:
    """Imports are nearly all that a short run costs, and they grow by themselves: a room above its number has begun to load
    something that most turns do not need. Where all of it is needed, the number goes up with a reason in the commit."""
    with serve(program, {"text": "ok"}) as model:
        modules = loaded(program, *program.line(model, "--print", "hi")[len(LMX) :], whole=True)
    assert not {name for name in modules if name.startswith(LATER)}
    ours = [name for name in modules if name.partition(".")[0] in ("lmx", "lmx_core")]
    rooms = Counter(".".join(name.split(".")[:2]) for name in ours)
    assert not {room: found for room, found in rooms.items() if found > MOST.get(room, 6)}
    assert 150 < len(ours) < 275


@pytest.mark.parametrize("words", [["log", "x"], ["fork", "x"], ["sessions"], ["explain", "--model", "openai:m"]])
def test_offline_commands_load_no_http(program: Program, words: list[str]) -> None:
    code = (
        f"import sys\nfrom lmx.__main__ import main\ntry: main({words!r})\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    done = program.finish([sys.executable, "-c", code])
    assert not {name.partition(".")[0] for name in done.stdout.split()} & (SLOW | {"httpx2"})


@pytest.mark.long
def test_version_costs_at_most_four_bare_interpreters(program: Program) -> None:
    """Design.md section 5: CPU seconds, the median of nine."""

    def cost(line: list[str]) -> float:
        spent = []
        for _ in range(9):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(line, env=program.env, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return sorted(spent)[4]

    script = Path(sys.executable).with_name("lmx")
    assert cost([str(script), "--version"]) <= 4 * cost([sys.executable, "-c", "pass"])


def test_help_names_commands_options_and_statuses(program: Program) -> None:
    """C1-20: at most 100 columns, no escape sequence, nothing read or made."""
    done = program.run("--help", TERM="xterm", COLUMNS="200")
    assert done.returncode == 0 and done.stderr == "" and not list(program.home.iterdir())
    common = [option.flag for option in argv.OPTIONS if option.commands & {"tui", "run"}]
    for word in (*argv.COMMANDS, *common, *TOPICS, "130"):
        assert word in done.stdout, word
    assert "\x1b" not in done.stdout and max(map(len, done.stdout.split("\n"))) <= 100


@pytest.mark.parametrize("command", argv.COMMANDS)
def test_a_commands_help_shows_its_own_options(program: Program, command: str) -> None:
    """C1-16: its summary and exactly its options; its topic, where there is one."""
    done = program.run(command, "--help")
    assert done.returncode == 0 and f"lmx {command}" in done.stdout
    own = {
        option.flag for option in argv.OPTIONS if command in option.commands and option.key not in ("print", "version")
    }
    shown = set(re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)", done.stdout.partition("Options:")[2]))
    assert own <= shown and shown - own <= ({"--print"} if command == "demo" else set())
    assert program.run("help", command).stdout == done.stdout


@pytest.mark.parametrize(
    ("topic", "facts"),
    [
        ("config", [key.name.replace("*", "NAME") for key in KEYS]),
        ("models", [info.label for info in PROVIDERS] + [v for info in PROVIDERS for v in info.key_variables]),
        ("permissions", [*MODES, *SYNONYMS]),
        ("sessions", ["lmx log", "lmx fork", "lmx -c"]),
        ("environment", list(VARIABLES)),
        ("options", [option.flag for option in argv.OPTIONS]),
    ],
)
def test_a_topic_tells_what_the_program_works_with(program: Program, topic: str, facts: list[str]) -> None:
    """C7-12 (permissions): the tables of the help are those of the code."""
    done = program.run("help", topic)
    assert done.returncode == 0 and not [fact for fact in facts if fact not in done.stdout]
    assert max(map(len, done.stdout.split("\n"))) <= 100


def test_an_unknown_topic_lists_the_topics(program: Program) -> None:
    done = program.run("help", "nothing")
    assert done.returncode == 2 and all(topic in done.stderr for topic in TOPICS)


def test_the_reference_pages_name_every_option_key_and_variable() -> None:
    cli = (ROOT / "docs/reference/cli.md").read_text()
    config = (ROOT / "docs/reference/config.md").read_text()
    assert not [o.flag for o in argv.OPTIONS if o.key not in ("help", "version", "unsafe") and o.flag not in cli]
    assert not [key.name for key in KEYS if key.name.replace("*", "NAME") not in config]
    assert not [name for name in VARIABLES if name not in config]


def test_without_a_terminal_the_screen_says_what_to_use(program: Program) -> None:
    """C1-21, C10-19: status 1 and `lmx run PROMPT`; nothing is made."""
    for words in ([], ["tui"], ["-c"], ["--prompt", "hi"], ["demo"]):
        done = program.run(*words)
        assert done.returncode == 1 and "lmx run PROMPT" in done.stderr and done.stdout == ""
    assert not list(program.home.iterdir())


def test_closed_standard_streams_are_no_trap(program: Program) -> None:
    """A transcript or lock opened on descriptor 0 or 2 would receive every message; so those are held."""
    with serve(program, {"text": "ok"}) as model:
        line = program.line(model, "--print", "hi")
        done = program.finish(["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *line])
    assert (done.returncode, done.stdout) == (0, "ok\n") and program.entries()[0]["seq"] == 0


@pytest.mark.parametrize("words", [["--print", "hi"], ["run", "hi", "--output-format", "json"], ["--version"]])
def test_an_answer_that_cannot_arrive_is_not_asked_for(program: Program, words: list[str]) -> None:
    """C2-1: with standard output closed the answer would be lost, and status 0 a lie."""
    with serve(program, {"text": "ok"}) as model:
        line = [*LMX, *words] if words == ["--version"] else program.line(model, *words)
        done = program.finish(["sh", "-c", 'exec "$@" >&-', "sh", *line])
        silent = program.finish(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *line])
        assert not model.requests("main")
    assert (done.returncode, silent.returncode) == (1, 1)
    assert done.stderr == "lmx: standard output is closed, so no answer could arrive; > FILE keeps one\n"
