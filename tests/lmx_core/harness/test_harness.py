"""The harness as a value: fields, absence, helpers, and what never leaks out of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from lmx_core.errors import ConfigError
from lmx_core.harness.harness import FIELDS, Harness
from lmx_core.options import UNSET
from lmx_core.prompt import default


class Named:
    description, schema = "d", {"type": "object"}

    def __init__(self, name: str):
        self.name = name

    def run(self, args: dict[str, Any], context: Any) -> str:
        return ""


def hook(*args: Any) -> None: ...


def test_ha_1_it_is_frozen_and_replaced() -> None:
    harness = Harness.new(max_turns=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        harness.max_turns = 4  # type: ignore[misc]  # the mistake under test
    assert harness.replace(max_turns=4).max_turns == 4 and harness.max_turns == 3


@pytest.mark.parametrize("make", [Harness.new, Harness().replace])
def test_ha_1_an_unknown_field_is_refused_with_the_closest(make: Any) -> None:
    with pytest.raises(ConfigError, match="did you mean 'max_turns'"):
        make(max_turn=3)


@pytest.mark.parametrize("name", ["provider", "store", "model", "runtime", "subscriber", "id", "cwd"])
def test_ha_3_what_answers_for_a_session_is_no_field(name: str) -> None:
    assert name not in FIELDS
    with pytest.raises(ConfigError):
        Harness.new(**{name: "x"})


def test_ha_2_unset_fields_and_those_of_the_host_are_no_options() -> None:
    assert Harness().session_options() == {}
    assert Harness.new(notices=["look"]).session_options() == {}
    given = {"system": None, "reasoning_effort": None, "compact_at": None, "max_turns": 5, "tools": []}
    assert Harness.new(**given).session_options() == given


def test_ha_4_the_prompt_is_made_before_it_is_changed() -> None:
    """HA-4: the shipped one where none was set, None where it was disabled."""
    assert Harness().update_system(lambda text: f"{text}!").system == default() + "!"
    assert Harness.new(system="x").update_system(lambda text: f"{text}!").system == "x!"
    seen: list[Any] = []
    assert Harness.new(system=None).update_system(lambda text: seen.append(text)).system is None
    assert seen == [None]


def test_ha_4_tools_are_put_or_changed() -> None:
    """HA-4: the default ones are made where none were set."""
    mine = Named("mine")
    assert [tool.name for tool in Harness().update_tools(lambda tools: [*tools, mine]).tools or ()] == [
        "read",
        "write",
        "edit",
        "bash",
        "mine",
    ]
    assert Harness.new(tools=[mine]).update_tools(lambda tools: tools).tools == [mine]
    assert Harness().put_tools((mine,)).tools == [mine]


def test_ha_4_what_is_appended_comes_behind() -> None:
    """HA-4: denials of the host come first."""
    first, second = ("stop", hook), ("error", hook)
    harness = Harness().append_hooks([first]).append_hooks([second])
    assert harness.hooks == [first, second]
    assert Harness().append_host_tools([Named("a")]).append_host_tools([Named("b")]).host_tools is not None


def test_ha_4_appending_nothing_leaves_the_field_unset() -> None:
    harness = Harness().append_hooks([]).append_host_tools([]).append_notices([])
    assert harness == Harness() and harness.session_options() == {}


def test_ha_4_the_context_of_the_host_is_changed_in_a_copy() -> None:
    before = Harness.new(harness_context={"a": 1})

    def add(context: dict[str, Any]) -> dict[str, Any]:
        context["b"] = 2
        return context

    assert before.update_harness_context(add).harness_context == {"a": 1, "b": 2}
    assert before.harness_context == {"a": 1} and Harness().update_harness_context(add).harness_context == {"b": 2}


def test_no_value_shows_in_its_repr() -> None:
    harness = Harness.new(system="canary-71", params={"api_key": "canary-71"})
    assert repr(harness) == "Harness(system, params)" and UNSET is Harness().system
