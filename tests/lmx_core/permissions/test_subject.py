"""What rules say about the parts of a command, asked without a gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmx_core.calls import ToolCall
from lmx_core.errors import ConfigError
from lmx_core.permissions import read_rules
from lmx_core.permissions.subject import Bare, subject_of

SUBSTITUTED = "echo $(x) > f"


def said(command: str, **rules: list[str]) -> tuple[Any, Any]:
    """What the rules that deny and those that allow say."""
    subject = subject_of(ToolCall(id="c", name="bash", arguments={"command": command}), None, Path("/w"))
    read = read_rules(rules)
    return read.denied(subject), read.allowed(subject)


@pytest.mark.parametrize(
    ("command", "rule"), [("if", "Bash"), ("", "Bash"), ("ls", "Bash"), (SUBSTITUTED, f"Bash({SUBSTITUTED})")]
)
def test_a_rule_about_the_tool_or_the_whole_command_hits_it_for_certain(command: str, rule: str) -> None:
    found, _ = said(command, deny=[rule])
    assert found.certain and found.what == "the command"


def test_a_file_rule_of_a_search_is_not_about_commands() -> None:
    assert said("cat secrets/key < secrets/key > secrets/key", deny=["Glob(secrets/**)"])[0] is None
    assert said("cat secrets/key", deny=["Read(secrets/**)"])[0] is not None


def test_a_variable_that_programs_read_needs_a_rule_of_its_own() -> None:
    _, without = said("LD_PRELOAD=x; ls", allow=["Bash(ls:*)"])
    assert without == Bare("LD_PRELOAD=x", "a variable that programs may read")
    _, covered = said("LD_PRELOAD=x; ls", allow=["Bash(ls:*)", "Bash(LD_PRELOAD=x)"])
    assert [verdict.what for verdict in covered] == ["LD_PRELOAD=x", "ls"]


def test_a_builtin_that_only_steers_needs_no_rule_unless_it_is_given_a_variable() -> None:
    assert [verdict.what for verdict in said("true && ls", allow=["Bash(ls:*)"])[1]] == ["ls"]
    assert said("A=1 true && ls", allow=["Bash(ls:*)"])[1] == Bare("A=1 true")


def test_a_rule_that_is_hit_for_certain_goes_before_one_that_may_be() -> None:
    found, _ = said("$x file", deny=["Bash(rm:*)", "Bash(file:*)", "Bash"])
    assert (found.certain, found.rule.text) == (True, "Bash")
    found, _ = said("$x file", deny=["Bash(rm:*)", "Bash(mv:*)"])
    assert (found.certain, found.rule.text) == (False, "Bash(rm:*)")


def test_examples_of_a_rule_about_pages_are_addresses() -> None:
    rule = {"rule": "WebFetch(domain:docs.example)", "should_match": ["https://docs.example/a"]}
    read_rules({"allow": [rule | {"should_not_match": ["https://docs.example.evil/"]}]})
    with pytest.raises(ConfigError, match="should not match"):
        read_rules({"allow": [rule | {"should_not_match": ["https://docs.example/b"]}]})
