"""Files that are no text, for `read`: attached where the model is known to read them, a PDF also as its text (RD-3)."""

from __future__ import annotations

import base64
import hashlib
import shlex

from lmx_core.builtin import files
from lmx_core.calls import Result, ToolContext
from lmx_core.edits.window import Window
from lmx_core.environment.base import Data, Exit, FileError, closing, stream_file
from lmx_core.environment.kinds import Kind
from lmx_core.tools.output import MEDIA_BYTES

PDF = "application/pdf"
CONVERT_MS = 30_000


async def attached(context: ToolContext, path: str, kind: Kind) -> Result | str:
    """The file as an attachment of a result; or why it cannot be one, to follow "it has 7 bytes and "."""
    if kind.media is None or kind.media not in MEDIA_BYTES:
        return "is not shown as text"
    if kind.media not in context.input_modalities:
        return "the model is not known to read one"
    data = await _whole(context, path, MEDIA_BYTES[kind.media])
    if data is None:
        return f"is larger than {MEDIA_BYTES[kind.media]:,} bytes, the most that can be attached"
    if context.files is not None:
        context.files.record(files.key(context, path), hashlib.sha256(data).hexdigest())
    size = f"{len(data):,} bytes"
    attachment = {
        "kind": kind.media,
        "media_type": kind.media_type,
        "data": base64.b64encode(data).decode("ascii"),
        "bytes": len(data),
        "size": size,
        "path": path,
    }
    return Result(model_text=f"{path} is {kind.words} of {size}, attached to this result.", attachments=[attachment])


async def _whole(context: ToolContext, path: str, most: int) -> bytes | None:
    """The content, or None where it is more than `most` bytes."""
    data = bytearray()
    async with closing(stream_file(context.environment, context.cwd, path)) as pieces:
        async for piece in pieces:
            if isinstance(piece, FileError):
                files.fail(piece)
            data += piece
            if len(data) > most:
                return None
    return bytes(data)


async def pdf_text(context: ToolContext, path: str, window: Window) -> bool:
    """Feeds the text of a PDF to the window. False where the machine has no `pdftotext`, or it finds no text."""
    place = shlex.quote(files.key(context, path))
    command = f"command -v pdftotext >/dev/null || exit 127; exec pdftotext -layout -- {place} -"
    async with closing(context.environment.run(command, cwd=context.cwd, timeout_ms=CONVERT_MS)) as events:
        async for event in events:
            if isinstance(event, Data):
                window.feed(event.data)
            elif not isinstance(event, Exit) or event.status != 0:
                return False
    window.end()
    return any(line.strip("\f ") for line in window.lines)
