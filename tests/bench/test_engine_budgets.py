"""The engine stays within its budgets (`engine.py`), each a ratio or a number that no busy machine moves."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import engine

pytestmark = pytest.mark.long


@cache
def measured(name: str) -> dict[str, Any]:
    return engine.figures(engine.measure(3, [name]))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("budget", engine.BUDGETS, ids=lambda budget: budget.what)
def test_a_budget_of_the_engine_is_kept(budget: engine.Budget):
    found = measured(budget.name)
    assert budget.of(found[budget.name]) <= budget.limit, found
