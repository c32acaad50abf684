"""`read`: numbered lines of a text file, or the names in a directory (RD-1, RD-2, RD-4).

Numbers are the file's own, so that what was read can be gone on from and spoken about. A file read to its end is remembered by
its digest: that is what allows `write` to replace it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lmx_core.builtin import files
from lmx_core.calls import Effects, Policy, Result, Runtime, ToolContext
from lmx_core.edits.window import PROBE_BYTES, Window
from lmx_core.environment.base import DirEntry, FileError, closing, list_dir, stream_file
from lmx_core.errors import ToolError
from lmx_core.tools.arguments import without_absent

DEFAULT_LINES = 2_000
OUTPUT_BYTES = 60_000
NOTE_BYTES = 600
"""Kept free for the sentences behind the lines."""

_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"\xff\xfe", "text in UTF-16, which `iconv -f UTF-16` converts"),
    (b"\xfe\xff", "text in UTF-16, which `iconv -f UTF-16` converts"),
    (b"\x7fELF", "an ELF program or library"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"SQLite format 3\0", "an SQLite database"),
)


class Read:
    """Its `structured_content` has `first`, `last` and `total` line numbers; `total` is None when it is not known."""

    name = "read"
    description = (
        "Read a text file as numbered lines (N<TAB>text), or list a directory. Paths are in the working directory."
    )
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 1, "description": "First line, default 1"},
            "limit": {"type": "integer", "minimum": 1, "description": f"Number of lines, default {DEFAULT_LINES}"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="read", resource_types=["file", "directory"], idempotent=True, retryable=True),
        "policy": Policy(approval="never"),
        "runtime": Runtime(max_output_bytes=OUTPUT_BYTES, concurrency="parallel"),
    }

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        given = without_absent(args, self.schema)
        path, first, count = given["path"], given.get("offset", 1), given.get("limit", DEFAULT_LINES)
        limit = min(OUTPUT_BYTES, context.tool_output_bytes) - NOTE_BYTES
        window = Window(first, count, max(0, limit))
        if await _feed(window, context, path):
            return await _directory(Window(first, count, max(0, limit)), context, path)
        if (kind := _kind(window)) is not None:
            raise ToolError(f"{path} is {kind}; it has {_size(window)} and is not shown as text.")
        if first > max(1, window.total or first):
            raise ToolError(f"{path} has only {window.total} lines, so there is no line {first}.")
        if context.files is not None and window.sha256 is not None:
            context.files.record(files.key(context, path), window.sha256)
        return _answer(window, path)


async def _feed(window: Window, context: ToolContext, path: str) -> bool:
    """Reads as much as the window wants. True for a directory, which has nothing to read."""
    async with closing(stream_file(context.environment, context.cwd, path)) as pieces:
        async for piece in pieces:
            if isinstance(piece, FileError):
                if piece.kind == "is_directory":
                    return True
                files.fail(piece)
            window.feed(piece)
            if not window.wants_more or (len(window.head) >= PROBE_BYTES and _kind(window) is not None):
                return False
    window.end()
    return False


async def _directory(window: Window, context: ToolContext, path: str) -> Result:
    listed = await list_dir(context.environment, context.cwd, path)
    if isinstance(listed, FileError):
        files.fail(listed)
    window.feed("".join(f"{_marked(entry)}\n" for entry in listed).encode("utf-8", "replace"))
    window.end()
    if not listed:
        return Result(model_text=f"{path} is an empty directory.")
    return Result(model_text="\n".join([*window.lines, *_position(window, "names")]))


def _marked(entry: DirEntry) -> str:
    name = entry.name.replace("\n", "\\n")
    return name + {"directory": "/", "symlink": "@"}.get(entry.kind, "")


def _kind(window: Window) -> str | None:
    """What a file that is no text is, by its bytes; None for text."""
    for magic, words in _KINDS:
        if window.head.startswith(magic):
            return words
    if window.head.startswith(b"RIFF") and window.head[8:12] == b"WEBP":
        return "a WebP image"
    return "a binary file" if window.is_binary else None


def _size(window: Window) -> str:
    return f"{window.size:,} bytes" if window.total is not None else f"more than {window.size:,} bytes"


def _answer(window: Window, path: str) -> Result:
    if not window.lines:
        return Result(model_text=f"{path} is empty.", structured_content={"first": 1, "last": 0, "total": 0})
    numbered = [f"{window.first + n}\t{line}" for n, line in enumerate(window.lines)]
    last = window.first + len(window.lines) - 1
    return Result(
        model_text="\n".join([*numbered, *_notes(window), *_position(window, "lines")]),
        structured_content={"first": window.first, "last": last, "total": window.total},
    )


def _notes(window: Window) -> Iterator[str]:
    """What a reader cannot see in the lines themselves."""
    if window.crlf:
        ends = "CRLF" if window.crlf >= len(window.lines) - 1 else f"mixed, {window.crlf} of these lines end in CRLF"
        yield f"[line ends: {ends}]"
    if window.damaged:
        yield f"[{window.damaged} of these lines have bytes that are not UTF-8, shown as \ufffd]"


def _position(window: Window, what: str) -> Iterator[str]:
    if window.next is not None:
        total = f"{window.total} {what}" if window.total is not None else f"an unknown number of {what}"
        yield f"[{window.first} to {window.next - 1} of {total}; continue with offset={window.next}]"
