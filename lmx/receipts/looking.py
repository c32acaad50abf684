"""read, grep and glob: they only look, and share one `Explored` block with a line each (tui.md 6.2)."""

from __future__ import annotations

from lmx import words
from lmx.receipts.base import Generic, Result, first_line, number, text_argument
from lmx.sanitize import one_line
from lmx_core import ToolCall


class Read(Generic):
    def explored(self, call: ToolCall) -> str | None:
        return words.spaced(one_line(call.name), first_line(text_argument(call, "path")))

    def found(self, call: ToolCall, result: Result) -> str:
        first, last, total = (number(result, name) for name in ("first", "last", "total"))
        if first is None or last is None or last < first:
            return ""
        if first == 1 and last == total:
            return f"({words.plural(last, 'line')})"
        return words.LINES.format(first=first, last=last)


class Grep(Generic):
    def explored(self, call: ToolCall) -> str | None:
        pattern = f'"{first_line(text_argument(call, "pattern"))}"'
        where = first_line(text_argument(call, "path") or text_argument(call, "glob"))
        return words.spaced(one_line(call.name), pattern, where)

    def found(self, call: ToolCall, result: Result) -> str:
        hits = number(result, "results")
        return f"({words.plural(hits, 'hit')})" if hits is not None else ""


class Glob(Generic):
    def explored(self, call: ToolCall) -> str | None:
        pattern = first_line(text_argument(call, "pattern"))
        return words.spaced(one_line(call.name), pattern, first_line(text_argument(call, "path")))

    def found(self, call: ToolCall, result: Result) -> str:
        files = number(result, "files")
        return f"({words.plural(files, 'file')})" if files is not None else ""
