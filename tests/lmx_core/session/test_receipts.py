"""What a call has had acknowledged is never lost, and what calls may cost together is set aside before they run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.sessions import OBJECT, Echo, World, call, world

from lmx_core import ConfigError, Effects, Result, Scripted, ToolContext, Usage, events, record_receipt
from lmx_core.calls import Runtime as Runs
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.request import Done, UsageReport
from lmx_core.testing import assert_valid_transcript, prompt
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio

IDEMPOTENT = Effects(effect="external", idempotent=True)  # without a receipt nothing of it would be lost


class Orders:
    """Has an order acknowledged, and then ends as it is told to."""

    name, description, schema = "order", "orders", OBJECT

    def __init__(self, then: str = "returns", effects: Effects = IDEMPOTENT):
        self.then, self.metadata = then, {"effects": effects}
        self.ordered = asyncio.Event()

    async def run(self, args: dict[str, Any], context: ToolContext) -> str:
        record_receipt(context, {"order": "A-17"})
        record_receipt(context, {"paid": True})
        self.ordered.set()
        if self.then == "crashes":
            raise KeyError("order")
        if self.then == "hangs":
            await asyncio.Event().wait()
        return "ordered"


ALL = {"order": "A-17", "paid": True}


def told(w: World) -> dict[str, Any]:
    (result,) = w.of("tool_result")
    assert_valid_transcript(w.entries)
    return result


async def test_re_4_a_receipt_is_told_at_once_and_written_with_the_result():
    """RE-4: given again, it is added to; a call without one has none."""
    async with world([tool_call("order", id="c"), complete("ok")], tools=[Orders()]) as w:
        async with w.session.subscribe() as heard:
            await prompt(w.session, "go")
            receipts = [event for event in heard.get_nowait_all() if isinstance(event, events.ToolReceipt)]
        assert [(r.call_id, r.name) for r in receipts] == [("c", "order")] * 2
        assert [r.receipt for r in receipts] == [{"order": "A-17"}, ALL]
        assert told(w)["receipt"] == {"reported": ALL} and told(w)["outcome"] == "ok"


async def test_re_4_re_5_a_call_that_crashes_after_it_is_unknown_and_quotes_it():
    """RE-4, RE-5."""
    async with world([tool_call("order"), complete("ok")], tools=[Orders("crashes")]) as w:
        await prompt(w.session, "go")
        assert (told(w)["outcome"], told(w)["receipt"]) == ("unknown", {"reported": ALL, "lost": "crashed"})
        assert '{"order":"A-17","paid":true}' in told(w)["output"]


async def test_re_4_re_5_so_is_one_that_times_out():
    """RE-4, RE-5."""
    orders = Orders("hangs")
    async with world([tool_call("order"), complete("ok")], tools=[orders], tool_timeout_ms=1_000) as w:
        await w.session.prompt("go")
        await orders.ordered.wait()
        await w.clock.advance(1_000)
        await w.until(lambda: w.of("tool_result"))
        assert (told(w)["outcome"], told(w)["receipt"]) == ("unknown", {"reported": ALL, "lost": "timeout"})


@pytest.mark.parametrize(("ends", "lost"), [("cancel", "cancelled"), ("stop", "session_ended")])
async def test_re_4_re_5_so_is_one_that_is_cancelled(ends: str, lost: str):
    """RE-4, RE-5: also where its session ends under it."""
    orders = Orders("hangs")
    async with world([tool_call("order")], tools=[orders]) as w:
        await w.session.prompt("go")
        await orders.ordered.wait()
        await settle()
        await getattr(w.session, ends)()
        assert (told(w)["outcome"], told(w)["receipt"]) == ("unknown", {"reported": ALL, "lost": lost})
        assert '"order":"A-17"' in told(w)["output"]


async def test_re_4_from_a_thread_and_only_while_the_call_runs():
    """RE-4: a synchronous tool says it from its thread; what is said later is nobody's."""
    kept: list[ToolContext] = []

    class Blocks:
        name, description, schema = "blocks", "blocks", OBJECT

        def run(self, args: dict[str, Any], context: ToolContext) -> str:
            kept.append(context)
            record_receipt(context, {"n": 1})
            return "done"

    async with world([tool_call("blocks"), complete("ok")], tools=[Blocks()]) as w:
        await prompt(w.session, "go")
        record_receipt(kept[0], {"n": 2})
        assert told(w)["receipt"] == {"reported": {"n": 1}}
        for wrong in ("A-17", None, {"x": object()}, {"x": float("nan")}, {"x": "y" * 20_000}):
            with pytest.raises(ConfigError, match="a receipt is a dict"):
                record_receipt(kept[0], wrong)


class Paid:
    """Costs money, as much as it says at most, or less."""

    description, schema = "costs", OBJECT

    def __init__(self, name: str, most: Any, cost: float = 0.0):
        self.name, self.cost, self.ran = name, cost, 0
        effects = Effects(effect="external", external_cost=most)
        self.metadata = {"effects": effects, "runtime": Runs(concurrency="parallel")}

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        self.ran += 1
        await settle(3)
        return Result(model_text="done", cost={"usd": self.cost})


FREE = Usage(input_tokens=1, output_tokens=1, cost_usd=0.0, model="m")


def calling(**tools: str) -> list[Any]:
    """An answer that calls these tools, by the ids of their calls."""
    return [*(call(name, id) for id, name in tools.items()), UsageReport(FREE), Done("tool_calls")]


def paying(*answers: list[Any]) -> Scripted:
    return Scripted([*answers, complete("ok", usage=FREE)], estimated_cost_usd=0.0)


async def outcomes(w: World) -> dict[str, str]:
    await prompt(w.session, "go")
    return {result["call_id"]: result["outcome"] for result in w.of("tool_result")}


async def test_di_6_a_batch_is_reserved_together():
    """DI-6: each would fit alone; the second waits for nothing and is told why. What is not used is free again."""
    dear, cheap = Paid("dear", {"maximum_usd": 0.6}, 0.1), Paid("cheap", {"maximum_usd": 0.2}, 0.1)
    model = paying(calling(a="dear", b="dear"), calling(c="dear", d="cheap"))
    async with world(provider=model, tools=[dear, cheap], max_cost_usd=1.0) as w:
        assert await outcomes(w) == {"a": "ok", "b": "budget", "c": "ok", "d": "ok"}
        assert (dear.ran, cheap.ran) == (2, 1)
        refused = next(result for result in w.of("tool_result") if result["outcome"] == "budget")
        assert "dear may cost up to $0.60" in refused["output"]
        assert (await w.session.info()).spent_usd == 0.3


async def test_di_6_what_nobody_knows_is_not_run_under_a_limit_and_what_is_free_is():
    """DI-6: without a limit nothing is asked."""
    for most, expected in (("unknown", "budget"), ({"maximum_usd": 0}, "ok"), ({"maximum_usd": "1"}, "budget")):
        tool = Paid("t", most)
        async with world(provider=paying(calling(a="t")), tools=[tool], max_cost_usd=1.0) as w:
            assert await outcomes(w) == {"a": expected} and tool.ran == (expected == "ok")
    async with world(provider=paying(calling(a="t")), tools=[Paid("t", "unknown")]) as w:
        assert await outcomes(w) == {"a": "ok"}
    async with world(provider=paying(calling(a="echo")), tools=[Echo()], max_cost_usd=1.0) as w:
        assert await outcomes(w) == {"a": "ok"}, "one that reaches nobody else is not asked about money"
