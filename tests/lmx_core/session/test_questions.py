"""`ask_user` in a session: who may answer, what becomes of the question, and what is left of it on disk."""

from __future__ import annotations

import asyncio

import pytest
from support.sessions import Asks, call, world

from lmx_core import InvalidAnswer, MemoryStore, UnknownCall, assemble, default_tools, events
from lmx_core.builtin import ask_tool
from lmx_core.clock import FOREVER
from lmx_core.extensions import Interactive, coding
from lmx_core.harness.harness import Harness
from lmx_core.providers.scripted import complete, tool_call, tool_calls
from lmx_core.testing import assert_valid_transcript
from lmx_core.testing.kit import settle

pytestmark = pytest.mark.asyncio

WHICH = {"question": "Which database?", "options": [{"label": "Postgres"}, {"label": "SQLite"}]}
ASKED = {
    "tool": "ask_user",
    "questions": [
        {
            "question": "Which database?",
            "type": "single_choice",
            "options": [
                {"id": "1", "label": "Postgres", "description": "", "diagram": ""},
                {"id": "2", "label": "SQLite", "description": "", "diagram": ""},
            ],
            "diagram": "",
        }
    ],
}


def asking(*, then="ok", **options):
    arguments = options.pop("arguments", WHICH)
    return world(
        [tool_calls([call("ask_user", "c", **arguments)]), complete(then)],
        tools=[ask_tool()],
        **{"approval_timeout_ms": FOREVER, **options},
    )


async def asked(w):
    await w.session.prompt("go")
    assert await w.until_parked() == "c"


async def ended(w):
    await w.until(lambda: any(entry.type == "run_evidence" for entry in w.entries))


async def test_as_1_a_question_is_announced_kept_in_the_snapshot_and_its_answer_is_the_calls_result():
    """AS-1, TOOL-9, EVT-8, REC-10, MET-12."""
    async with asking() as w, w.session.subscribe() as heard:
        await asked(w)
        (event,) = [e for e in heard.get_nowait_all() if isinstance(e, events.Question)]
        assert event.to_dict() == {"type": "question", "call_id": "c", "kind": "question", "payload": ASKED}
        assert (await w.session.snapshot()).pending == [{"call_id": "c", "kind": "question", "payload": ASKED}]
        await w.session.answer("c", {"answers": [{"selected": ["2"], "option_notes": {"2": "a file is enough"}}]})
        await ended(w)
        answer = {"answers": [{"selected": ["2"], "option_notes": {"2": "a file is enough"}}]}
        assert [(e["kind"], e["status"], e["detail"]) for e in w.of("approval")] == [
            ("question", "pending", ASKED),
            ("question", "answered", {"answer": answer}),
        ]
        (result,) = w.of("tool_result")
        assert (result["outcome"], result["output"]) == ("ok", "The person answered: SQLite (note: a file is enough)")
        assert result["structured_content"] == {
            "status": "answered",
            "told": ["SQLite (note: a file is enough)"],
            **answer,
        }
        assert_valid_transcript(w.entries)


async def test_qst_3_several_questions_are_answered_at_once_and_in_order():
    """QST-3, QST-7."""
    several = {"questions": [WHICH, {"question": "How many?", "type": "number"}, {"question": "Why?", "type": "text"}]}
    async with asking(arguments=several) as w:
        await asked(w)
        await w.session.answer(
            "c", {"answers": [{"selected": [], "other": "Oracle"}, {"number": 3}, {"text": "we have it"}]}
        )
        await ended(w)
        assert w.of("tool_result")[0]["output"] == (
            "The person answered:\n1. Which database?\n   → something else: Oracle\n2. How many?\n   → 3\n"
            "3. Why?\n   → we have it"
        )


async def test_qst_6_a_wrong_answer_is_refused_and_the_question_waits_on():
    async with asking(arguments={"question": "How many?", "type": "number"}) as w:
        await asked(w)
        for wrong in [{"answers": [{"number": "three"}]}, "three", {"answers": []}, {"text": "3"}]:
            with pytest.raises(InvalidAnswer):
                await w.session.answer("c", wrong)
        assert [e["status"] for e in w.of("approval")] == ["pending"]
        await w.session.answer("c", "3")
        await ended(w)
        assert w.of("tool_result")[0]["output"] == "The person answered: 3"


async def test_gen_3_the_first_of_two_hosts_answers_and_the_other_is_told():
    """GEN-3, PK-1: one answer is recorded, whichever host gave it first."""
    async with asking() as w:
        await asked(w)
        first, second = await asyncio.gather(
            w.session.answer("c", "Postgres"), w.session.answer("c", "SQLite"), return_exceptions=True
        )
        await ended(w)
        assert first is None and isinstance(second, UnknownCall)
        assert w.of("tool_result")[0]["output"] == "The person answered: Postgres"
        assert [e["status"] for e in w.of("approval")] == ["pending", "answered"]


async def test_pk_2_as_1_a_time_out_picks_nothing_says_nobody_answered_and_the_model_carries_on():
    """PK-2, AS-1, QST-5, DI-4: the call's own time limit, shorter than this, does not run meanwhile."""
    async with asking(approval_timeout_ms=400_000) as w:
        await asked(w)
        await w.clock.advance(399_000)
        assert (await w.session.info()).pending
        await w.clock.advance(1_000)
        await ended(w)
        (result,) = w.of("tool_result")
        assert (result["outcome"], result["output"]) == (
            "error",
            "Nobody answered within 400 s. Carry on with what you know and say what you assumed.",
        )
        assert [e["status"] for e in w.of("approval")] == ["pending", "timed_out"]
        assert w.entries[-1].payload["stop_reason"] == "stop"
        with pytest.raises(UnknownCall):
            await w.session.answer("c", "1")


async def test_qst_5_declining_tells_the_model_and_the_turn_goes_on():
    async with asking() as w:
        await asked(w)
        await w.session.answer("c", {"status": "declined"})
        await ended(w)
        (result,) = w.of("tool_result")
        assert result["outcome"] == "ok" and result["output"].startswith("The person declined to answer.")
        assert w.of("approval")[-1]["status"] == "declined" and len(w.provider.requests) == 2


async def test_qst_5_cancelling_a_question_ends_the_turn():
    async with asking() as w, w.session.subscribe() as heard:
        await asked(w)
        await w.session.answer("c", {"status": "cancelled"})
        await ended(w)
        assert [e["status"] for e in w.of("approval")] == ["pending", "cancelled"]
        (result,) = w.of("tool_result")
        assert (result["outcome"], result["output"]) == (
            "cancelled",
            "The call of ask_user was cancelled before it finished.",
        )
        assert len(w.provider.requests) == 1 and w.types()[-1] == "cancelled"
        assert (await w.session.info()).status == "idle"
        assert heard.get_nowait_all()[-1] == events.Finished(stop_reason="cancelled")
        assert_valid_transcript(w.entries)


async def test_a_host_that_has_no_person_says_so():
    async with asking() as w:
        await asked(w)
        await w.session.answer("c", {"status": "unavailable"})
        await ended(w)
        (result,) = w.of("tool_result")
        assert result["outcome"] == "error" and result["output"].startswith("Nobody can be asked here.")
        assert w.of("approval")[-1]["status"] == "unavailable"


@pytest.mark.parametrize("end", ["cancel", "stop"])
async def test_di_4_a_question_whose_turn_or_session_ends_is_closed_in_the_transcript(end):
    """DI-4, RE-5: nothing of a question can have happened, so nobody is sent to look."""
    async with asking() as w:
        await asked(w)
        await getattr(w.session, end)()
        assert [e["status"] for e in w.of("approval")] == ["pending", "cancelled"]
        (result,) = w.of("tool_result")
        assert result["outcome"] == ("unknown" if end == "stop" else "cancelled")
        assert "may have run" not in result["output"]


async def test_rs_2_a_crash_while_a_question_waits_leaves_no_question_behind():
    """RS-2, QST-6: a resumed session answers the call, closes the record, and asks nobody."""
    async with asking() as crashed:
        await asked(crashed)
        written = crashed.entries  # as a killed process leaves them
    crashed.store = MemoryStore()
    crashed.store.append(crashed.session.id, written)
    async with world([complete("on")], resume=crashed, tools=[ask_tool()]) as w:
        assert (await w.session.info()).pending == []
        assert [e["status"] for e in w.of("approval")] == ["pending", "cancelled"]
        (result,) = w.of("tool_result")
        assert result["outcome"] == "unknown"
        assert result["output"] == "The session ended before anybody answered. Ask again if you still need to know."
        with pytest.raises(UnknownCall):
            await w.session.answer("c", "1")
        assert (await w.session.await_prompt("go on")).text == "on"
        assert_valid_transcript(w.entries)


async def test_as_1_one_is_asked_at_a_time():
    two = tool_calls([call("ask_user", "a", **WHICH), call("ask_user", "b", **WHICH)])
    async with world([two, complete("ok")], tools=[ask_tool()], approval_timeout_ms=FOREVER) as w:
        await w.session.prompt("go")
        for id in "ab":
            await w.until_parked()
            await settle(20)
            assert [p["call_id"] for p in (await w.session.info()).pending] == [id]
            await w.session.answer(id, "1")
            await settle(20)


async def test_as_1_a_question_that_cannot_be_asked_reaches_nobody():
    async with asking(arguments={"question": "Which?", "options": [{"label": "one"}]}) as w:
        await w.session.await_prompt("go")
        (result,) = w.of("tool_result")
        assert (result["outcome"], w.of("approval")) == ("error", [])
        assert result["output"] == "question needs 2 to 6 options for a single_choice, not 1."


async def test_met_12_an_answer_that_json_cannot_hold_is_refused_and_ends_no_session():
    async with world([tool_call("asks", id="c"), complete("ok")], tools=[Asks()], approval_timeout_ms=FOREVER) as w:
        await w.session.prompt("go")
        await w.until_parked()
        for wrong in [{"x": {1, 2}}, {1: "x"}, {"x": float("nan")}]:
            with pytest.raises(InvalidAnswer):
                await w.session.answer("c", wrong)
        await w.session.answer("c", {"questions": "none"})
        await ended(w)
        assert w.of("tool_result")[0]["output"] == "they said {'questions': 'none'}"


async def test_tool_9_it_is_no_default_and_comes_with_a_person():
    """TOOL-9, AS-1, EX-10."""
    async with world() as w:
        provider = w.provider

    def names(interactive):
        harness = assemble(Harness.new(), coding("scripted:m", provider, interactive=interactive).values())
        return [tool.name for tool in harness.host_tools or ()]

    assert "ask_user" in names(interactive=True) and "ask_user" not in names(interactive=False)
    twice = assemble(Harness.new(), [Interactive, Interactive])
    assert [tool.name for tool in twice.host_tools or ()] == ["ask_user"]
    assert "ask_user" not in {tool.name for tool in default_tools()}
