"""bash: the command, its output, and how it ended. On the card the command stands whole (APR-2).

To look at a background command is told as looking: many polls in a row are one line that changes, and not a page of them.
"""

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
    tensed,
    text_argument,
)
from lmx.rows import Row
from lmx.sanitize import visible
from lmx_core import ToolCall


class Bash(Generic):
    def call(self, call: ToolCall, state: str, result: Result | None = None) -> tuple[Row, ...]:
        if task := _task(call):
            return (self.heading(call, state, task, verb=tensed(words.STOP_VERBS, state)),)
        command = text_argument(call, "command").strip()
        more = command.count("\n")
        verb = tensed(words.START_VERBS, state) if call.arguments.get("background") else None
        heading = self.heading(call, state, first_line(command) or call.name, lexer="bash", verb=verb)
        if not more:
            return (heading,)
        return (heading, Row(kind="hidden", text=words.more_of_message(more), gutter="    ", tone="muted"))

    def title(self, call: ToolCall) -> str:
        what = _task(call) or first_line(text_argument(call, "command"))
        return words.spaced(super().title(ToolCall(id=call.id, name=call.name)), what)

    def explored(self, call: ToolCall) -> str | None:
        looks = _task(call) and not call.arguments.get("cancel")
        return self.title(call) if looks else None

    def found(self, call: ToolCall, result: Result) -> str:
        told = _background(result)
        return f"({told})" if told else ""

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        rows = output_rows(call, _said(result))
        ending, tone = _ending(result), "error"
        if not ending and (ending := _background(result)):
            tone = "muted"
        return (*rows, Row(kind="detail", text=ending, gutter="  └ ", tone=tone, call_id=call.id)) if ending else rows

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


def _task(call: ToolCall) -> str:
    """The background command that a call is about, or nothing where it runs one."""
    return "" if text_argument(call, "command").strip() else first_line(text_argument(call, "task_id"))


_NOTES = re.compile(
    r"(?:\A|\n)\[(?:exit status \d+[^\]\n]*|no output|timed out after [^\]\n]*|ended after [^\]\n]*"
    r"|started in the background[^\]\n]*|bg-[0-9a-f]{8} [^\]\n]*)\]\s*\Z"
)


_NEWS = re.compile(r"(?:\A|\n)\[the background command [^\n]*\]\s*\Z")
"""That another one has ended, which stands behind the notes and is worth seeing."""


def _said(result: Result) -> str:
    """The output without the tool's own notes on its end, told in words of ours, and with its news of others."""
    text = str(result.get("output") or "")
    news: list[str] = []
    while match := _NOTES.search(text) or _NEWS.search(text):
        if match.re is _NEWS:
            news.insert(0, match[0].strip())
        text = text[: match.start()]
    return "\n".join([text, *news])


def _ending(result: Result) -> str:
    """What is worth saying of the end: another status than 0, a time limit, an output limit (BA-2)."""
    if status := number(result, "exit_status"):
        return words.EXIT.format(status=status)
    if (limit := number(result, "timeout_ms")) is not None:
        return words.TIMED_OUT.format(time=words.duration(limit))
    if (limit := number(result, "max_output_bytes")) is not None:
        return words.OUTPUT_LIMIT.format(size=words.size(limit))
    return ""


def _background(result: Result) -> str:
    """How a background command stands, in a few words; nothing for one that is none."""
    content = result.get("structured_content")
    if not isinstance(content, dict) or not isinstance(content.get("task_id"), str):
        return ""
    status = number(result, "exit_status")
    if status is not None:
        return words.EXIT.format(status=status)
    how = words.BACKGROUND.get(str(content.get("status")), "")
    if how == words.BACKGROUND["running"] and not _looked(result):
        return words.IN_BACKGROUND.format(id=visible(content["task_id"], "evidence"))
    return how and words.spaced(how, words.duration(number(result, "duration_ms") or 0))


def _looked(result: Result) -> bool:
    arguments = result.get("arguments")
    return isinstance(arguments, dict) and bool(arguments.get("task_id"))
