"""The other direction: tools and calls as words, for a model whose template has no place for them.

A server leaves out what the template cannot say, so such a model would never hear of a tool, nor remember that it called one.
The words are those that `Sieve` finds again. Results become the user's, and what the user says follows in the same message, for
many of these templates refuse two messages of one side in a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from lmx_core.entry import Entry
from lmx_core.providers.wire.base import answer_text, prompt_text, result_text
from lmx_core.providers.wire.history import in_wire_order
from lmx_core.request import Request, ToolSpec

_HEAD = """\
You can call these tools. To call one, write only this and wait for its <tool_response>:
<tool_call>
{"name": "TOOL", "arguments": {"ARGUMENT": "VALUE"}}
</tool_call>
"""


def in_words(request: Request) -> Request:
    """The same request without tools, results and calls: they are in its text."""
    system = request.system or ""
    if request.tools:
        tools = "\n".join(f"- {_signature(tool)}" for tool in request.tools)
        system = f"{system.rstrip()}\n\n{_HEAD}{tools}\n".lstrip()
    entries = _merged(_said(entry) for entry in in_wire_order(request.entries))
    return msgspec.structs.replace(request, system=system or None, tools=(), entries=entries)


def _signature(tool: ToolSpec) -> str:
    """`read(path: string, limit?: integer): Reads a file.`"""
    needed = tool.schema.get("required") or ()
    arguments = ", ".join(
        f"{name}{'' if name in needed else '?'}: {_type(kind)}"
        for name, kind in (tool.schema.get("properties") or {}).items()
    )
    first = tool.description.strip().partition("\n")[0].partition(". ")[0]
    return f"{tool.name}({arguments}): {first}"


def _type(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else "any"


def _said(entry: Entry) -> Entry:
    if entry.type == "tool_result":
        text = f"<tool_response>\n{result_text(entry)}\n</tool_response>"
        kept = {key: entry.payload[key] for key in ("attachments",) if key in entry.payload}
        return msgspec.structs.replace(entry, type="user", payload={"text": text, **kept})
    calls = entry.payload.get("tool_calls") if entry.type == "assistant" else None
    if not calls:
        return entry
    words = [answer_text(entry), *(_call(call) for call in calls)]
    text = "\n".join(part for part in words if part)
    return msgspec.structs.replace(entry, payload={"content": [{"type": "text", "text": text}]})


def _call(call: dict[str, Any]) -> str:
    said = {"name": call["name"], "arguments": call.get("arguments") or {}}
    return f"<tool_call>\n{json.dumps(said, ensure_ascii=False)}\n</tool_call>"


def _merged(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """What stands between two answers in one message, where it is words alone."""
    merged: list[Entry] = []
    for entry in entries:
        if merged and _is_words(entry) and _is_words(merged[-1]):
            text = f"{prompt_text(merged[-1])}\n{prompt_text(entry)}"
            merged[-1] = msgspec.structs.replace(merged[-1], type="user", payload={"text": text})
        else:
            merged.append(entry)
    return tuple(merged)


def _is_words(entry: Entry) -> bool:
    return entry.type != "assistant" and not entry.payload.get("attachments")
