"""The chain of hooks: order, rewriting, refusing, asking, and what a failure does at each point."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx_core.calls import Descriptor, Identity, Outcome, ToolCall, ToolContext
from lmx_core.clock import SystemClock
from lmx_core.errors import ConfigError, HookDenied, HookFailed
from lmx_core.hooks.base import POINTS, Before, HookChain, HookContext
from lmx_core.request import Request
from lmx_core.verdict import Allow, Decision, Deny, Feedback, Pending, Rewrite

CALL = ToolCall(id="c1", name="bash", arguments={"command": "ls"})
CONTEXT = HookContext(cwd=Path("/w"), environment=None)
REQUEST = Request(model="openai:x", entries=())


async def nobody(call_id: str, kind: str, payload: dict[str, Any]) -> None: ...


def tool_context(**facts: Any) -> ToolContext:
    return ToolContext(cwd=Path("/w"), environment="env", call_id="c1", clock=SystemClock(), **facts)


def before(*hooks: Callable[..., Any], call: ToolCall = CALL, **facts: Any) -> Before:
    chain = HookChain([("before_tool_call", hook) for hook in hooks])
    return asyncio.run(chain.before(call, tool_context(**facts)))


def says(answer: Any) -> Callable[..., Any]:
    return lambda *args: answer


def raises(*args: Any) -> Any:
    raise RuntimeError("sk-canary-3301")


# --- around_tool_call -----------------------------------------------------------------------------------------


def test_what_brackets_a_call_ends_in_reverse_and_a_failure_stops_nothing(caplog) -> None:
    told: list[str] = []

    def brackets(name: str) -> Callable[..., Any]:
        return lambda call, context: lambda: told.append(name)

    chain = HookChain(
        [("around_tool_call", hook) for hook in (brackets("a"), raises, says(None), says(raises), brackets("b"))]
    )
    ended = asyncio.run(chain.around(CALL, tool_context()))
    assert told == []
    ended()
    ended()
    assert told == ["b", "a"] and "RuntimeError" in caplog.text and "sk-canary" not in caplog.text


@pytest.mark.asyncio
async def test_a_bracket_that_was_opened_is_closed_when_the_next_is_cancelled() -> None:
    told: list[str] = []

    async def waits(call: ToolCall, context: HookContext) -> None:
        await asyncio.Event().wait()

    opened = ("around_tool_call", lambda call, context: lambda: told.append("closed"))
    task = asyncio.create_task(HookChain([opened, ("around_tool_call", waits)]).around(CALL, tool_context()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == ["closed"]


# --- before_tool_call -----------------------------------------------------------------------------------------


def test_hk_1_a_rewrite_is_what_the_next_hook_sees() -> None:
    seen: list[Any] = []

    def second(call: ToolCall, context: HookContext) -> Rewrite:
        seen.append(call.arguments)
        return Rewrite({"command": call.arguments["command"] + " -l"})

    result = before(says(Rewrite({"command": "ls -a"})), second)
    assert seen == [{"command": "ls -a"}]
    assert result.call.arguments == {"command": "ls -a -l"} and result.rewritten
    assert result.call.id == CALL.id and isinstance(result.verdict, Allow)


def test_hk_1_the_first_deny_ends_the_chain() -> None:
    later: list[Any] = []
    result = before(says(Deny("no")), says(Deny("also no")), lambda *args: later.append(args))
    assert isinstance(result.verdict, Deny) and result.verdict.reason == "no" and later == []


ANSWERS = st.sampled_from([Allow(), Allow(approved_by="x"), Deny("no"), Pending(), Rewrite({"command": "pwd"})])


@given(st.lists(ANSWERS, max_size=6))
def test_hp_5_deny_wins_and_otherwise_the_last_express_word(answers: list[Any]) -> None:
    """HP-5, HK-1: a plain Allow takes back neither a question nor an approval; a rewrite takes back nothing."""
    result = before(*map(says, answers))
    heard = list(itertools.takewhile(lambda a: not isinstance(a, Deny), answers))
    if len(heard) < len(answers):
        assert isinstance(result.verdict, Deny)
    else:
        express = [a for a in heard if isinstance(a, Pending) or (isinstance(a, Allow) and a.approved_by)]
        assert isinstance(result.verdict, type(express[-1]) if express else Allow)
        assert not isinstance(result.verdict, Allow) or result.verdict.approved_by == ("x" if express else None)
    assert result.rewritten == any(isinstance(a, Rewrite) for a in heard)


def test_pk_1_a_call_that_was_asked_about_and_rewritten_is_shown_rewritten() -> None:
    """PK-1: approving runs the rewritten call, whichever of the two came first."""
    for hooks in (
        (says(Pending()), says(Rewrite({"command": "x"}))),
        (says(Rewrite({"command": "x"})), says(Pending())),
    ):
        result = before(*hooks)
        assert isinstance(result.verdict, Pending) and result.call.arguments == {"command": "x"} and result.rewritten


def test_pk_1_one_hook_may_ask_or_approve_and_rewrite() -> None:
    """PK-1, CH-5: `also` counts as if a hook right behind it had said so, and later hooks see the approval."""
    asked = before(says(Rewrite({"command": "x"}, also=Pending({"why": "y"}))))
    assert isinstance(asked.verdict, Pending) and asked.verdict.details == {"why": "y"} and asked.rewritten
    approved = before(says(Rewrite({"command": "x"}, also=Allow(approved_by="h"))))
    assert isinstance(approved.verdict, Allow) and approved.verdict.approved_by == "h"
    denied = before(says(Rewrite({"command": "x"}, also=Allow(approved_by="h"))), says(Deny("no")))
    assert isinstance(denied.verdict, Deny)


def test_hk_3_hooks_see_where_and_for_whom_the_call_is() -> None:
    seen: list[HookContext] = []
    descriptor = Descriptor(identity=Identity(name="bash"), origin={}, description="d", input_schema={})

    def look(call: ToolCall, context: HookContext) -> Allow:
        seen.append(context)
        return Allow(approved_by="first")

    before(look, look, session_id="s", session="handle", runtime="rt", descriptor=descriptor, park=nobody)
    first, second = seen
    assert (first.cwd, first.environment, first.session_id, first.session) == (Path("/w"), "env", "s", "handle")
    assert first.root_session_id == "s"
    assert (first.runtime, first.tool_descriptor, first.can_ask) == ("rt", descriptor, True)
    assert (first.approved_by, second.approved_by) == (None, "first")


def test_a_hook_knows_when_nobody_can_be_asked() -> None:
    seen: list[bool] = []
    before(lambda call, context: seen.append(context.can_ask) or Allow())
    assert seen == [False]


@pytest.mark.parametrize("answer", [None, True, "allow", {"decision": "allow"}, Feedback("x")])
def test_hp_5_an_answer_that_is_none_is_no_consent(answer: Any) -> None:
    with pytest.raises(HookFailed, match="instead of Allow, Deny, Rewrite or Pending"):
        before(says(answer))


def test_hp_5_a_crash_is_no_consent_and_tells_nothing_it_worked_with() -> None:
    with pytest.raises(HookFailed, match="RuntimeError") as caught:
        before(raises, says(Allow()))
    assert "canary" not in str(caught.value) and isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("value", ["x", None, [1], {"a": object()}, {1: 2}])
def test_a_rewrite_into_something_else_than_an_object_fails(value: Any) -> None:
    with pytest.raises(HookFailed, match="rewrote"):
        before(says(Rewrite(value)))


def test_every_verdict_says_who_gave_it() -> None:
    class Named:
        name = "quiet-hours"

        async def __call__(self, call: ToolCall, context: HookContext) -> Deny:
            return Deny("not at night")

    denied = before(Named()).verdict
    assert isinstance(denied, Deny) and denied.decision is not None
    assert (denied.decision.verdict, denied.decision.source, denied.decision.sentence) == (
        "deny",
        "hook quiet-hours",
        "not at night",
    )
    asked = before(says(Pending({"why": "x"}))).verdict
    assert isinstance(asked, Pending) and asked.decision is not None and asked.details == {"why": "x"}


def test_a_decision_given_by_the_hook_is_kept() -> None:
    own = Decision(verdict="allow", sentence="because", rule="r", source="s")
    allowed = before(says(Allow(decision=own)), says(Allow())).verdict
    assert isinstance(allowed, Allow) and allowed.decision is own
    denied = before(says(Deny("x", decision=own))).verdict
    assert isinstance(denied, Deny) and denied.decision is own


def test_one_that_decides_last_runs_behind_hooks_added_after_it() -> None:
    order: list[str] = []

    class Judge:
        name = "judge"
        decides_last = True

        async def __call__(self, call: ToolCall, context: HookContext) -> Allow:
            order.append(f"judge sees {call.arguments['command']}")
            return Allow()

    def rewrite(call: ToolCall, context: HookContext) -> Rewrite:
        order.append("rewrite")
        return Rewrite({"command": "rm x"})

    chain = HookChain([("before_tool_call", Judge()), ("before_tool_call", rewrite)])
    asyncio.run(chain.before(CALL, tool_context()))
    assert order == ["rewrite", "judge sees rm x"]
    assert chain.names()["before_tool_call"][-1] == "judge"


# --- the other points -----------------------------------------------------------------------------------------


def ask(point: str, *hooks: Callable[..., Any], text: str = "hi") -> Any:
    chain = HookChain([(point, hook) for hook in hooks])
    method = {"user_prompt": chain.user_prompt, "stop": chain.stop}[point]
    return asyncio.run(method(text, CONTEXT))


def test_hp_3_a_prompt_is_rewritten_denied_or_stopped_by_a_crash() -> None:
    """HP-3: Allow, Deny(reason), Rewrite(text); a crash is `HookFailed`."""
    assert ask("user_prompt", says(Allow()), says(Rewrite("ho"))) == "ho"
    with pytest.raises(HookDenied) as denied:
        ask("user_prompt", says(Deny("not today")))
    assert denied.value.reason == "not today"
    for wrong in (raises, says(None), says(Rewrite(7)), says(Pending())):
        with pytest.raises(HookFailed):
            ask("user_prompt", wrong)


def test_hp_4_a_request_is_replaced_denied_or_stopped_by_a_crash() -> None:
    """HP-4: each hook gets the request of the one before it."""

    def shorter(request: Request, context: HookContext) -> Request:
        assert context.retry == {"attempt": 2}
        return msgspec.structs.replace(request, params={**request.params, "max_tokens": 1})

    async def main(*hooks: Callable[..., Any]) -> Request:
        context = msgspec.structs.replace(CONTEXT, retry={"attempt": 2})
        return await HookChain([("prepare_next_turn", hook) for hook in hooks]).prepare_next_turn(REQUEST, context)

    assert asyncio.run(main(shorter, shorter)).params == {"max_tokens": 1} and REQUEST.params == {}
    with pytest.raises(HookDenied):
        asyncio.run(main(says(Deny("too dear"))))
    for wrong in (raises, says(None), says(Allow())):
        with pytest.raises(HookFailed):
            asyncio.run(main(wrong))


def test_hp_6_feedback_is_gathered_and_a_crash_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """HP-6: the call has run; what else a hook returns is ignored."""
    chain = HookChain(
        [("after_tool_call", h) for h in (says(Feedback("a")), raises, says(Deny("no")), says(Feedback("b")))]
    )
    outcome = Outcome(call=CALL, outcome="ok", text="done", arguments={})
    with caplog.at_level(logging.WARNING, "lmx_core"):
        assert asyncio.run(chain.after(CALL, outcome, tool_context())) == "a\nb"
        assert asyncio.run(HookChain().after(CALL, outcome, tool_context())) is None
    assert "RuntimeError" in caplog.text and "canary" not in caplog.text


def test_hp_7_the_first_objection_to_stopping_counts_and_a_crash_is_none(caplog: pytest.LogCaptureFixture) -> None:
    """HP-7: anything but a decision is logged and the stop completes."""
    with caplog.at_level(logging.WARNING, "lmx_core"):
        assert ask("stop", raises, says("yes"), says(Allow())) is None
        assert caplog.text.count("stop hook") == 2
    assert ask("stop", says(Allow()), says(Deny("first")), says(Deny("second"))) == Deny("first")


@pytest.mark.parametrize("point", ["session_start", "attention", "error", "session_end"])
def test_watching_hooks_are_told_in_order_and_stop_nothing(point: str, caplog: pytest.LogCaptureFixture) -> None:
    """HP-1, HP-2, HP-8, HP-9: their answers are ignored, their failures logged."""
    told: list[Any] = []
    chain = HookChain([(point, h) for h in (raises, lambda s, c: told.append(s), lambda s, c: told.append(c))])
    with caplog.at_level(logging.WARNING, "lmx_core"):
        asyncio.run(chain.observe(point, {"source": "startup"}, CONTEXT))
    assert told == [{"source": "startup"}, CONTEXT] and point in caplog.text


# --- how callbacks run ----------------------------------------------------------------------------------------


def test_se_8_a_sync_hook_runs_in_a_thread_and_an_async_one_on_the_loop() -> None:
    threads: list[threading.Thread] = []

    def sync(call: ToolCall, context: HookContext) -> Allow:
        threads.append(threading.current_thread())
        return Allow()

    async def on_the_loop(call: ToolCall, context: HookContext) -> Allow:
        threads.append(threading.current_thread())
        return Allow()

    class Callable_:
        async def __call__(self, call: ToolCall, context: HookContext) -> Allow:
            return await on_the_loop(call, context)

    before(sync, on_the_loop, Callable_(), lambda call, context: on_the_loop(call, context))
    main = threading.main_thread()
    assert threads[0] is not main and threads[0].daemon and threads[1:] == [main, main, main]


def test_cancelling_a_call_cancels_its_hook() -> None:
    """Appendix D 17: no hook border swallows a cancellation."""

    async def main() -> None:
        started, ended = asyncio.Event(), asyncio.Event()

        async def slow(*args: Any) -> Allow:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return Allow()

        for point in POINTS:
            chain = HookChain([(point, slow)])
            run = {
                "user_prompt": lambda c: c.user_prompt("x", CONTEXT),
                "prepare_next_turn": lambda c: c.prepare_next_turn(REQUEST, CONTEXT),
                "before_tool_call": lambda c: c.before(CALL, tool_context()),
                "around_tool_call": lambda c: c.around(CALL, tool_context()),
                "after_tool_call": lambda c: c.after(
                    CALL, Outcome(call=CALL, outcome="ok", text="", arguments={}), tool_context()
                ),
                "stop": lambda c: c.stop("stop", CONTEXT),
            }.get(point, lambda c, point=point: c.observe(point, {}, CONTEXT))
            started.clear(), ended.clear()
            task = asyncio.create_task(run(chain))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert ended.is_set()

    asyncio.run(main())


def test_names_are_told_and_callbacks_are_not() -> None:
    def my_hook(*args: Any) -> Allow:
        return Allow()

    chain = HookChain([("stop", my_hook), ("error", my_hook)])
    assert list(chain.names()) == ["stop", "error"] and chain.names()["stop"][0].endswith("my_hook")
    assert chain.has("stop") and not chain.has("attention") and HookChain().names() == {}


def test_a_malformed_list_is_refused_when_the_chain_is_made() -> None:
    with pytest.raises(ConfigError, match=r"hooks= item 0 names no hook point"):
        HookChain([("stoppp", raises)])
