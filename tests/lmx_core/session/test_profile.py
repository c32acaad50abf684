"""Sessions under a tool profile: it narrows what a model is offered, is on record, and comes back from no record."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions import OBJECT, Echo, world

from lmx_core import ConfigError, Policy, ToolProfile, ToolsDisallowed
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing import prompt

pytestmark = pytest.mark.asyncio


class Evaluator:
    name, description, schema = "python", "runs code", OBJECT
    metadata = {"policy": Policy(default_off_shared=True)}  # noqa: RUF012 - a constant

    async def run(self, args: dict[str, Any], context: Any) -> str:
        return "ran"


SHARED = ToolProfile(id="team", shared=True)


async def test_pf_1_what_the_profile_refuses_is_neither_offered_nor_run():
    """PF-1, OPT-19: local tools and the host's alike."""
    async with world(
        [tool_call("python", id="c"), complete("ok")], tools=[Echo()], host_tools=[Evaluator()], tool_profile=SHARED
    ) as w:
        await prompt(w.session, "go")
        assert [tool.name for tool in w.provider.requests[0].tools] == ["echo"]
        (result,) = w.of("tool_result")
        assert result["outcome"] == "unavailable" and "The available tools are: echo." in result["output"]


async def test_pf_2_the_profile_is_on_record_with_each_request_and_what_it_left_out():
    """PF-2, AU-4: request, snapshot and session entry."""
    async with world([complete("ok")], tools=[Echo(), Evaluator()], tool_profile={"shared": True, "id": "team"}) as w:
        await prompt(w.session, "go")
        (request,), (snapshot,), (session,) = w.of("request"), w.of("harness_snapshot"), w.of("session")
        kept = {"id": "team", "shared": True, "allow": "all", "human_channel": True, "enabled_by": {}}
        assert request["catalog"]["profile"] == snapshot["tools"]["profile"] == session["tool_profile"] == kept
        assert [(tool["enabled"], tool["disabled_reason"]) for tool in request["catalog"]["tools"]] == [
            (True, None),
            (False, "tool_profile: default_off_shared"),
        ]
    async with world([complete("ok")], tools=[Echo()]) as w:
        await prompt(w.session, "go")
        assert w.of("request")[0]["catalog"]["profile"] is w.of("session")[0]["tool_profile"] is None


async def test_pf_2_what_the_profile_denies_nobody_can_enable():
    """PF-2, MET-20, MET-21: not by enabling it, and not by giving the session another tool of that name."""
    async with world([], tools=[Echo(), Evaluator()], tool_profile=SHARED, disabled_tools=["python"]) as w:
        with pytest.raises(ToolsDisallowed, match="python: it is off where a session is shared"):
            await w.session.enable_tools(["python"])
        await w.session.set_tools([Echo(), Evaluator()])
        assert (await w.session.catalog()).names == ["echo"]
        assert [(s.name, s.allowed, s.enabled) for s in await w.session.tool_status()] == [
            ("echo", True, True),
            ("python", False, False),
        ]
        decision = await w.session.tool_decision("python")
        assert (decision.verdict, decision.rule, decision.source) == ("deny", "tool_profile", "host")
        await w.session.disable_tools(["echo"])
        await w.session.enable_tools(["echo"])
        assert (await w.session.catalog()).names == ["echo"], "what it admits may come and go"


async def test_pr_4_a_session_that_had_a_profile_is_not_resumed_without_one():
    """PR-4: a record is evidence; the host gives the profile again, or says that it goes on without."""
    tools = {"tools": [Echo(), Evaluator()]}
    async with world([complete("ok")], **tools, tool_profile=SHARED) as w:
        await prompt(w.session, "go")
        await w.session.stop()
        for left_out in ({}, {"tool_profile": None}):
            with pytest.raises(ConfigError, match="pass tool_profile= again"):
                async with world([], resume=w, **tools, **left_out):
                    raise AssertionError("it went on")
    async with world([], resume=w, **tools, tool_profile={"allow": ["python"]}) as again:
        assert (await again.session.catalog()).names == ["python"], "the host's, not the recorded one"
        await again.session.stop()
    async with world([], resume=w, **tools, tool_profile={}) as again:
        assert (await again.session.catalog()).names == ["echo", "python"]
        await again.session.stop()
    async with world([], resume=w, **tools) as again:
        assert again.session.down is None, "the last start had none"
