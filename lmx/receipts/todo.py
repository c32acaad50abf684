"""todo: the plan has a panel of its own, so that a call leaves one word in the transcript (tui.md 6.2)."""

from __future__ import annotations

from lmx import words
from lmx.receipts.base import Generic, Result
from lmx.rows import Row
from lmx_core import ToolCall


class Todo(Generic):
    verbs = words.PLAN_VERBS

    def explored(self, call: ToolCall) -> str | None:
        return words.PLAN_READ if call.arguments.get("action") == "list" else None

    def title(self, call: ToolCall) -> str:
        return ""

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        return ()
