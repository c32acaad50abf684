"""How a session came to be put together, as its transcript tells it: what a host keeps (EX-11), what changed since (EX-14)."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from support.sessions import World, world

from lmx_core.builtin import default_tools, search_tools
from lmx_core.harness.assemble import assemble
from lmx_core.harness.harness import Harness
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


SOURCE = """
class Careful:
    def __init__(self, turns):
        self.turns = turns

    def apply(self, harness):
        return harness.replace(max_turns=self.turns)

    def describe(self):
        return {"turns": self.turns}
"""


def loaded(path: Path, source: str) -> Any:
    """The extension of a module file, as a host would import it after an update."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("careful", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["careful"] = module
    spec.loader.exec_module(module)
    return module.Careful


async def test_ex_14_changed_code_is_seen_and_never_refused_or_rolled_back(tmp_path, monkeypatch):
    """EX-14: the snapshot names the digest of today's source, the request the snapshot, and today's option is in force."""
    monkeypatch.setitem(sys.modules, "careful", None)
    versions = [SOURCE, SOURCE, SOURCE + "\n# changed\n", SOURCE + "\n# changed\n"]
    turns = [7, 7, 7, 9]
    seen, last = [], None
    for source, most in zip(versions, turns, strict=True):
        harness = assemble(Harness(), [(loaded(tmp_path / "careful.py", source), {"turns": most})])
        resume = None if last is None else copy_of(last)
        async with world([complete("a")], resume=resume, harness=harness) as last:
            await last.session.await_prompt("go")
            snapshots = [entry for entry in last.entries if entry.type == "harness_snapshot"]
            assert last.of("request")[-1]["harness_snapshot_id"] == snapshots[-1].id
            (applied,) = snapshots[-1].payload["extensions"]
            assert applied["digest"] == hashlib.sha256(source.encode()).hexdigest()
            assert snapshots[-1].payload["limits"]["max_turns"] == applied["options"]["turns"] == most
            seen.append(len(snapshots))
    assert seen == [1, 1, 2, 3]
    digests = [entry.payload["semantic_sha256"] for entry in snapshots]
    assert len(set(digests)) == 3


async def test_opt_57_a_hosts_own_ids_and_references_stand_in_the_evidence_and_decide_nothing():
    """OPT-57: context and correlations in every snapshot, correlations and artifacts in every manifest; none is sent, none is
    restored, and a reference that names nothing is as good as any."""
    given = {
        "harness_context": {"team": "blue", "run": {"n": 1}},
        "correlation_ids": {"ticket": "T-CANARY"},
        "evidence_artifacts": [{"name": "plan", "sha256": "00", "uri": "file:///nowhere/CANARY"}],
    }
    async with world([complete("a"), complete("b")], **given) as w:
        for _ in range(2):
            await w.session.await_prompt("go")
        assert (await w.session.info()).harness_context == given["harness_context"]
        (snapshot,) = w.of("harness_snapshot")
        assert snapshot["harness_context"] == given["harness_context"]
        assert snapshot["correlations"] == given["correlation_ids"]
        for manifest in w.of("run_evidence"):
            assert manifest["correlations"] == given["correlation_ids"]
            assert manifest["artifacts"] == given["evidence_artifacts"]
        assert not any("CANARY" in str(request.entries) + str(request.params) for request in w.provider.requests)
    async with world([complete("b")], resume=copy_of(w)) as again:
        await again.session.await_prompt("on")
        assert (
            again.of("harness_snapshot")[-1]["correlations"]
            == {}
            == again.of("harness_snapshot")[-1]["harness_context"]
        )
        assert again.of("run_evidence")[-1]["artifacts"] == []


async def test_opt_57_a_harness_carries_the_first_two():
    """OPT-57: both are harness fields, which a keyword beats; what extensions did stands beside a host's own context."""
    harness = assemble(Harness.new(harness_context={"team": "red"}, correlation_ids={"ticket": "T-1"}), [Nothing])
    async with world([complete("a")], harness=harness, correlation_ids={"ticket": "T-2"}) as w:
        await w.session.await_prompt("go")
        (snapshot,) = w.of("harness_snapshot")
        assert snapshot["harness_context"] == {"team": "red"} and snapshot["correlations"] == {"ticket": "T-2"}
        assert [item["module"].rpartition(".")[2] for item in snapshot["extensions"]] == ["Nothing"]


class Nothing:
    def apply(self, harness: Harness) -> Harness:
        return harness
