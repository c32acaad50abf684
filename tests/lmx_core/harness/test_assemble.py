"""Assembling: order, provenance, and the mistakes that end a start."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from lmx_core.errors import AssemblyError, ConfigError, ExtensionRefused
from lmx_core.harness.assemble import assemble
from lmx_core.harness.harness import Harness

HERE = f"{__name__}."


class Suffix:
    def __init__(self, text: str = "!"):
        if not text:
            raise ExtensionRefused("an empty suffix adds nothing")
        self.text = text

    def apply(self, harness: Harness) -> Harness:
        return harness.update_system(lambda system: f"{system}{self.text}")

    def describe(self) -> dict[str, Any]:
        return {"length": len(self.text)}


class Turns:
    def apply(self, harness: Harness) -> Harness:
        return harness.replace(max_turns=7, harness_context={"a": 1})


class Nothing:
    def apply(self, harness: Harness) -> Harness:
        return harness


def test_ex_1_a_class_an_instance_or_a_class_with_options() -> None:
    """EX-1: construct, then apply."""
    harness = assemble(Harness.new(system="x"), [Suffix, Suffix("?"), (Suffix, {"text": "."})])
    assert harness.system == "x!?."


def test_ex_4_ex_5_left_to_right_and_recorded_so() -> None:
    letters = "abcdef"
    order = random.Random(7).sample(letters, len(letters))
    harness = assemble(Harness.new(system=""), [(Suffix, {"text": letter}) for letter in order])
    assert harness.system == "".join(order) and len(harness.applied) == len(order)


def test_ex_6_the_record_of_each_extension() -> None:
    """EX-6: name, digest of the source, public facts, changed fields, in order; it travels in `harness_context`."""
    harness = assemble(Harness(), [Turns, (Suffix, {"text": "secret"}), Nothing])
    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    applied = [
        {"module": HERE + "Turns", "digest": source, "options": {}, "changes": ["max_turns", "harness_context"]},
        {"module": HERE + "Suffix", "digest": source, "options": {"length": 6}, "changes": ["system"]},
        {"module": HERE + "Nothing", "digest": source, "options": {}, "changes": []},
    ]
    assert list(harness.applied) == applied
    assert harness.session_options()["harness_context"] == {"a": 1, "extensions": {"applied": applied}}
    assert "secret" not in json.dumps(applied)


def test_ex_15_what_a_host_says_of_extensions_stands_beside_what_they_did() -> None:
    """EX-15: such as from where it loaded some; it takes no place of the record, which only `assemble` writes."""
    said = {"loaded": [{"name": "x", "code": "00"}], "applied": ["forged"]}
    harness = assemble(Harness.new(harness_context={"extensions": said}), [Nothing])
    told = harness.session_options()["harness_context"]["extensions"]
    assert told == {"loaded": said["loaded"], "applied": [dict(item) for item in harness.applied]}
    odd = assemble(Harness.new(harness_context={"extensions": 7}), [Nothing]).session_options()
    assert set(odd["harness_context"]["extensions"]) == {"applied"}


def test_ex_6_an_extension_cannot_rewrite_the_record() -> None:
    class Forger:
        def apply(self, harness: Harness) -> Harness:
            return harness.replace(applied=())

    assert assemble(Harness(), [Turns, Forger]).applied[0]["module"] == HERE + "Turns"


def test_ex_6_a_class_without_a_source_file_has_no_digest() -> None:
    space: dict[str, Any] = {"__name__": "typed_in"}
    exec("class Typed:\n    def apply(self, harness):\n        return harness\n", space)
    (record,) = assemble(Harness(), [space["Typed"]]).applied
    assert record["digest"] is None and record["module"] == "typed_in.Typed"


def test_ex_2_applying_twice_gives_the_same() -> None:
    extension = Suffix("+")
    first = assemble(Harness.new(system="x"), [extension])
    assert assemble(Harness.new(system="x"), [extension]) == first and first.system == "x+"


@pytest.mark.parametrize("spec", [7, "search", None, object(), int, (int, {}), [Suffix]])
def test_ex_4_what_is_no_extension_ends_the_start(spec: Any) -> None:
    """EX-4: `not_an_extension`, never skipped silently."""
    with pytest.raises(AssemblyError) as caught:
        assemble(Harness(), [Turns, spec])
    assert caught.value.reason == "not_an_extension" and isinstance(caught.value, ConfigError)


def test_ex_4_a_refusal_is_told_with_its_extension() -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble(Harness(), [(Suffix, {"text": ""})])
    assert caught.value.extension == HERE + "Suffix" and caught.value.reason == "an empty suffix adds nothing"
    assert isinstance(caught.value.__cause__, ExtensionRefused)


@pytest.mark.parametrize("options", [{"words": 1}, {"text": "x", "more": 2}])
def test_options_that_do_not_fit_are_told_with_the_extension(options: dict[str, Any]) -> None:
    with pytest.raises(AssemblyError, match=r"Suffix .*options do not fit"):
        assemble(Harness(), [(Suffix, options)])
    with pytest.raises(AssemblyError, match="already made"):
        assemble(Harness(), [(Suffix("x"), {"text": "y"})])


@pytest.mark.parametrize("returned", [None, {}, "harness", Harness])
def test_ex_4_an_apply_that_returns_something_else_is_a_bug(returned: Any) -> None:
    class Wrong:
        def apply(self, harness: Harness) -> Any:
            return returned

    with pytest.raises(TypeError, match="instead of a Harness"):
        assemble(Harness(), [Wrong])


@pytest.mark.parametrize("raised", [ValueError("x"), ExtensionRefused("late"), KeyError("y")])
def test_ex_8_what_apply_raises_is_raised(raised: Exception) -> None:
    """EX-8: a callback's exception stays an error, never a silent fallback."""

    class Broken:
        def apply(self, harness: Harness) -> Harness:
            raise raised

    with pytest.raises(type(raised)):
        assemble(Harness(), [Broken])


@pytest.mark.parametrize("facts", [None, [], "x", {1: "x"}, {"x": object()}, {"x": {2: 3}}, {"x": float("inf")}])
def test_ex_3_a_description_that_is_not_json_raises(facts: Any) -> None:
    class Odd:
        def apply(self, harness: Harness) -> Harness:
            return harness

        def describe(self) -> Any:
            return facts

    with pytest.raises(TypeError, match="describe"):
        assemble(Harness(), [Odd])


def test_ex_8_a_guard_without_its_callback_is_refused_at_the_start() -> None:
    """EX-8: before any model work, by the checks of the options."""
    from lmx_core.options import validate

    with pytest.raises(ConfigError, match=r"guard= must be a Guard with decide"):
        validate(Harness.new(guard=object()).session_options())
