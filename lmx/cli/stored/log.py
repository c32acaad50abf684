"""`lmx log`: a stored conversation, for a person to read or for a script (C1-80, C1-81).

It reads the transcript and nothing else. What goes to a terminal passes the one door for foreign text; a file or a pipe
gets it exactly.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from lmx import sessions
from lmx.output.text import attachment_lines, call_line, check_lines
from lmx.sanitize import for_terminal, one_line
from lmx.words import size
from lmx_core import Entry, JSONLStore
from lmx_core.names import name_of
from lmx_core.transcript.codec import encode
from lmx_core.transcript.replay import calls_of, stop_hook, text_of

RESULT_LINES = 12
RESULT_CHARACTERS = 1_200
"""How much of a tool's result is shown."""

_ACTED_ON = re.compile("[\x7f-\x9f\u2028\u2029]")
_ACTED_ON_BY_TERMINALS = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def log(session: str, *, sessions_dir: Path, jsonl: bool, out: TextIO, tty: bool) -> int:
    """Prints a conversation. Raises `LmxError`s for a session that is not there, not one, or not to be read."""
    session_id = asyncio.run(sessions.resolve(sessions_dir, session))
    entries = JSONLStore(sessions_dir).read(session_id)
    if jsonl:
        for entry in entries:
            out.write(json_line(entry, tty) + "\n")
        return 0
    shown: Callable[[str], str] = for_terminal if tty else str
    out.write(f"{name_of(session_id)}  {session_id}\n")
    for block in blocks(entries):
        out.write(shown(block) + "\n")
    return 0


def json_line(entry: Entry, tty: bool) -> str:
    """An entry as it is kept, references expanded. What a terminal would act on is written as JSON escapes."""
    return escaped(encode(entry).decode(), tty)


def escaped(text: str, tty: bool) -> str:
    """JSON that no terminal acts on; it means the same."""
    return (_ACTED_ON_BY_TERMINALS if tty else _ACTED_ON).sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def blocks(entries: Sequence[Entry]) -> Iterator[str]:
    """The conversation as readable pieces of one or more lines, without what was only thought."""
    told = _Told()
    for entry in entries:
        tell = _TELL.get(entry.type)
        if tell is not None:
            yield from tell(told, entry)


class _Told:
    """What is known at the place reached: the request before an answer, and what each call is named."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.header: str | None = None
        self.names: dict[str, str] = {}

    def session(self, entry: Entry) -> Iterator[str]:
        model, first = entry.payload.get("model"), self.model is None
        if first and entry.payload.get("cwd"):
            yield f"directory {one_line(str(entry.payload['cwd']), 'evidence')}"
        if model and model != self.model:
            self.model = model
            yield f"model {model}"

    def request(self, entry: Entry) -> Iterator[str]:
        tools = entry.payload.get("tools")
        names = [str(tool.get("name")) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
        self.header = f"── {entry.payload.get('model')} · {' '.join(names) or 'no tools'}"
        if isinstance(retry := entry.payload.get("retry"), dict):
            yield f"error ({retry.get('category') or 'other'}): {retry.get('reason')}; trying again"

    def user(self, entry: Entry) -> Iterator[str]:
        mark = "stop hook> " if stop_hook(entry) else "> "
        yield "\n" + "\n".join(mark + line for line in text_of(entry).split("\n"))
        yield from attachment_lines(entry)

    def assistant(self, entry: Entry) -> Iterator[str]:
        yield "\n" + (self.header or f"── {self.model}")
        text = text_of(entry).strip("\n")
        if entry.payload.get("partial"):
            yield "interrupted:"
        if text:
            yield text
        for call in calls_of(entry):
            self.names[call.id] = call.name
            yield "→ " + call_line(call.name, call.arguments)

    def tool_result(self, entry: Entry) -> Iterator[str]:
        payload = entry.payload
        outcome = payload.get("outcome", "ok")
        yield f"← {payload.get('name')}" + ("" if outcome == "ok" else f" ({outcome})")
        yield from shortened(str(payload.get("output", "")), payload.get("output_bytes"))

    def system(self, entry: Entry) -> Iterator[str]:
        yield "system: " + text_of(entry)

    def error(self, entry: Entry) -> Iterator[str]:
        yield f"error ({entry.payload.get('category') or 'other'}): {entry.payload.get('reason')}"

    def cancelled(self, entry: Entry) -> Iterator[str]:
        yield f"cancelled: {entry.payload.get('reason')}"

    def approval(self, entry: Entry) -> Iterator[str]:
        status = entry.payload.get("status")
        if status != "pending":
            call_id = str(entry.payload.get("call_id"))
            yield f"{entry.payload.get('kind')} for {self.names.get(call_id, call_id)}: {status}"

    def document(self, entry: Entry) -> Iterator[str]:
        """Of a host's documents, how a check after edits ended."""
        yield from check_lines(entry)

    def compaction(self, entry: Entry) -> Iterator[str]:
        summary = entry.payload.get("summary")
        yield f"\n── what came before was summarised\n{summary}" if summary else "\n── what came before was cleared"

    def fork(self, entry: Entry) -> Iterator[str]:
        yield f"\n── forked from {entry.payload.get('from')} after {entry.payload.get('at')}"


_TELL: dict[str, Callable[[_Told, Entry], Iterator[str]]] = {
    "session": _Told.session,
    "request": _Told.request,
    "user": _Told.user,
    "assistant": _Told.assistant,
    "tool_result": _Told.tool_result,
    "system": _Told.system,
    "error": _Told.error,
    "cancelled": _Told.cancelled,
    "approval": _Told.approval,
    "extension_state": _Told.document,
    "compaction": _Told.compaction,
    "fork": _Told.fork,
}
"""What is told of each type; of the others nothing, for they are records and no part of the conversation."""


def shortened(output: str, output_bytes: Any) -> Iterator[str]:
    """The beginning of a result, indented, and how much there is more of it."""
    text = output.strip("\n")
    lines = text[:RESULT_CHARACTERS].split("\n")
    kept = lines[:RESULT_LINES]
    if text:
        yield "\n".join("    " + line for line in kept)
    whole = output_bytes if isinstance(output_bytes, int) else len(output.encode())
    if len("\n".join(kept)) < len(text):
        yield f"    … of {size(whole)}"
