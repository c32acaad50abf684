"""The plan panel: what of a plan it shows, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.talk import Talk

from lmx.conversation import tasks
from lmx.conversation.state import Task

STATUS = st.sampled_from(tasks.STATUSES)
PLANS = st.lists(st.builds(lambda s: Task(title="t", status=s), STATUS), max_size=70).map(tuple)


def document(*listed: object, namespace: str = "lmx.plan", revision: int = 1) -> dict:
    value = {"version": 1, "next": 9, "tasks": list(listed)}
    return {"version": 1, "namespace": namespace, "revision": revision, "value": value}


def task(title: str, status: str = "pending") -> dict:
    return {"id": "t1", "title": title, "status": status}


@pytest.mark.parametrize("stored", (False, True))
def test_lay_4_gen_6_the_plan_of_the_session_live_and_resumed(stored):
    """LAY-4, GEN-6: the newest document is the plan; titles are made safe."""
    talk, other = Talk(), Talk()
    talk.append("extension_state", document(task("one"), task("two")))
    talk.append("extension_state", document(task("one\x1b[2J", "completed"), task("two", "in_progress")))
    if stored:
        other.open(talk.made)
        talk = other
    assert talk.state.tasks == (Task(title="one", status="completed"), Task(title="two", status="in_progress"))


@pytest.mark.parametrize(
    "payload",
    (
        document(task("x"), namespace="other"), {"namespace": "lmx.plan"}, {"namespace": "lmx.plan", "value": None},
        {"namespace": "lmx.plan", "value": {"tasks": [3, {"title": 4, "status": "pending"}, {"title": "a", "status": "?"}]}},
    ),
)  # fmt: skip
def test_what_is_no_plan_shows_none(payload):
    talk = Talk()
    talk.append("extension_state", payload)
    assert talk.state.tasks == ()


@given(PLANS, st.integers(0, 200), st.integers(4, 300))
def test_lay_4_rows_and_window(plan, available, width):
    """LAY-4: min(tasks + 3, max(a third, 3)) rows while something is open; the task in progress is always among those shown."""
    rows = tasks.rows_wanted(plan, available)
    if all(one.status == "completed" for one in plan):
        assert rows == 0
        return
    assert rows == min(len(plan) + 3, max(available // 3, 3))
    made = tasks.panel(plan, rows, width)
    assert (made.done is not None) == (rows >= 5 and width >= 28)
    assert 1 <= len(made.tasks) <= rows - 2 - (made.done is not None)
    if any(one.status == "in_progress" for one in plan):
        assert "in_progress" in [status for *_, status in made.tasks]


def test_lay_4_the_task_in_progress_stands_in_the_middle():
    plan = tuple(Task(title=str(n), status="in_progress" if n == 10 else "pending") for n in range(20))
    made = tasks.panel(plan, 8, 80)
    assert [title for _, title, _ in made.tasks] == ["8", "9", "10", "11", "12"]
    assert made.title == "plan 0/20" and made.done == 0
    assert [mark for mark, *_ in made.tasks] == ["☐", "☐", "◐", "☐", "☐"]
