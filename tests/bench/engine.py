"""Measures the engine alone and writes its part of docs/reference/performance.md, with the raw numbers beside it.

    .venv/bin/python tests/bench/engine.py [--runs 3]

`performance.py` runs it too. Each measurement is an interpreter of its own (`engine_work.py` says why and how). The budgets
stand here, once: the page says which are met, and `test_engine_budgets.py` fails above one in the long lane. Linux only.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/reference/performance.md"
RAW = ROOT / "docs/reference/performance-engine.json"
BEGIN, END = "<!-- the engine: written by tests/bench/engine.py -->", "<!-- the engine ends -->"

Figures = dict[str, Any]


class Budget(NamedTuple):
    """`limit` bounds what `of` finds in the figures of the measurement `name`."""

    name: str
    what: str
    of: Callable[[Figures], float]
    limit: float

    def line(self, found: dict[str, Figures]) -> str:
        value = self.of(found[self.name])
        return f"| {self.what} | {value:.3g} | {self.limit:g} | {'met' if value <= self.limit else 'missed'} |"


BUDGETS = (
    Budget("append", "append 100,000 entries: CPU / the same lines written barely", lambda f: f["ratio"], 8),
    Budget("append", "append 100,000 entries: memory gained, MB", lambda f: f["rss_mb"], 8),
    Budget("read", "read 100,000 entries: CPU / the same lines parsed barely", lambda f: f["ratio"], 2.5),
    Budget("read", "read 100,000 entries: peak memory / the file", lambda f: f["peak_of_file"], 6),
    Budget("resume", "resume 10,000 entries: CPU / the same lines parsed barely", lambda f: f["ratio"], 12),
    Budget("resume", "resume 10,000 entries: peak memory / the file", lambda f: f["peak_of_file"], 9),
    Budget("projection", "projection: a session of 1,000 turns / one of 500 (2 is linear, 4 a square)",
           lambda f: f["doubled"], 3),
    Budget("turns", "whole turns: a session of 1,000 / one of 500 (2 is linear, 4 a square)", lambda f: f["doubled"], 3),
    Budget("turns", "transcript: bytes of turn 1,000 beyond turn 10 (digits of its counters)",
           lambda f: f["bytes"]["1000"] - f["bytes"]["10"], 64),
    Budget("deltas", "a delta to one subscriber: CPU / a message queued and joined barely", lambda f: f["ratio"], 32),
    Budget("deltas", "each further subscriber: CPU / a message queued and joined barely",
           lambda f: f["more_subscribers_ratio"], 2),
    Budget("idle", "an idle session, beyond its entries: KiB", lambda f: f["kib_each"], 60),
    Budget("reply", "`info()` while 8 tools run: p99, ms beyond a bare turn of the same loop",
           lambda f: f["info_p99_ms"] - f["loop_p99_ms"], 25),
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    results = measure(parser.parse_args().runs)
    write(results)
    print(block(results))
    return 0


def measure(runs: int = 1, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Raw figures of so many runs of each measurement, the measurements in turn."""
    wanted = list(dict.fromkeys(budget.name for budget in BUDGETS)) if names is None else list(names)
    found: dict[str, list[Figures]] = {name: [] for name in wanted}
    for _ in range(runs):
        for name in wanted:
            line = [sys.executable, str(HERE / "engine_work.py"), name]
            done = subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.PIPE, timeout=600)
            found[name].append(json.loads(done.stdout))
    return {
        "when": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "runs": found,
    }


def figures(results: dict[str, Any]) -> dict[str, Figures]:
    """The median of each figure over the runs."""
    return {name: _median(runs) for name, runs in results["runs"].items()}


def _median(runs: list[Any]) -> Any:
    if isinstance(runs[0], dict):
        return {key: _median([run[key] for run in runs]) for key in runs[0]}
    return statistics.median(runs)


def write(results: dict[str, Any]) -> None:
    """Puts the engine's part into the page, in the place of an earlier one or at the end."""
    RAW.write_text(json.dumps(results, indent=1) + "\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2].lstrip("\n")
    PAGE.write_text(
        "\n\n".join(part for part in (before.rstrip("\n"), block(results), after.rstrip("\n")) if part) + "\n"
    )


def block(results: dict[str, Any]) -> str:
    f = figures(results)
    lines = [
        BEGIN,
        "",
        "## The engine",
        "",
        f"Measured {results['when']} with `python tests/bench/engine.py` on {results['cores']} cores, Python "
        f"{results['python']}, medians of {len(results['runs']['read'])} runs. Each line is work in an interpreter of its own; "
        "\"barely\" is the same work without the engine, in the same process.",
        "Raw numbers: [performance-engine.json](performance-engine.json).",
        "",
        "| budget | measured | limit | |",
        "| --- | --- | --- | --- |",
        *(budget.line(f) for budget in BUDGETS),
        "",
        *_tables(f),
        END,
    ]  # fmt: skip
    return "\n".join(lines)


def _tables(f: dict[str, Figures]) -> list[str]:
    append, read, resume, idle, reply = (f[name] for name in ("append", "read", "resume", "idle", "reply"))
    growing, turns, deltas = f["projection"]["us_request"], f["turns"], f["deltas"]
    return [
        "| a transcript | MB/s | wall s | memory MB |",
        "| --- | --- | --- | --- |",
        f"| append {append['entries']:,.0f} entries one by one ({append['us_entry']:.0f} µs each) | {append['mb_s']:.0f} | "
        f"{append['us_entry'] * append['entries'] / 1e6:.2f} | {append['rss_mb']:.0f} |",
        f"| read them ({read['bytes'] / 1e6:.0f} MB) | {read['mb_s']:.0f} | {read['wall_s']:.2f} | {read['peak_mb']:.0f} |",
        f"| resume {resume['entries']:,.0f} entries ({resume['bytes'] / 1e6:.0f} MB) | - | {resume['wall_s']:.2f} | "
        f"{resume['peak_mb']:.0f} |",
        "",
        "| a session at turn | 10 | 100 | 1,000 |",
        "| --- | --- | --- | --- |",
        _row("projection of a request, µs", growing),
        _row("CPU of a whole turn (two requests, a call), ms", turns["cpu_ms"]),
        _row("bytes written in the turn", turns["bytes"]),
        "",
        "| subscribers | 0 | 1 | 10 |",
        "| --- | --- | --- | --- |",
        _row("CPU of 1,000 streamed deltas, ms", deltas["cpu_ms"]),
        "",
        f"{idle['sessions']:,.0f} idle sessions in one runtime (JSONL store, `LocalEnvironment`, `DefaultProvider`): "
        f"{idle['kib_each']:.0f} KiB each, started in {idle['start_ms_each']:.2f} ms each.",
        "",
        f"`info()` while eight tools run commands that talk: p50 {reply['info_p50_ms']:.2f} ms, p99 "
        f"{reply['info_p99_ms']:.2f} ms; a bare turn of the same loop: p50 {reply['loop_p50_ms']:.2f} ms, p99 "
        f"{reply['loop_p99_ms']:.2f} ms.",
        "",
    ]  # fmt: skip


def _row(name: str, values: dict[str, float]) -> str:
    return f"| {name} | {' | '.join(f'{v:,.0f}' if v >= 100 else f'{v:.3g}' for v in values.values())} |"


if __name__ == "__main__":
    sys.exit(main())
