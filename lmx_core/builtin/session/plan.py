"""The plan of a session's work: a list of tasks, and what may become of it (TD-1). Pure.

It is checked as a whole after every change, whoever made it. A check of the one task that was named would let a plan become one
that nobody can finish: two tasks that wait for each other, or a finished one that rests on an unfinished one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from lmx_core.entry import valid_text
from lmx_core.errors import ToolError

NAMESPACE = "lmx.plan"
"""The document of a session that holds it: `{"version": 1, "next": int, "tasks": [Task, …]}`."""
VERSION = 1

Status = Literal["pending", "in_progress", "completed"]
STATUSES = ("pending", "in_progress", "completed", "deleted")
"""What a call may say; a deleted task is gone."""
MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}

MOST_TASKS = 64
MAX_BYTES = {"title": 300, "owner": 100, "evidence": 500, "reason": 300}
_ID = re.compile(r"t([1-9][0-9]{0,5})")


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task. `depends_on` are ids; `evidence` is how one sees that it is done, `reason` why it was taken up again."""

    id: str
    title: str
    status: Status
    owner: str = ""
    depends_on: tuple[str, ...] = ()
    evidence: str = ""
    reason: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks in their order. `next` is the number of the next id: none is given twice."""

    tasks: tuple[Task, ...] = ()
    next: int = 1
    version: int = VERSION

    @property
    def open(self) -> list[Task]:
        return [task for task in self.tasks if task.status != "completed"]

    def lines(self) -> list[str]:
        """A line for each task, for the model."""
        return [_line(task) for task in self.tasks]


def stored(value: Any) -> Plan | None:
    """The plan of a document's value; None for what is none, which another writer may have put there."""
    if value is None:
        return Plan()
    try:
        plan = msgspec.convert(value, Plan)
        _check(plan.tasks)
    except (msgspec.ValidationError, ToolError):
        return None
    return plan if plan.version == VERSION else None


def restated(plan: Plan, tasks: Sequence[Mapping[str, Any]]) -> Plan:
    """The whole list anew. A task keeps its id by naming it, or by its title; those left out are gone. Raises ToolError."""
    before, by_title = {task.id: task for task in plan.tasks}, {task.title: task for task in plan.tasks}
    kept, fresh = plan.next, []
    for given in tasks:
        title = _text(given.get("title"), "title") if given.get("title") else None
        known = before.get(str(given.get("id"))) if given.get("id") else by_title.get(title or "")
        if known is None and title is None:
            raise ToolError("A new task needs a title.")
        id = known.id if known is not None else _new_id(given.get("id"))
        kept = max(kept, _number(id) + 1) if id else kept
        fresh.append((given, known, id, title))
    made = []
    for given, known, id, title in fresh:
        if not id:
            id, kept = f"t{kept}", kept + 1
        made.append((given, known, Task(id=id, title=title or (known.title if known else ""), status="pending")))
    named = {task.title: task.id for _, _, task in made}
    done = [_filled(known or task, {**given, "title": task.title}, named) for given, known, task in made]
    return _checked([task for task in done if task is not None], kept)


def created(plan: Plan, given: Mapping[str, Any]) -> Plan:
    """One more task, at the end. Raises ToolError."""
    task = Task(id=f"t{plan.next}", title=_text(given.get("title"), "title"), status="pending")
    filled = _filled(task, given, {})
    return _checked([*plan.tasks, *([filled] if filled else [])], plan.next + 1)


def updated(plan: Plan, given: Mapping[str, Any]) -> Plan:
    """One task changed, or with the status `deleted` gone. Raises ToolError."""
    task = _found(plan, given.get("id"))
    changed = _filled(task, given, {})
    if changed == task:
        raise ToolError(f"Nothing of {task.id} was changed: give title, status, owner, depends_on or evidence.")
    return _checked([changed if one is task else one for one in plan.tasks], plan.next)


def reopened(plan: Plan, given: Mapping[str, Any]) -> Plan:
    """A completed task that is to be done again, for a reason. Raises ToolError."""
    task, reason = _found(plan, given.get("id")), _text(given.get("reason"), "reason")
    if task.status != "completed":
        raise ToolError(f"{task.id} is {task.status}, not completed: there is nothing to reopen.")
    again = msgspec.structs.replace(task, status="pending", reason=reason, evidence="")
    return _checked([again if one is task else one for one in plan.tasks], plan.next)


def deleted(plan: Plan, given: Mapping[str, Any]) -> Plan:
    return updated(plan, {"id": given.get("id"), "status": "deleted"})


def _filled(task: Task, given: Mapping[str, Any], named: Mapping[str, str]) -> Task | None:
    """`task` with what was given; None where it is deleted. `named` are ids by title. Raises ToolError."""
    new: dict[str, Any] = {name: _text(given[name], name) for name in ("title", "owner", "evidence") if name in given}
    status: Any = given.get("status", task.status)
    if status not in STATUSES:
        raise ToolError(f"The status of a task is one of {', '.join(STATUSES)}.")
    if (needs := given.get("depends_on")) is not None:
        new["depends_on"] = tuple(dict.fromkeys(named.get(str(id), str(id)) for id in needs))
    changed = None if status == "deleted" else msgspec.structs.replace(task, status=status, **new)
    if task.status == "completed" and changed != task:
        raise ToolError(f"{task.id} is completed. A completed task changes only by action reopen, with a reason.")
    return changed


def _checked(tasks: Iterable[Task | None], next: int) -> Plan:
    left = tuple(task for task in tasks if task is not None)
    _check(left)
    return Plan(tasks=left, next=next)


def _check(tasks: Sequence[Task]) -> None:
    if len(tasks) > MOST_TASKS:
        raise ToolError(f"A plan has at most {MOST_TASKS} tasks, not {len(tasks)}: put some of them together.")
    by_id = {task.id: task for task in tasks}
    if len(by_id) < len(tasks) or len({task.title for task in tasks}) < len(tasks):
        raise ToolError("Two tasks have the same id or the same title.")
    for task in tasks:
        missing = [id for id in task.depends_on if id not in by_id]
        if missing:
            raise ToolError(f"{task.id} depends on {', '.join(missing)}, and there is no such task in the plan.")
        waits = [id for id in task.depends_on if by_id[id].status != "completed"]
        if waits and task.status != "pending":
            raise ToolError(f"{task.id} cannot be {task.status} before {', '.join(waits)}, on which it depends.")
    if circle := _circle(by_id):
        raise ToolError(f"{' → '.join(circle)}: tasks that depend on each other can never be done.")


def _circle(by_id: Mapping[str, Task]) -> list[str]:
    """Ids that wait for one another, the first once more at the end; [] if there are none."""
    settled: set[str] = set()
    for start in by_id:
        path = [start]
        while path:
            deeper = next((id for id in by_id[path[-1]].depends_on if id not in settled), None)
            if deeper is None:
                settled.add(path.pop())
            elif deeper in path:
                return [*path[path.index(deeper) :], deeper]
            else:
                path.append(deeper)
    return []


def _found(plan: Plan, id: Any) -> Task:
    found = next((task for task in plan.tasks if task.id == id), None)
    if found is None:
        known = ", ".join(task.id for task in plan.tasks) or "none: the plan is empty"
        raise ToolError(f"There is no task {id or 'without an id'}. The tasks are {known}.")
    return found


def _new_id(id: Any) -> str:
    """An id that the model made up for a task it restates; "" where it made none up."""
    if not id:
        return ""
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise ToolError("The id of a task is t and a number, such as t1; leave it out for a new task.")
    return id


def _number(id: str) -> int:
    match = _ID.fullmatch(id)
    return int(match[1]) if match else 0


def _text(value: Any, name: str) -> str:
    text = " ".join(valid_text(value).split()) if isinstance(value, str) else ""
    if not text and name in ("title", "reason"):
        raise ToolError(f"{name} is required, and not empty.")
    if len(text.encode()) > MAX_BYTES[name]:
        raise ToolError(f"{name} is longer than {MAX_BYTES[name]} bytes: say it in fewer words.")
    return text


def _line(task: Task) -> str:
    parts = [f"needs {', '.join(task.depends_on)}" if task.depends_on else "", task.owner, task.evidence, task.reason]
    said = "; ".join(part for part in parts if part)
    return f"{MARKS[task.status]} {task.id} {task.title}{f' ({said})' if said else ''}"
