"""ask_user: what was asked, and what the person answered (tui.md 6.2)."""

from __future__ import annotations

from lmx import words
from lmx.receipts.base import Generic, Result, first_line
from lmx.rows import Row
from lmx_core import ToolCall


class AskUser(Generic):
    verbs = words.ASK_VERBS

    def title(self, call: ToolCall) -> str:
        """The question, or the first of several and how many more there are."""
        asked = _asked(call)
        more = words.more_questions(len(asked) - 1) if len(asked) > 1 else ""
        return words.joined(part for part in (asked[0] if asked else "", more) if part)

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        """Each answer in the answer's voice, under its question where several were asked; or why there is none."""
        content = result.get("structured_content")
        told = content.get("told") if isinstance(content, dict) else None
        if not isinstance(told, list):
            status = content.get("status") if isinstance(content, dict) else None
            said = words.NOT_ANSWERED.get(str(status), "")
            return (_row("answer", said, "  → ", call, "muted"),) if said else super().result(call, result)
        asked, rows = _asked(call), []
        for number, answer in enumerate(told):
            if len(told) > 1 and number < len(asked):
                rows.append(_row("detail", asked[number], "  ", call, "muted"))
            rows.append(_row("answer", first_line(str(answer)), "  → ", call, "question"))
        return tuple(rows)


def _asked(call: ToolCall) -> list[str]:
    several = call.arguments.get("questions")
    listed = [call.arguments, *several] if isinstance(several, list) else [call.arguments]
    return [
        first_line(one["question"]) for one in listed if isinstance(one, dict) and isinstance(one.get("question"), str)
    ]


def _row(kind: str, text: str, gutter: str, call: ToolCall, tone: str) -> Row:
    return Row(kind=kind, text=text, gutter=gutter, tone=tone, call_id=call.id)
