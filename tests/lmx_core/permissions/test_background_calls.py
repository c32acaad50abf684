"""What the gate makes of `bash` and a background command (cli.md 5.2): a start is a command, the rest only looks or stops."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lmx_core.builtin.bash import Bash
from lmx_core.calls import Descriptor, Identity, ToolCall, ToolContext
from lmx_core.clock import SystemClock
from lmx_core.environment.local import LocalEnvironment
from lmx_core.hooks.base import HookChain
from lmx_core.permissions import MODES, Gate, Handle
from lmx_core.permissions.effects import act_of
from lmx_core.tools.base import descriptor
from lmx_core.verdict import Allow, Deny, Pending

OURS = descriptor(Bash())


async def nobody(call_id: str, kind: str, payload: dict[str, Any]) -> None: ...


def decide(mode: str, described: Descriptor = OURS, **arguments: Any) -> Any:
    chain = HookChain([("before_tool_call", Gate(Handle(mode, source="test")))])
    context = ToolContext(
        cwd=Path("/nonexistent"),
        environment=LocalEnvironment(),
        call_id="c",
        clock=SystemClock(),
        descriptor=described,
        park=nobody,
    )
    return asyncio.run(chain.before(ToolCall(id="c", name="bash", arguments=arguments), context)).verdict


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", [{}, {"wait_ms": 5}, {"cancel": True}, {"command": None}, {"command": ""}])
def test_pm_3_looking_at_ones_own_task_and_stopping_it_runs_in_every_mode(mode: str, more: dict[str, Any]) -> None:
    assert isinstance(decide(mode, task_id="bg-1", **more), Allow)


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "rm -rf x", "background": True},
        {"command": "rm -rf x", "task_id": "bg-1"},
        {"command": " ", "task_id": "bg-1"},
        {"command": "rm -rf x", "task_id": None},
        {"task_id": ""},
        {},
    ],
)
def test_pm_3_whatever_could_run_something_is_judged_as_a_command(arguments: dict[str, Any]) -> None:
    assert isinstance(decide("ask", **arguments), Pending) and isinstance(decide("read_only", **arguments), Deny)


def test_pm_3_a_hosts_own_bash_is_not_taken_for_ours() -> None:
    """By who the tool is, never by its name."""
    own = msgspec.structs.replace(OURS, identity=Identity(name="bash"))
    mcp = msgspec.structs.replace(OURS, origin={"type": "mcp"})
    for described in (own, mcp):
        assert act_of(ToolCall(id="c", name="bash", arguments={"task_id": "x"}), described, None).kind != "read"
