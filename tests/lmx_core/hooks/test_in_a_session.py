"""Command hooks, and hooks of requests, in a whole session: what the transcript, the person and the provider see of them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.sessions import call, world

from lmx_core import Allow, ConfigError, Harness, LocalEnvironment, assemble, default_tools, events
from lmx_core.extensions import CommandHooks, Permissions
from lmx_core.providers.scripted import complete, http_error, tool_calls

pytestmark = pytest.mark.asyncio


def document(event: str, answer: object, **fields: Any) -> dict[str, Any]:
    return {event: [{"command": f"printf '%s' '{json.dumps(answer)}'", **fields}]}


def hooks_of(*specs: Any) -> Any:
    return assemble(Harness(), specs).hooks


async def test_pk_1_a_person_sees_the_call_as_a_hook_rewrote_it_and_approves_that(tmp_path: Path) -> None:
    """PK-1, CH-5: one command asks and rewrites; what runs is what was shown."""
    answer = {
        "permissionDecision": "ask",
        "permissionDecisionReason": "sure?",
        "updated_input": {"command": "echo b > b"},
    }
    hooks = hooks_of(CommandHooks(documents={"here": document("preToolUse", answer)}), Permissions("full_auto"))
    script = [tool_calls([call("bash", "c1", command="echo a > a")]), complete("done")]
    async with (
        world(script, cwd=tmp_path, environment=LocalEnvironment(), hooks=hooks, tools=default_tools()) as w,
        w.session.subscribe() as heard,
    ):
        asked = asyncio.ensure_future(w.session.await_prompt("go"))
        await w.until(lambda: any(e.type == "approval" for e in w.entries))
        (shown,) = [event for event in heard.get_nowait_all() if isinstance(event, events.ToolApproval)]
        assert shown.call["arguments"] == {"command": "echo b > b"}
        assert shown.call["permission"]["reason"] == "sure?"
        await w.session.resolve_tool("c1", Allow())
        await asked
    assert (tmp_path / "b").exists() and not (tmp_path / "a").exists()


async def test_an_approval_of_a_hook_runs_what_a_rule_would_ask_about(tmp_path: Path) -> None:
    """PM-2, cli.md 5.4: an express approval stands before the mode; the transcript names the hook."""
    hooks = hooks_of(
        CommandHooks(documents={"here": document("preToolUse", {"decision": "approve"}, name="mine")}),
        Permissions("ask"),
    )
    script = [tool_calls([call("bash", "c1", command="echo a > a")]), complete("done")]
    async with world(script, cwd=tmp_path, environment=LocalEnvironment(), hooks=hooks, tools=default_tools()) as w:
        await w.session.await_prompt("go")
    (result,) = w.of("tool_result")
    assert (tmp_path / "a").exists() and result["decision"]["source"] == "the hook mine"


async def test_the_extension_names_what_is_not_used_and_refuses_what_is_wrong(tmp_path: Path) -> None:
    """C4-20, CH-6: warnings, and matchers that name no tool, are notices; its description tells no command."""
    matchers = ("Bash(git:*)", "Bsh|Task|mcp__x__y")
    groups = [{"matcher": matcher, "hooks": [{"type": "command", "command": "sk-canary"}]} for matcher in matchers]
    said = CommandHooks(documents={"s.json": {"hooks": {"Elsewhere": [], "PreToolUse": groups}}})
    made = assemble(Harness(), [said])
    assert [notice.partition(":")[0] for notice in made.notices] == ["s.json", "hooks", "hooks"]
    assert "'Bsh'" in made.notices[1] and "'Bash(git:*)'" in made.notices[2]
    assert "sk-canary" not in repr(made) + repr(made.applied) + "".join(made.notices)
    with pytest.raises(ConfigError, match=r"h: hooks\.x is no event"):
        CommandHooks(documents={"h": {"x": []}})
    with pytest.raises(ConfigError, match="cannot be read"):
        CommandHooks([tmp_path / "gone.json"])


async def test_hk_5_a_hook_of_requests_may_set_the_compaction_scope_and_counts_iterations() -> None:
    """HK-5: what it puts into the context reaches the provider; an iteration has no `retry`, every attempt has an entry."""
    iterations, attempts = [], []

    def scoped(request: Any, context: Any) -> Any:
        (iterations if context.retry is None else attempts).append(context.retry)
        return msgspec.structs.replace(request, context=request.context | {"compaction_scope": "task-7"})

    script = [http_error(503), tool_calls([call("echo", "c1", text="x")]), complete("done")]
    async with world(script, hooks=[("prepare_next_turn", scoped)]) as w:
        asked = asyncio.ensure_future(w.session.await_prompt("go"))
        await w.clock.await_timer()
        await w.clock.advance(60_000)
        await asked
        assert [request.context["compaction_scope"] for request in w.provider.requests] == ["task-7"] * 3
        assert len(iterations) == 2 and len(attempts) == 1 and len(w.of("request")) == 3


async def test_hk_5_a_host_with_a_scheduler_of_its_own_switches_ours_off() -> None:
    """HK-5: then a failure ends the prompt, and every request is an iteration."""
    seen = []
    hooks = [("prepare_next_turn", lambda request, context: seen.append(context.retry) or request)]
    async with world([http_error(503), complete("never")], hooks=hooks, provider_retry=False) as w:
        result = await w.session.await_prompt("go")
    assert result.error is not None and seen == [None] and len(w.of("request")) == 1
