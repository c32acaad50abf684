"""The report on a harness: true, equal for equal input, and without anything private."""

from __future__ import annotations

import json
import re
from typing import Any

from lmx_core.clock import FOREVER
from lmx_core.harness.assemble import assemble
from lmx_core.harness.explain import LIMITS, diff, explain
from lmx_core.harness.harness import OPTION_FIELDS, Harness
from lmx_core.messages import Messages
from lmx_core.options import UNSET

CANARY = "canary-4471"


class Tool:
    description, schema = CANARY, {"type": "object"}

    def __init__(self, name: str, **metadata: Any):
        self.name, self.metadata, self.secret = name, metadata, CANARY

    def run(self, args: dict[str, Any], context: Any) -> str:
        return CANARY


class Wrapper(Tool):
    def __init__(self, inner: Tool):
        super().__init__(inner.name)
        self.__wrapped__ = inner


class Private:
    def __init__(self, key: str):
        self.key = key

    def apply(self, harness: Harness) -> Harness:
        return harness.append_hooks([("stop", named_hook)]).replace(max_turns=9)

    def describe(self) -> dict[str, Any]:
        return {"keys": 1}


class Mine(Messages):
    def stuck(self, repeats: int) -> str:
        return CANARY


def named_hook(*args: Any) -> Any:
    return CANARY


def full() -> Harness:
    base = Harness.new(
        system=CANARY,
        params={"api_key": CANARY},
        messages=Mine(),
        tools=[Tool("a"), Wrapper(Wrapper(Tool("b"))), Tool("c")],
        host_tools=[Tool("d"), Tool("a", origin={"type": "configured_instance", "token": CANARY})],
        disabled_tools=["c"],
        approval_timeout_ms=FOREVER,
        harness_context={"key": CANARY},
        provider_retry=False,
        hooks=[("before_tool_call", named_hook)],
        notices=[CANARY],
    )
    return assemble(base, [(Private, {"key": CANARY})])


def test_ex_7_names_wrappers_limits_hooks_and_changed_fields() -> None:
    """EX-7: decisions by disabling, `session_default` for what is unset, the fields each extension changed."""
    report = explain(full(), {"max_requests": 3, "system": "x"})
    assert report["schema_version"] == 1
    assert [(t["name"], t["enabled"], t["reason"]) for t in report["tools"]] == [
        ("a", True, None),
        ("b", True, None),
        ("c", False, "disabled"),
        ("d", True, None),
        ("a", True, None),
    ]
    assert report["tools"][1]["wrappers"] == [f"{__name__}.Wrapper"] * 2 and report["tools"][0]["wrappers"] == []
    assert report["settings"] == dict.fromkeys(LIMITS, "session_default") | {
        "max_turns": 9,
        "max_requests": 3,
        "approval_timeout_ms": "forever",
    }
    assert report["strategies"] == {
        "compaction": "session_default",
        "environment": "session_default",
        "guard": "session_default",
        "messages": f"{__name__}.Mine",
        "secrets": "session_default",
    }
    assert report["hooks"] == {"before_tool_call": ["named_hook"], "stop": ["named_hook"]}
    (extension,) = report["extensions"]
    assert extension["name"] == "Private" and extension["changed_fields"] == ["hooks", "max_turns"]
    assert extension["options"] == {"keys": 1} and len(extension["digest"]) == 64
    assert report["host_overrides"] == ["max_requests", "system"]


def test_two_tools_of_one_name_are_a_collision() -> None:
    assert explain(full())["collisions"] == [{"name": "a", "origins": ["host_module", "configured_instance"]}]
    assert explain(Harness.new(tools=[Tool("a")]))["collisions"] == []


def test_nothing_private_is_in_it() -> None:
    """Prompts, callbacks, private options, credentials and host state are left out."""
    assert CANARY not in json.dumps(explain(full(), {"harness_context": {"x": CANARY}}))


def test_equal_input_gives_equal_bytes() -> None:
    assert json.dumps(explain(full())) == json.dumps(explain(full()))


def test_a_tool_that_no_session_would_take_is_told_as_such() -> None:
    broken = Tool("broken")
    broken.schema = {"type": "array"}
    assert explain(Harness.new(tools=[broken]))["tools"][0]["origin"] == "invalid"


def test_ex_7_a_lifted_limit_is_not_the_default() -> None:
    """EX-7: `session_default` is for what nobody set; None that was set means no limit, and a host's word wins."""
    told = explain(Harness.new(compact_at=None, max_requests=3), {"max_requests": None, "context_window": UNSET})
    assert told["settings"]["compact_at"] is None and told["settings"]["max_requests"] is None
    assert told["settings"]["context_window"] == told["settings"]["max_turns"] == "session_default"


def test_ex_7_every_limit_is_told() -> None:
    """EX-7: whatever field bounds something by number; a new one cannot be forgotten here."""
    bounds = re.compile(r"max_\w+|keep(_\w+)?|\w+_(ms|bytes|cap)|context_window\w*|compact_at")
    assert {name for name in OPTION_FIELDS if bounds.fullmatch(name)} == set(LIMITS)
    assert list(LIMITS) == sorted(LIMITS)


def test_ex_7_two_reports_are_told_apart_by_their_top_level_keys() -> None:
    """EX-7: `diff` has what changed, each key with its `before` and `after`, and nothing else."""
    plain = Harness.new(tools=[Tool("a")])
    before, after = explain(plain), explain(assemble(plain, [(Private, {"key": CANARY})]))
    changed = diff(before, after)
    assert set(changed) == {"settings", "hooks", "extensions"}
    assert changed["hooks"] == {"before": {}, "after": {"stop": ["named_hook"]}}
    assert changed["settings"]["before"]["max_turns"] == "session_default"
    assert changed["settings"]["after"]["max_turns"] == 9
    assert diff(before, before) == {} and diff(after, explain(assemble(plain, [(Private, {"key": "x"})]))) == {}
    assert diff({"a": 1}, {"b": None}) == {"a": {"before": 1, "after": None}, "b": {"before": None, "after": None}}
