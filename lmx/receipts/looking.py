"""read, grep and glob: they only look, and share one `Explored` block with a line each (tui.md 6.2)."""

from __future__ import annotations

import re

from lmx import words
from lmx.receipts.base import Generic, Result, first_line, text_argument
from lmx.sanitize import one_line
from lmx_core import ToolCall

_NUMBERED = re.compile(r"^\s*\d+\t", re.MULTILINE)


class Read(Generic):
    def explored(self, call: ToolCall) -> str | None:
        return words.spaced(one_line(call.name), first_line(text_argument(call, "path")))

    def found(self, call: ToolCall, result: Result) -> str:
        lines = len(_NUMBERED.findall(str(result.get("output") or "")))
        return f"({words.plural(lines, 'line')})" if lines else ""


class Grep(Generic):
    def explored(self, call: ToolCall) -> str | None:
        pattern = f'"{first_line(text_argument(call, "pattern"))}"'
        where = first_line(text_argument(call, "path") or text_argument(call, "glob"))
        return words.spaced(one_line(call.name), pattern, where)

    def found(self, call: ToolCall, result: Result) -> str:
        content = result.get("structured_content")
        hits = content.get("matches") if isinstance(content, dict) else None
        return f"({words.plural(hits, 'hit')})" if isinstance(hits, int) else ""


class Glob(Generic):
    def explored(self, call: ToolCall) -> str | None:
        pattern = first_line(text_argument(call, "pattern"))
        return words.spaced(one_line(call.name), pattern, first_line(text_argument(call, "path")))

    def found(self, call: ToolCall, result: Result) -> str:
        content = result.get("structured_content")
        files = content.get("matches") if isinstance(content, dict) else None
        return f"({words.plural(files, 'file')})" if isinstance(files, int) else ""
