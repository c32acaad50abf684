"""What a runtime tells of its work: everything once, to whoever listens, and nothing that anybody said."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.marked import ENDINGS, MARK, marked_session
from support.sessions import Echo, Gate, world

from lmx_core import Aside, ConfigError, Deny, Failure, MemoryStore, Runtime, Scripted, StoreError, Usage, run
from lmx_core.errors import AdmissionRefused
from lmx_core.providers.admission import Lease
from lmx_core.providers.scripted import complete, error, tool_call
from lmx_core.request import Done, Error, TextDelta, UsageReport
from lmx_core.session import inline
from lmx_core.telemetry import EVENTS, METADATA_KEYS, Telemetry

TOLD = """
    lmx.compaction.start lmx.compaction.stop lmx.provider.first_delta lmx.provider.request.exception
    lmx.provider.request.start lmx.provider.request.stop lmx.provider_limiter.wait.exception
    lmx.provider_limiter.wait.start lmx.provider_limiter.wait.stop lmx.session.cancel lmx.session.prompt.start
    lmx.session.prompt.stop lmx.tool.call.start lmx.tool.call.stop lmx.turn.start lmx.turn.stop
""".split()
KEYS = """
    assessed_by call_id child_id definition_id entry_id group_id kind model outcome provider reason_category request_id
    root_session_id session_id stop_reason tool_name
""".split()


ASKED = """
    provider_limiter.wait.start provider_limiter.wait.stop provider.request.start provider.first_delta provider.request.stop
""".split()
"""What is told of a request that is answered in words."""


class Ear:
    """Remembers what it was told, and in which task."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict, dict]] = []
        self.tasks: list[tuple[str, str]] = []

    def __call__(self, name: str, measurements: dict, metadata: dict) -> None:
        self.heard.append((name, measurements, metadata))
        if asyncio._get_running_loop() is not None:
            self.tasks.append((name, asyncio.current_task().get_name()))

    @property
    def names(self) -> list[str]:
        return [name.removeprefix("lmx.") for name, _, _ in self.heard]

    def of(self, name: str) -> list[dict]:
        return [metadata for heard, _, metadata in self.heard if heard == f"lmx.{name}"]


def one() -> tuple[Telemetry, Ear]:
    telemetry, ear = Telemetry(), Ear()
    telemetry.attach(ear)
    return telemetry, ear


# -- the dispatcher


def test_te_1_te_3_the_names_and_the_keys_are_these():
    """TE-1, TE-2, TE-3: both are public and none goes away."""
    telemetry = Telemetry()
    assert list(telemetry.events()) == list(EVENTS) == sorted(TOLD)
    assert list(telemetry.metadata_keys()) == list(METADATA_KEYS) == sorted(KEYS)


def test_te_1_a_start_has_the_clocks_and_an_end_its_duration():
    telemetry, ear = one()
    span = telemetry.start("provider.request", {"session_id": "s"})
    span.point("provider.first_delta")
    span.exception(reason_category="server")
    (_, began, _), (_, first, _), (_, ended, metadata) = ear.heard
    assert began.keys() == {"monotonic_ns", "wall_ns"} and abs(began["wall_ns"] - time.time_ns()) < 60e9
    assert first.keys() == {"monotonic_ns", "wall_ns", "duration_ns"}
    assert ended.keys() == {"duration_ns"} and ended["duration_ns"] >= first["duration_ns"] >= 0
    assert ear.names == ["provider.request.start", "provider.first_delta", "provider.request.exception"]
    assert metadata == {"session_id": "s", "reason_category": "server"}


def test_a_span_ends_once():
    telemetry, ear = one()
    span = telemetry.start("turn", {})
    span.stop(outcome="ok")
    span.stop(outcome="crashed")
    span.exception()
    assert ear.names == ["turn.start", "turn.stop"] and ear.of("turn.stop") == [{"outcome": "ok"}]


def test_te_1_a_handler_hears_the_names_it_asked_for_until_it_is_detached():
    telemetry, some, all_of_it = Telemetry(), Ear(), Ear()
    telemetry.attach(some, ["lmx.turn.stop"])
    telemetry.attach(all_of_it)
    telemetry.start("turn", {}).stop()
    telemetry.attach(all_of_it, ["lmx.session.cancel"])
    telemetry.start("turn", {}).stop()
    telemetry.tell("session.cancel", {})
    telemetry.detach(some)
    telemetry.detach(some)
    telemetry.start("turn", {}).stop()
    assert some.names == ["turn.stop"] * 2
    assert all_of_it.names == ["turn.start", "turn.stop", "session.cancel"]


def test_what_nobody_hears_the_end_of_was_never_begun():
    telemetry, ear = Telemetry(), Ear()
    span = telemetry.start("turn", {})
    telemetry.attach(ear)
    span.stop()
    assert ear.heard == [] and not span


@pytest.mark.parametrize("names", [["lmx.turn.stopp"], "turn.stop", ["lmx.turn.stop", "lmx.subagent.progress"]])
def test_a_name_there_is_not_is_refused(names):
    with pytest.raises(ConfigError, match=r"telemetry\.events\(\) lists them"):
        Telemetry().attach(Ear(), names)


async def nobody_awaits_it(name, measurements, metadata) -> None: ...


@pytest.mark.parametrize("handler", [None, "print", nobody_awaits_it])
def test_what_is_no_plain_callable_is_refused(handler):
    with pytest.raises(ConfigError, match="plain callable"):
        Telemetry().attach(handler)


PRINTED = {chr(code) for code in range(33, 127)}
SCALARS = st.one_of(st.text(max_size=40), st.integers(), st.floats(), st.booleans())
ANYTHING = st.one_of(SCALARS, st.none(), st.binary(), st.lists(SCALARS), st.just(ValueError(MARK)), st.just(object()))


@given(st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=12)), ANYTHING))
def test_te_2_only_listed_keys_with_plain_short_values_get_through(given_metadata):
    """TE-2: whatever an emitter hands over."""
    telemetry, ear = one()
    telemetry.start("turn", given_metadata).stop(**given_metadata)
    for _, _, metadata in ear.heard:
        assert metadata.items() <= given_metadata.items() or any(value != value for value in metadata.values())
        for key, value in metadata.items():
            assert key in KEYS and isinstance(value, str | int | float | bool)
            assert not isinstance(value, str) or (0 < len(value) <= 256 and set(value) <= PRINTED)


@pytest.mark.parametrize(
    ("key", "value", "passes"),
    [
        ("outcome", "ok", True),
        ("outcome", "the file held a key", False),
        ("stop_reason", "max_turns", True),
        ("stop_reason", "sk-Secret", False),
        ("model", "meta-llama/Llama-3.3-70B:free", True),
        ("model", "x" * 257, False),
        ("call_id", "functions.bash:0", True),
        ("call_id", "rm -rf", False),
        ("session_id", "01KBA6AK80RBN86AJV80RMXBDA", True),
        ("session_id", None, False),
        ("prompt", "hello", False),
        ("path", "/etc/passwd", False),
    ],
)
def test_te_2_a_text_must_look_like_what_its_key_names(key, value, passes):
    telemetry, ear = one()
    telemetry.tell("session.cancel", {key: value})
    assert ear.of("session.cancel") == [{key: value} if passes else {}]


def test_te_3_a_handler_that_raises_is_detached_with_one_line_and_the_next_one_hears_all(caplog):
    telemetry, ear = Telemetry(), Ear()

    def breaks(name, measurements, metadata):
        measurements.clear()
        metadata["session_id"] = "another"
        raise ValueError(MARK)

    telemetry.attach(breaks)
    telemetry.attach(ear)
    with caplog.at_level(logging.DEBUG):
        telemetry.start("turn", {"session_id": "s"}).stop()
    assert [record.levelname for record in caplog.records if record.name == "lmx_core"] == ["WARNING"]
    assert "ValueError at lmx.turn.start" in caplog.text and MARK not in caplog.text
    assert ear.names == ["turn.start", "turn.stop"] and ear.of("turn.start") == [{"session_id": "s"}]
    assert ear.heard[0][1]


# -- a session


@pytest.mark.asyncio
async def test_te_1_a_prompt_is_told_from_its_start_to_its_stop():
    script = [tool_call("echo", {"text": "a"}, id="c1", text="I look"), complete("done")]
    async with world(script, tools=[Echo()], model="openrouter:meta/llama") as w:
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.await_prompt("go")
        requests, id = [entry["id"] for entry in w.of("request")], w.session.id
    assert ear.names == [
        "session.prompt.start",
        *("turn.start", *ASKED, "tool.call.start", "tool.call.stop", "turn.stop"),
        *("turn.start", *ASKED, "turn.stop"),
        "session.prompt.stop",
    ]
    assert all(m["session_id"] == m["root_session_id"] == id for _, _, m in ear.heard)
    assert [m["request_id"] for m in ear.of("provider.request.stop")] == requests
    assert [m["request_id"] for m in ear.of("turn.stop")] == requests
    assert [m["stop_reason"] for m in ear.of("turn.stop")] == ["tool_calls", "stop"]
    (call,) = ear.of("tool.call.stop")
    assert (call["tool_name"], call["call_id"], call["outcome"]) == ("echo", "c1", "ok")
    (end,) = ear.of("session.prompt.stop")
    assert (end["kind"], end["outcome"], end["stop_reason"]) == ("prompt", "ok", "stop")
    assert (end["provider"], end["model"]) == ("openrouter", "meta/llama")


@pytest.mark.asyncio
async def test_te_1_a_failed_request_is_an_exception_and_each_attempt_is_told():
    failure = Failure(code="http", message="no", category="rate_limit", http_status=429, retry_after_ms=1)
    async with world([error(failure), complete("a")]) as w:
        w.runtime.telemetry.attach(ear := Ear())
        asked = asyncio.ensure_future(w.session.await_prompt("go"))
        await w.until(lambda: ear.of("provider.request.exception"))
        while not asked.done():
            await w.clock.advance(1_000)
        assert (await asked).stop_reason == "stop"
    assert ear.names.count("provider.request.start") == 2 and ear.names.count("turn.start") == 1
    (exception,) = ear.of("provider.request.exception")
    assert (exception["outcome"], exception["reason_category"]) == ("error", "rate_limit")


@pytest.mark.asyncio
@pytest.mark.parametrize("ends", [[], [Error(Failure(code="http", message="no", category="other"))]])
async def test_te_1_the_end_of_a_request_counts_the_tokens_that_were_told(ends):
    """Of a failed one too: what was read is paid for."""
    usage = UsageReport(Usage(input_tokens=30, output_tokens=7, cost_usd=0.5, model="secret", extra={"said": "secret"}))
    async with world([[TextDelta("a"), usage, *(ends or [Done("stop")])], [TextDelta("b"), Done("stop")]]) as w:
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.await_prompt("go")
        await w.session.await_prompt("go")
    counted = [m for name, m, _ in ear.heard if name.startswith("lmx.provider.request.") and "duration_ns" in m]
    first, second = ({key: count for key, count in m.items() if key != "duration_ns"} for m in counted)
    assert first == {"input_tokens": 30, "output_tokens": 7, "cache_read_tokens": 0, "cache_write_tokens": 0}
    assert second == {}


@pytest.mark.asyncio
async def test_te_1_a_compaction_and_its_request_are_told():
    script = [*[complete("so")] * 4, complete("what was done")]
    async with world(script, context_window_fallback=2_000, auto_compaction=False) as w:
        for _ in range(4):
            await w.session.await_prompt("w" * 1_500)
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.compact()
    assert ear.names == [
        "compaction.start",
        *ASKED,
        "compaction.stop",
    ]
    (end,) = ear.of("compaction.stop")
    assert (end["kind"], end["outcome"]) == ("request", "ok")
    assert end["request_id"] == ear.of("provider.request.stop")[0]["request_id"]


@pytest.mark.asyncio
async def test_te_1_what_stands_where_a_prompt_would_says_what_it_is():
    failing = error(Failure(code="http", message="no", category="server", http_status=500))
    async with world([complete("a title"), failing, complete("b"), complete("c")], provider_retry=False) as w:
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.aside(Aside(kind="title", text="how would you call this?"))
        await w.until(lambda: len(ear.of("session.prompt.stop")) == 1)
        assert (await w.session.await_prompt("go")).stop_reason == "error"
        await w.session.retry()
        await w.until(lambda: len(ear.of("session.prompt.stop")) == 3)
        await w.session.follow_up("and then?")
        await w.until(lambda: len(ear.of("session.prompt.stop")) == 4)
    told = [(m["kind"], m["outcome"]) for m in ear.of("session.prompt.stop")]
    assert told == [("aside", "ok"), ("prompt", "error"), ("retry", "ok"), ("follow_up", "ok")]


@pytest.mark.asyncio
async def test_te_1_a_cancelled_prompt_is_told_and_everything_in_it_ends():
    gate = Gate()
    async with world([tool_call("gate", id="c1")], tools=[gate]) as w:
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.prompt("go")
        await w.until(lambda: gate.began)
        await w.session.cancel()
        await w.session.cancel()
        await w.until(lambda: "tool.call.stop" in ear.names)
    assert ear.names.count("session.cancel") == 1
    assert ear.of("session.cancel")[0]["request_id"] == ear.of("turn.stop")[0].get("request_id")
    for name in ("tool.call", "turn", "session.prompt"):
        assert [m["outcome"] for m in ear.of(f"{name}.stop")] == ["cancelled"], name


@pytest.mark.asyncio
async def test_te_1_a_request_given_up_has_an_end_as_well():
    class Hangs:
        async def run(self, request, emit):
            emit(TextDelta("so"))
            await asyncio.Event().wait()

    async with world(provider=Hangs()) as w:
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.prompt("go")
        await w.until(lambda: "provider.first_delta" in ear.names)
        await w.session.cancel()
        await w.until(lambda: "provider.request.stop" in ear.names)
    assert ear.of("provider.request.stop")[0]["outcome"] == "cancelled"


async def refuses(text, context):
    return Deny("no")


async def breaks(*_):
    raise RuntimeError("broken")


@pytest.mark.asyncio
@pytest.mark.parametrize(("hook", "outcome"), [(refuses, "denied"), (breaks, "error")])
async def test_te_1_a_prompt_that_does_not_begin_is_told_too(hook, outcome):
    async with world([], hooks=[("user_prompt", hook)]) as w:
        w.runtime.telemetry.attach(ear := Ear())
        with pytest.raises(Exception, match="hook"):
            await w.session.prompt("go")
    assert ear.names == ["session.prompt.start", "session.prompt.stop"]
    assert ear.of("session.prompt.stop")[0]["outcome"] == outcome


class Turnstile:
    """A limiter that opens when it is told to, refuses, or breaks."""

    def __init__(self, error: Exception | None = None):
        self.error, self.opened = error, asyncio.Event()

    async def checkout(self, key, root_id, estimated_tokens):
        if self.error is not None:
            raise self.error
        await self.opened.wait()
        return Lease(key=key, root_id=root_id, estimated_tokens=estimated_tokens)

    def reconcile(self, lease, actual_tokens): ...
    def release(self, lease): ...
    def penalize(self, key, retry_after_ms): ...


@pytest.mark.asyncio
async def test_te_1_a_request_that_waits_for_the_limiter_is_told_before_it_begins():
    limiter = Turnstile()
    async with world([complete("done")], provider_limiter=limiter) as w:
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.prompt("go")
        await w.until(lambda: "provider_limiter.wait.start" in ear.names)
        assert "provider.request.start" not in ear.names
        limiter.opened.set()
        await w.until(lambda: "session.prompt.stop" in ear.names)
    order = [name for name in ear.names if name.startswith("provider")]
    assert order[:3] == ["provider_limiter.wait.start", "provider_limiter.wait.stop", "provider.request.start"]
    (waited,), (asked,) = ear.of("provider_limiter.wait.stop"), ear.of("provider.request.stop")
    assert waited["outcome"] == "ok" and waited["request_id"] == asked["request_id"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "outcome", "category"),
    [
        (AdmissionRefused(Failure(code="no", message=MARK, category="quota")), "error", "quota"),
        (ValueError(MARK), "crashed", None),
    ],
)
async def test_te_1_a_limiter_that_lets_nothing_pass_is_an_exception(error, outcome, category):
    async with world([], provider_limiter=Turnstile(error), provider_retry=False) as w:
        w.runtime.telemetry.attach(ear := Ear())
        assert (await w.session.await_prompt("go")).stop_reason == "error"
    (told,) = ear.of("provider_limiter.wait.exception")
    assert (told["outcome"], told.get("reason_category")) == (outcome, category)
    assert "provider.request.start" not in ear.names


@pytest.mark.asyncio
async def test_te_1_a_wait_given_up_has_an_end():
    async with world([], provider_limiter=Turnstile()) as w:
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.prompt("go")
        await w.until(lambda: "provider_limiter.wait.start" in ear.names)
        await w.session.cancel()
        await w.until(lambda: "provider_limiter.wait.stop" in ear.names)
    assert ear.of("provider_limiter.wait.stop")[0]["outcome"] == "cancelled"


class Full(MemoryStore):
    """Takes a number of entries and no more."""

    room = 6

    def append(self, session_id, entries):
        self.room -= len(entries)
        if self.room < 0:
            raise StoreError("full")
        super().append(session_id, entries)


@pytest.mark.asyncio
async def test_te_1_what_a_dying_session_was_at_has_ended():
    """Whoever counts what is in flight comes back to nothing."""
    async with world([tool_call("echo", {"text": "a"})] * 9, tools=[Echo()], store=Full()) as w:
        w.runtime.telemetry.attach(ear := Ear())
        with pytest.raises(Exception, match="session has ended"):
            await w.session.await_prompt("go")
    counted = Counter(ear.names)
    for name in ("session.prompt", "turn", "tool.call"):
        assert counted[f"{name}.start"] == counted[f"{name}.stop"] > 0, name
    assert ear.of("session.prompt.stop")[0]["outcome"] == "crashed"


@pytest.mark.asyncio
async def test_te_3_handlers_run_in_the_task_that_emits():
    async with world([tool_call("echo", {"text": "a"}), complete("done")], tools=[Echo()]) as w:
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.await_prompt("go")
        mine = w.runtime.name
    kinds = {name.removeprefix("lmx."): task.split("/")[:2] for name, task in ear.tasks}
    assert kinds["provider.request.stop"] == kinds["provider.first_delta"] == [mine, "llm_call"]
    assert kinds["tool.call.start"] == kinds["tool.call.stop"] == [mine, "tool_attempt"]
    assert kinds["session.prompt.start"] == kinds["turn.stop"] == [mine, "session"]


@pytest.mark.asyncio
async def test_te_3_a_broken_handler_does_not_harm_the_prompt(caplog):
    def breaks(name, measurements, metadata):
        raise RuntimeError("broken")

    async with world([complete("done")]) as w:
        w.runtime.telemetry.attach(breaks)
        assert (await w.session.await_prompt("go")).text == "done"
    assert [record.getMessage() for record in caplog.records if record.name == "lmx_core"] == [
        "a telemetry handler was detached: it raised RuntimeError at lmx.session.prompt.start"
    ]


@pytest.mark.asyncio
async def test_rt_4_a_runtime_tells_of_its_own_sessions_only():
    """RT-3, RT-4: the dispatcher is the runtime's, there is none of the process."""
    async with Runtime("one") as first, Runtime("two") as second:
        first.telemetry.attach(one := Ear())
        second.telemetry.attach(two := Ear())
        for _ in range(2):
            await run("x", runtime=first, provider=Scripted([complete("a")]), store=MemoryStore(), model="m:m")
        assert one.names.count("session.prompt.stop") == 2 and two.heard == []
    assert Runtime("one").telemetry is not first.telemetry


@pytest.mark.asyncio
async def test_work_is_done_in_the_context_of_who_asked_for_it():
    """A host's context variables reach its tools and its provider; those of one prompt, not of the next."""
    tenant, seen = contextvars.ContextVar("tenant", default="nobody"), []

    class Asked(Echo):
        async def run(self, args, context):
            seen.append(tenant.get())
            return ""

    class Model(Scripted):
        async def run(self, request, emit):
            seen.append(tenant.get())
            await super().run(request, emit)

    async def ask(session, name):
        tenant.set(name)
        await session.await_prompt("go")

    script = [tool_call("echo", {}), complete("done")] * 2
    async with world(provider=Model(script), tools=[Asked()]) as w:
        await asyncio.ensure_future(ask(w.session, "ann"))
        await asyncio.ensure_future(ask(w.session, "bob"))
        assert tenant.get() == "nobody"
    assert seen == ["ann"] * 3 + ["bob"] * 3


# -- nothing that anybody said


@settings(max_examples=40)
@given(st.sampled_from(ENDINGS), st.integers(0, 3), st.booleans())
def test_te_2_no_word_of_a_session_reaches_a_handler(ending, calls, compacts):
    """TE-2: a mark stands in the prompt, every argument, output, path, header, error, hook, reason and endpoint."""
    ear = Ear()
    asyncio.run(marked_session(ending, calls, compacts=compacts, attach=lambda runtime: runtime.telemetry.attach(ear)))
    assert "session.prompt.stop" in ear.names and ("turn.stop" in ear.names or ending == "a hook refuses the prompt")
    assert ("compaction.stop" in ear.names) is compacts or ending != "answered"
    assert [told for told in ear.heard if MARK.lower() in repr(told).lower()] == []


# -- its cost


@pytest.mark.asyncio
async def test_a_streamed_chunk_costs_nothing_where_nobody_listens(monkeypatch):
    """Nothing stands between the provider and the turn; somebody who hears only of tools changes nothing of that."""
    built = []

    class Counted(inline.Heard):
        def __init__(self, span, progress):
            built.append(span)
            super().__init__(span, progress)

    monkeypatch.setattr(inline, "Heard", Counted)
    async with world([[TextDelta("a"), TextDelta("b"), Done("stop")]] * 3) as w:
        await w.session.await_prompt("one")
        w.runtime.telemetry.attach(Ear(), ["lmx.tool.call.stop"])
        await w.session.await_prompt("two")
        assert built == []
        w.runtime.telemetry.attach(ear := Ear())
        await w.session.await_prompt("three")
    assert len(built) == 1 and ear.names.count("provider.first_delta") == 1


@pytest.mark.long
def test_telling_nobody_costs_less_than_two_microseconds():
    telemetry, rounds = Telemetry(), 100_000
    facts = {"session_id": "s"}
    begun = time.process_time()
    for _ in range(rounds):
        telemetry.start("provider.request", facts).stop(outcome="ok")
    assert (time.process_time() - begun) / rounds < 2e-6
