"""A resumed session is the same conversation: the same next request, nothing lost, nothing widened."""

from __future__ import annotations

import pytest
from support.sessions import Echo, Gate, World, call, world

from lmx_core import (
    AmbiguousSession,
    ConfigError,
    Harness,
    MemoryStore,
    Pending,
    Scripted,
    SessionLocked,
    TranscriptNotFound,
    TranscriptUnreadable,
    Usage,
    fork,
    prompt,
    resume_session,
    start_session,
)
from lmx_core.builtin import REGISTRY
from lmx_core.names import name_of
from lmx_core.providers.scripted import complete, interrupted, tool_call, tool_calls
from lmx_core.testing import assert_valid_transcript, runtime
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio


def comparable(request):
    return (request.model, request.system, [(e.id, e.type, e.payload) for e in request.entries], request.params)


async def test_rs_1_a_live_and_a_resumed_session_build_the_same_request():
    """RS-1, CP-3, TR-8: partial answers, cancelled text and results included."""
    script = [interrupted("half"), tool_calls([call("echo", "a", text="1"), call("nope", "b")]), complete("One.")]
    async with world([*script, complete("Two.")], tools=[Echo()], params={"temperature": 0.5}) as live:
        await live.session.prompt("first")
        await live.clock.await_timer(lambda ms: ms == 2_000)
        await live.clock.advance(2_000)
        await live.until(
            lambda: (live.of("assistant") or [{}])[-1].get("content") == [{"type": "text", "text": "One."}]
        )
        await settle()
        copy = MemoryStore()
        copy.append(live.session.id, live.entries)
        await live.session.await_prompt("second")
    resumed = World(live.session, None, copy, live.clock, None)
    async with world([complete("Two.")], resume=resumed, tools=[Echo()]) as again:
        await again.session.await_prompt("second")
        ours, theirs = live.provider.requests[-1], again.provider.requests[-1]
        assert [e.payload for e in ours.entries] == [e.payload for e in theirs.entries]
        assert comparable(ours)[2][:-1] == comparable(theirs)[2][:-1]
        assert (ours.model, ours.system, ours.params) == (theirs.model, theirs.system, theirs.params)


def crashed_after(world: World, count: int) -> World:
    """The same transcript as a crash would have left it."""
    store = MemoryStore()
    store.append(world.session.id, world.entries[:count])
    return World(world.session, None, store, world.clock, None)


async def test_rs_2_lost_calls_are_answered_as_unknown_before_anything_else():
    """RS-2, C14 (c): the session dies right after the calls reached the disk."""
    script = [tool_calls([call("echo", "a"), call("echo", "b"), call("echo", "c")]), complete("ok")]
    async with world(script, tools=[Echo()]) as w:
        await w.session.await_prompt("go")
    died = crashed_after(w, [entry.type for entry in w.entries].index("tool_result") + 1)
    async with world([complete("Checked.")], resume=died, tools=[Echo()]) as again:
        answered = again.of("tool_result")
        assert [(r["call_id"], r["outcome"]) for r in answered] == [("a", "ok"), ("b", "unknown"), ("c", "unknown")]
        assert all("check before you repeat it" in r["output"] for r in answered[1:])
        await again.session.await_prompt("go on")
        assert_valid_transcript(again.entries)
        kinds = [e.type for e in again.provider.requests[0].entries]
        assert kinds == ["user", "assistant", "tool_result", "tool_result", "tool_result", "user"]


async def test_rs_2_ids_that_repeat_in_another_wave_are_told_apart():
    script = [tool_call("echo", {"text": "1"}, id="x"), tool_call("echo", {"text": "2"}, id="x"), complete("ok")]
    async with world(script, tools=[Echo()]) as w:
        await w.session.await_prompt("go")
    last_call = max(n for n, e in enumerate(w.entries) if e.payload.get("tool_calls"))
    async with world([complete("ok")], resume=crashed_after(w, last_call + 1), tools=[Echo()]) as again:
        assert [r["outcome"] for r in again.of("tool_result")] == ["ok", "unknown"]
        assert_valid_transcript(again.entries)


@pytest.mark.parametrize("count", range(1, 12))
async def test_rs_1_wherever_it_died_it_goes_on(count):
    script = [tool_calls([call("echo", "a"), call("echo", "b")]), tool_call("echo", id="c"), complete("ok")]
    async with world(script, tools=[Echo()]) as w:
        await w.session.await_prompt("go")
    async with world([complete("on")], resume=crashed_after(w, count), tools=[Echo()]) as again:
        assert (await again.session.await_prompt("more")).text == "on"
        assert_valid_transcript(again.entries)


async def test_c14_leaving_while_a_call_awaits_approval_leaves_a_conversation_that_goes_on():
    """C14 (b): the call had not run, and the model is told so."""

    async def ask(asked, context):
        return Pending()

    hooks = [("before_tool_call", ask)]
    async with world([tool_calls([call("echo", "a"), call("echo", "b")])], tools=[Echo()], hooks=hooks) as w:
        await w.session.prompt("go")
        await w.until_parked()
    assert {r["outcome"] for r in w.of("tool_result")} == {"cancelled"}
    async with world([complete("ok")], resume=w, tools=[Echo()]) as again:
        await again.session.await_prompt("on")
        kinds = [e.type for e in again.provider.requests[0].entries]
        assert kinds == ["user", "assistant", "tool_result", "tool_result", "user"]
        assert (await again.session.info()).pending == []
        assert_valid_transcript(again.entries)


async def test_c14_a_fork_from_the_middle_of_a_wave_still_makes_a_sendable_request():
    """C14: lines already written stay as they are; what is missing is answered as lost."""
    script = [tool_calls([call("echo", "a"), call("echo", "b")]), complete("ok")]
    async with world(script, tools=[Echo()]) as w:
        await w.session.await_prompt("go")
        at = next(e for e in w.entries if e.type == "tool_result")
        id = await fork(w.store, w.session.id, at=at.id, unsafe=True)
        before = w.store.read(id)
        provider = Scripted([complete("ok")])
        again = await resume_session(runtime=w.runtime, resume=id, store=w.store, provider=provider, tools=[Echo()])
        await again.await_prompt("on")
        assert [e.type for e in provider.requests[0].entries] == [
            "user",
            "assistant",
            "tool_result",
            "tool_result",
            "user",
        ]
        assert w.store.read(id)[: len(before)] == before
        assert_valid_transcript(w.store.read(id))


async def test_rs_3_requests_and_spend_of_the_past_count():
    """RS-3, PR-3: the ceiling itself must be given again."""
    usage = Usage(input_tokens=1, output_tokens=1, cost_usd=0.25)
    async with world([complete("a", usage=usage), complete("b", usage=usage)], max_requests=2) as w:
        await w.session.await_prompt("one")
        await w.session.await_prompt("two")
    async with world([complete("c", usage=usage)], resume=w) as free:
        info = await free.session.info()
        assert (info.requests, info.max_requests, info.spent_usd) == (2, None, 0.5)
        await free.session.await_prompt("three")
    async with world([complete("never")], resume=w, max_requests=3) as tight:
        assert (await tight.session.await_prompt("four")).stop_reason == "budget"


async def test_rs_3_a_request_of_the_past_without_usage_makes_spend_unknown():
    silent = [e for e in complete("a") if not hasattr(e, "usage")]
    async with world([silent]) as w:
        await w.session.await_prompt("one")
    async with world([], resume=w) as again:
        assert (await again.session.info()).spent_usd is None


async def test_pr_1_pr_2_keyword_over_harness_over_transcript_over_default():
    """PR-1, PR-2."""
    async with world([], model="scripted:old", system="old", params={"top_p": 1}, reasoning_effort="low") as w:
        pass
    async with world([complete("a")], resume=w) as restored:
        await restored.session.await_prompt("go")
        request = restored.provider.requests[0]
        assert (request.model, request.system, request.reasoning_effort) == ("scripted:old", "old", "low")
        assert len(w.of("session")) == 1, "written again only when it changed"
    async with world(
        [complete("a")], resume=w, harness=Harness.new(system="harness", reasoning_effort="high")
    ) as layered:
        await layered.session.await_prompt("go")
        assert layered.provider.requests[0].system == "harness"
        assert layered.provider.requests[0].reasoning_effort == "high"
    given = {"system": "keyword", "model": "scripted:new", "reasoning_effort": "default"}
    async with world([complete("a")], resume=w, harness=Harness.new(system="harness"), **given) as keyword:
        await keyword.session.await_prompt("go")
        request = keyword.provider.requests[0]
        assert (request.model, request.system, request.reasoning_effort) == ("scripted:new", "keyword", None)
        assert len(w.of("session")) == 3


async def test_pr_6_generation_parameters_are_merged_over_the_recorded_ones():
    async with world([], params={"temperature": 0.1, "max_tokens": 5, "api_key": "sk-secret", "odd": 1}) as w:
        assert "sk-secret" not in str(w.entries)
    async with world([complete("a")], resume=w, params={"max_tokens": 9}) as again:
        await again.session.await_prompt("go")
        assert again.provider.requests[0].params == {"temperature": 0.1, "max_tokens": 9}


async def test_d_10_no_5_a_resume_never_widens_the_tools():
    """D-10, NO-5, PR-5, OPT-18."""
    bash = REGISTRY["bash"]
    async with world([], tools=[bash, Echo()], disabled_tools=["bash"]) as w:
        assert w.of("session")[0]["tools"] == ["bash"], "a configured instance is never recorded"
    async with world([], resume=w) as again:
        assert (await again.session.info()).tools == []
    async with world([], tools=[]) as bare:
        pass
    async with world([], resume=bare) as still_bare:
        assert (await still_bare.session.info()).tools == []


async def test_pr_5_an_unknown_reference_is_refused_by_name_and_a_registry_may_know_it():
    echo = Echo()
    async with world([], tools=[echo], tool_registry={"mine": echo}) as w:
        assert w.of("session")[0]["tools"] == ["mine"]
    with pytest.raises(ConfigError, match=r"'mine'.*tools="):
        async with world([], resume=w):
            pass
    async with world([], resume=w, tool_registry={"mine": echo}) as again:
        assert (await again.session.info()).tools == ["echo"]


async def test_pr_3_nothing_of_a_hosts_authority_is_written():
    """PR-3, HK-3, NO-5."""
    options = {"hooks": [("stop", lambda *_: None)], "max_requests": 7, "host_tools": [Echo()], "max_turns": 3}
    async with world([], **options) as w:
        (recorded,) = w.of("session")
        assert sorted(recorded) == sorted(
            "model system tools disabled_tools mcp_servers params reasoning_effort cwd tool_profile".split()
        )
        assert recorded["tools"] == []


async def test_pr_7_system_may_be_left_out_replaced_or_disabled():
    for given, sent in (({}, prompt.default()), ({"system": "mine"}, "mine"), ({"system": None}, None)):
        async with world([complete("a")], **given) as w:
            await w.session.await_prompt("go")
            assert w.provider.requests[0].system == sent


async def test_va_1_the_transcript_is_looked_at_before_anything_else():
    with pytest.raises(TranscriptNotFound):
        await resume_session(resume="nobody", store=MemoryStore(), runtime="nothing mounted", provider=None)
    with pytest.raises(ConfigError, match="store="):
        await resume_session(resume="nobody", runtime="nothing mounted")


async def test_va_1_a_shorthand_two_sessions_share_is_ambiguous_and_a_unique_one_will_do():
    async with runtime() as mounted:
        store = MemoryStore()
        given = {"runtime": mounted, "provider": Scripted([]), "store": store}
        for id in ("abc-1", "abc-2", "xyz"):
            await (await start_session(id=id, model="scripted:m", tools=[], **given)).stop()
        with pytest.raises(AmbiguousSession) as caught:
            await resume_session(resume="abc", **given)
        assert caught.value.ids == ["abc-1", "abc-2"]
        assert (await resume_session(resume="xy", **given)).id == "xyz"
        assert (await resume_session(resume=name_of("abc-1"), **given)).id == "abc-1"


async def test_va_1_a_transcript_with_a_hole_is_refused_never_continued():
    async with world([complete("a")]) as w:
        await w.session.await_prompt("go")
    holed = MemoryStore()
    holed.append(w.session.id, [e for e in w.entries if e.type != "request"])
    with pytest.raises(TranscriptUnreadable):
        async with world([], resume=World(w.session, None, holed, w.clock, None)):
            pass


async def test_opt_8_the_lock_is_claimed_last_and_a_second_writer_is_refused():
    async with world([complete("a")]) as w:
        with pytest.raises(SessionLocked):
            await resume_session(runtime=w.runtime, resume=w.session.id, store=w.store, provider=w.provider)
        with pytest.raises(ConfigError):
            await resume_session(
                runtime=w.runtime, resume=w.session.id, store=w.store, provider=w.provider, max_turns=0
            )
        await w.session.stop()
        with pytest.raises(ConfigError):
            await resume_session(
                runtime=w.runtime, resume=w.session.id, store=w.store, provider=w.provider, max_turns=0
            )
        again = await resume_session(runtime=w.runtime, resume=w.session.id, store=w.store, provider=w.provider)
        assert again.id == w.session.id


async def test_opt_56_without_the_lock_nothing_is_claimed():
    async with world([complete("a")], transcript_lock=False) as w:
        assert w.store._locks == {}


async def test_what_a_former_holder_wrote_last_is_not_missed():
    """Between the first look and the lock, the session that held it may have added entries."""

    class Slow(MemoryStore):
        late = ()

        def lock(self, session_id):
            if self.late:
                self.append(session_id, self.late)
                self.late = ()
            return super().lock(session_id)

    gate = Gate()
    async with world([tool_call("gate", id="c")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.stop()
    store = Slow()
    store.append(w.session.id, w.entries[:4])
    store.late = w.entries[4:]
    async with world([complete("ok")], resume=World(w.session, None, store, w.clock, None), tools=[gate]) as again:
        await again.session.await_prompt("on")
        assert_valid_transcript(again.entries)
