"""What confinement costs a command and a start: `python tests/bench/sandbox.py`, in milliseconds, smallest and median."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from lmx_core import LocalEnvironment, Sandbox

RUNS = 60


async def commands(environment: LocalEnvironment, cwd: Path) -> list[float]:
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        async for _ in environment.run("true", cwd=cwd):
            pass
        times.append(1_000 * (time.perf_counter() - began))
    return sorted(times)


def starts() -> list[float]:
    times = []
    for _ in range(RUNS // 4):
        began = time.perf_counter()
        Sandbox.new()
        times.append(1_000 * (time.perf_counter() - began))
    return sorted(times)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = {
            "`true`, plain": await commands(LocalEnvironment(), Path(folder)),
            "`true`, confined": await commands(Sandbox.new(), Path(folder)),
            "making the sandbox": starts(),
        }
    for name, times in rows.items():
        print(f"{name:<20} {times[0]:6.1f} {times[len(times) // 2]:6.1f}")


if __name__ == "__main__":
    asyncio.run(main())
