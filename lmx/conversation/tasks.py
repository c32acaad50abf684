"""The plan of the session's work, as its panel shows it (LAY-4). Pure.

The plan is a document that the session keeps (`lmx.plan`), so a resumed session shows what a live one did. What another writer
put there may be anything; what is no task is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lmx import words
from lmx.conversation.state import Task
from lmx.conversation.step import Step
from lmx.sanitize import one_line
from lmx_core import Entry

NAMESPACE = "lmx.plan"
STATUSES = ("pending", "in_progress", "completed")
MARKS = {"completed": "☑", "in_progress": "◐", "pending": "☐"}
BORDER_ROWS = 2
BAR_FROM_ROWS, BAR_FROM_COLUMNS = 5, 28


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the panel: its title, how much is done (0 to 1, None: no bar), and (mark, title, status) of each task."""

    title: str
    done: float | None
    tasks: tuple[tuple[str, str, str], ...]


def fold(step: Step, entry: Entry) -> None:
    """An `extension_state` entry: the plan as it is from here on."""
    payload = entry.payload
    if payload.get("namespace") == NAMESPACE and "value" in payload:
        step.set(tasks=_tasks(payload["value"]))


def _tasks(value: Any) -> tuple[Task, ...]:
    listed = value.get("tasks") if isinstance(value, Mapping) else None
    made = (_task(item) for item in (listed if isinstance(listed, list) else ()))
    return tuple(task for task in made if task is not None)


def _task(item: Any) -> Task | None:
    if not isinstance(item, Mapping) or item.get("status") not in STATUSES or not isinstance(item.get("title"), str):
        return None
    return Task(title=one_line(item["title"]), status=item["status"])


def rows_wanted(tasks: tuple[Task, ...], available: int) -> int:
    """How many rows the panel takes of `available`; none when nothing of the plan is open."""
    if all(task.status == "completed" for task in tasks):
        return 0
    return min(len(tasks) + BORDER_ROWS + 1, max(available // 3, BORDER_ROWS + 1))


def panel(tasks: tuple[Task, ...], rows: int, width: int) -> Panel:
    """The panel of so many rows, its border included: the tasks around the one in progress."""
    finished = sum(task.status == "completed" for task in tasks)
    bar = rows >= BAR_FROM_ROWS and width >= BAR_FROM_COLUMNS
    room = max(rows - BORDER_ROWS - bar, 0)
    at = next((place for place, task in enumerate(tasks) if task.status == "in_progress"), None)
    if at is None:
        at = next((place for place, task in enumerate(tasks) if task.status == "pending"), 0)
    first = max(0, min(at - room // 2, len(tasks) - room))
    return Panel(
        title=words.PLAN_TITLE.format(done=finished, total=len(tasks)),
        done=finished / len(tasks) if bar and tasks else None,
        tasks=tuple((MARKS[task.status], task.title, task.status) for task in tasks[first : first + room]),
    )
