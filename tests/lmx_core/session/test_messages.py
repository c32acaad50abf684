"""Each sentence the engine says by itself comes from `messages=`, and from nowhere else (OPT-26, core.md 9.1)."""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.long_talks import Talker
from support.sessions import Asks, Echo, Gate, World, world

from lmx_core.calls import ToolCall
from lmx_core.errors import CompactionFailed, ConfigError, LmxError, SessionDown
from lmx_core.messages import SENTENCES, Messages, SentenceFailed
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.session.prompt.aside import Aside
from lmx_core.verdict import Pending

pytestmark = pytest.mark.asyncio

Open = Callable[..., Any]
"""`world` with the messages under test."""


class Crashes(Echo):
    async def run(self, args: dict[str, Any], context: Any) -> str:
        raise KeyError("x")


async def prompted(w: World, calls: int = 1) -> str:
    """What a prompt came to, as the transcript and whoever waited for it were told."""
    try:
        await w.session.await_prompt("go")
    except SessionDown:
        raise
    except LmxError as error:
        return await told(w, error)
    return await told(w)


async def told(w: World, *errors: object) -> str:
    await w.session.info()  # raises SessionDown where the session is over
    return json.dumps([entry.payload for entry in w.entries]) + " ".join(map(str, errors))


async def ended(w: World) -> None:
    await w.until(lambda: w.session.down is not None or any(e.type == "run_evidence" for e in w.entries))


async def tools_changed(open: Open) -> str:
    async with open([]) as w:
        await w.session.set_tools([Echo()])
        return await told(w)


async def approval_timed_out(open: Open) -> str:
    async def ask(asked: Any, context: Any) -> Pending:
        return Pending()

    return await unanswered(open, Echo(), hooks=[("before_tool_call", ask)])


async def question_timed_out(open: Open) -> str:
    return await unanswered(open, Asks())


async def unanswered(open: Open, tool: Any, **options: Any) -> str:
    script = [tool_call(tool.name), complete("a")]
    async with open(script, tools=[tool], approval_timeout_ms=50, **options) as w:
        await w.session.prompt("go")
        await w.until_parked()
        await w.clock.advance(50)
        await ended(w)
        return await told(w)


async def budget_stopped(open: Open) -> str:
    async with open([tool_call("echo"), complete("a")], tools=[Echo()], max_requests=1) as w:
        return await prompted(w)


async def turn_budget_spent(open: Open) -> str:
    async with open([tool_call("echo"), complete("a")], tools=[Echo()], max_turns=1) as w:
        return await prompted(w)


async def stuck(open: Open) -> str:
    async with open([tool_call("echo")] * 5, tools=[Echo()]) as w:
        return await prompted(w)


async def cycling(open: Open) -> str:
    async with open([tool_call("echo", {"text": text}) for text in "abcabcabcabc"], tools=[Echo()]) as w:
        return await prompted(w)


async def aside_denied(open: Open) -> str:
    async with open([tool_call("echo")], tools=[Echo()]) as w:
        await w.session.aside(Aside(kind="title", text="name it"))
        return await told(w)


async def attachments_refreshed(open: Open) -> str:
    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "notes.txt"
        file.write_text("before")
        async with open([complete("a"), complete("b")], cwd=work) as w:
            await w.session.await_prompt("read @notes.txt")
            file.write_text("after")
            await w.session.refresh()
            return await told(w)


async def lost_call(open: Open) -> str:
    return await lost(open, Gate())


async def lost_question(open: Open) -> str:
    return await lost(open, Asks())


async def lost(open: Open, tool: Gate | Asks) -> str:
    """A killed process leaves the transcript as it was while the call ran."""
    async with world([tool_call(tool.name)], tools=[tool]) as first:
        await first.session.prompt("go")
        await first.until(lambda: first.of("approval") if isinstance(tool, Asks) else tool.began)
        left = first.store.read(first.session.id)
    first.store = type(first.store)()
    first.store.append(first.session.id, left)
    async with open([], resume=first, tools=[tool]) as w:
        return await told(w)


async def tool_crashed(open: Open) -> str:
    async with open([tool_call("echo"), complete("a")], tools=[Crashes()]) as w:
        return await prompted(w)


async def tool_timed_out(open: Open) -> str:
    gate = Gate()
    async with open([tool_call("gate"), complete("a")], tools=[gate], tool_timeout_ms=50) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.clock.advance(50)
        await ended(w)
        return await told(w)


async def tool_cancelled(open: Open) -> str:
    gate = Gate()
    async with open([tool_call("gate")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.cancel()
        return await told(w)


async def summary_empty(open: Open) -> str:
    model = Talker(summary=lambda request: complete("  "), window=None)
    async with open(provider=model, auto_compaction=False, context_window_fallback=None) as w:
        for n in range(6):
            await w.session.await_prompt(f"prompt {n}")
        with pytest.raises((CompactionFailed, SessionDown)) as refused:
            await w.session.compact()
        return await told(w, refused.value)


SCENARIOS: dict[str, Callable[[Open], Awaitable[str]]] = {
    scenario.__name__: scenario
    for scenario in (
        tools_changed,
        approval_timed_out,
        question_timed_out,
        budget_stopped,
        turn_budget_spent,
        stuck,
        cycling,
        aside_denied,
        attachments_refreshed,
        lost_call,
        lost_question,
        tool_crashed,
        tool_timed_out,
        tool_cancelled,
        summary_empty,
    )
}


async def test_every_sentence_has_a_moment_at_which_it_is_said() -> None:
    """OPT-26: a sentence that nothing says would be a knob without a wire."""
    assert set(SCENARIOS) == SENTENCES


def saying(name: str, what: Callable[[], Any]) -> Messages:
    return type("Mine", (Messages,), {name: lambda self, *facts: what()})()


@pytest.mark.parametrize("name", SCENARIOS)
async def test_opt_26_a_reworded_sentence_is_the_one_that_is_said(name: str) -> None:
    """OPT-26, core.md 9.1: to the model or to the person, in the place of the shipped one."""
    said = await SCENARIOS[name](functools.partial(world, messages=saying(name, lambda: "In MY \ud800words.")))
    assert "In MY \\ufffdwords." in said or "In MY \ufffdwords." in said, said
    shipped = await SCENARIOS[name](world)
    assert "In MY" not in shipped


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("broken", [lambda: 1 / 0, lambda: None], ids=["raises", "is no text"])
async def test_opt_26_one_that_cannot_be_said_is_an_error(name: str, broken: Callable[[], Any]) -> None:
    """OPT-26, EX-8: never replaced by the shipped one: the session ends, and says which sentence it was."""
    heard: list[Any] = []
    open = functools.partial(world, messages=saying(name, broken), subscriber=lambda id, event: heard.append(event))
    with pytest.raises((SessionDown, SentenceFailed)) as failed:
        await SCENARIOS[name](open)
    why = " ".join([str(failed.value), *(event.detail for event in heard if event.type == "down")])
    assert re.search(rf"Mine\.{name}\(\) (raised ZeroDivisionError|returned NoneType instead of text)", why)


async def test_opt_26_a_class_that_overrides_nothing_is_refused_at_the_start() -> None:
    """OPT-26: a mistyped name would otherwise be found out by its silence."""
    for wrong in (type("Mine", (Messages,), {"stucked": None})(), Messages, {"stuck": "x"}):
        with pytest.raises(ConfigError, match="messages="):
            async with world([], messages=wrong):
                raise AssertionError("it started")


async def test_opt_26_they_are_not_recorded_and_what_is_left_out_is_inherited() -> None:
    """OPT-26, EX-8, PR-3: a transcript tells the name of the class, and a resume takes the host's of today."""
    mine = saying("stuck", lambda: "In MY words.")
    async with world([tool_call("echo"), complete("a")], tools=[Crashes()], messages=mine) as w:
        assert Messages().tool_crashed(ToolCall(id="c", name="echo"), "KeyError") in await prompted(w)
        assert "In MY" not in json.dumps([entry.payload for entry in w.entries])
        (snapshot,) = w.of("harness_snapshot")
        assert snapshot["strategies"]["messages"].endswith(".Mine")
