"""What every receipt is made of: glyphs and verbs for a call's state, shortened output, and the receipt of a tool nobody knows.

A receipt is rows of data. It gets a call and, later, the payload of its `tool_result` entry, both of which a model or a tool
wrote: everything from there is sanitised here, once, on its way into a row (GEN-5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lmx import words
from lmx.rows import Row
from lmx.sanitize import last_states, one_line, visible
from lmx_core import ToolCall

Result = Mapping[str, Any]
"""The payload of a `tool_result` entry (core.md REC-4)."""

GLYPHS = {"done": "✓ ", "failed": "✗ ", "lost": "✗ ", "denied": "⊘ ", "cancelled": "⊘ "}
TONES = {"done": "ok", "failed": "error", "lost": "warn", "denied": "warn", "cancelled": "warn", "running": "activity"}

TITLE_CHARACTERS = 180
OUTPUT_HEAD = OUTPUT_TAIL = 2
EVIDENCE_LINES = 12
EVIDENCE_CHARACTERS = 1_500


class Receipt(Protocol):
    """How the calls of one tool are told (RCP-1). All text in rows is sanitised by the receipt."""

    def call(self, call: ToolCall, state: str, result: Result | None = None) -> tuple[Row, ...]:
        """The announcement. `state`: waiting, parked, running, done, failed, denied, cancelled or lost; then with `result`."""

    def explored(self, call: ToolCall) -> str | None:
        """Its line under `Explored`, for a tool that only looks; None for one with a block of its own."""

    def found(self, call: ToolCall, result: Result) -> str:
        """What is added to that line when the result is there."""

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        """What is drawn under the announcement of a call that succeeded."""

    def evidence(self, call: ToolCall, before: str | None) -> tuple[Row, ...]:
        """What a person decides by, bounded. `before`: the file it would change, if it was read."""

    def whole_evidence(self, call: ToolCall, before: str | None) -> str:
        """The same without bounds, for the pager."""

    def title(self, call: ToolCall) -> str:
        """Name and target on one line."""

    def changes(self, call: ToolCall) -> str | None:
        """The path of the file whose content the evidence needs, or None."""


def chosen(result: Result) -> Mapping[str, Any]:
    """Which hunks of the call a person accepted, refused and edited; empty where the whole of it ran (C01)."""
    metadata = result.get("metadata")
    hunks = metadata.get("hunks") if isinstance(metadata, Mapping) else None
    return hunks if isinstance(hunks, Mapping) else {}


class Generic:
    """The receipt of any tool without one of its own, and the base of those: verb, name, first text argument, output."""

    verbs = words.RUN_VERBS

    def call(self, call: ToolCall, state: str, result: Result | None = None) -> tuple[Row, ...]:
        return (self.heading(call, state, self.title(call)),)

    def heading(
        self, call: ToolCall, state: str, what: str, *, lexer: str | None = None, verb: str | None = None
    ) -> Row:
        gutter = f"{GLYPHS.get(state, '• ')}{verb or self.verb(state)} "
        return Row(
            kind="heading", text=what, gutter=gutter, tone=TONES.get(state, "plain"), lexer=lexer, call_id=call.id
        )

    def verb(self, state: str) -> str:
        return tensed(self.verbs, state)

    def explored(self, call: ToolCall) -> str | None:
        return None

    def found(self, call: ToolCall, result: Result) -> str:
        return ""

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        return output_rows(call, str(result.get("output") or ""))

    def evidence(self, call: ToolCall, before: str | None) -> tuple[Row, ...]:
        return bounded_evidence(call, self.whole_evidence(call, before))

    def whole_evidence(self, call: ToolCall, before: str | None) -> str:
        return "\n".join(f"{name}: {value}" for name, value in arguments(call))

    def title(self, call: ToolCall) -> str:
        target = next((value for value in call.arguments.values() if isinstance(value, str) and value.strip()), "")
        return words.spaced(one_line(call.name, "evidence"), first_line(target))

    def changes(self, call: ToolCall) -> str | None:
        return None


def tensed(verbs: tuple[str, str, str, str, str], state: str) -> str:
    """The verb of a state (RCP-4), of one to be asked for, running, done, refused and stopped."""
    parked, running, done, denied, cancelled = verbs
    named = {"running": running, "done": done, "failed": done, "denied": denied, "cancelled": cancelled}
    named["lost"] = words.LOST_VERB
    return named.get(state, parked)


def arguments(call: ToolCall, but: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Every argument as (name, value), written out so that nothing can hide in it (APR-2)."""
    return [
        (visible(name, "evidence"), visible(value if isinstance(value, str) else repr(value), "evidence"))
        for name, value in call.arguments.items()
        if name not in but and value is not None
    ]


def text_argument(call: ToolCall, name: str) -> str:
    """A text argument as it came, or nothing when it is absent or no text."""
    value = call.arguments.get(name)
    return value if isinstance(value, str) else ""


def number(result: Result, name: str) -> int | None:
    """A number of the structured content, or None."""
    content = result.get("structured_content")
    value = content.get(name) if isinstance(content, dict) else None
    return value if isinstance(value, int) else None


def first_line(text: str) -> str:
    """The first line of a text, written out, cut to what a heading takes."""
    line = visible(text.strip().partition("\n")[0], "evidence").replace("\t", " ")
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1] + "…"


def output_rows(call: ToolCall, text: str, tone: str = "muted") -> tuple[Row, ...]:
    """A program's output: the first and last lines, and how many are between (RCP-10)."""
    lines = visible(last_states(text)).strip("\n").split("\n")
    if not any(line.strip() for line in lines):
        return ()
    if len(lines) <= OUTPUT_HEAD + OUTPUT_TAIL:
        return tuple(_output(call, line, number, tone) for number, line in enumerate(lines))
    hidden = words.hidden_lines(len(lines) - OUTPUT_HEAD - OUTPUT_TAIL)
    return (
        *(_output(call, line, number, tone) for number, line in enumerate(lines[:OUTPUT_HEAD])),
        Row(kind="hidden", text=hidden, gutter="    ", tone="muted", call_id=call.id),
        *(_output(call, line, 1, tone) for line in lines[-OUTPUT_TAIL:]),
    )


def _output(call: ToolCall, line: str, number: int, tone: str) -> Row:
    return Row(kind="output", text=line, gutter="  └ " if number == 0 else "    ", tone=tone, call_id=call.id)


def failed_rows(call: ToolCall, result: Result) -> tuple[Row, ...]:
    """A call that failed is told by its output, before any receipt is asked (RCP-3)."""
    tone = "warn" if result.get("outcome") in ("denied", "cancelled", "unknown") else "error"
    said = str(result.get("output") or "")
    return output_rows(call, said if said.strip() else words.FAILED_SILENTLY, tone)


def bounded_evidence(call: ToolCall, text: str, lexer: str | None = None) -> tuple[Row, ...]:
    """Evidence as wrapped rows, at most a dozen lines, and then how much more there is (APR-2). `text` is written out."""
    if not text:
        return ()
    lines = text.split("\n")
    shown = "\n".join(lines[:EVIDENCE_LINES])
    more = ""
    if len(shown) > EVIDENCE_CHARACTERS:
        more = words.more_characters(len(text) - EVIDENCE_CHARACTERS)
        shown = shown[:EVIDENCE_CHARACTERS]
    elif len(lines) > EVIDENCE_LINES:
        more = words.more_lines(len(lines) - EVIDENCE_LINES)
    rows = [Row(kind="code", text=shown, gutter="  │ ", lexer=lexer, call_id=call.id)]
    if more:
        rows.append(Row(kind="hidden", text=more, gutter="  │ ", tone="notice", call_id=call.id))
    return tuple(rows)
