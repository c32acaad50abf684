"""How each kind of block is drawn: blocks of the conversation to pieces (RND-2, section 6 of the screen's specification).

Pure: a block, a width and a theme decide everything. All text is plain text here; no markup of Rich or Textual is ever
parsed (SAF-4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace
from rich.style import Style
from textual.strip import Strip

from lmx.conversation.blocks import Block, Row
from lmx.tui.view.code import highlight
from lmx.tui.view.markdown import Markdown
from lmx.tui.view.pieces import Piece, split
from lmx.tui.view.theme import Theme
from lmx.tui.view.width import cells, cut

NARROW = 50
"""Cells below which a row says what it says in few words."""

_SIGNS = {"added": "+ ", "removed": "- ", "context": "  "}
_SLOTS = {"added": "add", "removed": "delete"}
_BOLD = Style(bold=True)
_CLOSE = frozenset({"tool", "approval", "thinking"})
"""Kinds between which no line is left empty."""
_RUNS_ON = frozenset({"note", "boot"})
"""Kinds of which several form one paragraph."""


def gap_between(before: Block | None, block: Block) -> bool:
    """Is an empty line drawn between two blocks?"""
    if before is None:
        return False
    if before.kind in _CLOSE and block.kind in _CLOSE:
        return False
    return not (before.kind == block.kind and block.kind in _RUNS_ON)


def lay_out(block: Block, width: int, theme: Theme) -> list[Piece]:
    """The pieces of any block but an assistant's, whose pieces grow (`Markdown`)."""
    if block.kind == "assistant":
        markdown = Markdown(width, theme)
        markdown.update(block.text, final=not block.open)
        return dimmed(markdown.pieces, block, theme)
    if block.kind == "rule":
        return [_rule(block, width, theme)]
    pieces: list[Piece] = []
    if block.kind == "user":
        pieces.extend(_plain(block.text, theme.style(_tone(block, "you")), gutter="> "))
    elif block.text and block.kind != "thinking":
        pieces.extend(_plain(block.text, theme.style(_tone(block, ""))))
    for row in block.rows:
        if width >= NARROW or row.short is None:
            pieces.extend(row_pieces(row, theme))
        elif row.short:
            pieces.extend(row_pieces(replace(row, text=row.short), theme))
    return pieces


def dimmed(pieces: list[Piece], block: Block, theme: Theme) -> list[Piece]:
    """An answer that was cut off and is not sent back is muted as a whole."""
    if block.tone != "plain":
        style = theme.style(block.tone)
        for piece in pieces:
            piece.runs, piece.base = (), style
    return pieces


def render_block(block: Block, width: int, theme: Theme) -> list[Strip]:
    """All rows of a block, each exactly `width` cells. For tests and small blocks: the view draws only rows in sight."""
    return [piece.strip(row, width) for piece in lay_out(block, width, theme) for row in range(len(piece.rows(width)))]


def _tone(block: Block, usual: str) -> str:
    if block.tone != "plain":
        return block.tone
    return "error" if block.kind == "error" else usual


def _plain(text: str, style: Style, gutter: str = "") -> Iterator[Piece]:
    hanging = " " * len(gutter)
    for number, line in enumerate(text.split("\n")):
        first = hanging if number else gutter
        yield from split(Piece(line, base=style, gutter=first, hanging=hanging, gutter_style=style))


def _rule(block: Block, width: int, theme: Theme) -> Piece:
    """A line across, with its text after the beginning."""
    text = _fitting(block.text.replace("\n", " "), max(width - 6, 1))
    style = theme.style(_tone(block, "rule"))
    if not text:
        return Piece("─" * width, base=style, drawn=True)
    line = f"── {text} "
    return Piece(line + "─" * (width - cells(line)), base=style, lead=text, drawn=True)


def _fitting(facts: str, width: int) -> str:
    """Facts without those a narrow line has no room for: first what stands in brackets, then whole ones from the end."""
    if cells(facts) > width:
        facts = re.sub(r" \([^()]*\)", "", facts)
    while cells(facts) > width and " · " in facts:
        facts = facts.rpartition(" · ")[0]
    return cut(facts, width)


def row_pieces(row: Row, theme: Theme) -> Iterable[Piece]:
    """The lines of one row."""
    tone = theme.style(row.tone)
    slot = _SLOTS.get(row.kind, "")
    base, fill, gutter_style = tone, None, theme.style("muted")
    if slot:
        tint = theme.style(f"{slot}_bg")
        base, fill = theme.style(slot) + tint, tint
    elif row.kind == "heading":
        base, gutter_style = tone, tone + _BOLD
    elif row.kind == "answer":
        base = tone + _BOLD
    sign = _SIGNS.get(row.kind, "")
    hanging = " " * len(row.gutter + sign)
    for number, line in enumerate(row.text.split("\n")):
        runs = highlight(row.lexer, line, theme, base) if row.lexer and not slot else []
        if sign:
            runs = [(len(sign), base + _BOLD), *((stop + len(sign), style) for stop, style in runs)]
        piece = Piece(
            sign + line,
            runs,
            base=base,
            gutter=hanging if number and not sign else row.gutter,
            hanging=hanging,
            gutter_style=gutter_style if not fill else gutter_style + fill,
            fill=fill,
            code=row.kind in ("added", "removed", "context", "code"),
        )
        yield from split(piece)
