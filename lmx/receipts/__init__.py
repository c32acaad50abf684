"""How tool calls are told on every surface: one renderer a tool, rows of plain data (tui.md 6).

`Receipts` asks the renderer of a call's tool and has a generic one for every other, so that a tool nobody foresaw is told too.
A renderer that returned widgets or markup would run what a model wrote; rows cannot.
"""

from __future__ import annotations

from collections.abc import Mapping

from lmx import words
from lmx.receipts.ask_user import AskUser
from lmx.receipts.base import Generic, Receipt, Result, chosen, failed_rows
from lmx.receipts.bash import Bash
from lmx.receipts.files import Edit, Write
from lmx.receipts.looking import Glob, Grep, Read
from lmx.receipts.network import Connection
from lmx.receipts.patch import ApplyPatch
from lmx.receipts.todo import Todo
from lmx.receipts.web import WebFetch, WebSearch
from lmx.rows import Row
from lmx_core import ToolCall

__all__ = ["SHIPPED", "Generic", "Receipt", "Receipts", "Result"]

SHIPPED: Mapping[str, Receipt] = {
    "read": Read(),
    "grep": Grep(),
    "glob": Glob(),
    "bash": Bash(),
    "edit": Edit(),
    "write": Write(),
    "apply_patch": ApplyPatch(),
    "todo": Todo(),
    "ask_user": AskUser(),
    "web_fetch": WebFetch(),
    "web_search": WebSearch(),
    "network": Connection(),
}


class Receipts:
    """Renderers by tool name. `extra` replaces or adds some."""

    def __init__(self, extra: Mapping[str, Receipt] | None = None):
        self._by_name = {**SHIPPED, **(extra or {})}
        self._generic = Generic()

    def call(self, call: ToolCall, state: str, result: Result | None = None) -> tuple[Row, ...]:
        return self._of(call).call(call, state, result)

    def explored(self, call: ToolCall) -> str | None:
        return self._of(call).explored(call)

    def found(self, call: ToolCall, result: Result) -> str:
        return self._of(call).found(call, result)

    def result(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        """What a person left of a call is said before it is shown."""
        rows = self._of(call).result(call, result)
        if not (hunks := chosen(result)):
            return rows
        text = words.hunks_ran(hunks)
        return (Row(kind="detail", text=text, gutter="  └ ", tone="notice", call_id=call.id), *rows)

    def failed(self, call: ToolCall, result: Result) -> tuple[Row, ...]:
        return failed_rows(call, result)

    def live(self, call: ToolCall, tail: str, hidden: int) -> tuple[Row, ...]:
        """The newest lines of a call that still runs."""
        rows = [
            Row(kind="output", text=line, gutter="    ", tone="muted", call_id=call.id)
            for line in tail.rstrip("\n").split("\n")
        ]
        if hidden:
            more = words.earlier_lines(hidden)
            rows.insert(0, Row(kind="hidden", text=more, gutter="    ", tone="muted", call_id=call.id))
        return tuple(rows)

    def evidence(self, call: ToolCall, before: str | None) -> tuple[Row, ...]:
        return self._of(call).evidence(call, before)

    def whole_evidence(self, call: ToolCall, before: str | None) -> str:
        return self._of(call).whole_evidence(call, before)

    def title(self, call: ToolCall) -> str:
        return self._of(call).title(call)

    def changes(self, call: ToolCall) -> str | None:
        return self._of(call).changes(call)

    def _of(self, call: ToolCall) -> Receipt:
        return self._by_name.get(call.name, self._generic)
