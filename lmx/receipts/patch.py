"""apply_patch: a heading a file, added, changed, deleted or moved, and its hunks as a diff (tui.md 6).

What came to pass is told from the tool's result alone. The patch itself is only what a model wanted, and is shown as that:
before approval, line by line, with nothing left out that would be applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lmx import words
from lmx.receipts import diff
from lmx.receipts.base import Generic, Result, bounded_evidence, first_line, number, text_argument
from lmx.receipts.files import CARD_ROWS, lexer
from lmx.rows import Row
from lmx.sanitize import one_line, visible
from lmx_core import ToolCall

_HEADER = re.compile(r"^\*\*\* (?:Add|Delete|Update) File: *(.+?)\s*$", re.MULTILINE)
_KINDS = {"+": "added", "-": "removed"}
_TONES = {"added": "ok", "removed": "error"}


class ApplyPatch(Generic):
    verbs = words.PATCH_VERBS

    def title(self, call: ToolCall) -> str:
        return words.spaced(one_line(call.name, "evidence"), _targets(call))

    def call(self, call: ToolCall, state: str, result: Result | None = None) -> tuple[Row, ...]:
        files = _files(result) if state == "done" and result is not None else []
        if result is None or not files:
            return (self.heading(call, state, _targets(call)),)
        counts = f"(+{number(result, 'added')} -{number(result, 'removed')})"
        what = _name(files[0]) if len(files) == 1 else words.plural(len(files), "file")
        verb = words.PATCH_CHANGES.get(str(files[0].get("change"))) if len(files) == 1 else None
        return (self.heading(call, state, words.spaced(what, counts), verb=verb),)

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        files, rows = _files(result), []
        for place, file in enumerate(files):
            if len(files) > 1:
                rows.append(_heading(call, file))
            change = _told(file)
            if change is not None and file.get("change") != "deleted":
                rows += change.bounded(max(1, (diff.DIFF_ROWS - len(rows)) // (len(files) - place)))
        return tuple(rows)

    def evidence(self, call: ToolCall, before: str | None) -> tuple[Row, ...]:
        lines = list(_patch_rows(call))
        if not lines:
            return bounded_evidence(call, super().whole_evidence(call, before))
        if len(lines) <= CARD_ROWS:
            return tuple(lines)
        more = words.more_lines(len(lines) - CARD_ROWS)
        hidden = Row(kind="hidden", text=more, gutter="  │ ", tone="notice", call_id=call.id)
        return (*lines[:CARD_ROWS], hidden)

    def whole_evidence(self, call: ToolCall, before: str | None) -> str:
        return visible(_patch(call), "evidence") or super().whole_evidence(call, before)


def _patch(call: ToolCall) -> str:
    return text_argument(call, "input") or text_argument(call, "patch")


def _targets(call: ToolCall) -> str:
    """The first file a patch names, and how many more there are."""
    found = list(dict.fromkeys(_HEADER.findall(_patch(call))))
    more = f"+{len(found) - 1}" if len(found) > 1 else ""
    return words.spaced(first_line(found[0]), more) if found else ""


def _patch_rows(call: ToolCall) -> Iterator[Row]:
    text = _patch(call).replace("\r\n", "\n").strip("\n")
    for line in text.split("\n") if text else ():
        kind = _KINDS.get(line[:1], "context" if line[:1] == " " else "code")
        shown = line if kind == "code" else line[1:]
        tone = _TONES.get(kind, "muted" if kind == "context" else "plain")
        yield Row(kind=kind, text=visible(shown, "evidence"), gutter="  │ ", tone=tone, call_id=call.id)


def _files(result: Result | None) -> list[Mapping[str, Any]]:
    content = result.get("structured_content") if result is not None else None
    files = content.get("files") if isinstance(content, dict) else None
    return [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []


def _name(file: Mapping[str, Any]) -> str:
    path, to = first_line(str(file.get("path", ""))), file.get("to")
    return f"{path} → {first_line(to)}" if isinstance(to, str) else path


def _heading(call: ToolCall, file: Mapping[str, Any]) -> Row:
    verb = words.PATCH_CHANGES.get(str(file.get("change")), "")
    counts = f"(+{file.get('added')} -{file.get('removed')})"
    text = words.spaced(verb, _name(file), counts)
    return Row(kind="detail", text=text, gutter="  └ ", call_id=call.id)


def _told(file: Mapping[str, Any]) -> diff.Diff | None:
    before, after, line = file.get("before"), file.get("after"), file.get("line")
    if not isinstance(before, str) or not isinstance(after, str):
        return None
    path = str(file.get("to") or file.get("path", ""))
    return diff.between(before, after, lexer=lexer(path), first=line if isinstance(line, int) else None)
