"""What masking costs: a megabyte of output in one piece, and as a stream, with and without secrets.

    python tests/bench/masking.py

The text is the engine's own source, which holds none of the values; each figure is the best of five.
"""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable
from pathlib import Path

from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.secrets.policy import Secrets

ROOT = Path(__file__).parents[2]
SIZE = 1_000_000
VARIABLES = 15
PIECE = 4_096


def text() -> str:
    found = "".join(path.read_text("utf-8") for path in sorted((ROOT / "lmx_core").rglob("*.py")))
    return (found * (SIZE // len(found) + 1))[:SIZE]


def secrets(*, detect: bool) -> Masker:
    made = random.Random(1)
    letters = string.ascii_letters + string.digits
    values = {f"TOKEN_{n}": "".join(made.choice(letters) for _ in range(40)) for n in range(VARIABLES)}
    return Secrets(values, detect=detect).masker()


def best_ms(work: Callable[[], object]) -> float:
    def once() -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    return min(once() for _ in range(5)) * 1_000


def streamed(masker: Masker, given: str) -> None:
    stream = masker.stream()
    for at in range(0, len(given), PIECE):
        stream.feed(given[at : at + PIECE])
    stream.end()


def main() -> None:
    given = text()
    kinds = {"none": NOTHING, f"{VARIABLES} variables": secrets(detect=False), "and detectors": secrets(detect=True)}
    for name, masker in kinds.items():
        whole = best_ms(lambda: masker.mask(given))  # noqa: B023 - called at once
        pieces = best_ms(lambda: streamed(masker, given))  # noqa: B023 - as above
        print(f"{name:>16}: {whole:6.1f} ms in one piece, {pieces:6.1f} ms in pieces of {PIECE:,} characters")


if __name__ == "__main__":
    main()
