"""How long `grep` and `glob` take beside 200,000 files of dependencies (C36); writes docs/reference/search.md.

    .venv/bin/python tests/bench/search.py [--files 100000] [--runs 3] [--dir /dev/shm] [--print]

Both engines, in a git repository and outside one. A search is a call of the tool as a session makes it, in this process; its
CPU is the tool's and that of every program it ran. The last column is how long after it was cancelled a search was over.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.tool_calls import call, context  # noqa: E402 - the tests' own support, found by the line above

from lmx_core.builtin import search_tools  # noqa: E402 - as above
from lmx_core.environment.local import LocalEnvironment  # noqa: E402 - as above

PAGE = ROOT / "docs/reference/search.md"
PROGRAMS = "bash sh git find grep cut printf".split()
SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "`grep` of a word in every file": ("grep", {"pattern": "import os"}),
    "`grep` of a word that is nowhere": ("grep", {"pattern": "nowhere_at_all"}),
    "`grep` of one file's word, by expression": ("grep", {"pattern": r"needle_\d+ = "}),
    "`glob` of all, the first 200": ("glob", {"pattern": "**/*.py"}),
    "`glob` of one": ("glob", {"pattern": "needle.py"}),
}
INTRODUCTION = """\
# Search

What `grep` and `glob` do is said [with the other tools](tools.md#grep-and-glob).

## Ignore rules

In a git repository git itself says what is ignored. Elsewhere, and where `Checkpoints` decides what to record, the rules are
read by lmx, byte for byte as git reads them: `!`, `/` at either end, `**`, escapes, sets, spaces at the end, `\\r\\n`, a byte
order mark, nested files. `tests/lmx_core/environment/test_ignore.py` asks `git check-ignore` about trees and rules made at
random, 10,000 in the long lane. A pattern cannot make a search take for ever: the time is the length of the paths times that
of the rules.

## How long it takes
"""
TEXT = "import os\n\n\ndef function_{n}(argument):\n    return os.path.join(argument, 'x')\n\n\n" + "value = 1\n" * 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--dir", help="where to make the tree, such as a file system in memory")
    parser.add_argument("--print", action="store_true", help="print the page instead of writing it")
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="lmx-search-", dir=args.dir))
    try:
        page = render(args, asyncio.run(measure(args.runs, work, lay(work / "tree", args.files))))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if args.print:
        print(page)
    else:
        PAGE.write_text(page)
    return 0


def lay(tree: Path, files: int) -> Path:
    """`files` of the project, a hundred a folder, and twice as many empty ones in node_modules, which `.gitignore` names."""
    for top, number in (("src", files), ("node_modules", 2 * files)):
        for folder in range(number // 100):
            place = tree / top / f"p{folder // 50}" / f"q{folder}"
            place.mkdir(parents=True)
            for file in range(100):
                (place / f"f{file}.py").write_text(TEXT.replace("{n}", str(file)) if top == "src" else "")
    (tree / "src" / "p0" / "needle.py").write_text("needle_1 = 2\n")
    (tree / ".gitignore").write_text("node_modules/\n*.log\n!keep.log\n/dist\n**/generated/\n")
    return tree


def engines(work: Path) -> dict[str, LocalEnvironment]:
    """A machine with ripgrep, where there is one, and one without."""
    made = {}
    for name, programs in (("rg", [*PROGRAMS, "rg"]), ("grep", PROGRAMS)):
        if name == "rg" and shutil.which("rg") is None:
            continue
        bin = work / f"bin-{name}"
        bin.mkdir(parents=True, exist_ok=True)
        for program in programs:
            (bin / program).symlink_to(str(shutil.which(program)))
        made[name] = LocalEnvironment(environ={"PATH": str(bin), "HOME": str(work)})
    return made


async def measure(runs: int, work: Path, tree: Path) -> list[dict[str, Any]]:
    rows = []
    found = engines(work)
    for where in ("plain", "git"):
        if where == "git":
            subprocess.run(["git", "init", "-q", tree], check=True)
        for engine, environment in found.items():
            for title, (tool, arguments) in SEARCHES.items():
                if tool == "glob" and engine != "grep":
                    continue  # `glob` reads no file: the engine is not asked
                taken = [await once(tool, arguments, tree, environment) for _ in range(runs)]
                row = {key: statistics.median(run[key] for run in taken) for key in taken[0]}
                row["stopped_ms"] = await stopped(tool, arguments, tree, environment, row["wall"] / 3)
                rows.append({"search": title, "engine": engine, "where": where, **row})
    return rows


async def once(tool: str, arguments: dict[str, Any], tree: Path, environment: LocalEnvironment) -> dict[str, float]:
    cpu, begun = spent(), time.perf_counter()
    outcome = await call(search_tools(), tool, arguments, context(tree, environment=environment))
    assert outcome.outcome == "ok", outcome.text
    took = {"wall": time.perf_counter() - begun, "cpu": spent() - cpu}
    tracemalloc.start()
    await call(search_tools(), tool, arguments, context(tree, environment=environment))
    took["memory"] = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return took


async def stopped(
    tool: str, arguments: dict[str, Any], tree: Path, environment: LocalEnvironment, after: float
) -> float:
    """Milliseconds from a cancellation in the middle to the end of the call."""
    task = asyncio.ensure_future(call(search_tools(), tool, arguments, context(tree, environment=environment)))
    await asyncio.sleep(after)
    begun = time.perf_counter()
    task.cancel()
    await asyncio.wait([task])
    return (time.perf_counter() - begun) * 1_000


def spent() -> float:
    return sum(
        use.ru_utime + use.ru_stime
        for use in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def render(args: argparse.Namespace, rows: list[dict[str, Any]]) -> str:
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    lines = [
        INTRODUCTION,
        f"Measured {datetime.date.today().isoformat()} with `python tests/bench/search.py` on {machine}: {args.files:,} files "
        f"of a project beside {2 * args.files:,} of its dependencies, medians of {args.runs}. Wall time and CPU in seconds; "
        "memory is the most that the tool held itself, in MB; the last column is how long after it was cancelled a search was "
        "over.",
        "",
        "| search | engine | tree | wall s | CPU s | MB | cancelled, ms |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        engine = "" if row["search"].startswith("`glob`") else row["engine"]
        figures = f"{row['wall']:.2f} | {row['cpu']:.2f} | {row['memory']:.0f} | {row['stopped_ms']:.0f}"
        lines.append(f"| {row['search']} | {engine} | {row['where']} | {figures} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    raise SystemExit(main())
