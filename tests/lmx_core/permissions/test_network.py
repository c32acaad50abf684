"""Whether a confined command may connect to a host: the list, the rules, a person, and where there is none, no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmx_core import Allow, ConfigError, Deny, HookContext, LocalEnvironment, Pending
from lmx_core.permissions import MODES, Gate, Handle, parse, read_rules

pytestmark = pytest.mark.asyncio
CONTEXT = HookContext(cwd=Path("/work"), environment=LocalEnvironment())


async def verdict(
    host: str = "a.example", port: int = 443, *, listed: bool = False, mode: str = "ask", asks: Any = "ask",
    can_ask: bool = True,    **rules: list[Any],
) -> Allow | Deny | Pending:  # fmt: skip
    gate = Gate(Handle(mode), asks, read_rules(rules))
    context = HookContext(cwd=CONTEXT.cwd, environment=CONTEXT.environment, can_ask=can_ask)
    return await gate.reaches(host, port, listed, context)


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_not_listed_asks_in_every_mode(mode: str) -> None:
    """cli.md 6: the list is a wall and a mode is none, full_auto neither."""
    found = await verdict(mode=mode)
    assert isinstance(found, Pending)
    assert found.details["permission"] == {
        "mode": mode,
        "reason": "a command wants to connect to a.example:443, which the list of the sandbox does not name",
        "suggestions": [{"label": "let commands reach a.example from now on", "rule": "Network(domain:a.example)"}],
    }
    assert isinstance(await verdict(mode=mode, listed=True), Allow)


@pytest.mark.parametrize("asks", ["deny", "allow"])
async def test_where_nobody_can_answer_it_is_refused(asks: str) -> None:
    """PK-3: also where what would ask runs otherwise."""
    for found in (await verdict(asks=asks), await verdict(can_ask=False)):
        assert isinstance(found, Deny) and "nobody can be asked" in found.reason
    assert isinstance(await verdict(asks=asks, listed=True), Allow)


async def test_rules_by_host() -> None:
    """RL-2, HP-13: as for pages; a rule that denies stands before the list, a rule that asks too."""
    assert isinstance(await verdict(allow=["Network(domain:a.example)"], can_ask=False), Allow)
    assert isinstance(await verdict("b.a.example", allow=["Network(domain:a.example)"]), Pending)
    assert isinstance(await verdict("b.a.example", allow=["Network(domain:*.a.example)"]), Allow)
    assert isinstance(await verdict("b.a.example", listed=True, deny=["Network(domain:a.example)"]), Deny)
    assert isinstance(await verdict(listed=True, ask=["Network(domain:a.example)"]), Pending)
    assert isinstance(await verdict(listed=True, deny=["Network"], mode="full_auto"), Deny)
    assert isinstance(await verdict(allow=["Network"]), Allow)
    for other in ("WebFetch(domain:a.example)", "WebFetch", "Bash", "Bash(curl:*)"):
        assert isinstance(await verdict(allow=[other]), Pending)


async def test_a_rule_is_about_the_ports_of_the_web() -> None:
    """Another port is asked about each time; a rule that denies a host denies all of them."""
    found = await verdict(port=22, allow=["Network(domain:a.example)"])
    assert isinstance(found, Pending) and found.details["permission"]["suggestions"] == []
    assert isinstance(await verdict(port=22, listed=True, deny=["Network(domain:a.example)"]), Deny)


async def test_a_rule_for_all_of_the_network_is_not_one_for_this_machine() -> None:
    assert isinstance(await verdict("localhost", allow=["Network"]), Pending)
    assert isinstance(await verdict("10.0.0.1", allow=["Network"]), Pending)


async def test_what_is_no_rule_is_an_error_and_examples_are_tried() -> None:
    for text in ("Network(a.example)", "Network(domain:)", "Network(domain:https://a)"):
        with pytest.raises(ConfigError, match="names no host"):
            parse(text, "allow")
    good = {"rule": "Network(domain:*.a.example)", "should_match": ["b.a.example"], "should_not_match": ["a.example"]}
    read_rules({"allow": [good]})
    with pytest.raises(ConfigError, match=r"should match 'a\.example' and does not"):
        read_rules({"allow": [{**good, "should_match": ["a.example"]}]})


async def test_no_tool_is_taken_for_it() -> None:
    """A tool of somebody's called `network` is none of what this rule opens."""
    assert not parse("Network", "allow").applies("network")
