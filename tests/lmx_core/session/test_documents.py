"""Documents that several writers change at once: none is lost, and a resume and a fork have them as they were (MET-24)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sessions import OBJECT, Gate, world

from lmx_core import ConfigError, Conflict, DocumentTooLarge, SessionDown, Usage, fork
from lmx_core.providers.scripted import Delay, complete, tool_call
from lmx_core.request import Done, ToolCallReady
from lmx_core.session.documents import DOCUMENT_BYTES, Document
from lmx_core.testing import assert_valid_transcript, prompt

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.asyncio
async def test_met_24_a_document_is_written_against_the_revision_that_was_read():
    """MET-24, REC-13: missing is revision 0; a stale writer is told the revision in force."""
    async with world() as w:
        assert await w.session.document("tasks") == Document(revision=0, value=None)
        assert await w.session.put_document("tasks", 0, {"open": ["a"]}) == 1
        assert await w.session.put_document("other", 0, None) == 1
        assert await w.session.document("other") == Document(revision=1, value=None)
        for stale in (0, 2, 7):
            with pytest.raises(Conflict) as conflict:
                await w.session.put_document("tasks", stale, {"open": []})
            assert conflict.value.revision == 1
        assert await w.session.put_document("tasks", 1, ["b"]) == 2
        assert w.of("extension_state") == [
            {"version": 1, "namespace": "tasks", "revision": 1, "value": {"open": ["a"]}},
            {"version": 1, "namespace": "other", "revision": 1, "value": None},
            {"version": 1, "namespace": "tasks", "revision": 2, "value": ["b"]},
        ]


@pytest.mark.asyncio
async def test_met_24_what_a_caller_holds_is_its_own_copy():
    async with world() as w:
        value = {"list": [1]}
        await w.session.put_document("d", 0, value)
        value["list"].append(2)
        read = (await w.session.document("d")).value
        read["list"].append(3)
        assert (await w.session.document("d")).value == {"list": [1]} == w.of("extension_state")[0]["value"]


@pytest.mark.asyncio
async def test_met_24_limits_and_mistakes():
    """MET-24: 1 to 128 bytes of namespace, 65,280 bytes of JSON; what is wrong changes nothing."""
    async with world() as w:
        types = w.types()
        longest = "x" * (DOCUMENT_BYTES - 2)
        for namespace in ("", "n" * 129, "é" * 65, 3, None):
            with pytest.raises(ConfigError):
                await w.session.put_document(namespace, 0, 1)  # type: ignore[arg-type] - what a host may get wrong
            with pytest.raises(ConfigError):
                await w.session.document(namespace)  # type: ignore[arg-type] - what a host may get wrong
        for revision in (-1, True, "0", 0.0):
            with pytest.raises(ConfigError):
                await w.session.put_document("d", revision, 1)  # type: ignore[arg-type] - what a host may get wrong
        for value in (object(), {1: 2}, float("nan"), b"x"):
            with pytest.raises(ConfigError):
                await w.session.put_document("d", 0, value)
        for usage in ("much", {"cost_usd": -1.0}, {"cost_usd": float("inf")}, {"mine": object()}):
            with pytest.raises(ConfigError):
                await w.session.put_document("d", 0, 1, usage=usage)  # type: ignore[arg-type] - what a host may get wrong
        with pytest.raises(DocumentTooLarge) as large:
            await w.session.put_document("d", 0, longest + "x")
        assert (large.value.size, large.value.limit) == (DOCUMENT_BYTES + 1, DOCUMENT_BYTES)
        assert w.types() == types
        assert await w.session.put_document("é" * 64, 0, longest) == 1
        assert (await w.session.document("é" * 64)).value == longest


@pytest.mark.asyncio
async def test_met_24_metered_usage_counts_whatever_becomes_of_the_document():
    """MET-24, BU-5: on success, on conflict and where it is too large; in the spend, not in the window's position."""
    async with world([complete("ok", usage=Usage(input_tokens=10, output_tokens=5, cost_usd=0.5))]) as w:
        await prompt(w.session, "hello")
        before = (await w.session.info()).context
        paid = Usage(input_tokens=100, output_tokens=7, cost_usd=0.25, model="judge:m")
        await w.session.put_document("d", 0, "x", usage=paid)
        with pytest.raises(Conflict):
            await w.session.put_document("d", 0, "y", usage=paid.to_dict())
        with pytest.raises(DocumentTooLarge):
            await w.session.put_document("d", 1, "z" * DOCUMENT_BYTES, usage=paid)
        info = await w.session.info()
        assert info.spent_usd == 1.25 and info.usage["total"].output_tokens == 26 and info.requests == 1
        assert (info.context.tokens, info.context.current) == (before.tokens, before.current)
        assert await w.session.document("d") == Document(revision=1, value="x")
        refused = w.of("extension_state")[1:]
        assert [set(payload) for payload in refused] == [{"version", "namespace", "revision"}] * 2
        await w.session.stop()
        async with world([], resume=w) as again:
            resumed = await again.session.info()
            assert resumed.spent_usd == 1.25 and resumed.requests == 1
            assert await again.session.document("d") == Document(revision=1, value="x")


@pytest.mark.asyncio
@pytest.mark.parametrize("while_it", ["is asked", "is answered"])
async def test_met_24_usage_of_a_document_does_not_pay_for_a_request_in_flight(while_it: str):
    """BU-5: the request whose usage never came stays of unknown cost, in the session and in the prompt's own sums."""
    gate = Gate()
    unbilled = [Delay(5_000), ToolCallReady(id="g", name="gate"), Done("tool_calls")]
    script = [unbilled, complete("ok", usage=Usage(cost_usd=0.5))]
    async with world(script, tools=[gate]) as w:
        done = w.runtime.spawn(w.session.await_prompt("go"), kind="test", id="prompt")
        await w.until(lambda: w.provider.requests)
        if while_it == "is asked":
            await w.session.put_document("d", 0, 1, usage={"cost_usd": 0.25})
            assert (await w.session.info()).spent_usd == 0.25
        await w.clock.advance(5_000)
        await w.until(lambda: gate.began)
        if while_it == "is answered":
            await w.session.put_document("d", 0, 1, usage={"cost_usd": 0.25})
        assert (await w.session.info()).spent_usd is None
        gate.open("g")
        assert (await done).usage.cost_usd is None
        evidence = w.of("run_evidence")[-1]
        assert evidence["cost"] == {"completeness": "unknown", "usd": None}
        assert evidence["usage"]["completeness"] == "partial"


@pytest.mark.asyncio
async def test_met_24_a_document_is_put_while_the_session_works_and_no_model_is_shown_it():
    class Notes:
        name, description, schema = "note", "notes", OBJECT

        async def run(self, args: dict[str, Any], context: Any) -> str:
            current = await context.session.document("notes")
            await context.session.put_document("notes", current.revision, [*(current.value or []), "noted"])
            return "kept"

    async with world([tool_call("note"), tool_call("note"), complete("ok")], tools=[Notes()]) as w:
        await prompt(w.session, "go")
        assert await w.session.document("notes") == Document(revision=2, value=["noted", "noted"])
        assert all("noted" not in str(request.entries) for request in w.provider.requests)
        assert_valid_transcript(w.entries)


@pytest.mark.asyncio
async def test_met_24_a_fork_has_the_documents_as_they_were_at_its_cut():
    async with world() as w:
        for revision in range(3):
            await w.session.put_document("d", revision, revision + 1)
        cut = [e for e in w.entries if e.type == "extension_state"][1].id
        copy = await fork(w.store, w.session.id, at=cut)
        w.session.id, original = copy, w.session.id
        async with world([], resume=w) as forked:
            assert await forked.session.document("d") == Document(revision=2, value=2)
            assert await forked.session.put_document("d", 2, "fork") == 3
        w.session.id = original
        assert await w.session.document("d") == Document(revision=3, value=3)


@pytest.mark.asyncio
async def test_met_24_a_session_that_ended_keeps_nothing_more():
    async with world() as w:
        await w.session.stop()
        with pytest.raises(SessionDown):
            await w.session.put_document("d", 0, 1)
        with pytest.raises(SessionDown):
            await w.session.document("d")


@settings(max_examples=25, deadline=None)
@given(
    writers=st.lists(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=6), min_size=1, max_size=6),
    naps=st.lists(st.integers(0, 3), min_size=1, max_size=20),
)
def test_met_24_however_many_write_at_once_no_change_is_lost(writers: list[list[str]], naps: list[int]) -> None:
    """MET-24: each writer adds its mark again until it is taken; every mark is there once, and revisions count them."""
    asyncio.run(_write_at_once(writers, naps))


async def _write_at_once(writers: list[list[str]], naps: list[int]) -> None:
    async with world() as w:

        async def write(number: int, namespaces: list[str]) -> int:
            lost = 0
            for step, namespace in enumerate(namespaces):
                while True:
                    read = await w.session.document(namespace)
                    for _ in range(naps[(number + step) % len(naps)]):
                        await asyncio.sleep(0)
                    try:
                        await w.session.put_document(namespace, read.revision, [*(read.value or []), [number, step]])
                    except Conflict as conflict:
                        assert conflict.revision > read.revision
                        lost += 1
                    else:
                        break
            return lost

        await asyncio.gather(*(write(number, namespaces) for number, namespaces in enumerate(writers)))
        kept = {name: await w.session.document(name) for name in ("a", "b")}
        for name, document in kept.items():
            marks = [[n, s] for n, names in enumerate(writers) for s, to in enumerate(names) if to == name]
            assert sorted(document.value or []) == marks and document.revision == len(marks)
        await w.session.stop()
        async with world([], resume=w) as again:
            assert {name: await again.session.document(name) for name in ("a", "b")} == kept


@settings(max_examples=50, deadline=None)
@given(value=JSON, namespace=st.text(min_size=1, max_size=30))
def test_met_24_whatever_json_can_hold_comes_back_as_it_was(value: Any, namespace: str) -> None:
    async def there_and_back() -> None:
        async with world() as w:
            await w.session.put_document(namespace, 0, value)
            assert (await w.session.document(namespace)).value == value
            await w.session.stop()
            async with world([], resume=w) as again:
                assert (await again.session.document(namespace)).value == value

    asyncio.run(there_and_back())
