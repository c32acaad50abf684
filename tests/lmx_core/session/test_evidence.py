"""What a session writes beside the conversation: snapshots where something changed, and a manifest a prompt."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from support.sessions import Echo, Gate, World, world

from lmx_core import JSONLStore, MemoryStore, Runtime, Scripted, start_session
from lmx_core.harness.assemble import assemble
from lmx_core.harness.harness import Harness
from lmx_core.providers.scripted import complete, http_error, tool_call
from lmx_core.session import evidence
from lmx_core.testing import prompt
from lmx_core.transcript.audit import text_digest
from lmx_core.transcript.dedup import expand
from lmx_core.transcript.manifest import range_digest
from lmx_core.usage import Usage

pytestmark = pytest.mark.asyncio

SYSTEM = "Be brief. " * 200


async def test_evt_10_a_snapshot_before_the_request_that_names_it():
    """EVT-10, EX-6, AU-1, REC-12: written and told before the request; an unchanged harness writes no second one."""
    script = [tool_call("echo", {"text": "a"}), complete("b"), complete("c")]
    async with world(script, tools=[Echo()], system=SYSTEM) as w:
        done = await prompt(w.session, "go")
        await prompt(w.session, "again")
        types = [entry.type for entry in w.entries]
        assert types.count("harness_snapshot") == 1
        assert types.index("harness_snapshot") < types.index("request")
        (entry,) = [entry for entry in w.entries if entry.type == "harness_snapshot"]
        assert [e.snapshot for e in done.events if e.type == "harness_snapshot"] == [entry.payload]
        for record in w.of("request"):
            assert record["harness_snapshot_id"] == entry.id
            assert record["harness_snapshot_sha256"] == entry.payload["manifest_sha256"]
        assert entry.payload["system_sha256"] == text_digest(SYSTEM)
        assert entry.payload["identity"]["session_id"] == w.session.id
        assert (await w.session.info()).harness_snapshot == entry.payload


async def test_step_8_a_change_writes_another():
    """EVT-10: the model, a hook that changes the request, the host's own ids; named by the requests that follow."""

    async def cooler(request, context):
        text = request.entries[-1].payload["text"]
        return msgspec.structs.replace(request, params={"temperature": 0}) if text == "cool" else request

    script = [complete("x") for _ in range(5)]
    async with world(script, hooks=[("prepare_next_turn", cooler)]) as w:
        for text in ("a", "cool", "b"):
            await w.session.await_prompt(text)
        await w.session.set_model("scripted:other")
        await w.session.await_prompt("c")
        await w.session.await_prompt("d")
        ids = [entry.id for entry in w.entries if entry.type == "harness_snapshot"]
        assert [record["harness_snapshot_id"] for record in w.of("request")] == [*ids, ids[-1]]
        assert [s["params"] for s in w.of("harness_snapshot")] == [{}, {"temperature": 0}, {}, {}]
        assert [s["model"] for s in w.of("harness_snapshot")][2:] == [w.of("session")[0]["model"], "scripted:other"]


async def test_a_resume_goes_on_under_the_snapshot_it_finds():
    """EVT-10, EX-14: the same harness is named, another correlation or extension writes a new snapshot."""
    async with world([complete("a")], correlation_ids={"ticket": "T-1"}) as first:
        await first.session.await_prompt("go")
    for ids, count in (({"ticket": "T-1"}, 1), ({"ticket": "T-2"}, 2)):
        copy = MemoryStore()
        copy.append(first.session.id, first.entries)
        resumed = World(first.session, None, copy, first.clock, None)
        async with world([complete("b")], resume=resumed, correlation_ids=ids) as again:
            assert (await again.session.info()).run_evidence == first.of("run_evidence")[0]
            await again.session.await_prompt("on")
            snapshots = again.of("harness_snapshot")
            assert len(snapshots) == count
            assert snapshots[-1]["correlations"] == again.of("run_evidence")[-1]["correlations"] == ids
            assert len({s["semantic_sha256"] for s in snapshots}) == 1


async def test_ex_6_extensions_are_in_every_snapshot():
    """EX-6: what was applied, with its digest."""

    class Quiet:
        def apply(self, harness):
            return harness.replace(max_turns=7)

    harness = assemble(Harness(), [Quiet])
    async with world([complete("a")], harness=harness) as w:
        await w.session.await_prompt("go")
        (snapshot,) = w.of("harness_snapshot")
        assert snapshot["extensions"] == [dict(item) for item in harness.applied]
        assert snapshot["limits"]["max_turns"] == 7


async def test_evt_11_one_manifest_a_prompt_before_the_end():
    """EVT-11, AU-5, REC-12: entry, event, context, finished, in this order, whatever happened."""
    usage = Usage(input_tokens=3, output_tokens=2, cost_usd=0.1)
    script = [tool_call("echo", usage=usage), complete("a", usage=usage), http_error(401), complete("b", usage=usage)]
    artifacts = [{"name": "plan", "sha256": "00"}]
    async with world(script, tools=[Echo()], evidence_artifacts=artifacts, provider_retry=False) as w:
        told = [await prompt(w.session, text) for text in ("one", "two", "three")]
        for done in told:
            assert [e.type for e in done.events][-4:] == ["entry", "run_evidence", "context", "finished"]
            assert [e.type for e in done.events].count("run_evidence") == 1
        found = w.of("run_evidence")
        assert [e.manifest for done in told for e in done.events if e.type == "run_evidence"] == found
        assert [manifest["outcome"] for manifest in found] == ["succeeded", "failed", "succeeded"]
        assert [manifest["cost"]["usd"] for manifest in found] == [0.2, 0.0, 0.1], "a refused key costs nothing"
        assert all(manifest["artifacts"] == artifacts for manifest in found)
        assert [id for manifest in found for id in manifest["requests"]] == [r["id"] for r in w.of("request")]
        for manifest in found:
            first, last = manifest["transcript"]["first_seq"], manifest["transcript"]["last_seq"]
            assert w.entries[first].type == "user" and w.entries[last + 1].type == "run_evidence"
            assert range_digest(w.entries[first : last + 1]) == manifest["transcript"]["sha256"]
        assert (await w.session.info()).run_evidence == found[-1]


async def test_evt_11_a_cancelled_prompt_and_a_stopped_session_have_theirs():
    """EVT-11; a prompt that a hook refused was none and has none."""
    gate = Gate()
    async with world([tool_call("gate", id="c"), tool_call("gate", id="d")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.cancel()
        await w.session.prompt("again")
        await w.until(lambda: len(gate.began) == 2)
        await w.session.stop()
        assert [m["outcome"] for m in w.of("run_evidence")] == ["canceled", "stopped"]


async def test_evt_12_a_manifest_that_cannot_be_made_is_written_as_such(monkeypatch):
    """EVT-12, AU-5: degraded, told, and the prompt ends as it would have."""

    def broken(*args, **more):
        raise ValueError("sk-canary")

    monkeypatch.setattr(evidence, "run_evidence", broken)
    async with world([complete("a"), complete("b")]) as w:
        done = await prompt(w.session, "go")
        types = [e.type for e in done.events]
        assert types[-5:] == ["run_evidence_failed", "entry", "run_evidence", "context", "finished"]
        (written,) = w.of("run_evidence")
        assert written["degraded"] is True and "ValueError" in written["reason"] and "canary" not in str(written)
        assert done.events[-5].run_id == written["run_id"]
        assert done.stop_reason == "stop"
        monkeypatch.undo()
        await w.session.await_prompt("more")
        assert "degraded" not in w.of("run_evidence")[1]


@pytest.mark.parametrize(("level", "kept"), [("full", True), ("digests", True), ("off", False)])
async def test_au_3_levels(level, kept):
    """AU-3: digests keep no schema; off writes neither record, and requests name none."""
    async with world([complete("a")], system="SECRET RECIPE", evidence=level, tools=[Echo()]) as w:
        done = await prompt(w.session, "go")
        records = w.of("harness_snapshot") + w.of("run_evidence")
        assert len(records) == (2 if kept else 0)
        assert ("harness_snapshot_id" in w.of("request")[0]) is kept
        assert "SECRET" not in str(records)
        assert ("says it again" in str(records)) is (level == "full")
        assert any(e.type in ("harness_snapshot", "run_evidence") for e in done.events) is kept
        info = await w.session.info()
        assert (info.harness_snapshot is not None) is (info.run_evidence is not None) is kept


async def bytes_per_turn(directory, turns: int) -> list[int]:
    """How much the file grew with each of so many equal prompts."""
    store, sizes = JSONLStore(directory), []
    script = [reply for _ in range(turns) for reply in (tool_call("echo", {"text": "a"}), complete("b"))]
    async with Runtime():
        options = {"store": store, "tools": [Echo()], "system": SYSTEM, "cwd": str(directory)}
        session = await start_session(provider=Scripted(script), model="scripted:m", max_requests=10**6, **options)
        for _ in range(turns):
            await session.await_prompt("go")
            sizes.append(store.path(session.id).stat().st_size)
        await session.stop()
    assert [entry.type for entry in expand(store.read(session.id))].count("harness_snapshot") == 1
    return [after - before for before, after in itertools.pairwise(sizes)]


async def test_a_turn_adds_as_many_bytes_late_as_early(tmp_path):
    """AU-4, DD-1: what is big is written once; only counters get longer."""
    grown = await bytes_per_turn(tmp_path, 60)
    assert abs(grown[-1] - grown[8]) <= 20, (grown[8], grown[-1])


@pytest.mark.long
async def test_turn_1000_adds_as_many_bytes_as_turn_10(tmp_path):
    grown = await bytes_per_turn(tmp_path, 1_001)
    assert abs(grown[999] - grown[9]) <= 60, (grown[9], grown[999])
