"""A help desk on the engine: what another project would write with the public API, and nothing else (TK-5).

It rewords one message, decorates a function of its own into a tool, and brings a whole compaction strategy of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import lmx_core
from lmx_core import Entry, Harness, JSONLStore, Messages, Scripted, ToolCall, ToolContext

CUSTOMERS = {"17": "Ada, gold plan, two open tickets", "18": "Grace, free plan, no ticket"}
ASKED = "File the case. One line for each customer that was looked up."
MARK = "CASE FILE"


class DeskMessages(Messages):
    def tool_crashed(self, call: ToolCall, error: str) -> str:
        return f"The desk has no answer from {call.name}; ask a colleague."


class QueryTool:
    """A tool made of a function that takes one text."""

    def __init__(self, name: str, description: str, function: Callable[[str, ToolContext], Awaitable[str]]):
        self.name, self.description, self._function = name, description, function
        self.schema = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
        self.read_only = True

    async def run(self, args: dict[str, Any], context: ToolContext) -> str:
        return await self._function(args["key"], context)


def query(description: str) -> Callable[[Callable[[str, ToolContext], Awaitable[str]]], QueryTool]:
    return lambda function: QueryTool(function.__name__, description, function)


@query("Looks a customer up by number.")
async def customer(key: str, context: ToolContext) -> str:
    return CUSTOMERS[key]


class CaseFile:
    """A complete strategy: keeps the last `entries`, and puts one marked message in the place of the rest."""

    def __init__(self, entries: int = 4):
        self.entries = entries

    def has_conversation(self, entries: Sequence[Entry]) -> bool:
        return len(entries) > self.entries

    def plan(self, entries: Sequence[Entry], keep: Any) -> int | None:
        places = [place for place, entry in enumerate(entries) if entry.type == "user" and place > 0]
        late = [place for place in places if len(entries) - place <= self.entries]
        return late[0] if late else places[-1] if places else None

    def instructions(self, *, sections: bool) -> str:
        return ASKED

    def summary(self, text: str, max_bytes: int) -> str:
        if not text.startswith("-"):
            raise ValueError("a case file is a list")
        return text[:max_bytes]

    def sections(self, text: str) -> dict[str, list[str]] | None:
        return {"customers": [line.removeprefix("- ") for line in text.splitlines()]}

    def applied(self, entries: Sequence[Entry], compaction: Entry) -> Sequence[Entry]:
        ids = [entry.id for entry in entries]
        last = compaction.payload.get("to")
        return entries[ids.index(last) + 1 :] if last in ids else ()

    def with_summary(self, compaction: Entry, kept: Sequence[Entry], prompts: Any) -> Sequence[Entry]:
        filed = Entry(
            id=f"{compaction.id}-case",
            seq=compaction.seq,
            type="user",
            payload={"text": f"{MARK}\n{compaction.payload['summary']}"},
            at=compaction.at,
            meta={"synthetic": True},
        )
        return [filed]


def harness(**more: Any) -> Harness:
    return Harness().replace(
        messages=DeskMessages(), host_tools=[customer], tools=[], compaction=CaseFile(), system="You are a help desk.", **more
    )  # fmt: skip


def told(provider: Scripted) -> list[str]:
    """The text of every entry of the last request."""
    return [
        str(entry.payload.get("text") or entry.payload.get("output") or "") for entry in provider.requests[-1].entries
    ]


def arguments() -> tuple[JSONLStore, str]:
    """The store and the id that the phases share."""
    return JSONLStore(sys.argv[1]), "case-1"


def report(**facts: Any) -> None:
    print(json.dumps({"engine": lmx_core.__file__, **facts}))
