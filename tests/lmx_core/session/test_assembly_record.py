"""`harness_assembly`: a host's own record, carried through the transcript and never read by the engine (EX-11)."""

from __future__ import annotations

import pytest
from support.sessions import World, world

from lmx_core.builtin import default_tools, search_tools
from lmx_core.providers.scripted import complete
from lmx_core.stores.memory import MemoryStore

pytestmark = pytest.mark.asyncio

RECORD = {"version": 7, "tools": ["import os"], "system": "from another prompt", "max_turns": 1}


def copy_of(first: World) -> World:
    """Another process's view of the same transcript, whose lock is free."""
    copy = MemoryStore()
    copy.append(first.session.id, first.entries)
    return World(first.session, None, copy, first.clock, None)


async def test_ex_11_it_stands_in_the_session_entry_and_decides_nothing():
    """EX-11, REC-1: data of the host, whatever it says; every later `session` entry of the same start repeats it."""
    async with world([complete("a")], harness_assembly=RECORD, system="mine") as w:
        await w.session.set_model("scripted:other")
        await w.session.await_prompt("go")
        assert [entry["harness_assembly"] for entry in w.of("session")] == [RECORD, RECORD]
        assert w.provider.requests[0].system == "mine" and not w.provider.requests[0].tools


async def test_ex_11_a_live_change_of_the_catalog_clears_it():
    """EX-11: what the session was assembled from is no longer what it has; withholding a tool changes nothing of that."""
    async with world([], harness_assembly=RECORD, tools=search_tools()) as w:
        await w.session.disable_tools(["grep"])
        assert w.of("session")[-1]["harness_assembly"] == RECORD
        await w.session.set_tools(default_tools())
        assert "harness_assembly" not in w.of("session")[-1]
        await w.session.set_model("scripted:other")
        assert [("harness_assembly" in entry) for entry in w.of("session")] == [True, True, False, False]


async def test_ex_11_a_resume_does_not_restore_it():
    """EX-11, PR-2: recorded and never restored; a host that assembles afresh leaves none behind."""
    async with world([complete("a")], harness_assembly=RECORD) as first:
        await first.session.await_prompt("go")
    async with world([], resume=copy_of(first), harness_assembly=RECORD) as again:
        assert len(again.of("session")) == 1
    async with world([complete("b")], resume=copy_of(first)) as again:
        assert "harness_assembly" not in again.of("session")[-1] and len(again.of("session")) == 2
        await again.session.await_prompt("on")
        assert again.provider.requests[0].system == first.of("session")[0]["system"]
