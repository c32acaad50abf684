"""What holds for every test: Hypothesis judges the code and not the speed of a shared machine, and leaves no files."""

from __future__ import annotations

from typing import Any

import pytest
from support import lane


def pytest_configure(config: pytest.Config) -> None:
    lane.load(config.getoption("markexpr"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many tests ran confined for real is said each time: none is no success that looks like one."""
    from support.confined import REASON

    stats = terminalreporter.stats
    ran = sum("/sandbox/" in report.nodeid for report in stats.get("passed", ()))
    left = sum(REASON in str(report.longrepr) for report in stats.get("skipped", ()))
    if ran or left:
        terminalreporter.write_line(f"sandbox: {ran} tests passed, {left} could not run: {REASON if left else 'none'}")


@pytest.hookimpl(tryfirst=True)  # before the other lane is left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    """One suite holds for every provider; where litellm differs is a list, and every row of it must stay true."""
    from support.adapters import expect_differences

    if lane.is_long(config.getoption("markexpr")):
        for item in filter(lane.is_asked_again, items):
            item.add_marker(pytest.mark.long)
    expect_differences(items)
