"""What holds for every test: Hypothesis judges the code and not the speed of a shared machine, and leaves no files."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

settings.register_profile("lmx", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lmx")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """One suite holds for every provider; where litellm differs is a list, and every row of it must stay true."""
    from support.adapters import expect_differences

    expect_differences(items)
