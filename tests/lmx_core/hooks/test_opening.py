"""What hooks at the start of a session say goes ahead of the first prompt, and of no other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lmx_core.clock import ManualClock
from lmx_core.environment.local import LocalEnvironment
from lmx_core.hooks import config
from lmx_core.hooks.base import HookChain, HookContext, hook_name

STARTED = {"source": "startup"}


def document(*lines: str, **fields: Any) -> dict[str, Any]:
    return {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": line, **fields} for line in lines]}]}}


@pytest.fixture
def context(tmp_path: Path) -> HookContext:
    return HookContext(cwd=tmp_path, environment=LocalEnvironment(), session_id="s")


@pytest.mark.asyncio
async def test_ch_8_what_they_print_goes_ahead_of_the_first_prompt(context: HookContext) -> None:
    """CH-8: plain text and `additionalContext`, in order, in one pair of tags; later prompts and asides go as they are."""
    said = 'echo \'{"hookSpecificOutput": {"additionalContext": "two"}}\''
    chain = HookChain(config.load(document("echo one", said, "exit 1")).hooks)
    beside = HookContext(cwd=context.cwd, environment=context.environment, session_id="s", aside="question")
    assert await chain.user_prompt("aside", beside) == "aside"
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(chain.user_prompt("hello", context))
        tasks.create_task(chain.observe("session_start", STARTED, context))
    expected = "<session-start-hook-context>\none\ntwo\n</session-start-hook-context>\n\nhello"
    assert asked.result() == expected
    assert await chain.user_prompt("again", context) == "again"
    await chain.observe("session_end", "stopped", context)


@pytest.mark.asyncio
async def test_ch_8_the_first_prompt_waits_for_their_limits_and_a_little_more(context: HookContext) -> None:
    """CH-8: at most the sum of the time limits and 5 s; then it goes without."""
    clock = ManualClock()
    chain = HookChain(config.load(document("true", "true", timeout=2), clock=clock).hooks)
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(chain.user_prompt("hello", context))
        assert await clock.await_timer() == 9_000
        await clock.advance(9_000)
    assert asked.result() == "hello"


@pytest.mark.asyncio
async def test_sessions_do_not_hear_each_others_openings(context: HookContext) -> None:
    chain = HookChain(config.load(document("echo $PWD")).hooks)
    other = HookContext(cwd=Path("/"), environment=context.environment, session_id="other")
    for one in (context, other):
        await chain.observe("session_start", STARTED, one)
    assert str(context.cwd) in await chain.user_prompt("p", context)
    assert "context>\n/\n</" in await chain.user_prompt("p", other)


def test_each_is_named_for_itself() -> None:
    hooks = config.load(document("a", "b")).hooks
    assert [hook_name(hook) for point, hook in hooks if point == "session_start"] == [
        "hooks: hooks.SessionStart[0].hooks[0]",
        "hooks: hooks.SessionStart[0].hooks[1]",
    ]


def test_in_our_format_the_start_only_watches(context: HookContext) -> None:
    """CH-8 is the other format's: ours adds nothing to a prompt that a hook at the prompt could not add."""
    loaded = config.load(
        {"version": 1, "hooks": {"sessionStart": [{"command": 'echo \'{"additionalContext": "x"}\''}]}}
    )
    assert [point for point, _ in loaded.hooks] == ["session_start"]
