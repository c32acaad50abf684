"""bash: the command, its output, and how it ended. On the card the command stands whole (APR-2)."""

from __future__ import annotations

import re

from lmx import words
from lmx.receipts.base import (
    Generic,
    Result,
    arguments,
    bounded_evidence,
    first_line,
    number,
    output_rows,
    text_argument,
)
from lmx.rows import Row
from lmx.sanitize import visible
from lmx_core import ToolCall


class Bash(Generic):
    def call(self, call: ToolCall, state: str, result: Result | None = None) -> tuple[Row, ...]:
        command = text_argument(call, "command").strip()
        more = command.count("\n")
        heading = self.heading(call, state, first_line(command) or call.name, lexer="bash")
        if not more:
            return (heading,)
        return (heading, Row(kind="hidden", text=words.more_of_message(more), gutter="    ", tone="muted"))

    def title(self, call: ToolCall) -> str:
        return words.spaced(
            super().title(ToolCall(id=call.id, name=call.name)), first_line(text_argument(call, "command"))
        )

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        rows = output_rows(call, _said(result))
        ending = _ending(result)
        return (
            (*rows, Row(kind="detail", text=ending, gutter="  └ ", tone="error", call_id=call.id)) if ending else rows
        )

    def evidence(self, call: ToolCall, before: str | None) -> tuple[Row, ...]:
        command = visible(text_argument(call, "command").strip("\n"), "evidence")
        rest = arguments(call, but=("command",))
        return (
            *bounded_evidence(call, command, lexer="bash"),
            *(Row(kind="detail", text=f"{name}: {value}", gutter="  │ ", call_id=call.id) for name, value in rest),
        )

    def whole_evidence(self, call: ToolCall, before: str | None) -> str:
        command = visible(text_argument(call, "command"), "evidence")
        return "\n".join([command, *(f"{name}: {value}" for name, value in arguments(call, but=("command",)))])


_NOTES = re.compile(r"\n?\[(?:exit status \d+[^\]\n]*|no output|timed out after [^\]\n]*|ended after [^\]\n]*)\]\s*\Z")


def _said(result: Result) -> str:
    """The output without the tool's own note on its end, which is told in words of ours."""
    text = str(result.get("output") or "")
    while match := _NOTES.search(text):
        text = text[: match.start()]
    return text


def _ending(result: Result) -> str:
    """What is worth saying of the end: another status than 0, a time limit, an output limit (BA-2)."""
    if status := number(result, "exit_status"):
        return words.EXIT.format(status=status)
    if (limit := number(result, "timeout_ms")) is not None:
        return words.TIMED_OUT.format(time=words.duration(limit))
    if (limit := number(result, "max_output_bytes")) is not None:
        return words.OUTPUT_LIMIT.format(size=words.size(limit))
    return ""
