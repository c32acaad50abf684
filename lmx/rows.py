"""One line of a receipt or a card, as data: what the tools' receipts make and what the transcript draws (RCP-2).

It is a room of its own, under both, because receipts and conversation must not import each other. A row holds no markup, no
widget and no callable: a renderer that got one of those from a tool would run what a model wrote.
"""

from __future__ import annotations

import msgspec

KINDS = ("heading", "detail", "output", "code", "added", "removed", "context", "hidden", "option", "answer")
"""`heading` announces (bold); `detail` belongs to it; `output` is a program's text; `code` is source; `added`, `removed` and
`context` are lines of a diff, whose sign (`+`, `-` or a space) the renderer draws between gutter and text; `hidden` tells how
much is not shown; `option` is a choice and `answer` what was chosen."""

TONES = (
    "plain",
    "muted",
    "error",
    "warn",
    "ok",
    "accent",
    "you",
    "notice",
    "activity",
    "question",
    "tool",
    "edit",
    "run",
)
"""How a row or block is meant; a theme gives each a style. Tones never carry what words or glyphs do not say (ACC-5)."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """`text` may hold newlines; it is sanitised already.

    `gutter` (a glyph, a tree line, a line number) is drawn as it is before the text; further and wrapped lines are indented
    by its width; it is left out of copies (SEL-2). `lexer` is a Pygments name. `call_id` ties the row to its call.
    `short` is said instead where the view is narrow; empty: the row is left out there.
    """

    kind: str
    text: str
    tone: str = "plain"
    gutter: str = ""
    lexer: str | None = None
    call_id: str | None = None
    short: str | None = None
