"""What a piece of work costs, in units of a fixed piece of work done beside it.

Seconds against a constant fail on a machine that is slow or busy, and then nobody believes a red test any more. Both sides of
this ratio suffer alike. A limit is to be at least five times what is usual: it is there for a square, not for a percentage.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def cost(work: Callable[[], object]) -> float:
    """Processor time of `work`, where 1.0 is some 7 ms of a quiet machine."""
    before = _unit()
    spent = seconds(work)
    return spent / max(before, _unit())


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _unit() -> float:
    return max(seconds(_fixed) for _ in range(3))


def _fixed() -> None:
    held: dict[int, str] = {}
    for number in range(40_000):
        held[number * 7919 % 5_003] = f"{number:x}"
