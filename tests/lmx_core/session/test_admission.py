"""Sessions and the limiter: every request passes it, and waiting is not work of the session."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from support.long_talks import Talker, worker
from support.raw_server import read_request, response, serving
from support.sessions import Echo, world

from lmx_core import (
    FOREVER,
    ConfigError,
    DefaultProvider,
    ManualClock,
    MemoryStore,
    ProviderLimiter,
    Runtime,
    Scripted,
    events,
    start_session,
)
from lmx_core.providers.scripted import complete, delayed, http_error
from lmx_core.request import Done, TextDelta
from lmx_core.testing import collect, prompt
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio

KEY = ("lmx_core.providers.scripted.Scripted", "scripted", "m")


class Held:
    """A model that answers when it is told to."""

    def __init__(self):
        self.requests, self.running = 0, 0
        self.most = 0
        self.doors: list[asyncio.Event] = []

    async def run(self, request, emit):
        door = asyncio.Event()
        self.doors.append(door)
        self.requests += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await door.wait()
        finally:
            self.running -= 1
        emit(TextDelta("a"))
        emit(Done("stop"))


class Noting(ProviderLimiter):
    """The shipped limiter, and whom it was asked for."""

    def __init__(self, **options):
        super().__init__(**options)
        self.asked = []

    async def checkout(self, key, root_id, estimated_tokens):
        self.asked.append(key)
        return await super().checkout(key, root_id, estimated_tokens)


@asynccontextmanager
async def mount(**options):
    clock = options.pop("clock", None) or ManualClock()
    async with Runtime("limits", clock=clock, **options) as runtime:
        yield runtime


async def session(runtime, provider, **options):
    shape = {"runtime": runtime, "provider": provider, "store": MemoryStore(), "model": "scripted:m", "tools": []}
    return await start_session(**(shape | options))


async def test_ad_1_the_mount_says_what_it_chose():
    """AD-1, AD-2: without a word it is the shipped limiter with its defaults."""
    own = ProviderLimiter()
    async with mount(provider_limiter=own) as runtime:
        assert runtime.provider_admission is own
    assert runtime.provider_admission is None
    async with mount(provider_limiter=None) as runtime:
        assert runtime.provider_admission is None
    async with mount() as runtime:
        assert isinstance(runtime.provider_admission, ProviderLimiter)


async def test_rt_4_every_mount_begins_with_a_limiter_of_its_own():
    runtime = Runtime("again")
    async with runtime:
        first = runtime.provider_admission
        assert await runtime.start() is runtime and runtime.provider_admission is first
    async with runtime:
        assert runtime.provider_admission is not first


async def test_ad_2_a_mount_without_a_word_lets_eight_requests_of_a_model_run_at_once():
    held = Held()
    async with mount() as runtime:
        sessions = [await session(runtime, held) for _ in range(9)]
        for one in sessions:
            await one.prompt("go")
        await settle()
        assert (held.running, held.requests) == (8, 8)
        held.doors[0].set()
        await settle()
        assert (held.running, held.requests) == (8, 9)


async def test_ad_3_a_session_alone_goes_before_a_busy_ones_second_request():
    """AD-3: by root session, whatever the order in which they came."""
    async with mount() as runtime:
        limiter = ProviderLimiter(max_concurrency=1)
        held = await limiter.checkout("k", "other", 0)
        order = []

        async def one(root, name):
            lease = await limiter.checkout("k", root, 0)
            order.append(name)
            limiter.release(lease)

        tasks = [runtime.spawn(one(r, n), kind="t", id=n) for r, n in [("busy", "b1"), ("busy", "b2"), ("lone", "l1")]]
        await settle()
        limiter.release(held)
        await asyncio.gather(*tasks)
        assert order == ["b1", "l1", "b2"]


async def test_ad_4_a_request_above_the_limit_ends_its_turn_with_that_error():
    scripted = Scripted([complete("never")])
    async with mount(provider_limiter={"tokens_per_interval": 50}) as runtime:
        one = await session(runtime, scripted)
        told = await prompt(one, "long " * 200)
    assert told.stop_reason == "error" and scripted.requests == []
    [error] = [e for e in told.events if isinstance(e, events.TurnError)]
    assert error.code == "request_exceeds_token_limit" and "50" in error.reason


async def test_ad_4_what_it_may_write_counts_where_the_request_says_how_much():
    scripted = Scripted([complete("a"), complete("b")])
    async with mount(provider_limiter={"tokens_per_interval": 2_000}) as runtime:
        large = await session(runtime, scripted, params={"max_tokens": 4_000}, system=None)
        assert (await prompt(large, "hi")).stop_reason == "error"
        small = await session(runtime, scripted, params={"max_tokens": 100}, system=None)
        assert (await prompt(small, "hi")).stop_reason == "stop"


async def test_ad_5_a_session_that_waits_can_be_asked_steered_and_cancelled():
    held = Held()
    async with mount(provider_limiter={"max_concurrency": 1}) as runtime:
        first, second = await session(runtime, held), await session(runtime, held)
        await first.prompt("go")
        await settle()
        async with second.subscribe() as told:
            await second.prompt("go")
            await settle()
            assert held.requests == 1
            await second.steer("and")
            assert (await second.info()).status != "idle"
            await second.cancel()
            assert (await collect(told, events.Finished))[-1].stop_reason == "cancelled"
        await settle()
        [load] = runtime.provider_admission.snapshot().values()
        assert (load.active, load.queued) == (1, 0)
        await first.cancel()
        await settle()
        [load] = runtime.provider_admission.snapshot().values()
        assert (load.active, load.queued) == (0, 0)


async def test_a_request_that_waits_for_its_turn_says_so_and_one_that_does_not_wait_says_nothing():
    held, waits = Held(), events.ProviderWait
    async with mount(provider_limiter={"max_concurrency": 1}) as runtime:
        first, second = await session(runtime, held), await session(runtime, held)
        async with first.subscribe() as of_first, second.subscribe() as of_second:
            await first.prompt("go")
            await settle()
            await second.prompt("go")
            await settle()
            assert [e for e in of_second.get_nowait_all() if isinstance(e, waits)] == [
                waits(model="scripted:m", waiting=True)
            ]
            held.doors[0].set()
            assert not [e for e in await collect(of_first, events.Finished) if isinstance(e, waits)]
            await settle()
            held.doors[1].set()
            let_go = [e for e in await collect(of_second, events.Finished) if isinstance(e, waits)]
            assert let_go == [waits(model="scripted:m", waiting=False)]


async def test_ad_5_a_lease_is_back_when_the_answer_is_over_whatever_its_provider_still_does():
    class Lingers:
        async def run(self, request, emit):
            emit(TextDelta("a"))
            emit(Done("stop"))
            await asyncio.Event().wait()

    async with mount(provider_limiter={"max_concurrency": 1}) as runtime:
        one = await session(runtime, Lingers())
        for _ in range(3):
            assert (await prompt(one, "go")).stop_reason == "stop"


async def test_ad_6_after_a_retry_after_no_session_of_the_key_asks_before_it_has_elapsed():
    clock, scripted = ManualClock(), Scripted([http_error(429, {"retry-after": "5"}), complete("a"), complete("b")])
    async with mount(clock=clock) as runtime:
        refused, other = await session(runtime, scripted), await session(runtime, scripted)
        await refused.prompt("go")
        await settle()
        await other.prompt("go")
        await clock.advance(4_999)
        assert len(scripted.requests) == 1
        await clock.advance(1)
        assert len(scripted.requests) == 3


async def test_ad_6_the_limiter_asks_nothing_again_by_itself():
    clock, scripted = ManualClock(), Scripted([http_error(429, {"retry-after": "5"}), complete("a")])
    async with mount(clock=clock) as runtime:
        one = await session(runtime, scripted, provider_retry=False)
        assert (await prompt(one, "go")).stop_reason == "error"
        await clock.advance(60_000)
        assert len(scripted.requests) == 1


async def test_ad_7_one_limiter_and_one_key_share_an_account_across_runtimes_and_models():
    shared, held = ProviderLimiter(max_concurrency=2), Held()
    async with mount(provider_limiter=shared) as here, Runtime("there", provider_limiter=shared) as there:
        for runtime, model in ((here, "a:m"), (here, "b:m"), (there, "c:m")):
            one = await session(runtime, held, model=model, provider_limit_key="account")
            await one.prompt("go")
        await settle()
        assert held.running == 2 and shared.snapshot()["account"].queued == 1


async def test_ad_7_a_key_may_be_a_function_of_the_provider_and_the_model():
    scripted = Scripted([complete("a")])
    async with mount() as runtime:
        one = await session(runtime, scripted, provider_limit_key=lambda provider, model: (provider is scripted, model))
        await prompt(one, "go")
        assert list(runtime.provider_admission.snapshot()) == [(True, "scripted:m")]


async def test_opt_35_a_session_may_have_a_limiter_of_its_own_or_none():
    """OPT-35, AD-1."""
    own, scripted = ProviderLimiter(), Scripted([complete("a"), complete("b"), complete("c")])
    async with mount() as runtime:
        await prompt(await session(runtime, scripted, provider_limiter=own), "go")
        await prompt(await session(runtime, scripted, provider_limiter=None), "go")
        assert list(own.snapshot()) == [KEY] and runtime.provider_admission.snapshot() == {}
        await prompt(await session(runtime, scripted), "go")
        assert list(runtime.provider_admission.snapshot()) == [KEY]


async def test_opt_35_neither_is_recorded():
    """OPT-35, PR-3."""
    async with world([complete("a")], provider_limiter=ProviderLimiter(), provider_limit_key="account-71") as w:
        await prompt(w.session, "go")
        assert not any("limit" in name for entry in w.of("session") for name in entry)
        assert "account-71" not in str(w.entries)


async def test_ad_1_a_session_in_a_time_of_its_own_is_not_held_up_by_a_limit_nobody_asked_for():
    """A test of a host moves its session's clock by hand; the runtime's stands in the real time."""
    async with Runtime("real") as runtime:
        clock, scripted = ManualClock(), Scripted([http_error(429, {"retry-after": "50"}), complete("a")])
        one = await session(runtime, scripted, clock=clock)
        async with one.subscribe() as told:
            await one.prompt("go")
            await clock.await_timer()
            await clock.advance(50_000)
            assert (await collect(told, events.Finished))[-1].stop_reason == "stop"
        assert runtime.provider_admission.snapshot() == {}
    async with Runtime("asked", provider_limiter={}) as runtime:
        await prompt(await session(runtime, Scripted([complete("a")]), clock=ManualClock()), "go")
        assert len(runtime.provider_admission.snapshot()) == 1


async def test_ad_2_summaries_pass_the_limiter_too_and_what_was_used_is_what_counts():
    """AD-1, AD-2: the door is one; a compaction's request is a request."""
    limiter, model = Noting(tokens_per_interval=1_000_000, clock=ManualClock()), Talker(worker(40), window=1_000)
    async with world(provider=model, tools=[Echo()], system="s", provider_limiter=limiter) as w:
        result = await w.session.await_prompt("begin")
    assert model.summaries and len(limiter.asked) == len(model.requests)
    [load] = limiter.snapshot().values()
    used = sum(entry.usage["input_tokens"] + entry.usage["output_tokens"] for entry in w.entries if entry.usage)
    assert result.stop_reason == "stop" and load.available_tokens == 1_000_000 - used


async def test_ad_5_waiting_ones_turn_is_no_stalled_stream():
    """A provider's own limits begin when it is asked: however long the wait, nothing times out in it."""
    clock = ManualClock()
    scripted = Scripted([delayed(600_000, complete("slow")), complete("b")], clock=clock)
    async with mount(clock=clock, provider_limiter={"max_concurrency": 1}) as runtime:
        first, second = await session(runtime, scripted), await session(runtime, scripted)
        await first.prompt("go")
        await settle()
        async with second.subscribe() as told:
            await second.prompt("go")
            await clock.advance(600_000)
            heard = await collect(told, events.Finished)
        assert heard[-1].stop_reason == "stop"
        assert not [e for e in heard if isinstance(e, events.ProviderRetry | events.TurnError)]


@pytest.mark.long
async def test_no_pool_of_connections_stands_behind_the_limiter():
    """What the refusal of RT-8 says: as many answers come at once as the limiter admits, above any library's default."""
    everyone, there = 120, asyncio.Event()
    connected = []

    async def answer(reader, writer):
        await read_request(reader)
        connected.append(writer)
        if len(connected) == everyone:
            there.set()
        await there.wait()
        writer.write(
            response(b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
        )

    async with serving(answer) as url, Runtime("many", provider_limiter={"max_concurrency": FOREVER}) as runtime:
        provider = DefaultProvider(base_url=f"{url}/v1", environ={})
        sessions = [await session(runtime, provider, model="openai:m") for _ in range(everyone)]
        answers = await asyncio.gather(*(one.await_prompt("go", timeout_ms=20_000) for one in sessions))
        assert [answer.text for answer in answers] == ["a"] * everyone
        await provider.aclose()


@pytest.mark.parametrize("name", ["provider_pool", "max_concurrent_streams"])
async def test_rt_8_a_pool_is_not_sized_by_mounting(name):
    """RT-8: and the message says what is: the number of requests under way."""
    with pytest.raises(ConfigError, match="max_concurrency") as refused:
        Runtime(**{name: 16})
    assert name in str(refused.value)


async def test_an_unknown_runtime_option_is_refused_with_the_closest():
    with pytest.raises(ConfigError, match="did you mean 'provider_limiter'"):
        Runtime(provider_limit={})


async def test_a_factory_that_fails_leaves_no_name_behind():
    def broken():
        raise ConfigError("mine")

    with pytest.raises(ConfigError, match="mine"):
        await Runtime("broken", provider_limiter=broken).start()
    async with Runtime("broken"):
        pass
