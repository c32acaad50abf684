"""What of a transcript can be searched: its words, entry by entry, without what only a program reads.

Requests repeat the system prompt and the schemas of all tools; a search that looked there would find every word in every
session. What a person said, what was answered, what was called and what came of it are what somebody remembers.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from lmx.sanitize import visible

WORDS_CHARACTERS = 200_000
OUTPUT_CHARACTERS = 16_000
"""What is looked at of a message, and of a call or its output: the beginning and the end of a longer one."""

ENDING_BYTES = 512

KINDS = ("you", "answer", "call", "output", "summary")


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one entry, sanitised: what a person saw is found. `at_ms`: when it was written; `seq`: its number."""

    seq: int
    kind: str
    at_ms: int
    text: str


class _Line(msgspec.Struct):
    seq: int
    type: str
    at: str
    payload: msgspec.Raw


class _Part(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Call(msgspec.Struct):
    name: str = ""
    arguments: Any = None


class _User(msgspec.Struct):
    text: str = ""


class _Answer(msgspec.Struct):
    content: list[_Part] = []
    tool_calls: list[_Call] = []


class _Result(msgspec.Struct):
    output: str = ""


class _Summary(msgspec.Struct):
    summary: str | None = None


_line = msgspec.json.Decoder(_Line)
_user = msgspec.json.Decoder(_User)
_answer = msgspec.json.Decoder(_Answer)
_result = msgspec.json.Decoder(_Result)
_summary = msgspec.json.Decoder(_Summary)


def lines(path: Path, start: int = 0) -> Iterator[bytes]:
    """Whole lines from `start` on. A file that cannot be read has none: it is in the list and says nothing."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            for line in file:
                if line.endswith(b"\n"):
                    yield line
    except OSError:
        return


def ending(path: Path, end: int) -> bytes:
    """The last bytes before `end`: whether a file that has grown is still the one that was read, for inodes are used again."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, end - ENDING_BYTES))
            return file.read(min(end, ENDING_BYTES))
    except OSError:
        return b""


def of_line(line: bytes) -> Iterator[Passage]:
    """What one line of a transcript has to search. What is no entry has nothing: whoever opens the session is told."""
    try:
        entry = _line.decode(line)
        found = list(_read(entry.type, entry.payload))
        at_ms = int(datetime.fromisoformat(entry.at).timestamp() * 1_000) if found else 0
    except (msgspec.DecodeError, ValueError, OverflowError, RecursionError):
        return
    for kind, text in found:
        yield Passage(seq=entry.seq, kind=kind, at_ms=at_ms, text=text)


def _read(type: str, payload: msgspec.Raw) -> Iterator[tuple[str, str]]:
    match type:
        case "user":
            yield from _told("you", _user.decode(payload).text, WORDS_CHARACTERS)
        case "assistant":
            answer = _answer.decode(payload)
            text = "".join(part.text for part in answer.content if part.type == "text")
            yield from _told("answer", text, WORDS_CHARACTERS)
            for call in answer.tool_calls:
                said = " ".join([call.name, *_strings(call.arguments)])
                yield from _told("call", said, OUTPUT_CHARACTERS)
        case "tool_result":
            yield from _told("output", _result.decode(payload).output, OUTPUT_CHARACTERS)
        case "compaction":
            yield from _told("summary", _summary.decode(payload).summary or "", WORDS_CHARACTERS)


def _told(kind: str, text: str, most: int) -> Iterator[tuple[str, str]]:
    if text.strip():
        half = most // 2
        yield kind, visible(text if len(text) <= most else f"{text[:half]}\n…\n{text[-half:]}")


def _strings(value: Any) -> Iterator[str]:
    """Every text in the arguments of a call, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += reversed(item.values())
        elif isinstance(item, list):
            waiting += reversed(item)
