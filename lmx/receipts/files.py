"""edit and write: what changed, as a diff. Before approval it is the diff that would reach the disk (APR-2, C01)."""

from __future__ import annotations

from pathlib import PurePath

from lmx import words
from lmx.receipts import diff
from lmx.receipts.base import Generic, Result, bounded_evidence, chosen, first_line, number, text_argument
from lmx.rows import Row
from lmx.sanitize import one_line, visible
from lmx_core import ToolCall

CARD_ROWS = 24
WRITTEN_ROWS = 12

_LEXERS = {
    ".c": "c", ".cpp": "cpp", ".css": "css", ".go": "go", ".h": "c", ".html": "html", ".java": "java", ".js": "javascript",
    ".json": "json", ".md": "markdown", ".py": "python", ".rb": "ruby", ".rs": "rust", ".sh": "bash", ".sql": "sql",
    ".toml": "toml", ".ts": "typescript", ".tsx": "tsx", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip


def lexer(path: str) -> str | None:
    return _LEXERS.get(PurePath(path).suffix.lower())


class _FileReceipt(Generic):
    """What edit and write share: the path is the target, and the card needs the file as it is."""

    def title(self, call: ToolCall) -> str:
        return words.spaced(one_line(call.name, "evidence"), first_line(text_argument(call, "path")))

    def changes(self, call: ToolCall) -> str | None:
        return text_argument(call, "path") or None

    def call(self, call: ToolCall, state: str, result: Result | None = None) -> tuple[Row, ...]:
        path = first_line(text_argument(call, "path"))
        if state != "done" or result is None:
            return (self.heading(call, state, path),)
        return (self.heading(call, state, words.spaced(path, self.counts(call, result)), verb=self.did(result)),)

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        change = _told(call, result) or (self.change(call, None) if not chosen(result) else None)
        return change.bounded() if change is not None else ()

    def did(self, result: Result) -> str | None:
        """A verb of its own for what was done, or None for the usual one."""
        return None

    def counts(self, call: ToolCall, result: Result) -> str:
        """`(+1 -1)`, as the tool counted."""
        added, removed = number(result, "added"), number(result, "removed")
        if added is None or removed is None:
            change = self.change(call, None)
            return change.counts if change is not None else ""
        return f"(+{added} -{removed})" if removed else f"(+{added})" if added else ""

    def evidence(self, call: ToolCall, before: str | None) -> tuple[Row, ...]:
        change = self.change(call, before)
        if change is None or not change.rows:
            return bounded_evidence(call, self.whole_evidence(call, before))
        return change.bounded(CARD_ROWS)

    def whole_evidence(self, call: ToolCall, before: str | None) -> str:
        change = self.change(call, before)
        if change is None or not change.rows:
            return super().whole_evidence(call, before)
        path = visible(text_argument(call, "path"), "evidence")
        return f"{path} {change.counts}\n{change.text()}"

    def change(self, call: ToolCall, before: str | None) -> diff.Diff | None:
        raise LookupError(call.name)


class Edit(_FileReceipt):
    verbs = words.EDIT_VERBS

    def change(self, call: ToolCall, before: str | None) -> diff.Diff | None:
        """With the file at hand the numbers are its own; where `old` is not found exactly, only the texts are compared."""
        old, new = text_argument(call, "old"), text_argument(call, "new")
        kind = lexer(text_argument(call, "path"))
        if before is not None and old:
            text, wanted, put = before.replace("\r\n", "\n"), old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
            places = text.count(wanted)
            if places == 1 or (places and call.arguments.get("replace_all") is True):
                return diff.between(text, text.replace(wanted, put), lexer=kind)
        return diff.between(old, new, lexer=kind, first=None)

    def evidence(self, call: ToolCall, before: str | None) -> tuple[Row, ...]:
        rows = super().evidence(call, before)
        old = text_argument(call, "old").replace("\r\n", "\n")
        if before is None or not old or old in before.replace("\r\n", "\n"):
            return rows
        return (*rows, Row(kind="detail", text=words.FOUND_LOOSELY, gutter="  │ ", tone="warn", call_id=call.id))


class Write(_FileReceipt):
    verbs = words.WRITE_VERBS

    def change(self, call: ToolCall, before: str | None) -> diff.Diff | None:
        return diff.between(before or "", text_argument(call, "content"), lexer=lexer(text_argument(call, "path")))

    def did(self, result: Result) -> str | None:
        content = result.get("structured_content")
        return words.WRITE_CHANGES.get(content.get("change", "")) if isinstance(content, dict) else None

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        content = result.get("structured_content")
        kind = content.get("change") if isinstance(content, dict) else None
        if kind == "unchanged":
            return ()
        change = _told(call, result)
        if kind == "overwrote" or chosen(result):  # what a person left of it is not what the call says
            return change.bounded() if change is not None else ()
        text = text_argument(call, "content")
        return diff.numbered(text, lexer=lexer(text_argument(call, "path")), limit=WRITTEN_ROWS)


def _told(call: ToolCall, result: Result) -> diff.Diff | None:
    """The difference as the tool itself reports it: `before` and `after` of the changed region, from line `line`."""
    content = result.get("structured_content")
    if not isinstance(content, dict):
        return None
    before, after = content.get("before"), content.get("after")
    if not isinstance(before, str) or not isinstance(after, str):
        return None
    line = content.get("line")
    return diff.between(
        before, after, lexer=lexer(text_argument(call, "path")), first=line if isinstance(line, int) else None
    )
