"""The plan of a session: where it is kept, who may change it, and when its open tasks send the model back."""

from __future__ import annotations

import pytest
from support.sessions import Echo, call, world

from lmx_core import Harness, assemble
from lmx_core.builtin import todo_tool
from lmx_core.calls import ToolContext
from lmx_core.clock import ManualClock
from lmx_core.errors import ToolError
from lmx_core.extensions import Continuation, Planning, coding
from lmx_core.extensions.continuation import OPEN
from lmx_core.permissions import MODES
from lmx_core.permissions.effects import act_of
from lmx_core.providers.scripted import complete, tool_call, tool_calls
from lmx_core.testing import prompt
from lmx_core.tools.base import descriptor

pytestmark = pytest.mark.asyncio


def todo(action: str, id: str = "c", **arguments):
    return tool_calls([call("todo", id, action=action, **arguments)])


def planned(*tasks, id: str = "s"):
    return todo("set", id, tasks=[t if isinstance(t, dict) else {"title": t} for t in tasks])


def results(w) -> list[str]:
    return [result["output"] for result in w.of("tool_result")]


async def test_tool_8_td_1_the_plan_is_a_document_of_the_session():
    """TOOL-8, TD-1, REC-13."""
    change = tool_call("todo", {"action": "update", "id": "t1", "status": "in_progress", "revision": 1})
    script = [planned("look", "change"), change, complete("ok")]
    async with world(script, tools=[todo_tool()]) as w:
        await w.session.await_prompt("go")
        assert results(w) == [
            "revision 1\n[ ] t1 look\n[ ] t2 change",
            "revision 2\n[~] t1 look\n[ ] t2 change",
        ]
        assert w.of("tool_result")[1]["structured_content"] == {"revision": 2, "tasks": 2, "open": 2}
        assert w.of("extension_state")[-1] == {
            "version": 1,
            "namespace": "lmx.plan",
            "revision": 2,
            "value": {
                "version": 1,
                "next": 3,
                "tasks": [
                    {"id": "t1", "title": "look", "status": "in_progress"},
                    {"id": "t2", "title": "change", "status": "pending"},
                ],
            },
        }
    async with world([todo("list"), complete("on")], resume=w, tools=[todo_tool()]) as resumed:
        await resumed.session.await_prompt("go on")
        assert results(resumed)[-1] == "revision 2\n[~] t1 look\n[ ] t2 change"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"action": "update", "id": "t1", "status": "completed"}, "update needs the revision that list returned."),
        ({"action": "create", "title": "x", "revision": 7}, "its revision is 1. Look at it with list first."),
        ({"action": "set"}, "set needs tasks"),
        ({"action": "forget"}, "action must be one of set, list, create, update, reopen, delete"),
        ({"action": "reopen", "id": "t1", "revision": 1}, "reason is required"),
    ],
)
async def test_td_1_what_cannot_be_done_is_a_sentence_and_the_plan_stays(arguments, sentence):
    async with world([planned("a"), tool_call("todo", arguments), complete("ok")], tools=[todo_tool()]) as w:
        await w.session.await_prompt("go")
        assert sentence in results(w)[1]
        assert (await w.session.document("lmx.plan")).revision == 1


async def test_td_1_a_change_by_somebody_else_is_not_undone():
    async with world(
        [planned("a"), complete("ok"), tool_call("todo", {"action": "list"}), complete("ok")], tools=[todo_tool()]
    ) as w:
        await w.session.await_prompt("go")
        document = await w.session.document("lmx.plan")
        document.value["tasks"][0]["status"] = "completed"
        await w.session.put_document("lmx.plan", 1, document.value)
        await w.session.await_prompt("and now?")
        assert results(w)[-1] == "revision 2\n[x] t1 a"


async def test_a_document_that_is_no_plan_is_said_and_written_anew():
    async with world([todo("list"), planned("a"), complete("ok")], tools=[todo_tool()]) as w:
        await w.session.put_document("lmx.plan", 0, {"tasks": "none"})
        await w.session.await_prompt("go")
        assert results(w) == ["What is kept as the plan is none; action set writes a new one.", "revision 2\n[ ] t1 a"]


async def test_tool_8_it_runs_unasked_in_every_mode_and_two_calls_of_it_one_after_the_other():
    described = descriptor(todo_tool())
    assert act_of(call("todo", "c", action="list"), described, None).kind == "read" and MODES
    assert (described.runtime.concurrency, described.runtime.resource_key) == ("resource", "session_plan")
    assert described.policy.approval == "never"


async def test_without_a_session_there_is_no_plan(tmp_path):
    context = ToolContext(cwd=tmp_path, environment=None, call_id="c", clock=ManualClock(0))
    with pytest.raises(ToolError, match="no session that keeps it"):
        await todo_tool().run({"action": "list"}, context)


async def test_ex_10_planning_is_in_the_recipe_and_can_be_left_out():
    async with world() as w:
        recipe = coding("scripted:m", w.provider)
    assert list(recipe) == ["search", "apply_patch", "planning"]
    names = [tool.name for tool in assemble(Harness(), [*recipe.values(), Planning]).host_tools or ()]
    assert names == ["grep", "glob", "todo"]
    recipe.pop("planning")
    assert "todo" not in [tool.name for tool in assemble(Harness(), recipe.values()).host_tools or ()]


# -- a plan with open tasks


async def play(script, **options):
    harness = assemble(Harness(), [(Continuation, options)])
    async with world(script, harness=harness, tools=[todo_tool(), Echo()]) as w:
        told = await prompt(w.session, "go")
        sent = [entry["text"] for entry in w.of("user") if entry.get("stop_hook")]
        return told.stop_reason, len(w.provider.requests), sent


def complete_task(id: str, revision: int):
    return tool_call("todo", {"action": "update", "id": id, "status": "completed", "revision": revision})


async def test_9_11_open_tasks_of_this_prompt_send_the_model_back_and_name_them():
    """cli.md 9.11, C3-22."""
    reason, requests, sent = await play(
        [
            planned("look", "change"),
            complete_task("t1", 1),
            complete("Done!"),
            complete_task("t2", 2),
            complete("Now it is."),
        ]
    )
    assert (reason, requests, sent) == ("stop", 5, [f"{OPEN}\n[ ] t2 change"])


async def test_9_11_an_answer_without_a_tool_ends_it():
    assert (await play([planned("look"), complete("Done!"), complete("I need a word of yours.")]))[:2] == ("stop", 3)


@pytest.mark.parametrize("most", [0, 2, 5])
async def test_9_11_a_plan_sends_back_so_often_and_no_more(most):
    options = {} if most == 5 else {"max_continuations": most}
    work = [step for n in range(7) for step in (tool_call("echo", {"text": str(n)}), complete("Done!"))]
    reason, requests, sent = await play([planned("look"), complete("Done!"), *work], **options)
    assert (reason, len(sent), requests) == ("stop", most, 2 + 2 * most)


async def test_9_11_a_finished_plan_and_one_of_an_earlier_prompt_leave_the_model_alone():
    done = {"title": "look", "status": "completed"}
    assert (await play([planned(done), complete("ok")]))[2] == []
    assert (await play([complete("no plan")]))[2] == []
    harness = assemble(Harness(), [(Continuation, {"max_continuations": 1})])
    async with world(
        [planned("a"), complete("x"), complete("y"), complete("z")], harness=harness, tools=[todo_tool()]
    ) as w:
        await w.session.await_prompt("go")
        await w.session.await_prompt("something else")
        assert len(w.provider.requests) == 4


async def test_9_11_a_cut_answer_and_an_open_plan_are_counted_apart():
    cut = complete("half", finish_reason="length")
    reason, requests, sent = await play([planned("a"), cut, complete("rest"), complete_task("t1", 1), complete("ok")])
    assert (reason, requests, len(sent)) == ("stop", 5, 2) and sent[1].startswith(OPEN)
