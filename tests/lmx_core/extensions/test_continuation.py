"""An answer that was cut at the output limit goes on, within bounds."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions import Echo, world

from lmx_core import Harness, assemble, events
from lmx_core.errors import AssemblyError
from lmx_core.extensions import Continuation
from lmx_core.extensions.continuation import SENTENCE
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing import prompt

pytestmark = pytest.mark.asyncio

CUT = complete("half", finish_reason="length")
WORK = tool_call("echo", {"text": "x"})


def work(number: int) -> list[Any]:
    return [tool_call("echo", {"text": str(number)})]


async def play(script: list[Any], **options: Any) -> tuple[str, int, list[dict[str, Any]]]:
    harness = assemble(Harness(), [(Continuation, options)])
    async with world(script, harness=harness, tools=[Echo()]) as w:
        told = await prompt(w.session, "go")
        return told.stop_reason, len(w.provider.requests), [e for e in w.of("user") if e.get("stop_hook")]


async def test_9_11_a_cut_answer_is_sent_back_and_goes_on():
    """cli.md 9.11, C3-22."""
    assert await play([CUT, complete("the rest")]) == ("stop", 2, [{"text": SENTENCE, "stop_hook": True}])


async def test_9_11_a_second_cut_with_nothing_done_between_ends_with_length():
    reason, requests, _ = await play([CUT, CUT, complete("never")])
    assert (reason, requests) == ("length", 2)


async def test_9_11_with_work_between_it_goes_on_three_times():
    """And a new prompt may be continued as often again."""
    reason, requests, sent = await play([CUT, *work(1), CUT, *work(2), CUT, *work(3), CUT, complete("never")])
    assert (reason, requests, len(sent)) == ("length", 7, 3)
    harness = assemble(Harness(), [Continuation])
    async with world([CUT, complete("a"), CUT, complete("b")], harness=harness) as w:
        assert [(await prompt(w.session, "go")).stop_reason for _ in range(2)] == ["stop", "stop"]


@pytest.mark.parametrize("most", [0, 1])
async def test_9_11_the_number_can_be_set(most: int):
    reason, requests, _ = await play([CUT, WORK, CUT, complete("never")], max_output_continuations=most)
    assert (reason, requests) == ("length", 1 if most == 0 else 3)


@pytest.mark.parametrize("most", [-1, 11, True, "3", None])
async def test_a_number_that_is_none_is_refused(most: Any):
    with pytest.raises(AssemblyError, match="from 0 to 10"):
        assemble(Harness(), [(Continuation, {"max_output_continuations": most})])


async def test_other_endings_are_left_alone_and_the_budget_counts():
    assert (await play([complete("x", finish_reason="content_filter")]))[:2] == ("content_filter", 1)
    harness = assemble(Harness(), [Continuation])
    async with world([CUT, complete("never")], harness=harness, max_turns=1) as w:
        told = await prompt(w.session, "go")
        assert told.stop_reason == "max_turns" and isinstance(told.events[-1], events.Finished)
