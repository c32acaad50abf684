"""One request's way past a limiter, and which limiter a runtime comes by."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

import pytest

from lmx_core import AdmissionRefused, ConfigError, Failure, Lease, ManualClock, ProviderLimiter, Scripted, Usage
from lmx_core.providers import base as providers
from lmx_core.providers.admission import Limits, Passage, default_key, maker
from lmx_core.providers.scripted import complete, http_error
from lmx_core.request import Done, Error, Request, UsageReport

pytestmark = pytest.mark.asyncio

REQUEST = Request(model="scripted:m", entries=())


class Recorder:
    """A limiter that admits everything and notes what it was told."""

    def __init__(self, refuse: Exception | None = None):
        self.told: list[tuple] = []
        self._refuse = refuse

    async def checkout(self, key, root_id, estimated_tokens):
        self.told.append(("checkout", key, root_id, estimated_tokens))
        if self._refuse is not None:
            raise self._refuse
        return Lease(key=key, root_id=root_id, estimated_tokens=estimated_tokens)

    def reconcile(self, lease, actual_tokens):
        self.told.append(("reconcile", actual_tokens))

    def release(self, lease):
        self.told.append(("release",))

    def penalize(self, key, retry_after_ms):
        self.told.append(("penalize", key, retry_after_ms))


def limits(admission, **more) -> Limits:
    shape = {"root_id": "root", "key": "k", "estimate": lambda request: 7, "longest_penalty_ms": 60_000}
    return Limits(admission=admission, **(shape | more))


async def heard(provider, admission, *, waiting=nullcontext, **more):
    """What is told of one request, carried out as a session does it."""
    told = []
    passage = Passage(limits(admission, **more), provider, REQUEST, waiting=waiting)
    try:
        if await providers.before(passage.enter(), told.append):
            await providers.run(provider, REQUEST, told.append, told=passage.hear)
    finally:
        passage.leave()
    return told


async def test_ad_1_a_request_is_checked_out_reconciled_with_its_usage_and_released_once():
    limiter = Recorder()
    await heard(Scripted([complete("a", usage=Usage(input_tokens=40, output_tokens=2))]), limiter)
    assert limiter.told == [("checkout", "k", "root", 7), ("reconcile", 42), ("release",)]


async def test_ad_2_usage_that_never_came_is_not_taken_for_none():
    limiter = Recorder()
    await heard(Scripted([http_error(503)]), limiter)
    assert [what for what, *_ in limiter.told] == ["checkout", "release"]


async def test_ad_5_a_lease_is_back_with_the_end_of_the_answer_whatever_its_provider_still_does():
    limiter = Recorder()

    class Lingers:
        async def run(self, request, emit):
            emit(Done("stop"))
            assert limiter.told[-1] == ("release",)
            emit(UsageReport(Usage(input_tokens=1)))

    assert await heard(Lingers(), limiter) == [Done("stop")]
    assert [what for what, *_ in limiter.told] == ["checkout", "release"]


@pytest.mark.parametrize("when", ["reconcile", "penalize", "release"])
async def test_pv_1_an_answer_is_not_lost_by_a_limiter_that_breaks_after_it(when, caplog):
    """It is paid for by then, and so is what a provider's refusal said. The log says which part of the limiter broke."""

    def breaks(*_):
        raise KeyError("mine")

    limiter = Recorder()
    setattr(limiter, when, breaks)
    answer = complete("a", usage=Usage(input_tokens=4, output_tokens=2))
    assert [type(event) for event in await heard(Scripted([answer]), limiter)][-2:] == [UsageReport, Done]
    (refused,) = await heard(Scripted([http_error(429, {"retry-after": "5"})]), limiter)
    assert refused.failure.http_status == 429
    assert "the provider limiter broke in breaks" in caplog.text


async def test_ad_6_a_retry_after_penalises_the_key_and_nothing_else_does():
    limiter = Recorder()
    await heard(Scripted([http_error(429, {"retry-after": "5"})]), limiter)
    assert ("penalize", "k", 5_000) in limiter.told
    plain = Recorder()
    await heard(Scripted([http_error(503)]), plain)
    assert [what for what, *_ in plain.told] == ["checkout", "release"]


async def test_ad_6_a_provider_is_left_alone_no_longer_than_a_session_would_wait_for_it():
    """RY-1: a retry-after replaces the backoff and is never above its most."""
    limiter = Recorder()
    await heard(Scripted([http_error(429, {"retry-after": "86400"})]), limiter, longest_penalty_ms=60_000)
    assert ("penalize", "k", 60_000) in limiter.told


async def test_ad_4_a_refusal_ends_the_attempt_and_nothing_is_sent():
    failure = Failure(code="request_exceeds_token_limit", message="too large", retryable=False)
    scripted = Scripted([complete("a")])
    assert await heard(scripted, Recorder(AdmissionRefused(failure))) == [Error(failure)]
    assert scripted.requests == []


async def test_pv_1_a_limiter_that_breaks_is_an_attempt_that_failed():
    [event] = await heard(Scripted([]), Recorder(KeyError("mine")))
    assert event.failure.code == "crashed" and not event.failure.is_transient


async def test_ad_5_a_provider_that_raises_gives_its_lease_back():
    class Broken:
        async def run(self, request, emit):
            raise RuntimeError("mine")

    limiter = Recorder()
    await heard(Broken(), limiter)
    assert limiter.told[-1] == ("release",)


async def test_what_surrounds_the_wait_surrounds_nothing_else():
    limiter, seen = Recorder(), []

    @contextmanager
    def waiting():
        yield
        seen.extend(limiter.told)

    await heard(Scripted([complete("a")]), limiter, waiting=waiting)
    assert seen == [("checkout", "k", "root", 7)]


async def test_ad_7_the_key_is_by_default_class_provider_and_model_and_may_be_a_value_or_a_function():
    scripted = Scripted([])
    kind = "lmx_core.providers.scripted.Scripted"
    assert default_key(scripted, "scripted:m") == (kind, "scripted", "m")
    assert default_key(scripted, "whatever") == (kind, "", "whatever")
    assert limits(None, key=None).key_of(scripted, "a:b:c") == (kind, "a", "b:c")
    assert limits(None, key=("account", 1)).key_of(scripted, "a:b") == ("account", 1)
    asked = limits(None, key=lambda provider, model: (provider is scripted, model))
    assert asked.key_of(scripted, "a:b") == (True, "a:b")


async def test_ad_1_a_mount_takes_options_a_limiter_a_factory_or_none():
    clock = ManualClock()
    own = Recorder()
    assert maker(None, clock)() is None
    assert maker(own, clock)() is own
    assert isinstance(maker(Recorder, clock)(), Recorder)
    first, second = maker({"max_concurrency": 2}, clock), maker(lambda: own, clock)
    assert isinstance(first(), ProviderLimiter) and first() is not first() and second() is own


async def test_ad_2_the_options_limit_and_their_time_is_the_runtimes():
    clock = ManualClock()
    limiter = maker({"tokens_per_interval": 100, "interval_ms": 1_000}, clock)()
    await limiter.checkout("k", "r", 100)
    await clock.advance(500)
    assert limiter.snapshot()["k"].available_tokens == 50


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_concurrent": 2}, "no option 'max_concurrent'"),
        ({"max_concurrency": 0}, "max_concurrency="),
        (8, "provider_limiter="),
        ("fast", "provider_limiter="),
    ],
)
async def test_ad_1_what_is_no_limiter_is_refused_when_the_runtime_is_made(wrong, said):
    with pytest.raises(ConfigError, match=said):
        maker(wrong, None)


async def test_ad_1_what_a_factory_makes_is_looked_at_when_it_is_mounted():
    with pytest.raises(ConfigError, match="provider_limiter="):
        maker(lambda: object(), None)()
