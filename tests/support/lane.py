"""Which lane a run is in: the gate asks each property some dozens of times, the long lane ten thousand times."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

EXAMPLES = 10_000
PROPERTIES = (
    *("turn/", "context/", "transcript/", "edits/", "stores/", "hooks/", "permissions/", "test_entry.py"),
    "environment/test_ignore.py",
)
"""Where the properties stand that the long lane asks too (TK-3), in tests/lmx_core: rules that are pure, and the store. One
with an explicit number of examples keeps it; `fewer(n)` is for one that is dear in the gate alone."""

settings.register_profile("lmx", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("lmx"), max_examples=EXAMPLES)


def is_long(expression: str) -> bool:
    """Of the `-m` of a run."""
    return expression.strip() == "long"


def load(expression: str) -> None:
    """Before any test is collected: a test keeps the settings that it was decorated under."""
    settings.load_profile("long" if is_long(expression) else "lmx")


def fewer(examples: int) -> int:
    """So many in the gate, where each is dear; in the long lane as many as any other."""
    return max(examples, settings.default.max_examples) if settings.default.max_examples == EXAMPLES else examples


def is_asked_again(item: Any) -> bool:
    """A property of the list, which belongs to both lanes."""
    place = item.nodeid.partition("tests/lmx_core/")[2]
    return place.startswith(PROPERTIES) and getattr(getattr(item, "function", None), "is_hypothesis_test", False)
