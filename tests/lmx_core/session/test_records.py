"""What a session writes, entry by entry, and the one door through which it has work done."""

from __future__ import annotations

import gc

import pytest
from support.sessions import Echo, Gate, call, world

from lmx_core import Allow, Pending, Request, Result, Usage, events
from lmx_core.calls import digest
from lmx_core.context.replay import replay_request
from lmx_core.hooks.base import HookContext
from lmx_core.providers.scripted import complete, http_error, thinking, tool_call, tool_calls
from lmx_core.session import inline
from lmx_core.session.inline import InlineEffectHost
from lmx_core.testing import prompt
from lmx_core.transcript.audit import entry_ids

pytestmark = pytest.mark.asyncio


async def test_rec_1_evt_29_the_session_entry_says_what_the_conversation_runs_with():
    """REC-1, EVT-29."""
    async with world([], system="s", params={"seed": 1}, reasoning_effort="low", disabled_tools=["x"]) as w:
        (first,) = w.of("session")
        assert {k: first[k] for k in ("model", "system", "tools", "disabled_tools", "params", "reasoning_effort")} == {
            "model": "scripted:m",
            "system": "s",
            "tools": [],
            "disabled_tools": ["x"],
            "params": {"seed": 1},
            "reasoning_effort": "low",
        }
        await w.session.set_model("scripted:n")
        assert w.of("session")[1] == first | {"model": "scripted:n"}
        await w.session.set_model("scripted:n")
        assert len(w.of("session")) == 2, "a change that changes nothing is not recorded"


async def test_rec_2_rec_3_rec_4_words_answers_and_results():
    """REC-2, REC-3, REC-4, TR-7."""

    class Rich(Echo):
        name = "rich"

        async def run(self, args, context):
            return Result(model_text="seen", structured_content={"n": 1}, cost={"usd": 0.5}, metadata={"k": "v"})

    script = [tool_call("rich", {"text": "a"}, id="c", text="Let me see."), complete("Done.")]
    async with world(script, tools=[Rich()]) as w:
        await w.session.await_prompt("go")
        assert w.of("user") == [{"text": "go"}]
        first = w.of("assistant")[0]
        assert first == {
            "content": [{"type": "text", "text": "Let me see."}],
            "tool_calls": [{"id": "c", "name": "rich", "arguments": {"text": "a"}}],
            "request_id": w.of("request")[0]["id"],
        }
        (result,) = w.of("tool_result")
        descriptor = w.of("request")[0]["catalog"]["tools"][0]["descriptor"]
        assert result.pop("duration_ms") >= 0
        assert result == {
            "call_id": "c",
            "name": "rich",
            "arguments": {"text": "a"},
            "output": "seen",
            "error": False,
            "outcome": "ok",
            "output_bytes": 4,
            "descriptor_digest": descriptor["digest"],
            "structured_content": {"n": 1},
            "cost": {"usd": 0.5},
            "metadata": {"k": "v"},
        }
        assert digest({k: v for k, v in descriptor.items() if k != "digest"}) == descriptor["digest"]


async def test_rec_6_rec_7_failures_and_cancellations():
    """REC-6, REC-7."""
    gate = Gate()
    async with world([http_error(429, code="insufficient_quota"), tool_call("gate", id="c")], tools=[gate]) as w:
        await w.session.await_prompt("go")
        (error,) = w.of("error")
        assert error["category"] == "rate_limit" and error["http_status"] == 429
        assert error["code"] == "insufficient_quota" and error["request_id"] == w.of("request")[0]["id"]
        await w.session.prompt("again")
        await w.until(lambda: gate.began)
        await w.session.cancel("the host said so")
        assert w.of("cancelled") == [{"reason": "the host said so"}]


async def test_rec_10_a_parked_call_leaves_its_question_and_its_answer():
    async def ask(asked, context):
        return Pending({"permission": "echo"})

    async with world(
        [tool_call("echo", id="c"), complete("a")], tools=[Echo()], hooks=[("before_tool_call", ask)]
    ) as w:
        await w.session.prompt("go")
        await w.until_parked()
        await w.session.resolve_tool("c", Allow(approved_by="ann"))
        await w.until(lambda: len(w.provider.requests) == 2)
        asked, answered = w.of("approval")
        assert asked["detail"] == {"permission": "echo", "id": "c", "name": "echo", "arguments": {}}
        assert answered == {"call_id": "c", "kind": "approval", "status": "allowed", "detail": {"approved_by": "ann"}}


async def test_au_1_a_request_record_names_what_was_sent_and_does_not_grow_with_the_conversation():
    script = [tool_call("echo", {"text": str(n)}) for n in range(30)] + [complete("a")]
    async with world(script, tools=[Echo()]) as w:
        await w.session.await_prompt("go")
        for record, sent in zip(w.of("request"), w.provider.requests, strict=True):
            assert entry_ids(w.entries, record) == [e.id for e in sent.entries]
            assert record["id"] == sent.context["request_id"]
        sizes = [len(str(record["entries"])) for record in w.of("request")]
        assert sizes[-1] - sizes[1] < 10 * 30, "runs, one for each stretch of conversation between two records"
        assert replay_request(w.entries, w.of("request")[5]["id"]).entries == w.provider.requests[5].entries


@pytest.mark.parametrize("evidence", ["digests", "off"])
async def test_au_3_less_evidence_keeps_no_prompt_text(evidence):
    async with world([complete("a")], system="SECRET RECIPE", evidence=evidence, tools=[Echo()]) as w:
        await w.session.await_prompt("go")
        (record,) = w.of("request")
        assert "SECRET RECIPE" not in str(record) and "says it again" not in str(record)
        assert record["system_sha256"]


async def test_evt_2_evt_9_deltas_and_usage_are_told_as_they_come():
    """EVT-2, EVT-9, RS-6: deltas are transient; the assembled entry is durable."""
    script = [thinking("hm", "Yes.", usage=Usage(input_tokens=3, output_tokens=2, cost_usd=0.1))]
    async with world(script) as w:
        done = await prompt(w.session, "go")
        told = {e.type: e for e in done.events}
        assert (told["thinking_delta"].text, told["text_delta"].text) == ("hm", "Yes.")
        assert told["usage"].usage["cost_usd"] == 0.1
        assert told["usage"].request_id == w.of("request")[0]["id"]
        assert [e.usage for e in w.entries if e.usage is not None] == [told["usage"].usage]
        assert set(w.types()) == {"session", "user", "request", "assistant"}


async def test_every_effect_goes_through_the_one_door_under_a_key_that_a_replay_would_have_again(monkeypatch):
    """EFF-1, EFF-2: a per-run counter from 1; the same prompt gives the same keys."""
    runs: list[list[tuple]] = []

    class Recording(InlineEffectHost):
        def start(self, key, effect, progress, done):
            runs[-1].append((key.number, key.turn, key.kind, key.call_id))
            return super().start(key, effect, progress, done)

    monkeypatch.setattr(inline, "InlineEffectHost", Recording)
    seen = []
    hooks = [
        ("prepare_next_turn", lambda request, ctx: request),
        ("stop", lambda reason, ctx: seen.append(ctx) or Allow()),
    ]
    script = [tool_calls([call("echo", "a"), call("echo", "b")]), complete("ok")]
    for _ in range(2):
        runs.append([])
        async with world(script, tools=[Echo()], hooks=hooks) as w:
            await w.session.await_prompt("go")
    assert runs[0] == runs[1] == [
        (1, 0, "hook", None),
        (2, 0, "model_facts", None),
        (3, 1, "llm_call", None),
        (4, 1, "tool_attempt", "a"),
        (5, 1, "tool_attempt", "b"),
        (6, 1, "hook", None),
        (7, 2, "llm_call", None),
        (8, 2, "hook", None),
    ]  # fmt: skip
    assert isinstance(seen[0], HookContext)


async def test_d_2_no_finished_task_holds_on_to_a_conversation():
    def alive() -> int:
        gc.collect()
        return sum(isinstance(thing, Request) for thing in gc.get_objects())

    before = alive()
    async with world([complete("a")] * 30) as w:
        for _ in range(30):
            await w.session.await_prompt("go")
            w.provider.requests.clear()
        assert alive() - before <= 1


async def test_no_4_keys_reach_no_transcript_event_or_repr():
    class Keyed:
        def __init__(self):
            self.key = "sk-secret"

        def __repr__(self):
            return f"Keyed({self.key})"

        async def run(self, request, emit):
            raise RuntimeError(self)

    params = {"api_key": "sk-secret", "headers": {"x": "sk-secret"}}
    async with world(provider=Keyed(), params=params) as w:
        done = await prompt(w.session, "go")
        assert "sk-secret" not in str(w.entries) + str(done) + repr(w.session) + repr(w.runtime)
        assert isinstance(done.events[-1], events.Finished)
