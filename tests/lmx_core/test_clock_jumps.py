"""The time of day jumps: it is set right, a laptop wakes up, a server's clock was a day ahead (TK-4).

What is measured is measured by a clock that does not; what is ordered is ordered by more than the time; nobody's lock is
judged by its age.
"""

from __future__ import annotations

import pytest
from support.sessions import Gate, world

from lmx_core import Allow, ManualClock, Pending, ProviderLimiter, SystemClock, clock, events
from lmx_core.entry import format_time
from lmx_core.errors import SessionLocked
from lmx_core.ids import UlidFactory
from lmx_core.providers.scripted import complete, http_error, tool_call
from lmx_core.stores import lock as locks
from lmx_core.stores.jsonl import JSONLStore
from lmx_core.testing import assert_valid_transcript
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio
HOUR = 3_600_000
JUMPS = pytest.mark.parametrize("jump", [HOUR, -HOUR, 30 * 24 * HOUR], ids=["forwards", "backwards", "a month"])


class Jumpy(ManualClock):
    """A clock whose time of day can be set without time passing."""

    def __init__(self):
        super().__init__(1_764_500_000_000)
        self.wrong = 0

    def now_ms(self):
        return super().now_ms() + self.wrong

    def steady_ms(self):
        return super().now_ms()


async def test_the_real_clock_has_a_time_that_does_not_jump(monkeypatch):
    """SC-3"""
    system = SystemClock()
    before = clock.steady_ms(system)
    monkeypatch.setattr("time.time_ns", lambda: 0)
    assert system.now_ms() == 0 and 0 <= clock.steady_ms(system) - before < 60_000


class Old:
    """A host's clock from before there was a second time."""

    def now_ms(self):
        return 7

    def call_later(self, ms, callback):
        raise AssertionError


async def test_a_hosts_clock_needs_no_second_time():
    """SC-3"""
    assert isinstance(Old(), clock.Clock) and clock.steady_ms(Old()) == 7


@JUMPS
async def test_an_idle_limit_counts_what_really_passed(jump):
    """LL-7, TK-4: a stream that flows is not taken for stalled, one that has stalled not for alive."""
    jumpy, fired = Jumpy(), []
    timer = clock.Deadline(jumpy, 120_000, lambda: fired.append(True))
    await jumpy.advance(100_000)
    timer.restart()
    jumpy.wrong = jump
    await jumpy.advance(119_000)
    assert not fired
    await jumpy.advance(1_000)
    assert fired


@JUMPS
async def test_a_limit_that_was_held_has_left_what_it_had(jump):
    """DI-4, TK-4"""
    jumpy, fired = Jumpy(), []
    timer = clock.Deadline(jumpy, 10_000, lambda: fired.append(True))
    await jumpy.advance(3_000)
    jumpy.wrong = jump
    timer.pause()
    await jumpy.advance(50_000)
    timer.resume()
    await jumpy.advance(6_999)
    assert not fired
    await jumpy.advance(1)
    assert fired


@JUMPS
async def test_a_call_that_waited_for_a_person_has_the_time_it_had(jump):
    """DI-4, TK-4: neither used up nor multiplied by what the clock did meanwhile."""

    async def ask(asked, context):
        return Pending({})

    jumpy, gate = Jumpy(), Gate()
    async with world(
        [tool_call("gate", id="c"), complete("a")],
        tools=[gate],
        hooks=[("before_tool_call", ask)],
        clock=jumpy,
        tool_timeout_ms=10_000,
    ) as w:
        await w.session.prompt("go")
        await w.until_parked()
        jumpy.wrong = jump
        await jumpy.advance(1_000)
        await w.session.resolve_tool("c", Allow())
        await w.until(lambda: gate.began)
        await jumpy.advance(9_000)
        assert (await w.session.info()).status == "busy"
        await jumpy.advance(1_000)
        await w.until(lambda: w.of("tool_result"))
        assert w.of("tool_result")[0]["outcome"] == "timeout"


@JUMPS
async def test_a_duration_is_what_really_passed_and_the_transcript_stays_in_order(jump):
    """REC-4, TR-2, TK-4"""
    jumpy, gate = Jumpy(), Gate()
    async with world([tool_call("gate", id="c"), complete("a")], tools=[gate], clock=jumpy) as w:
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await jumpy.advance(5_000)
        jumpy.wrong = jump
        gate.open("c")
        await w.until(lambda: "run_evidence" in [entry.type for entry in w.entries])
        assert w.of("tool_result")[0]["duration_ms"] == 5_000
    early = ManualClock(1_000_000_000_000)  # the next process thinks that it is 2001
    before = len(w.entries)
    async with world([complete("b")], resume=w, clock=early) as again:
        await again.session.await_prompt("on")
        earlier, later = again.entries[:before], again.entries[before:]
        assert later and min(entry.id for entry in later) > earlier[-1].id
        assert_valid_transcript(again.entries)


@pytest.mark.parametrize("after", ["", "mine", "0" * 25, "Z" * 26, "c9f2" * 6 + "ab"])
async def test_what_is_no_ulid_is_no_newest_id(after):
    """TR-2"""
    made = UlidFactory(after=after).new(1_764_500_000_000)
    assert made[:10] == UlidFactory().new(1_764_500_000_000)[:10]


@JUMPS
async def test_a_wait_before_another_attempt_is_as_long_as_it_was(jump):
    """RY-1, TK-4"""
    jumpy = Jumpy()
    async with world([http_error(500), complete("a")], clock=jumpy) as w, w.session.subscribe() as heard:
        await w.session.prompt("go")
        await w.until(lambda: jumpy.pending())
        jumpy.wrong = jump
        await jumpy.advance(1_999)
        assert len(w.provider.requests) == 1
        await jumpy.advance(1)
        await w.until(lambda: len(w.provider.requests) == 2)
        await settle()
        assert [e.stop_reason for e in heard.get_nowait_all() if isinstance(e, events.Finished)] == ["stop"]


@pytest.mark.parametrize("years", [-30, 30])
async def test_a_lock_is_never_judged_by_its_age(tmp_path, monkeypatch, years):
    """LK-2, D-12, TK-4: a live holder's claim from another century is in force; a dead one's from the future is not."""
    store = JSONLStore(tmp_path)
    then = format_time(1_764_500_000_000 + years * 365 * 24 * HOUR)
    with monkeypatch.context() as patched:
        patched.setattr(locks, "format_time", lambda ms: then)
        held = store.lock("one")
    assert then in (tmp_path / "one.lock").read_text()
    with pytest.raises(SessionLocked):
        JSONLStore(tmp_path).lock("one")
    locks.forget(held)
    store.unlock("one", JSONLStore(tmp_path).lock("one"))


@JUMPS
async def test_a_provider_that_asked_to_be_left_alone_is_left_alone_as_long_as_it_asked(jump):
    """AD-6, AD-8, TK-4: and a host is told until when by the clock on its wall."""
    jumpy = Jumpy()
    limiter = ProviderLimiter(clock=jumpy)
    jumpy.wrong = jump
    limiter.penalize("key", 60_000)
    jumpy.wrong = 0
    await jumpy.advance(59_999)
    assert limiter.snapshot()["key"].blocked_until == jumpy.now_ms() + 1
    await jumpy.advance(1)
    assert limiter.snapshot()["key"].blocked_until is None
