"""A connection that a running command asks for: no call of its own, told where a person is asked about it (cli.md 6)."""

from __future__ import annotations

from lmx import words
from lmx.receipts.base import Generic, first_line, text_argument
from lmx_core import ToolCall


class Connection(Generic):
    def title(self, call: ToolCall) -> str:
        port = call.arguments.get("port")
        return words.CONNECTION.format(
            host=first_line(text_argument(call, "host")), port=port if isinstance(port, int) else "?"
        )

    def whole_evidence(self, call: ToolCall, before: str | None) -> str:
        return ""
