"""How well commands are read: what was missed, and how often the answer is "unsure".

    python tests/bench/gate.py [--packs DIR] [--check]     writes the figures into docs/reference/security.md

Three collections are judged: the entries of GTFOBins (ways in which ordinary programs run others) and the sources of the
grammar's own corpus, both found in DIR (by default ../shared/packs), and everyday commands, which are a list of ours. What a
text runs is taken from the trace of a bash that reaches nothing. `--check` writes nothing and fails if the page says otherwise.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support import traced_bash  # noqa: E402 - the path to it is made above

from lmx_core.errors import ConfigError  # noqa: E402 - as above
from lmx_core.permissions import read_rules  # noqa: E402 - as above
from lmx_core.permissions.shell.reader import read_command  # noqa: E402 - as above
from lmx_core.permissions.subject import Subject, allowed  # noqa: E402 - as above

PACKS = ROOT.parent / "shared" / "packs"
EVERYDAY = ROOT / "tests" / "lmx_core" / "permissions" / "everyday.txt"
PAGE = ROOT / "docs" / "reference" / "security.md"
BEGIN, END = "<!-- figures: tests/bench/gate.py -->", "<!-- end of figures -->"

RUNNING = ("shell", "command", "reverse-shell", "bind-shell", "library-load")
"""The functions of GTFOBins in which one program runs another or loads code."""

NAMES = (("/bin/sh", "/opt/tool"), ("/bin/bash", "/opt/tool"))
"""Under the other name a hidden program is not given away by being a shell."""


class Traced(NamedTuple):
    """How a collection fared: texts read, of them unsure, traced, and those in which something ran that was not in our list."""

    total: int
    unsure: int
    traced: int
    missed: list[str]


def corpus(packs: Path) -> list[str]:
    """The sources of tree-sitter's corpus files."""
    found = []
    for file in sorted((packs / "bash-corpus").glob("*.txt")):
        text = file.read_bytes().decode()
        pattern = r"^=+\r?\n.*?\r?\n(?::\w+\r?\n)*=+\r?\n(.*?)^---+\r?$"
        found += [match[1].strip("\n") for match in re.finditer(pattern, text, re.DOTALL | re.MULTILINE)]
    return found


def gtfobins(packs: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((packs / "gtfobins.json").read_text("utf-8"))["entries"]
    return entries


def everyday() -> list[str]:
    """Our list, one command a line; a line feed in a command is written as an arrow."""
    return [line.replace("\u23ce", "\n") for line in EVERYDAY.read_text("utf-8").split("\n") if line]


def trace(texts: list[str], directory: Path, *, sandbox: bool) -> Traced:
    """Reads every text, and runs under a tracing bash those about which we claim to be sure."""
    unsure, traced, missed = 0, 0, []
    for text in texts:
        reading = read_command(text)
        if reading.unsure:
            unsure += 1
            continue
        if "/" in text and not sandbox:
            continue
        ran = traced_bash.ran(text, directory, sandbox=sandbox)
        if ran is None:
            continue
        traced += 1
        known = {part.words[0].value for part in reading.parts}
        missed += [f"{text!r} ran {word!r}" for word in ran if word not in known]
    return Traced(len(texts), unsure, traced, missed)


def runs_unasked(code: str, program: str) -> bool:
    """Whether a person who allowed every program that stands in the line, shells too, would not be asked."""
    reading = read_command(code)
    names = {program, *(part.program for part in reading.parts if part.outer is None)}
    rules = []
    for name in sorted(name for name in names if name):
        try:
            rules.append(read_rules({"allow": [f"Bash({name}:*)"]}).allow[0])
        except ConfigError:
            continue
    return isinstance(allowed(rules, Subject(tool="bash", cwd=Path("/nonexistent"), reading=reading)), list)


def hidden(entries: list[dict[str, Any]], *, renamed: bool) -> tuple[list[str], int]:
    """The entries that run something else unasked, and of how many."""
    escaped, total = [], 0
    for entry in entries:
        if entry["function"] not in RUNNING:
            continue
        code = entry["code"]
        for old, new in NAMES if renamed else ():
            code = code.replace(old, new)
        total += 1
        if runs_unasked(code, entry["program"]):
            escaped.append(f"{entry['program']}: {code}")
    return escaped, total


def figures(packs: Path) -> str:
    """The table. Raises SystemExit where there is nothing to measure, or where something ran that was not in our list."""
    if not packs.is_dir():
        raise SystemExit(f"there is no folder {packs}: name the one with gtfobins.json and bash-corpus/ with --packs")
    entries, sources, ours = gtfobins(packs), corpus(packs), everyday()
    if not entries or not sources or len(ours) < 500:
        raise SystemExit("nothing was collected, so nothing can be said")
    sandbox = traced_bash.confined()
    with tempfile.TemporaryDirectory() as scratch:
        rows = [
            ("entries of GTFOBins", trace([entry["code"] for entry in entries], Path(scratch), sandbox=sandbox)),
            ("sources of the grammar's corpus", trace(sources, Path(scratch), sandbox=sandbox)),
            ("everyday commands", trace(ours, Path(scratch), sandbox=sandbox)),
        ]
    missed = [miss for _, row in rows for miss in row.missed]
    if missed:
        raise SystemExit("\n".join(["something ran that was not in our list:", *missed]))
    return table(rows, hidden(entries, renamed=False), hidden(entries, renamed=True))


def table(rows: list[tuple[str, Traced]], plain: tuple[list[str], int], renamed: tuple[list[str], int]) -> str:
    lines = [
        "| texts | read | *unsure* | ran under a tracing bash | ran something not in our list |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, row in rows:
        share = f"{100 * row.unsure / row.total:.1f} %"
        lines.append(f"| {name} | {row.total} | {row.unsure} ({share}) | {row.traced} | {len(row.missed)} |")
    lines += [
        "",
        "| programs that run another one, though each program in the line is allowed by name | escapes not caught / total |",
        "| --- | --- |",
        f"| as they stand | {len(plain[0])} / {plain[1]} |",
        f"| with the hidden program under another name | {len(renamed[0])} / {renamed[1]} |",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packs", type=Path, default=PACKS)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    measured = figures(given.packs)
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}"
    print(measured)
    if given.check and made != page:
        raise SystemExit(f"{PAGE.name} says otherwise; run python tests/bench/gate.py")
    if not given.check:
        PAGE.write_text(made, "utf-8")


if __name__ == "__main__":
    main()
