"""What the transcript on the screen is made of: blocks, in order, each replaced whole by key.

The view knows nothing of sessions and the conversation nothing of cells: they meet in these two structs. Handing widgets or
styled text across would tie the wording of a turn to one way of drawing it, and could not be tested without a terminal.
"""

from __future__ import annotations

import msgspec

from lmx.rows import Row

__all__ = ["KINDS", "Block", "Row"]

KINDS = ("user", "assistant", "thinking", "tool", "approval", "note", "error", "rule", "boot", "notices")
"""`user`: what a person said (`text`, drawn after `> `) and, as `rows`, what it brought along. `assistant`: Markdown in `text`.
`thinking`: `text`, drawn collapsed under `rows[0]`, its heading. `tool` and `approval`: `rows`. `note` and `error`: `text` and
perhaps `rows`. `rule`: a line across with `text` in it (empty: only the line). `boot`: `rows` of the start log, gone when the
session is ready. `notices`: `rows` about the set-up, gone after a while."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One block. `key` is unique in a transcript and never reused; a higher `revision` of a key replaces the older whole.

    All text is sanitised. `open`: more is coming (an answer that streams, a tool that runs). An open assistant block only
    ever grows at the end, so a view may keep what it drew of the closed part. `tone` is one of `rows.TONES`.
    """

    key: str
    kind: str
    revision: int = 0
    text: str = ""
    rows: tuple[Row, ...] = ()
    open: bool = False
    tone: str = "plain"
