"""Comparing two reports, as data."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lmx.cli.explain.against import compare

TOOL = {"origin": "built_in", "wrappers": [], "enabled": True, "reason": None}
NOTHING: dict[str, Any] = {"added": {}, "removed": {}, "changed": {}}


def report() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "model": "openai:m",
        "model_source": "flag",
        "tools": [{"name": name, **copy.deepcopy(TOOL)} for name in ("read", "write", "bash")],
        "settings": {"max_turns": "session_default", "compact_at": None},
        "strategies": {"guard": "session_default"},
        "extensions": [{"name": name, "digest": name, "options": {}} for name in ("a", "b", "c")],
        "diagnostics": {"versions": {"lmx": "0.1.0"}},
    }


def changed(part: str, change: Any) -> dict[str, Any]:
    """What is told of `part` after `change`; every other part must be told as the same."""
    after = report()
    change(after)
    told = compare(report(), after)
    assert told["same"] is False and told["schema_version"] == 1
    for name, found in told["changes"].items():
        if name != part:
            assert not any(found.values()), name
    found = dict(told["changes"][part])
    if found.get("order", 1) is None:
        del found["order"]
    return found


def test_c1_88_equal_reports_are_the_same_and_versions_do_not_count() -> None:
    """C1-88: what a machine or a release is called decides nothing."""
    after = report()
    after["diagnostics"] = {}
    assert compare(report(), after)["same"] is True


def test_c1_88_tools_come_go_and_change() -> None:
    """C1-88: added, removed, changed, by name."""
    new = {"name": "grep", **TOOL}
    bare = {key: value for key, value in TOOL.items() if key != "wrappers"}
    assert changed("tools", lambda r: r["tools"].append(new)) == NOTHING | {"added": {"grep": bare}}
    assert changed("tools", lambda r: r["tools"].pop()) == NOTHING | {"removed": {"bash": bare}}
    off = {"enabled": False, "reason": "disabled"}
    told = changed("tools", lambda r: r["tools"][0].update(off))
    assert told == NOTHING | {"changed": {"read": {"before": bare, "after": bare | off}}}


@pytest.mark.parametrize("part", ["tools", "extensions"])
def test_c1_88_another_order_is_a_difference(part: str) -> None:
    """C1-88: tools are sent, and extensions applied, in their order; one that came or went is no new order."""
    told = changed(part, lambda r: r[part].reverse())
    names = [item["name"] for item in report()[part]]
    assert told == NOTHING | {"order": {"before": names, "after": names[::-1]}}
    assert "order" not in changed(part, lambda r: r[part].pop(1))
    assert "order" not in changed(part, lambda r: r[part].insert(0, {"name": "new", "wrappers": []}))


def test_c1_88_wrappers_settings_strategies_and_the_model() -> None:
    """C1-88"""
    told = changed("wrappers", lambda r: r["tools"][2]["wrappers"].append("my.Guarded"))
    assert told == NOTHING | {"added": {"bash": ["my.Guarded"]}}
    told = changed("settings", lambda r: r["settings"].update(max_turns=3, compact_at=0.5))
    assert told["changed"] == {
        "max_turns": {"before": "session_default", "after": 3},
        "compact_at": {"before": None, "after": 0.5},
    }
    assert changed("settings", lambda r: r["settings"].update(max_cost_usd=None))["added"] == {"max_cost_usd": None}
    assert changed("settings", lambda r: r["settings"].pop("compact_at"))["removed"] == {"compact_at": None}
    assert (
        changed("strategies", lambda r: r["strategies"].update(guard="my.Guard"))["changed"]["guard"]["after"]
        == "my.Guard"
    )
    assert changed("model", lambda r: r.update(model="xai:m"))["changed"] == {
        "model": {"before": "openai:m", "after": "xai:m"}
    }
    told = changed("extensions", lambda r: r["extensions"][0].update(digest="other"))
    assert told["changed"]["a"]["after"]["digest"] == "other"


def test_two_of_one_name_are_told_apart() -> None:
    """C1-87: a report with a collision can be compared like any other."""
    told = changed("tools", lambda r: r["tools"].append({"name": "read", **TOOL, "origin": "host_module"}))
    assert told["added"] == {"read (2)": {"origin": "host_module", "enabled": True, "reason": None}}
