"""What may become of a plan."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmx_core.builtin.session import plan as plans
from lmx_core.builtin.session.plan import Plan
from lmx_core.errors import ToolError


def made(*tasks, plan=None) -> Plan:
    return plans.restated(plan or Plan(), [t if isinstance(t, dict) else {"title": t} for t in tasks])


def done(title: str, **more) -> dict:
    return {"title": title, "status": "completed", **more}


def statuses(plan: Plan) -> dict[str, str]:
    return {task.id: task.status for task in plan.tasks}


def test_td_1_set_gives_ids_and_keeps_them_by_id_and_by_title():
    first = made("look", "change", "check")
    assert [(t.id, t.title, t.status) for t in first.tasks] == [
        ("t1", "look", "pending"),
        ("t2", "change", "pending"),
        ("t3", "check", "pending"),
    ]
    again = made({"title": "check"}, {"id": "t1", "title": "look around", "status": "in_progress"}, "tell", plan=first)
    assert [(t.id, t.title) for t in again.tasks] == [("t3", "check"), ("t1", "look around"), ("t4", "tell")]
    assert statuses(again) == {"t3": "pending", "t1": "in_progress", "t4": "pending"}


def test_td_1_no_id_is_given_twice():
    plan = made("only", plan=made("a", "b"))
    plan = plans.created(plans.deleted(plan, {"id": "t3"}), {"title": "next"})
    assert [task.id for task in plan.tasks] == ["t4"]
    assert [task.id for task in made({"id": "t9", "title": "mine"}, "other").tasks] == ["t9", "t10"]


def test_td_1_dependencies_of_a_new_list_may_be_named_by_title():
    plan = made(
        "look", {"title": "change", "depends_on": ["look"]}, {"title": "tell", "depends_on": ["t2", "look", "t1"]}
    )
    assert [task.depends_on for task in plan.tasks] == [(), ("t1",), ("t2", "t1")]


@pytest.mark.parametrize(
    ("tasks", "sentence"),
    [
        ([{"status": "pending"}], "new task needs a title"),
        (["a", "a"], "same id or the same title"),
        ([{"id": "t1", "title": "a"}, {"id": "t1", "title": "b"}], "same id"),
        ([{"id": "first", "title": "a"}], "t and a number"),
        ([{"title": "x" * 301}], "title is longer than 300 bytes"),
        ([{"title": "ü" * 151}], "title is longer than 300 bytes"),
        ([{"title": "a", "evidence": "x" * 501}], "evidence is longer"),
        ([{"title": str(i)} for i in range(65)], "at most 64 tasks, not 65"),
        ([{"title": "a", "depends_on": ["t7"]}], "depends on t7, and there is no such task"),
        ([{"title": "a", "depends_on": ["a"]}], "t1 → t1"),
        ([{"title": "a", "depends_on": ["b"]}, {"title": "b", "depends_on": ["a"]}], "t1 → t2 → t1"),
        (["a", {"title": "b", "status": "in_progress", "depends_on": ["a"]}], "t2 cannot be in_progress before t1"),
        (["a", done("b", depends_on=["a"])], "t2 cannot be completed before t1"),
        ([{"title": "a", "status": "blocked"}], "one of pending, in_progress"),
    ],
)
def test_td_1_what_is_no_plan_is_refused(tasks, sentence):
    with pytest.raises(ToolError, match=sentence):
        made(*tasks)


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plans.updated(plan, {"id": "t1", "status": "pending"}),
        lambda plan: plans.updated(plan, {"id": "t1", "title": "other"}),
        lambda plan: plans.updated(plan, {"id": "t1", "evidence": "seen"}),
        lambda plan: plans.deleted(plan, {"id": "t1"}),
        lambda plan: made({"id": "t1", "title": "a", "status": "in_progress"}, "b", plan=plan),
        lambda plan: made({"title": "a", "status": "deleted"}, plan=plan),
        lambda plan: made({"id": "t1", "title": "other"}, plan=plan),
    ],
)
def test_td_1_a_completed_task_changes_only_by_being_reopened(change):
    plan = made(done("a"), "b")
    with pytest.raises(ToolError, match="completed task changes only by action reopen"):
        change(plan)
    assert made("a", "b", plan=plan) == plan, "restated as it is, it stays completed"
    again = plans.reopened(plan, {"id": "t1", "reason": "the test fails again"})
    assert again.tasks[0].status == "pending" and again.tasks[0].reason == "the test fails again"


@pytest.mark.parametrize(
    ("given_to", "sentence"),
    [
        ({"id": "t1"}, "reason is required"),
        ({"id": "t2", "reason": "x"}, "not completed"),
        ({"reason": "x"}, "no task"),
    ],
)
def test_td_1_what_is_reopened_is_completed_and_has_a_reason(given_to, sentence):
    with pytest.raises(ToolError, match=sentence):
        plans.reopened(made(done("a"), "b"), given_to)


def test_a_task_that_a_finished_one_rests_on_cannot_be_reopened_or_taken_away():
    plan = made(done("a"), done("b", depends_on=["a"]), "c")
    with pytest.raises(ToolError, match="t2 cannot be completed before t1"):
        plans.reopened(plan, {"id": "t1", "reason": "x"})
    plan = plans.updated(made("a", {"title": "b", "depends_on": ["a"]}), {"id": "t2", "owner": "me"})
    with pytest.raises(ToolError, match="depends on t1, and there is no such task"):
        plans.deleted(plan, {"id": "t1"})


def test_an_update_that_changes_nothing_says_so():
    with pytest.raises(ToolError, match="Nothing of t1 was changed"):
        plans.updated(made("a"), {"id": "t1"})
    with pytest.raises(ToolError, match=r"There is no task t9\. The tasks are t1"):
        plans.updated(made("a"), {"id": "t9", "status": "completed"})


def test_the_model_reads_a_line_a_task():
    plan = made(
        done("look", evidence="3 files"), {"title": "change", "status": "in_progress", "depends_on": ["look"]}, "tell"
    )
    assert plan.lines() == ["[x] t1 look (3 files)", "[~] t2 change (needs t1)", "[ ] t3 tell"]
    assert [task.id for task in plan.open] == ["t2", "t3"]


@pytest.mark.parametrize(
    "value",
    [
        [],
        "plan",
        {"tasks": [{"id": "t1"}]},
        {"tasks": [], "version": 2},
        {"tasks": [{"id": "t1", "title": "a", "status": "pending", "depends_on": ["t1"]}]},
    ],
)
def test_what_somebody_else_put_there_is_no_plan(value):
    assert plans.stored(value) is None


_TASK = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["t1", "t2", "t3"]),
        "title": st.sampled_from(["a", "b", "c"]),
        "status": st.sampled_from(plans.STATUSES),
        "depends_on": st.lists(st.sampled_from(["t1", "t2", "a"]), max_size=2),
        "reason": st.just("why"),
    },
)
_STEP = st.tuples(
    st.sampled_from(["set", "create", "update", "reopen", "delete"]), st.lists(_TASK, min_size=1, max_size=3)
)


@settings(max_examples=100)
@given(st.lists(_STEP, max_size=8))
def test_td_1_whatever_is_done_the_plan_stays_one_that_can_be_finished(steps):
    do = {"create": plans.created, "update": plans.updated, "reopen": plans.reopened, "delete": plans.deleted}
    plan, given_out = Plan(), 1
    for action, tasks in steps:
        before = plan
        try:
            plan = plans.restated(plan, tasks) if action == "set" else do[action](plan, tasks[0])
        except ToolError:
            continue
        assert plans.stored(msgspec.json.decode(msgspec.json.encode(plan))) == plan, "what was written can be read"
        assert plan.next >= given_out and all(int(task.id[1:]) < plan.next for task in plan.tasks)
        given_out = plan.next
        if action != "reopen":
            now = {task.id: task for task in plan.tasks}
            finished = [task for task in before.tasks if task.status == "completed" and task.id in now]
            assert all(now[task.id] == task for task in finished)
