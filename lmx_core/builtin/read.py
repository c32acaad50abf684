"""`read`: numbered lines of a text file, an image or a PDF, or the names in a directory (RD-1 to RD-4).

Numbers are the file's own, so that what was read can be gone on from and spoken about. A file read to its end is remembered by
its digest: that is what allows `write` to replace it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lmx_core.builtin import files, media
from lmx_core.calls import Effects, Policy, Result, Runtime, ToolContext
from lmx_core.edits.window import Window, mask_lines, numbered
from lmx_core.environment.base import FileError, closing, list_dir, marked, stream_file
from lmx_core.environment.kinds import PROBE_BYTES, Kind, kind_of
from lmx_core.errors import ToolError
from lmx_core.secrets.masker import Masker
from lmx_core.tools.arguments import without_absent

DEFAULT_LINES = 2_000
OUTPUT_BYTES = 60_000
NOTE_BYTES = 600
"""Kept free for the sentences behind the lines."""


class Read:
    """Its `structured_content` has `first`, `last` and `total` line numbers; `total` is None when it is not known."""

    name = "read"
    description = (
        "Read a text file as numbered lines (N<TAB>text), an image or PDF, or list a directory. "
        "Paths are in the working directory."
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
        if (kind := kind_of(window.head)) is not None:
            pages = Window(first, count, max(0, limit))
            return await _no_text(context, path, kind, pages, _size(window))
        if first > max(1, window.total or first):
            raise ToolError(f"{path} has only {window.total} lines, so there is no line {first}.")
        if context.files is not None and window.sha256 is not None:
            context.files.record(files.key(context, path), window.sha256)
        return _answer(window, path, context.secrets)


async def _feed(window: Window, context: ToolContext, path: str) -> bool:
    """Reads as much as the window wants. True for a directory, which has nothing to read."""
    async with closing(stream_file(context.environment, context.cwd, path)) as pieces:
        async for piece in pieces:
            if isinstance(piece, FileError):
                if piece.kind == "is_directory":
                    return True
                files.fail(piece)
            window.feed(piece)
            if not window.wants_more or (len(window.head) >= PROBE_BYTES and kind_of(window.head)):
                return False
    window.end()
    return False


async def _directory(window: Window, context: ToolContext, path: str) -> Result:
    listed = await list_dir(context.environment, context.cwd, path)
    if isinstance(listed, FileError):
        files.fail(listed)
    window.feed("".join(f"{marked(entry)}\n" for entry in listed).encode("utf-8", "replace"))
    window.end()
    if not listed:
        return Result(model_text=f"{path} is an empty directory.")
    return Result(model_text="\n".join([*window.lines, *_position(window, "names")]))


async def _no_text(context: ToolContext, path: str, kind: Kind, pages: Window, size: str) -> Result:
    """An image or a document as an attachment; else a PDF as its text; else what it is and why it is not shown."""
    found = await media.attached(context, path, kind)
    if isinstance(found, Result):
        return found
    if kind.media_type == media.PDF and await media.pdf_text(context, path, pages):
        answer = _answer(pages, path, context.secrets)
        return msgspec.structs.replace(answer, model_text=f"[the text of a PDF]\n{answer.model_text}")
    raise ToolError(f"{path} is {kind.words}; it has {size} and {found}.")


def _size(window: Window) -> str:
    return f"{window.size:,} bytes" if window.total is not None else f"more than {window.size:,} bytes"


def _answer(window: Window, path: str, secrets: Masker) -> Result:
    if not window.lines:
        return Result(model_text=f"{path} is empty.", structured_content={"first": 1, "last": 0, "total": 0})
    mask_lines(window, secrets)
    last = window.first + len(window.lines) - 1
    return Result(
        model_text="\n".join([*numbered(window), *_position(window, "lines")]),
        structured_content={"first": window.first, "last": last, "total": window.total},
    )


def _position(window: Window, what: str) -> Iterator[str]:
    if window.next is not None:
        total = f"{window.total} {what}" if window.total is not None else f"an unknown number of {what}"
        yield f"[{window.first} to {window.next - 1} of {total}; continue with offset={window.next}]"
