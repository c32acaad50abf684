"""What holds for every test: Hypothesis judges the code and not the speed of a shared machine, and leaves no files."""

from __future__ import annotations

import logging
from collections.abc import Iterator
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


@pytest.fixture(autouse=True)
def the_log_is_left_as_it_was() -> Iterator[None]:
    """lmx sets the level of its log for the whole process, and a test that comes later may look for what is below it."""
    loggers = [logging.getLogger(name) for name in (None, "lmx", "lmx_core")]
    before = [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    yield
    for logger, (level, propagate, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.propagate, logger.handlers[:] = propagate, handlers
