"""One call from what the model sent to what it reads: every outcome, and nothing that gets past the run path."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from support.tool_calls import Policy, call, context

from lmx_core.calls import OUTCOMES, Effects, Result, Runtime, ToolCall
from lmx_core.clock import ManualClock
from lmx_core.errors import ConfigError, HookFailed, ToolError
from lmx_core.messages import Messages
from lmx_core.tools import run as tools
from lmx_core.tools.catalog import Catalog
from lmx_core.verdict import Allow, Decision, Deny, Pending, Rewrite

pytestmark = pytest.mark.asyncio


class Tool:
    """A tool made of one function; `metadata` as declared."""

    description = "Does something."

    def __init__(self, body, name="tool", schema=None, **metadata):
        self.name, self.metadata, self.run = name, metadata, body
        self.schema = schema or {"type": "object", "properties": {}}


async def run(body, *, arguments=None, given=None, policy=None, emit=lambda text: None, schema=None, **metadata):
    tool = Tool(body, schema=schema, **metadata)
    return await call(tool, "tool", arguments or {}, given or context(), policy=policy, emit=emit)


def raising(error):
    def body(args, ctx):
        raise error

    return body


async def until(condition) -> None:
    while not condition():
        await asyncio.sleep(0.001)


# What comes back


async def test_to_1_text_from_a_thread_or_from_the_loop():
    """TO-1: a sync tool runs in a thread of its own, an async one on the loop."""
    threads = []

    def sync(args, ctx):
        threads.append(threading.current_thread())
        return "sync"

    async def on_loop(args, ctx):
        threads.append(threading.current_thread())
        return "async"

    assert (await run(sync)).text == "sync" and (await run(on_loop)).text == "async"
    assert threads[0] is not threading.main_thread() and threads[0].daemon
    assert threads[1] is threading.main_thread()


async def test_a_sync_function_may_return_an_awaitable_or_a_stream():
    async def later():
        return "later"

    async def pieces():
        yield "a"
        yield "b"

    assert (await run(lambda args, ctx: later())).text == "later"
    assert (await run(lambda args, ctx: pieces())).text == "ab"


async def test_to_1_a_stream_is_passed_on_and_collected():
    async def body(args, ctx):
        yield "one "
        yield "two"
        yield Result(structured_content={"n": 2})

    heard = []
    outcome = await run(body, emit=heard.append)
    assert heard == ["one ", "two"] and outcome.text == "one two"
    assert outcome.result.structured_content == {"n": 2} and outcome.outcome == "ok"


async def test_a_result_at_the_end_of_a_stream_may_replace_the_text():
    async def body(args, ctx):
        yield "noise"
        yield Result(model_text="short", error=True)

    outcome = await run(body)
    assert outcome.text == "short" and outcome.outcome == "error"


async def test_to_1_a_stream_may_end_in_an_error():
    async def yielded(args, ctx):
        yield "before"
        yield ToolError("broke")

    async def raised(args, ctx):
        yield "before"
        raise ToolError("broke")

    for body in (yielded, raised):
        outcome = await run(body)
        assert (outcome.outcome, outcome.text, outcome.output_bytes) == ("error", "before\nbroke", len("beforebroke"))


async def test_re_2_a_stream_is_stopped_after_eight_million_bytes():
    """RE-2: stopped, closed, and said; no memory for what is not kept."""
    closed = []

    async def body(args, ctx):
        try:
            while True:
                yield "x" * 100_000
        finally:
            closed.append(True)

    outcome = await run(body)
    assert outcome.outcome == "ok" and closed == [True]
    assert outcome.text.endswith("[stopped after 8,000,000 bytes of output]")
    assert 8_000_000 < outcome.output_bytes < 8_300_000 and len(outcome.text) < 31_000


async def test_to_3_an_error_is_a_result_the_model_reads():
    outcome = await run(raising(ToolError("no such thing")))
    assert (outcome.outcome, outcome.text, outcome.error) == ("error", "no such thing", True)


@pytest.mark.parametrize("empty", ["", " \n ", None, Result()])
async def test_to_3_nothing_becomes_a_sentence(empty):
    assert (await run(lambda args, ctx: empty)).text == "The tool tool returned nothing."


async def test_to_3_a_silent_failure_says_so():
    assert (await run(raising(ToolError("")))).text == "The tool tool failed without saying why."
    assert (await run(lambda args, ctx: Result(error=True))).outcome == "error"


@pytest.mark.parametrize(("declared", "session", "kept"), [(100, 120_000, 100), (30_000, 50, 50)])
async def test_de_1_the_smaller_output_limit_holds(declared, session, kept):
    """DE-1, RE-2: of the tool and of the session; the whole size is kept in the record."""
    given = context(tool_output_bytes=session)
    outcome = await run(lambda args, ctx: "x" * 1_000, given=given, runtime=Runtime(max_output_bytes=declared))
    assert outcome.text.count("x") == kept and outcome.output_bytes == 1_000
    assert f"{1_000 - kept} bytes cut" in outcome.text


async def test_re_1_only_the_text_reaches_the_model_and_evidence_is_bounded():
    given = context(tool_output_bytes=200)
    outcome = await run(lambda args, ctx: Result(model_text="t", structured_content={"x": "y" * 500}), given=given)
    assert outcome.text == "t\n[structured_content of 508 bytes was too large to keep]"
    assert outcome.result.structured_content["truncated"] is True


async def test_what_is_no_result_is_a_crash():
    assert (await run(lambda args, ctx: 42)).outcome == "crashed"


# What is not run


async def test_di_3_arguments_that_did_not_decode_never_run():
    """DI-3: told to send one JSON object that matches the schema."""
    ran = []
    tool = Tool(lambda args, ctx: ran.append(1))
    outcome = await call(tool, "tool", {}, context(), argument_error="Expecting ',' at 17")
    assert outcome.outcome == "invalid_arguments" and ran == []
    assert "one JSON object" in outcome.text and "schema" in outcome.text and "at 17" in outcome.text


async def test_arguments_that_do_not_fit_never_run_and_nobody_is_asked():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    policy = Policy(Deny("asked"))
    outcome = await run(lambda args, ctx: "ran", arguments={"n": "x"}, schema=schema, policy=policy)
    assert outcome.outcome == "invalid_arguments" and "n must be an integer" in outcome.text


async def test_to_8_an_unknown_tool_is_unavailable_and_the_tools_are_named():
    outcome = await call(
        [Tool(lambda args, ctx: "x", name="a"), Tool(lambda args, ctx: "x", name="b")], "c", {}, context()
    )
    assert outcome.outcome == "unavailable" and "'c'" in outcome.text and "a, b" in outcome.text


async def test_hk_2_a_denied_call_is_answered():
    """HK-2: `denied: <reason>`, with the decision beside it."""
    decision = Decision(verdict="deny", sentence="read only", rule="mode", source="flag")
    outcome = await run(raising(AssertionError), policy=Policy(Deny("read only", decision)))
    assert (outcome.outcome, outcome.text) == ("denied", "denied: read only")
    assert outcome.decision == {"verdict": "deny", "sentence": "read only", "rule": "mode", "source": "flag"}


async def test_hp_5_a_failing_hook_stops_its_call():
    """HP-5: an error result; the tool is not run, and an unknown exception's text is not told."""
    for error, words in ((HookFailed("it broke"), "it broke"), (ValueError("sk-123"), "ValueError")):

        class Failing(Policy):
            async def before(self, call, context, error=error):
                raise error

        outcome = await run(raising(AssertionError), policy=Failing())
        assert outcome.outcome == "error" and words in outcome.text and "sk-123" not in outcome.text


async def test_a_rewrite_of_a_hook_is_what_runs_and_what_is_recorded():
    class Rewriting(Policy):
        async def before(self, call, context):
            before = await super().before(call, context)
            before.call = ToolCall(id=call.id, name=call.name, arguments={"x": 2})
            before.rewritten = True
            return before

    outcome = await run(lambda args, ctx: str(args), arguments={"x": 1}, policy=Rewriting())
    assert outcome.text == "{'x': 2}" and outcome.arguments == {"x": 2} and outcome.rewritten
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    outcome = await run(lambda args, ctx: "ran", arguments={"x": "1"}, policy=Rewriting(), schema=schema)
    assert outcome.outcome == "invalid_arguments" and "rewritten" in outcome.text


# A person is asked


class Person:
    """Answers what is parked with `answer`, or waits for it to be set."""

    def __init__(self, answer=None):
        self.answer, self.asked = answer, []
        self.waiting = asyncio.get_running_loop().create_future()

    async def __call__(self, call_id, kind, payload):
        self.asked.append((call_id, kind, payload))
        return self.answer if self.answer is not None else await self.waiting


async def test_pk_1_a_parked_call_runs_when_it_is_allowed():
    """PK-1: what is shown is what would run, and the answer is on the record."""
    asked = Decision(verdict="ask", sentence="commands are asked", rule="mode ask")
    person = Person(Allow(approved_by="the owner"))
    policy = Policy(Pending({"why": "x"}, asked))
    outcome = await run(lambda args, ctx: "ran", arguments={"a": 1}, given=context(park=person), policy=policy)
    assert outcome.text == "ran" and person.asked == [("c1", "approval", {"why": "x", "arguments": {"a": 1}})]
    assert outcome.decision["verdict"] == "allow" and outcome.decision["rule"] == "mode ask"
    assert "the owner" in outcome.decision["sentence"]


async def test_pk_1_a_person_may_refuse_or_rewrite():
    outcome = await run(raising(AssertionError), given=context(park=Person(Deny("not now"))), policy=Policy(Pending()))
    assert (outcome.outcome, outcome.text, outcome.decision["verdict"]) == ("denied", "denied: not now", "deny")
    outcome = await run(
        lambda args, ctx: str(args), given=context(park=Person(Rewrite({"x": 9}))), policy=Policy(Pending())
    )
    assert outcome.text == "{'x': 9}" and outcome.rewritten and outcome.arguments == {"x": 9}


@pytest.mark.parametrize("answer", ["yes", True, {"allow": True}, Rewrite("rm"), Pending()])
async def test_pk_3_what_is_no_decision_is_no_permission(answer):
    outcome = await run(raising(AssertionError), given=context(park=Person(answer)), policy=Policy(Pending()))
    assert outcome.outcome == "denied"


async def test_pk_3_without_anybody_to_ask_it_is_a_denial():
    outcome = await run(raising(AssertionError), policy=Policy(Pending()))
    assert outcome.outcome == "denied" and "nobody can be asked" in outcome.text


# Deadlines


async def test_di_5_a_deadline_gives_a_result_on_the_session_clock():
    """DI-5, DI-4: an async tool is cancelled; the text is the session's sentence."""
    clock, ended = ManualClock(), []

    async def body(args, ctx):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(run(body, given=context(clock=clock), runtime=Runtime(timeout_ms=5_000)))
    await clock.await_timer()
    await clock.advance(4_999)
    assert not task.done()
    await clock.advance(1)
    outcome = await task
    assert outcome.outcome == "timeout" and ended == [True] and outcome.duration_ms == 5_000
    assert outcome.text == Messages().tool_timed_out(ToolCall(id="c1", name="tool"), 5_000)


@pytest.mark.parametrize(
    ("declared", "session", "effective"), [(5_000, 9_000, 5_000), (9_000, 5_000, 5_000), (None, 7_000, 7_000)]
)
async def test_de_1_the_smaller_deadline_holds_and_the_tool_knows_it(declared, session, effective):
    """DE-1, TO-5."""
    given = context(clock=ManualClock(), deadline_ms=session)
    outcome = await run(lambda args, ctx: str(ctx.deadline_ms), given=given, runtime=Runtime(timeout_ms=declared))
    assert outcome.text == str(effective)


async def test_di_4_the_deadline_is_held_while_a_person_is_asked():
    """DI-4: before the call and from inside it; what is left goes on counting afterwards."""
    clock = ManualClock()
    person = Person()
    given = context(clock=clock, park=person, deadline_ms=1_000)

    async def body(args, ctx):
        await ctx.park(ctx.call_id, "question", {})
        await asyncio.Event().wait()

    task = asyncio.create_task(run(body, given=given, policy=Policy(Pending())))
    await until(lambda: len(person.asked) == 1)
    await clock.advance(3_600_000)
    person.waiting, waiting = asyncio.get_running_loop().create_future(), person.waiting
    waiting.set_result(Allow())
    await until(lambda: len(person.asked) == 2)
    await clock.advance(3_600_000)
    assert not task.done()
    person.waiting.set_result("an answer")
    await clock.await_timer()
    await clock.advance(999)
    assert not task.done()
    await clock.advance(1)
    assert (await task).outcome == "timeout"


async def test_d_18_se_8_a_thread_given_up_may_still_act():
    """D-18, SE-8: the deadline leaves the thread running; the result does not claim that nothing happened."""
    clock, go = ManualClock(), threading.Event()
    late = []

    def body(args, ctx):
        go.wait(10)
        late.append("written")
        return "too late"

    task = asyncio.create_task(run(body, given=context(clock=clock, deadline_ms=1_000)))
    await clock.await_timer()
    await clock.advance(1_000)
    outcome = await task
    assert outcome.outcome == "unknown" and "check before you repeat it" in outcome.text
    go.set()
    await until(lambda: late)


@pytest.mark.parametrize("effects", [Effects(effect="read"), Effects(effect="write", idempotent=True)])
async def test_se_8_a_reading_or_repeatable_thread_has_simply_timed_out(effects):
    clock, go = ManualClock(), threading.Event()
    task = asyncio.create_task(
        run(lambda args, ctx: str(go.wait(10)), given=context(clock=clock, deadline_ms=1_000), effects=effects)
    )
    await clock.await_timer()
    await clock.advance(1_000)
    assert (await task).outcome == "timeout"
    go.set()


async def hang(args, ctx):
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"effects": Effects(effect="external")}, "unknown"),
        ({"effects": Effects(effect="write", receipt=True)}, "unknown"),
        ({"origin": {"type": "mcp"}}, "unknown"),
        ({"effects": Effects(effect="external", idempotent=True)}, "timeout"),
        ({"effects": Effects(effect="external", receipt=False)}, "timeout"),
        ({"effects": Effects(effect="arbitrary")}, "timeout"),
    ],
)
async def test_re_5_a_remote_effect_may_have_happened(metadata, expected):
    """RE-5: at a deadline and after a crash alike."""
    clock = ManualClock()
    task = asyncio.create_task(run(hang, given=context(clock=clock, deadline_ms=1_000), **metadata))
    await clock.await_timer()
    await clock.advance(1_000)
    assert (await task).outcome == expected
    crashed = await run(raising(OSError("x")), **metadata)
    assert crashed.outcome == ("unknown" if expected == "unknown" else "crashed")


async def test_a_hook_that_hangs_meets_the_deadline_and_the_tool_never_ran():
    clock = ManualClock()

    class Hanging(Policy):
        async def before(self, call, context):
            await asyncio.Event().wait()

    task = asyncio.create_task(
        run(raising(AssertionError), given=context(clock=clock, deadline_ms=1_000), policy=Hanging())
    )
    await clock.await_timer()
    await clock.advance(1_000)
    assert (await task).outcome == "timeout"  # and not `unknown`, although it would have been a thread


async def test_a_timeout_error_of_the_tools_own_is_no_deadline():
    assert (await run(raising(TimeoutError("connect")))).outcome == "crashed"


# Cancellation and crashes


async def test_d_17_cancellation_passes_through(caplog):
    """D-17: the caller's cancellation is not swallowed, is no crash, and the tool has ended when it arrives."""
    begun, ended = asyncio.Event(), []

    async def body(args, ctx):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(run(body))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True] and "crashed" not in caplog.text


async def test_d_17_a_tool_that_swallows_its_cancellation_does_not_hold_the_call(monkeypatch, caplog):
    """D-17: it is left behind, the outcome says that its effect may still land, and it is heard no more."""
    monkeypatch.setattr(tools, "ABANDON_AFTER_MS", 50)
    clock, heard, go = ManualClock(), [], asyncio.Event()

    async def body(args, ctx):
        while not go.is_set():
            try:
                await go.wait()
            except BaseException:
                continue
        yield "zombie"

    task = asyncio.create_task(run(body, given=context(clock=clock, deadline_ms=1_000), emit=heard.append))
    await clock.await_timer()
    await clock.advance(1_000)
    outcome = await task
    assert outcome.outcome == "unknown" and "left behind" in caplog.text
    go.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert heard == []


async def test_d_17_a_tool_that_swallows_its_cancellation_and_returns_is_cancelled_all_the_same():
    begun = asyncio.Event()

    async def body(args, ctx):
        begun.set()
        try:
            await asyncio.Event().wait()
        except BaseException:
            return "done after all"

    task = asyncio.create_task(run(body))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_the_tool_made_itself_is_a_crash():
    async def body(args, ctx):
        raise asyncio.CancelledError

    assert (await run(body)).outcome == "crashed"
    assert (await run(raising(asyncio.CancelledError()))).outcome == "crashed"


@pytest.mark.parametrize(
    "error", [ValueError("sk-123"), KeyError("sk-123"), SystemExit(3), StopIteration(), RecursionError()]
)
async def test_d_9_to_8_a_crash_tells_its_type_and_the_log_the_place(error, caplog):
    """TO-8, D-9: never raised; the exception's text, which may hold a key, goes nowhere."""
    caplog.set_level(logging.ERROR)

    async def on_loop(args, ctx):
        if not isinstance(error, StopIteration):  # Python itself turns that one into a RuntimeError in a coroutine
            raise error
        raise RuntimeError

    for body in (raising(error), on_loop):
        outcome = await run(body)
        assert outcome.outcome == "crashed"
        assert type(error).__name__ in outcome.text or "RuntimeError" in outcome.text
        assert "sk-123" not in outcome.text and "sk-123" not in caplog.text
    assert "test_run.py" in caplog.text


async def test_di_5_after_hooks_see_results_and_no_crash():
    """DI-5, HP-6: what they say is appended; a crash, a denial or a deadline is not theirs."""
    policy = Policy(feedback="format the file")
    outcome = await run(lambda args, ctx: "done", policy=policy)
    assert outcome.text == "done\n[hook]\nformat the file" and policy.seen[0].text == "done"
    assert (await run(raising(ToolError("no")), policy=policy)).text == "no\n[hook]\nformat the file"
    seen = len(policy.seen)
    assert "[hook]" not in (await run(raising(ValueError()), policy=policy)).text
    assert len(policy.seen) == seen


async def test_a_failing_after_hook_leaves_the_result(caplog):
    class Failing(Policy):
        async def after(self, call, outcome, context):
            raise ValueError("sk-123")

    assert (await run(lambda args, ctx: "done", policy=Failing())).text == "done"
    assert "ValueError" in caplog.text and "sk-123" not in caplog.text


# The context


async def test_to_5_what_a_tool_is_given(tmp_path):
    seen = []
    policy = Policy()
    given = context(tmp_path, session_id="s", tool_output_bytes=999, input_modalities=frozenset({"image"}))
    await run(lambda args, ctx: seen.append(ctx) or "x", given=given, policy=policy, runtime=Runtime(timeout_ms=77))
    (ctx,) = seen
    assert (ctx.cwd, ctx.environment, ctx.session_id, ctx.call_id) == (tmp_path, given.environment, "s", "c1")
    assert (ctx.deadline_ms, ctx.tool_output_bytes, ctx.input_modalities) == (77, 999, {"image"})
    assert ctx.descriptor.identity.name == "tool" and ctx.hooks is policy


async def test_to_5_a_context_without_an_environment_raises():
    given = context()
    bare = type(given)(cwd=given.cwd, environment=None, call_id="c1", clock=given.clock)
    with pytest.raises(ConfigError, match="environment"):
        await run(lambda args, ctx: "x", given=bare)


async def test_the_session_words_its_sentences():
    class Loud(Messages):
        def tool_crashed(self, call, reason):
            return f"BOOM {reason}"

    asked = ToolCall(id="c1", name="tool")
    catalog = Catalog([Tool(raising(ValueError()))])
    outcome = await tools.run(catalog, Policy(), asked, context(), lambda text: None, messages=Loud())
    assert outcome.text == "BOOM ValueError"


async def test_the_record_names_the_descriptor():
    outcome = await run(lambda args, ctx: "x")
    assert len(outcome.descriptor_digest) == 64


async def test_re_6_the_run_path_gives_only_known_outcomes():
    bodies = [lambda args, ctx: "x", raising(ToolError("x")), raising(ValueError())]
    outcomes = {(await run(body)).outcome for body in bodies}
    outcomes.add((await run(bodies[0], policy=Policy(Deny("x")))).outcome)
    assert outcomes == {"ok", "error", "crashed", "denied"} and outcomes < set(OUTCOMES)


# Around a call


@pytest.mark.parametrize(
    ("body", "outcome"),
    [(lambda args, ctx: "done", "ok"), (raising(ToolError("no")), "error"), (raising(ValueError()), "crashed")],
)
async def test_who_brackets_calls_is_told_when_one_is_over_however_it_ended(body, outcome):
    told = []

    class Bracketed(Policy):
        async def around(self, call, context):
            told.append("begins")
            return lambda: told.append("over")

        async def after(self, call, outcome, context):
            told.append("after hooks")

    ended = await run(body, policy=Bracketed())
    assert ended.outcome == outcome
    assert told == (["begins", "over"] if outcome == "crashed" else ["begins", "after hooks", "over"])


async def test_a_call_that_was_refused_is_not_bracketed():
    class Bracketed(Policy):
        async def around(self, call, context):
            raise AssertionError("it does not run")

    assert (await run(lambda args, ctx: "done", policy=Bracketed(Deny("no")))).outcome == "denied"


async def test_a_bracket_takes_nothing_from_the_deadline_of_the_tool():
    clock = ManualClock()

    class Slow(Policy):
        async def around(self, call, context):
            await clock.advance(500)
            return lambda: None

    outcome = await run(
        lambda args, ctx: "done", policy=Slow(), given=context("/", clock=clock), runtime=Runtime(timeout_ms=100)
    )
    assert outcome.outcome == "ok"
