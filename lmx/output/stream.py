"""The `stream-json` format: one object a line, flushed at once, the result last (cli.md 2.4).

Types are only ever added. A consumer that reads line by line must never meet half an object, so a line is one write.
"""

from __future__ import annotations

import sys
from typing import Any

from lmx import words
from lmx.output import lines
from lmx.output.result import Outcome, encode, to_dict
from lmx.output.text import entry_lines, notice_line, refused_line
from lmx_core import events

OUTPUT_CHARACTERS = 2_000
"""How much of a tool's output an event carries; `output_bytes` tells the whole size."""


class StreamOutput:
    """Notices that come before the session are held until it is announced: its line is the first."""

    def __init__(self) -> None:
        self._held: list[str] | None = []

    def session(self, *, session_id: str, name: str, model: str, context_window: int | None) -> None:
        _write(type="session", session_id=session_id, name=name, model=model, context_window=context_window)
        self._release()

    def notice(self, text: str) -> None:
        if self._held is None:
            _write(type="notice", text=text)
        else:
            self._held.append(text)

    def _release(self) -> None:
        held, self._held = self._held or [], None
        for text in held:
            self.notice(text)

    def event(self, event: Any) -> None:
        if isinstance(event, events.TextDelta):
            _write(type="text", text=event.text)
        elif isinstance(event, events.ToolCalled):
            _write(type="tool_call", id=event.id, name=event.name, arguments=event.arguments)
        elif isinstance(event, events.EntryAppended) and event.entry.type == "tool_result":
            _tool_result(event.entry.payload)
        elif isinstance(event, events.EntryAppended):
            for line in entry_lines(event.entry):
                self.notice(line)
        elif isinstance(event, events.ProviderRetry):
            _write(
                type="retry",
                attempt=event.attempt,
                max=event.max,
                delay_ms=event.delay_ms,
                after_output=event.after_output,
                message=event.reason,
            )
        elif (text := notice_line(event)) is not None:
            self.notice(text)

    def end(self, result: Outcome) -> None:
        self._release()
        if result.session_id is None and result.sentence is not None:
            lines.say(result.sentence)
        if result.check is not None and result.check["current"] is False:
            self.notice(words.CHECK_IS_STALE)
        if result.refused:
            self.notice(refused_line(result.refused, result.by_hooks, result.helps))
        if result.category is not None:
            _write(type="error", category=result.category, message=result.sentence)
        _write(**to_dict(result))


def _tool_result(payload: dict[str, Any]) -> None:
    output = payload.get("output", "")
    _write(
        type="tool_result",
        id=payload["call_id"],
        name=payload["name"],
        error=payload["error"],
        output=output[:OUTPUT_CHARACTERS],
        output_bytes=payload.get("output_bytes", len(output.encode())),
    )


def _write(**fields: Any) -> None:
    sys.stdout.write(encode(fields) + "\n")
    sys.stdout.flush()
