"""Prompts that wait for the end of the work at hand (MET-4): every one is worked on once, or said to be dropped."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions import Gate, World, world

from lmx_core import Allow, ConfigError, Deny, Scripted, SessionDown, StoreError, events
from lmx_core.providers.scripted import complete, error, tool_call
from lmx_core.stores.memory import MemoryStore
from lmx_core.testing import assert_valid_transcript, collect
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio


def prompts(w: World) -> list[str]:
    return [entry["text"] for entry in w.of("user")]


async def ends(told: Any, count: int) -> list[str]:
    """The stop reasons of the next prompts."""
    return [(await collect(told, events.Finished))[-1].stop_reason for _ in range(count)]


async def test_met_4_follow_ups_are_begun_one_after_another_when_the_work_is_done():
    """MET-4: each is a prompt of its own, in order, after the end of the one before."""
    gate = Gate()
    script = [tool_call("gate", id="g"), complete("zero"), complete("one"), complete("two")]
    async with world(script, tools=[gate]) as w:
        told = w.session.subscribe()
        await w.session.prompt("work")
        await w.session.follow_up("first")
        await w.session.follow_up("second")
        await w.until(lambda: gate.began)
        assert (await w.session.info()).queued_follow_ups == ["first", "second"]
        gate.open("g")
        assert await ends(told, 3) == ["stop"] * 3
        assert prompts(w) == ["work", "first", "second"]
        assert len(w.of("run_evidence")) == 3 and (await w.session.snapshot()).queued_follow_ups == []
        assert [len(r.entries) for r in w.provider.requests] == [1, 3, 5, 7]
        assert_valid_transcript(w.entries)


async def test_met_4_idle_it_begins_at_once_and_takes_attachments_as_any_prompt(tmp_path: Any):
    (tmp_path / "a.txt").write_text("hello")
    async with world([complete("ok")], cwd=tmp_path) as w:
        told = w.session.subscribe()
        await w.session.follow_up("read @a.txt")
        await ends(told, 1)
        assert w.of("user")[0]["attachments"][0]["path"] == "a.txt"
        with pytest.raises(ConfigError):
            await w.session.follow_up(" ")


async def test_met_4_a_failed_prompt_does_not_hold_up_the_next():
    async with world([error("broken"), complete("two")], provider_retry=False) as w:
        told = w.session.subscribe()
        await w.session.follow_up("first")
        await w.session.follow_up("second")
        assert await ends(told, 2) == ["error", "stop"]


async def test_met_4_one_that_a_hook_refuses_leaves_an_error_entry_and_the_next_is_tried():
    """MET-4: a denial or a crash of the hook; its words are in the entry and in an event."""

    def judge(text: str, context: Any) -> Any:
        if text == "crash":
            raise RuntimeError("secret words")
        return Deny("not today") if text == "forbidden" else Allow()

    async with world([complete("one"), complete("two")], hooks=[("user_prompt", judge)]) as w:
        told = w.session.subscribe()
        await w.session.prompt("work")
        for text in ("forbidden", "crash", "allowed"):
            await w.session.follow_up(text)
        heard = [event for _ in range(2) for event in await collect(told, events.Finished)]
        assert prompts(w) == ["work", "allowed"]
        assert [(e["code"], e["follow_up"]) for e in w.of("error")] == [
            ("hook_denied", "forbidden"),
            ("hook_failed", "crash"),
        ]
        dropped = [event for event in heard if isinstance(event, events.FollowUpDropped)]
        assert [event.text for event in dropped] == ["forbidden", "crash"] and "not today" in dropped[0].reason
        assert sum(isinstance(event, events.Finished) for event in heard) == 2
        assert "secret" not in str(w.of("error"))


@pytest.mark.parametrize("resumed_by", ["prompt", "follow_up"])
async def test_met_4_met_5_a_cancel_leaves_them_queued_and_starts_none(resumed_by: str):
    """MET-4, MET-5: they wait until a prompt is given again."""
    gate = Gate()
    script = [tool_call("gate", id="g"), *(complete(f"{n}") for n in range(3))]
    async with world(script, tools=[gate]) as w:
        told = w.session.subscribe()
        await w.session.prompt("work")
        await w.session.follow_up("later")
        await w.until(lambda: gate.began)
        await w.session.cancel()
        assert await ends(told, 1) == ["cancelled"]
        await settle()
        info = await w.session.info()
        assert (info.status, info.queued_follow_ups) == ("idle", ["later"])
        await getattr(w.session, resumed_by)("again")
        assert await ends(told, 2) == ["stop", "stop"]
        assert prompts(w) == ["work", *(["again", "later"] if resumed_by == "prompt" else ["later", "again"])]


async def test_met_4_one_that_is_cancelled_before_it_began_is_the_next_again():
    gate = Gate()

    async def slow(text: str, context: Any) -> Any:
        if not gate.began:
            await gate.run({}, context_of("hook"))
        return Allow()

    async with world([complete("one"), complete("two")], hooks=[("user_prompt", slow)]) as w:
        told = w.session.subscribe()
        await w.session.follow_up("first")
        await w.session.follow_up("second")
        await w.until(lambda: gate.began)
        await w.session.cancel()
        info = await w.session.info()
        assert (info.status, info.queued_follow_ups) == ("idle", ["first", "second"])
        assert w.types() == ["session"]
        await w.session.follow_up("third")
        await ends(told, 2)
        assert prompts(w)[:2] == ["first", "second"]


async def test_met_4_the_end_of_the_session_says_every_text_that_was_not_worked_on():
    """MET-4, MET-2: steers and follow-ups are in memory only, so none goes silently; nothing is taken any more."""
    gate = Gate()
    async with world([tool_call("gate", id="g")], tools=[gate]) as w:
        told = w.session.subscribe()
        await w.session.prompt("work")
        await w.until(lambda: gate.began)
        for text in ("first", "second"):
            await w.session.follow_up(text)
        await w.session.stop()
        heard = told.get_nowait_all()
        assert [e.text for e in heard if isinstance(e, events.FollowUpDropped)] == ["first", "second"]
        assert isinstance(heard[-1], events.Down) and prompts(w) == ["work"]
        with pytest.raises(SessionDown):
            await w.session.follow_up("third")
        async with world([], resume=w) as again:
            assert (await again.session.info()).queued_follow_ups == []


async def test_an_idle_session_that_ends_gives_its_steers_back():
    async with world() as w:
        told = w.session.subscribe()
        await w.session.steer("wait for the next")
        await w.session.stop()
        assert [e.text for e in told.get_nowait_all() if isinstance(e, events.SteerDropped)] == ["wait for the next"]


async def test_met_4_a_session_whose_store_fails_under_a_follow_up_says_which_it_was():
    class Full(MemoryStore):
        full = False

        def append(self, session_id: str, entries: Any) -> None:
            if self.full:
                raise StoreError("the disk is full")
            super().append(session_id, entries)

    store = Full()
    async with world(provider=Scripted([complete("x")]), store=store) as w:
        told = w.session.subscribe()
        store.full = True
        await w.session.follow_up("first")
        heard = await collect(told, events.Down)
        assert [e.text for e in heard if isinstance(e, events.FollowUpDropped)] == ["first"]


def context_of(call_id: str) -> Any:
    class Context:
        pass

    context = Context()
    context.call_id = call_id  # type: ignore[attr-defined] - all that the gate reads
    return context
