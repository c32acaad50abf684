"""What holds for every test: Hypothesis judges the code and not the speed of a shared machine, and leaves no files."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("lmx", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lmx")
