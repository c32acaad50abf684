"""`grep` and `glob` over a real tree: with and without ripgrep, in a git repository and outside one, the same answers."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from support.machines import SEARCHING, machine
from support.tool_calls import call, context

from lmx_core.builtin import grep, search, search_tools
from lmx_core.builtin.glob import Glob
from lmx_core.builtin.grep import MAX_LINE_CHARS, Grep
from lmx_core.clock import SystemClock, deadline, sleep
from lmx_core.environment.local import LocalEnvironment
from lmx_core.tools.base import descriptor

pytestmark = pytest.mark.asyncio


@pytest.fixture(params=["ripgrep", "system"])
def environment(request, tmp_path):
    """A machine with ripgrep, or one without: only the linked programs are there."""
    return machine(tmp_path / "programs", [*SEARCHING, "rg"] if request.param == "ripgrep" else SEARCHING)


@pytest.fixture
def system(tmp_path):
    return LocalEnvironment(environ={**os.environ, "HOME": str(tmp_path)})


FILES = {
    ".gitignore": "dist/\n.env\nnode_modules/\n*.log\n!keep.log\n",
    "src/a.js": "let x\nlet y\n\nlet z\nX\n",
    "src/deep/b.js": "x\\d\nabc\n",
    ".github/w.yml": "x: 1\n",
    "dist/app.js": "x = 1\n",
    ".env": "x=secret\n",
    "node_modules/m/i.js": "x\n",
    "a.log": "x\n",
    "keep.log": "x\n",
    'we ird\'[1] "$(touch pwned)".js': "x\n",
    "-n.js": "x\n",
}


@pytest.fixture(params=["git", "plain"])
def tree(request, tmp_path):
    tree = tmp_path / "tree"
    make(tree, FILES)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "o.js").write_text("x outside\n")
    (tree / "link").symlink_to("../other")
    (tree / "linked.js").symlink_to("../other/o.js")
    if request.param == "git":
        subprocess.run(["git", "init", "-q", tree], check=True)
    return tree


def make(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)


async def ask(name: str, tree: Path, environment: LocalEnvironment, **arguments):
    return await call(search_tools(), name, arguments, context(tree, environment=environment))


async def found(name: str, tree: Path, environment: LocalEnvironment, **arguments) -> list[str]:
    """The lines of the answer without the notes behind them."""
    outcome = await ask(name, tree, environment, **arguments)
    assert outcome.outcome == "ok", outcome.text
    return [line for line in outcome.text.splitlines() if not line.startswith("[")]


async def notes(name: str, tree: Path, environment: LocalEnvironment, **arguments) -> list[str]:
    return [
        line for line in (await ask(name, tree, environment, **arguments)).text.splitlines() if line.startswith("[")
    ]


async def test_tool_6_tool_7_the_contracts():
    """TOOL-6, TOOL-7: reading, parallel, never asked, bounded."""
    for tool, limits in ((Grep(), (100, 1_000)), (Glob(), (200, 2_000))):
        described = descriptor(tool)
        assert (described.effects.effect, described.runtime.concurrency) == ("read", "parallel")
        assert (described.policy.approval, described.runtime.max_output_bytes) == ("never", 30_000)
        bounds = described.input_schema["properties"]["max_results"]
        assert (bounds["minimum"], bounds["maximum"]) == (1, limits[1])
        assert described.input_schema["required"] == ["pattern"]
    properties = Grep.schema["properties"]
    assert (properties["context"]["minimum"], properties["context"]["maximum"]) == (0, 10)
    assert properties["output_mode"]["enum"] == ["content", "files_with_matches", "count"]


async def test_sr_1_broad_searches_give_the_same_files_in_the_same_order(tree, environment):
    """SR-1, C36: hidden files count, ignored ones and links do not, whatever is installed."""
    everywhere = ["-n.js", ".github/w.yml", "keep.log", "src/a.js", "src/deep/b.js", 'we ird\'[1] "$(touch pwned)".js']
    assert await found("grep", tree, environment, pattern="x", output_mode="files_with_matches") == everywhere
    assert await found("glob", tree, environment, pattern="**/*.js") == [p for p in everywhere if p.endswith(".js")]
    assert not (tree / "pwned").exists()


async def test_c36_what_was_left_out_is_said(tree, environment):
    """C36: how many, which, and why; a link that was not followed is named."""
    said = " ".join(await notes("glob", tree, environment, pattern="**/*.js"))
    for name in (".env", "a.log", "dist/", "node_modules/", "link", "linked.js"):
        assert name in said
    assert "ignored" in said and "not followed: 2 links" in said
    assert "left out" in " ".join(await notes("grep", tree, environment, pattern="nothing like it"))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("dist/app.js", ["dist/app.js"]),
        ("dist/**/*.js", ["dist/app.js"]),
        ("node_modules/*/i.js", ["node_modules/m/i.js"]),
        (".env", [".env"]),
        ("src/*.js", ["src/a.js"]),
        ("src/{a,b}.js", ["src/a.js"]),
        ("nothing.js", ["No files match 'nothing.js'."]),
    ],
)
async def test_c36_a_named_place_is_searched_even_if_it_is_ignored(tree, environment, pattern, expected):
    assert await found("glob", tree, environment, pattern=pattern) == expected


async def test_c36_a_named_path_is_searched_even_if_it_is_ignored(tree, environment):
    assert await found("grep", tree, environment, pattern="x", path="dist") == ["dist/app.js", "1:x = 1"]
    make(tree, {"dist/deep/debug.log": "x = 2\n"})  # ignored by a rule of its own, too
    assert await found("glob", tree, environment, pattern="dist/**") == ["dist/app.js", "dist/deep/debug.log"]
    assert await found("grep", tree, environment, pattern="secret", path=".env") == [".env", "1:x=secret"]
    assert await found("glob", tree, environment, pattern="*", path="node_modules") == ["node_modules/m/i.js"]


@pytest.mark.parametrize("name", ["grep", "glob"])
@pytest.mark.parametrize("path", ["..", "link", "link/o.js", "linked.js", "/etc", "src/../../other"])
async def test_nothing_outside_the_working_directory_is_searched(tree, system, name, path):
    """EN-5, C12: judged where the path leads."""
    outcome = await ask(name, tree, system, pattern="x", path=path)
    assert outcome.outcome == "error" and "outside the working directory" in outcome.text


async def test_a_glob_cannot_leave_either(tree, system):
    for pattern in ("../**", "link/**", "/etc/*"):
        outcome = await ask("glob", tree, system, pattern=pattern)
        assert outcome.outcome == "error" and "outside" in outcome.text
    assert "pwned" not in await found("glob", tree, system, pattern="src/*/../../*")


async def test_absolute_paths_inside_are_taken(tree, system):
    assert await found("glob", tree, system, pattern=f"{tree}/src/*.js") == ["src/a.js"]
    assert (await found("grep", tree, system, pattern="abc", path=str(tree / "src")))[0] == "src/deep/b.js"


async def test_what_does_not_exist_is_said(tree, system):
    assert (await ask("grep", tree, system, pattern="x", path="nosuch")).text == "nosuch does not exist."
    assert (await ask("glob", tree, system, pattern="nosuch/*.js")).text == "nosuch does not exist."
    os.mkfifo(tree / "fifo")
    assert (await ask("grep", tree, system, pattern="x", path="fifo")).text == "fifo is a pipe or a device, not a file."


async def test_tool_6_lines_with_their_surroundings(tree, environment):
    """TOOL-6: `:` behind the number of a match, `-` behind that of its surroundings."""
    lines = await found("grep", tree, environment, pattern="let [xz]", context=1, glob="src/*.js")
    assert lines == ["src/a.js", "1:let x", "2-let y", "3-", "4:let z", "5-X"]
    make(tree, {"gap.txt": "m\n1\n2\n3\nm\n"})
    assert await found("grep", tree, environment, pattern="^m", context=1, path="gap.txt") == [
        *("gap.txt", "1:m", "2-1", "--", "4-3", "5:m")
    ]


async def test_tool_6_literal_case_and_count(tree, environment):
    assert await found("grep", tree, environment, pattern="x\\d", literal=True) == ["src/deep/b.js", "1:x\\d"]
    lines = await found("grep", tree, environment, pattern="x", path="src/a.js", case_insensitive=True)
    assert lines == ["src/a.js", "1:let x", "5:X"]
    counts = await found("grep", tree, environment, pattern="let|abc", output_mode="count", path="src")
    assert counts == ["src/a.js: 3", "src/deep/b.js: 1"]


@pytest.mark.parametrize(
    "pattern", [r"\blet\s+\w$", r"l(?:e)t", r"x\\d|abc", "-n", "'", r'"\$\(touch pwned\)"', "`touch pwned`"]
)
async def test_patterns_mean_the_same_and_reach_no_shell(tree, environment, pattern):
    make(tree, {"patterns.txt": "let q\n-n 'x' \"$(touch pwned)\" `touch pwned`\nx\\d\n"})
    ours = await found("grep", tree, environment, pattern=pattern, path="patterns.txt")
    assert ours[0] == "patterns.txt" and len(ours) >= 2
    assert not (tree / "pwned").exists()


async def test_a_wrong_pattern_is_an_error_that_says_so(tree, environment):
    outcome = await ask("grep", tree, environment, pattern="(")
    assert outcome.outcome == "error" and "parenthesis" in outcome.text
    for pattern in ("", "a\nb"):
        assert (await ask("grep", tree, environment, pattern=pattern)).outcome == "error"
    assert "not a glob pattern" in (await ask("glob", tree, environment, pattern="[z-a]")).text
    assert "not a glob pattern" in (await ask("grep", tree, environment, pattern="x", glob="[z-a]")).text


async def test_sr_1_stops_are_stated(tree, environment):
    """SR-1: the first results in order, and that there are more."""
    lines = await found("grep", tree, environment, pattern="x", max_results=2)
    assert lines == ["-n.js", "1:x", "", ".github/w.yml", "1:x: 1"]
    assert "[the first 2 results; there are more]" in await notes("grep", tree, environment, pattern="x", max_results=2)
    assert await found("glob", tree, environment, pattern="*.js", max_results=1) == ["-n.js"]
    assert "[the first 1 of 4; narrow the pattern to see others]" in await notes(
        "glob", tree, environment, pattern="*.js", max_results=1
    )


async def test_tool_6_long_lines_are_cut_and_the_output_is_bounded(tree, environment):
    make(tree, {"long.txt": "x" * 5_000_000 + "\n", "many.txt": "y line\n" * 10_000})
    lines = await found("grep", tree, environment, pattern="x", path="long.txt")
    assert lines == ["long.txt", f"1:{'x' * MAX_LINE_CHARS}… [line cut]"]
    make(tree, {"wide.txt": ("y" * 250 + "\n") * 1_000})
    outcome = await ask("grep", tree, environment, pattern="y", path="wide.txt", max_results=1_000)
    assert len(outcome.text.encode()) < 30_000 and "the output is full" in outcome.text
    assert "bytes cut from the middle" not in outcome.text


async def test_binary_files_are_counted_and_not_shown(tree, environment):
    (tree / "blob.bin").write_bytes(b"needle\0\xff\n" * 3)
    assert await found("grep", tree, environment, pattern="needle", output_mode="files_with_matches") == ["blob.bin"]
    outcome = await ask("grep", tree, environment, pattern="needle")
    assert "\0" not in outcome.text and outcome.outcome == "ok"


async def test_names_and_text_that_are_not_utf_8(tree, environment):
    Path(os.fsdecode(os.fsencode(tree) + b"/caf\xe9.txt")).write_bytes(b"caf\xe9 needle\n")
    assert await found("grep", tree, environment, pattern="needle") == ["caf\ufffd.txt", "1:caf\ufffd needle"]
    assert await found("glob", tree, environment, pattern="caf*") == ["caf\ufffd.txt"]


async def test_a_tracked_file_is_found_although_it_is_ignored(tmp_path, environment):
    """The rule is git's: what it tracks is the project's own."""
    tree = tmp_path / "repo"
    make(tree, {".gitignore": "*.log\n", "kept.log": "needle\n", "other.log": "needle\n"})
    subprocess.run(["git", "init", "-q", tree], check=True)
    subprocess.run(["git", "-C", tree, "add", "-f", "kept.log"], check=True)
    assert await found("glob", tree, environment, pattern="*.log") == ["kept.log"]
    assert await found("grep", tree, environment, pattern="needle") == ["kept.log", "1:needle"]


async def test_c36_an_ignore_file_that_is_a_link_is_honoured(tmp_path, environment):
    tree = tmp_path / "repo"
    make(tree, {"ignore-rules": "dist/\n", "dist/app.js": "x", "app.js": "x"})
    (tree / ".gitignore").symlink_to("ignore-rules")
    subprocess.run(["git", "init", "-q", tree], check=True)
    assert await found("glob", tree, environment, pattern="*.js") == ["app.js"]
    assert await found("glob", tree, environment, pattern="*.js", path="dist") == ["dist/app.js"]


async def test_rules_of_folders_below_and_of_folders_above(tmp_path, environment):
    tree = tmp_path / "repo"
    make(tree, {".gitignore": "*.tmp\n", "sub/.gitignore": "!keep.tmp\n*.bak\n", "sub/keep.tmp": "", "sub/a.tmp": ""})
    make(tree, {"sub/a.bak": "", "a.bak": "", "sub/a.txt": ""})
    plain = await found("glob", tree, environment, pattern="a.*", max_results=50)
    subprocess.run(["git", "init", "-q", tree], check=True)
    assert plain == await found("glob", tree, environment, pattern="a.*") == ["a.bak", "sub/a.txt"]
    assert await found("glob", tree, environment, pattern="*.tmp") == ["sub/keep.tmp"]
    assert await found("glob", tree, environment, pattern="*", path="sub") == [
        "sub/.gitignore",
        "sub/a.txt",
        "sub/keep.tmp",
    ]


async def test_c36_rules_above_the_searched_folder_hold_outside_git_too(tmp_path, environment):
    """The same search, of the whole or of a part of it, leaves out the same files, in a repository or not."""
    tree = tmp_path / "plain"
    make(tree, {".gitignore": "*.tmp\n/sub/secret\nlocked/\n", "sub/a.tmp": "x", "sub/a.txt": "x", "sub/secret": "x"})
    make(tree, {"locked/in.txt": "x", "locked/in.tmp": "x"})
    for _ in ("plain", "git"):
        assert await found("glob", tree, environment, pattern="*", path="sub") == ["sub/a.txt"]
        assert await found("glob", tree, environment, pattern="*", path="locked") == ["locked/in.tmp", "locked/in.txt"]
        said = await notes("glob", tree, environment, pattern="*", path="sub")
        assert said == ["[left out: 2 ignored (sub/a.tmp, sub/secret); name one to search it]"]
        subprocess.run(["git", "init", "-q", tree], check=True)


async def test_c36_a_folder_that_cannot_be_read_is_named(tree, environment, tmp_path):
    """C36: a folder that the search was refused is no folder without the file. (Root is refused nothing, so `find` says so.)"""
    program = tmp_path / "programs" / "find"
    real = program.resolve()
    program.unlink()
    program.write_text(f'#!/bin/sh\n{real} "$@"\necho "find: \'./src/locked\': Permission denied" >&2\nexit 1\n')
    program.chmod(0o755)
    assert await found("glob", tree, environment, pattern="a.js") == ["src/a.js"]
    assert "[cannot be read: 1 (src/locked)]" in await notes("glob", tree, environment, pattern="a.js")


async def test_c36_a_file_that_cannot_be_read_is_said(tree, environment, monkeypatch):
    listed = search._parse_walk
    monkeypatch.setattr(search, "_parse_walk", lambda output: listed(output + b"./src/gone.js\0"))
    for mode in ("content", "count", "files_with_matches"):
        said = await notes("grep", tree, environment, pattern="abc", output_mode=mode)
        assert "[some files could not be read, so they were not searched]" in said, mode
        assert (await found("grep", tree, environment, pattern="abc", output_mode=mode))[0].startswith("src/deep/b.js")


async def test_c36_loops_of_links_and_deep_trees_end(tmp_path, environment):
    tree = tmp_path / "deep"
    make(tree, {"d/" * 150 + "x.js": "needle\n", ".gitignore": "*.log\n"})
    (tree / "d" / "up").symlink_to("..")
    (tree / "self").symlink_to("self")
    assert await found("grep", tree, environment, pattern="needle", output_mode="files_with_matches") == [
        "d/" * 150 + "x.js"
    ]
    assert await notes("glob", tree, environment, pattern="*.js") == ["[not followed: 2 links (d/up, self)]"]


async def test_a_search_that_is_cancelled_is_over_at_once(tree, environment, tmp_path):
    """A program that would go on is ended; nobody waits for its work."""
    began = tmp_path / "began"
    program = tmp_path / "programs" / "find"
    program.unlink()
    program.write_text(f"#!/bin/sh\n: > {began}\nwhile :; do :; done\n")
    program.chmod(0o755)
    task = asyncio.ensure_future(ask("glob", tree, environment, pattern="*.js"))
    async with deadline(SystemClock(), 10_000):
        while not began.exists():
            await sleep(SystemClock(), 5)
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()


async def test_a_search_runs_nothing_that_a_repository_configured(tmp_path, environment):
    """A search is never asked about, so git's settings of the repository must not name a program that runs."""
    tree = tmp_path / "repo"
    make(tree, {"a.txt": "x\n", "evil.sh": "#!/bin/sh\ntouch pwned\n"})
    (tree / "evil.sh").chmod(0o755)
    subprocess.run(["git", "init", "-q", tree], check=True)
    for key in ("core.fsmonitor", "core.hooksPath"):
        subprocess.run(["git", "-C", tree, "config", key, str(tree / "evil.sh")], check=True)
    assert await found("grep", tree, environment, pattern="^x", output_mode="files_with_matches") == ["a.txt"]
    assert not (tree / "pwned").exists() and not (tmp_path / "pwned").exists()


async def test_sr_1_a_tree_that_cannot_be_listed_to_the_end_says_so(tree, system, monkeypatch):
    monkeypatch.setattr(search, "LIST_BYTES", 60)
    said = " ".join(await notes("glob", tree, system, pattern="*"))
    assert "not everything was looked at: there was more than 60 bytes of it" in said


async def test_sr_1_a_search_that_takes_too_long_says_so(tree, system, monkeypatch):
    monkeypatch.setattr(grep, "SEARCH_TIMEOUT_MS", 0)
    said = await notes("grep", tree, system, pattern="x")
    assert "[not everything was searched: it took longer than 0 s]" in said
    monkeypatch.undo()
    monkeypatch.setattr(grep, "MAX_COMMAND_OUTPUT_BYTES", 30)
    assert "[not everything was searched: there was more than 30 bytes of it]" in await notes(
        "grep", tree, system, pattern="x"
    )


class Remote:
    """An environment with a shell and nothing else: no confinement of its own, no listing."""

    def __init__(self, inner: LocalEnvironment):
        self.read_file, self.write_file, self.run = inner.read_file, inner.write_file, inner.run


async def test_any_environment_with_a_shell_will_do(tree, system):
    remote = Remote(system)
    assert await found("glob", tree, remote, pattern="src/**/*.js") == ["src/a.js", "src/deep/b.js"]
    assert (await found("grep", tree, remote, pattern="abc", path=f"{tree}/src/"))[0] == "src/deep/b.js"
    for path in ("..", "src/../..", "/etc"):
        assert "outside the working directory" in (await ask("grep", tree, remote, pattern="x", path=path)).text


async def test_a_large_tree_is_answered_without_its_dependencies(tmp_path, environment):
    """C36: the dependencies are not walked."""
    tree = tmp_path / "large"
    for number in range(30):
        make(tree, {f"p{number}/f{i}.py": "import os\n" for i in range(40)})
        make(tree, {f"node_modules/m{number}/f{i}.js": "import\n" for i in range(20)})
    make(tree, {".gitignore": "node_modules/\n"})
    subprocess.run(["git", "init", "-q", tree], check=True)
    lines = await found("grep", tree, environment, pattern="import", max_results=10)
    assert len([line for line in lines if line.startswith("1:")]) == 10
    assert (await found("grep", tree, environment, pattern="nowhere"))[0] == "No matches for 'nowhere' in 1,201 files."
