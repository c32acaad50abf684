"""Work in flight: what it reports counts only while somebody awaits it."""

from __future__ import annotations

import asyncio

import pytest

from lmx_core.errors import Busy
from lmx_core.session.inbox import Ask, Report, Watchers, Work
from lmx_core.turn.effects import EffectOutcome, Hook, Sleep

pytestmark = pytest.mark.asyncio


class Host:
    """Starts nothing; the test reports for it."""

    def __init__(self):
        self.started = []

    def start(self, key, effect, progress, done):
        self.started.append((key, effect, progress, done))
        return self

    def cancel(self):
        self.cancelled = True


def work() -> tuple[Host, asyncio.Queue, set, Work]:
    host, inbox, in_flight = Host(), asyncio.Queue(), set()
    return host, inbox, in_flight, Work(lambda: host, inbox, in_flight, session_id="s", run_id="r")


def settle(inbox: asyncio.Queue) -> None:
    while not inbox.empty():
        message = inbox.get_nowait()
        assert isinstance(message, Report)
        message.settle()


async def test_se_1_what_an_abandoned_piece_of_work_says_is_dropped():
    """SE-1, D-3: progress and outcome with a stale token."""
    host, inbox, in_flight, mine = work()
    heard = []
    ticket = mine.start(Sleep(1), progress=heard.append)
    (_, _, progress, done) = host.started[0]
    progress("early")
    mine.abandon()
    assert host.cancelled
    progress("late")
    done(EffectOutcome(value="late"))
    settle(inbox)
    assert heard == ["early"] and ticket.outcome is None
    assert in_flight == set(), "and it is forgotten once its task has ended"


async def test_se_1_the_first_report_of_a_piece_of_work_is_its_outcome():
    host, inbox, in_flight, mine = work()
    ticket = mine.start(Sleep(1))
    mine.report(ticket, EffectOutcome(value="answer"))
    host.started[0][3](EffectOutcome(value=None))
    settle(inbox)
    assert ticket.outcome == EffectOutcome(value="answer") and in_flight == set()


async def test_work_is_given_up_a_run_at_a_time():
    host, inbox, in_flight, mine = work()
    other = Work(lambda: host, inbox, in_flight, session_id="s", run_id="other")
    ours, theirs = mine.start(Sleep(1)), other.start(Sleep(1))
    mine.abandon()
    assert (ours.awaited, theirs.awaited) == (False, True)


async def test_hp_2_watchers_are_told_one_after_another_in_order():
    host, inbox, _, mine = work()
    watchers = Watchers(mine)
    for n in range(3):
        watchers.tell(Hook(point="attention", value=n))
    told = []
    while watchers.busy:
        assert len(host.started) == len(told) + 1
        told.append(host.started[-1][1].value)
        host.started[-1][3](EffectOutcome())
        settle(inbox)
    assert told == [0, 1, 2]


async def test_an_asker_hears_what_the_handler_raised_and_one_who_left_disturbs_nobody():
    async def refuses():
        raise Busy

    heard, left = Ask(refuses), Ask(refuses)
    left.reply.cancel()
    await heard.answer()
    await left.answer()
    with pytest.raises(Busy):
        await heard.reply
