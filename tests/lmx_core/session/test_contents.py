"""What fills the window of a session, what a person decides about it, and a summary that is looked at before it stands."""

from __future__ import annotations

import asyncio

import pytest
from support.long_talks import Talker, text_of, worker
from support.sessions import Echo, Gate, world

from lmx_core import Busy, Cancelled, CompactionFailed, ConfigError, NothingToDo
from lmx_core.context.replay import replay_request
from lmx_core.errors import CallbackFailed
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio


async def talked(w) -> None:
    for n in range(5):
        await w.session.await_prompt(f"prompt {n}")


async def test_the_pieces_and_what_they_weigh():
    async with world([complete("one")], tools=[Echo()], system="be brief") as w:
        await w.session.await_prompt("hello")
        told = await w.session.contents()
        assert told.system == len("be brief") and set(told.tools) == {"echo"} and told.tools["echo"] > 20
        assert [(item.type, item.text, item.bytes, item.mark) for item in told.items] == [
            ("user", "hello", 5, None), ("assistant", "one", 3, None),
        ]  # fmt: skip
        assert not told.can_undo and told.position.tokens > 0


async def test_a_mark_holds_from_the_next_request_on_and_after_a_resume():
    """MET-24, AU-2: it is a document; every request can still be had again as it was made."""
    async with world([complete("secret answer"), complete("two")]) as w:
        await w.session.await_prompt("first")
        item = (await w.session.contents()).items[1]
        await w.session.mark(item.id, "left_out")
        told = await w.session.contents()
        assert told.items[1].mark == "left_out" and told.items[1].bytes != item.bytes
        assert not told.position.measured
        await w.session.await_prompt("second")
        assert "secret" not in text_of(w.provider.requests[1]) and "left out" in text_of(w.provider.requests[1])
        await w.session.stop()
        async with world([complete("three")], resume=w) as again:
            await again.session.mark(item.id, None)
            await again.session.await_prompt("third")
            assert "secret answer" in text_of(again.provider.requests[-1])
            entries = again.entries
            made = [*w.provider.requests, *again.provider.requests]
        asked = [entry.id for entry in entries if entry.type == "request"]
        for id, request in zip(asked, made, strict=True):
            assert text_of(replay_request(entries, id)) == text_of(request)


async def test_what_cannot_be_marked_is_refused():
    gate = Gate()
    async with world([tool_call("gate", id="c1"), complete("done")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        told = await w.session.contents()
        assert [item.type for item in told.items] == ["user", "assistant"], (
            "its call is still open, and is not answered for it"
        )
        with pytest.raises(Busy):
            await w.session.mark(told.items[0].id, "kept")
        with pytest.raises(Busy):
            await w.session.undo_compaction()
        gate.open("c1")
        await w.until(lambda: w.types()[-1] == "assistant" and len(w.of("assistant")) == 2)
        await settle()
        for id, kind in (("nothing", "kept"), (told.items[0].id, "underlined")):
            with pytest.raises(ConfigError):
                await w.session.mark(id, kind)


async def test_a_summary_is_taken_back():
    async with world(provider=Talker(worker(0))) as w:
        await talked(w)
        whole = [item.id for item in (await w.session.contents()).items]
        with pytest.raises(NothingToDo):
            await w.session.undo_compaction()
        await w.session.compact()
        short = await w.session.contents()
        assert len(short.items) < len(whole) and short.can_undo
        assert await w.session.undo_compaction() > 0
        assert [item.id for item in (await w.session.contents()).items] == whole
        await w.session.clear()
        assert (await w.session.contents()).items == []
        await w.session.undo_compaction()
        assert [item.id for item in (await w.session.contents()).items] == whole
        assert not (await w.session.contents()).can_undo


async def test_a_summary_is_looked_at_before_it_stands():
    """MET-7: changed, it stands as it was changed; meanwhile nothing is cut and the session is busy."""
    async with world(provider=Talker(worker(0))) as w:
        await talked(w)
        seen: list[str] = []

        async def review(text: str) -> str:
            seen.append(text)
            with pytest.raises(Busy):
                await w.session.prompt("not now")
            assert not w.of("compaction")
            return "what I say it was"

        done = await w.session.compact(review=review)
        assert seen == ["what was done so far"] and done.summary == "what I say it was"
        await w.session.await_prompt("go on")
        assert "what I say it was" in text_of(w.provider.requests[-1])


async def test_a_summary_that_is_not_taken_cuts_nothing_and_is_paid_for():
    """CO-6, BU-5: what it cost is told."""
    async with world(provider=Talker(worker(0))) as w:
        await talked(w)
        before = [item.id for item in (await w.session.contents()).items]

        async def refuse(text: str) -> None:
            return None

        async def too_long(text: str) -> str:
            return "x" * 1_000_000

        async def broken(text: str) -> str:
            raise ValueError("my own words")

        with pytest.raises(Cancelled, match="not taken"):
            await w.session.compact(review=refuse)
        assert w.of("cancelled")[-1] == {"reason": "summary_not_taken", "trigger": "request"}
        assert [e.usage for e in w.entries if e.type == "cancelled"][-1] is not None
        with pytest.raises(CompactionFailed):
            await w.session.compact(review=too_long)
        with pytest.raises(CallbackFailed, match="review= raised ValueError"):
            await w.session.compact(review=broken)
        assert [item.id for item in (await w.session.contents()).items] == before and not w.of("compaction")
        assert (await w.session.info()).usage["direct"].input_tokens is not None


async def test_a_summary_that_is_looked_at_can_be_cancelled():
    async with world(provider=Talker(worker(0))) as w:
        await talked(w)
        looking, never = asyncio.Event(), asyncio.Event()

        async def forever(text: str) -> str:
            looking.set()
            await never.wait()
            return text

        compacting = asyncio.ensure_future(w.session.compact(review=forever))
        await looking.wait()
        await w.session.cancel()
        with pytest.raises(Cancelled):
            await compacting
        assert not w.of("compaction") and (await w.session.info()).status == "idle"
