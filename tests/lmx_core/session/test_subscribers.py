"""Who hears what a session says."""

from __future__ import annotations

import asyncio
import gc
import logging
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions import Gate, world

from lmx_core import ConfigError, Session, events
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.secrets.policy import Secrets
from lmx_core.session.subscribers import Subscription
from lmx_core.testing import collect, prompt

pytestmark = pytest.mark.asyncio


async def test_su_1_a_queue_and_a_callable_hear_which_session_it_was():
    """SU-1, OPT-10."""
    queue, heard = asyncio.Queue(), []
    async with world([complete("a")], subscriber=[queue, lambda id, event: heard.append((id, event))]) as w:
        await w.session.await_prompt("go")
        told = [queue.get_nowait() for _ in range(queue.qsize())]
        assert told == heard
        assert {id for id, _ in told} == {w.session.id}
        assert told[0][1].entry.type == "session" and told[-1][1].type == "finished"


async def test_su_1_one_sink_may_be_given_without_a_list_and_one_queue_may_watch_several_sessions():
    queue = asyncio.Queue()
    async with world([complete("a")], subscriber=queue) as one, world([complete("b")], subscriber=queue) as two:
        await one.session.await_prompt("go")
        await two.session.await_prompt("go")
        assert {queue.get_nowait()[0] for _ in range(queue.qsize())} == {one.session.id, two.session.id}


async def test_su_1_a_session_without_subscribers_behaves_identically():
    async with world([complete("a")]) as w:
        await w.session.prompt("go")
        await w.until(lambda: w.types()[-1] == "assistant")


async def test_su_1_a_sink_that_fails_is_dropped_with_a_warning_and_harms_nobody(caplog):
    full = asyncio.Queue(maxsize=1)

    def fails(id, event):
        raise RuntimeError("mine")

    with caplog.at_level(logging.WARNING, "lmx_core"):
        async with world([complete("a")], subscriber=[fails, full]) as w, w.session.subscribe() as good:
            assert (await w.session.await_prompt("go")).text == "a"
            assert good.get_nowait_all()[-1].type == "finished"
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert full.qsize() == 1


async def test_met_14_attaching_is_idempotent_and_detaching_ends_it():
    heard = []

    def sink(id, event):
        heard.append(event)

    async with world([complete("a"), complete("b")]) as w:
        w.session.subscribe(sink)
        w.session.subscribe(sink)
        await w.session.await_prompt("go")
        assert sum(isinstance(e, events.Finished) for e in heard) == 1
        w.session.unsubscribe(sink)
        w.session.unsubscribe(sink)
        await w.session.await_prompt("go")
        assert sum(isinstance(e, events.Finished) for e in heard) == 1


async def test_met_14_where_events_go_is_returned_and_detaching_a_subscription_ends_its_reader():
    async with world([complete("a")]) as w:
        queue = asyncio.Queue()
        assert w.session.subscribe(queue) is queue
        mine = w.session.subscribe()
        assert w.session.subscribe(mine) is mine
        reading = asyncio.get_running_loop().create_task(anext(mine))
        await asyncio.sleep(0)
        w.session.unsubscribe(mine)
        with pytest.raises(StopAsyncIteration):
            await reading


async def test_su_2_everyone_hears_the_same_in_the_same_order_from_the_moment_they_came():
    gate = Gate()
    async with world([tool_call("gate", id="c"), complete("a")], tools=[gate]) as w, w.session.subscribe() as early:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        before = len(early.get_nowait_all())
        async with w.session.events() as late:
            gate.open("c")
            rest = await collect(early, events.Finished)
            assert before and late.get_nowait_all() == rest


async def test_d_21_a_reader_that_never_reads_holds_up_nothing():
    async with world([complete(fragments=["x"] * 5_000)]) as w:
        lazy = w.session.subscribe()
        await prompt(w.session, "go")
        assert len(lazy.get_nowait_all()) > 5_000


async def test_a_subscription_ends_after_down_and_when_it_is_closed():
    async with world([complete("a")]) as w:
        closed, whole = w.session.subscribe(), w.session.subscribe()
        reading = asyncio.get_running_loop().create_task(anext(closed))
        await asyncio.sleep(0)
        closed.close()
        with pytest.raises(StopAsyncIteration):
            await reading
        await w.session.stop()
        assert [event.type async for event in whole] == ["down"]
        assert [event async for event in whole] == []
        whole.get_nowait_all()
        assert whole.closed


async def test_a_pump_waits_without_taking():
    sub = Subscription()
    waiting = asyncio.get_running_loop().create_task(sub.wait())
    await asyncio.sleep(0)
    sub.put(events.Down(reason="stopped"))
    await waiting
    assert [e.type for e in sub.get_nowait_all()] == ["down"]
    await sub.wait()


async def test_st_4_dropping_the_handle_stops_nothing():
    gate = Gate()
    async with world([tool_call("gate", id="c"), complete("a")], tools=[gate]) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        id, w.session = w.session.id, None
        gc.collect()
        (alive,) = w.runtime.sessions
        assert isinstance(alive, Session) and alive.id == id
        gate.open("c")
        async with alive.subscribe() as heard:
            assert (await collect(heard, events.Finished))[-1].stop_reason == "stop"


# --- a reader that may lag only so far ----------------------------------------------------------------------------


def said(text):
    return events.TextDelta(id="a", text=text)


DELTAS = (
    said("x"),
    events.ThinkingDelta(id="a", text="x"),
    events.ToolDelta(call_id="c", name="t", text="x"),
    events.ToolCallDelta(id="c", name="t", bytes=1, head="{"),
)
LASTING = (
    events.Finished(stop_reason="stop"),
    events.TurnError(reason="no"),
    events.ToolCalled(id="c", name="t", arguments={}),
)


async def test_su_3_deltas_that_nobody_took_are_dropped_and_one_event_says_how_many():
    """SU-3, EVT-36: each kind of delta, in its place, and nothing else."""
    sub = Subscription(max_pending=2)
    for event in (said("1"), said("2"), *DELTAS, LASTING[0], *DELTAS, LASTING[1]):
        sub.put(event)
    lagged = events.EventsLagged(dropped=4)
    assert sub.get_nowait_all() == [said("1"), said("2"), lagged, LASTING[0], lagged, LASTING[1]]
    assert lagged.to_dict() == {"type": "events_lagged", "dropped": 4}


async def test_su_3_one_who_reads_event_by_event_hears_of_the_gap_where_it_is():
    sub = Subscription(max_pending=1)
    for event in (said("1"), said("2"), said("3")):
        sub.put(event)
    assert [await anext(sub), await anext(sub)] == [said("1"), events.EventsLagged(dropped=2)]
    sub.put(said("4"))
    assert await anext(sub) == said("4")


async def test_su_3_without_a_bound_nothing_is_ever_dropped():
    sub = Subscription()
    for _ in range(10_000):
        sub.put(said("x"))
    assert sub.get_nowait_all() == [said("x")] * 10_000


async def test_su_3_a_gap_that_goes_on_is_one_gap():
    """Also where a reader has just been told of its beginning: found by a run of random readers, once in some thousand."""
    sub = Subscription(max_pending=1)
    sub.put(said("1"))
    sub.put(said("2"))
    assert await anext(sub) == said("1")
    sub.put(said("3"))
    assert await anext(sub) == events.EventsLagged(dropped=2)
    sub.put(said("4"))
    assert sub.get_nowait_all() == [said("4")]


@given(
    bound=st.integers(1, 5),
    steps=st.lists(
        st.one_of(st.sampled_from(DELTAS + LASTING), st.sampled_from(["take one", "take all"])), max_size=60
    ),
)
async def test_su_3_whatever_lasts_arrives_in_order_and_every_delta_arrives_or_is_counted(bound, steps):
    """SU-3: for any reader: lasting events all and in order, deltas in order between them, each told or counted once."""
    sub, sent, got = Subscription(max_pending=bound), [], []
    for step in steps:
        if step == "take all":
            got += sub.get_nowait_all()
        elif step == "take one":
            if sub._arrived:
                got.append(await anext(sub))
        else:
            waiting = len(sub._arrived)
            sub.put(step)
            sent.append(step)
            assert isinstance(step, LASTING_TYPES) or len(sub._arrived) <= max(bound, waiting) + 1
    got += sub.get_nowait_all()
    assert sub.get_nowait_all() == []
    left = iter(sent)
    for event in got:
        if isinstance(event, events.EventsLagged):
            assert event.dropped > 0
            assert all(isinstance(next(left), DELTA_TYPES) for _ in range(event.dropped))
        else:
            assert next(left) is event
    assert next(left, None) is None
    assert not [
        1 for a, b in pairwise(got) if isinstance(a, events.EventsLagged) and isinstance(b, events.EventsLagged)
    ]


DELTA_TYPES, LASTING_TYPES = tuple(map(type, DELTAS)), tuple(map(type, LASTING))


async def test_d_21_a_bounded_reader_that_never_reads_holds_up_nothing_and_keeps_little():
    """Appendix D 21, SU-3."""
    async with world([complete(fragments=["x"] * 5_000)]) as w:
        lazy, keen = w.session.subscribe(max_pending=10), w.session.subscribe()
        await prompt(w.session, "go")
        kept, all = lazy.get_nowait_all(), keen.get_nowait_all()
        assert len(kept) < 50
        assert [e.dropped for e in kept if isinstance(e, events.EventsLagged)] == [len(all) - len(kept) + 1]
        lasting = [e for e in all if not isinstance(e, events.TextDelta)]
        assert [e for e in kept if not isinstance(e, events.TextDelta | events.EventsLagged)] == lasting


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "8", True])
async def test_su_3_a_bound_that_is_none_is_refused(wrong):
    with pytest.raises(ConfigError, match="max_pending="):
        Subscription(max_pending=wrong)
    async with world([]) as w:
        with pytest.raises(ConfigError, match="max_pending="):
            w.session.subscribe(max_pending=wrong)
        with pytest.raises(ConfigError, match="max_pending="):
            w.session.subscribe(asyncio.Queue(), max_pending=3)


async def test_what_a_host_tells_is_heard_by_whoever_listens_and_by_no_model():
    """Without what is to be masked in it, and in a shape that can be written down."""
    async with world([complete("ok")], secrets=Secrets({"A_TOKEN": "t0ken-of-somebody"})) as w:
        async with w.session.subscribe() as heard:
            w.session.tell("t0ken-of-somebody \ud800 was found", source="hook scan")
            await w.session.prompt("go")
            told = await collect(heard, events.Finished)
        (notice,) = [event for event in told if isinstance(event, events.Notice)]
        assert notice.source == "hook scan" and notice.text.endswith("was found")
        assert "t0ken-of-somebody" not in notice.text and "\ud800" not in notice.text
        assert "was found" not in str(w.provider.requests) + str(w.entries)
        for wrong in ("", "  ", 7):
            with pytest.raises(ConfigError, match="a notice must be text"):
                w.session.tell(wrong)
