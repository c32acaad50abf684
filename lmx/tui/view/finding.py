"""Where a text stands in the transcript: the next place from another one, forward or back, and round again (/find).

It looks at what is drawn, not at what was sent, for that is what a person sees and what can be marked. Blocks that cannot hold
the text are passed over unread, so that a long transcript is laid out only where something is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lmx.conversation.blocks import Block
from lmx.tui.view.flow import Flow
from lmx.tui.view.selection import Mark


class Found(NamedTuple):
    """`piece` of the block with this number, characters `start` to `end` of it. `wrapped`: it was gone round an end."""

    block: int
    piece: int
    start: int
    end: int
    wrapped: bool

    def marks(self, flow: Flow) -> tuple[Mark, Mark]:
        key = flow.entries[self.block].block.key
        return Mark(key, self.piece, self.start), Mark(key, self.piece, self.end)


def find(flow: Flow, text: str, origin: tuple[int, int, int], *, back: bool) -> Found | None:
    """The next place behind `origin` (block, piece, character), or before it; None where the text stands nowhere."""
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    count, (first, *beyond) = len(flow.entries), origin
    for step in range(count + 1 if count else 0):
        place = first - step if back else first + step
        number = place % count
        wrapped = not 0 <= place < count
        if pattern.search(_text(flow.entries[number].block)) is None:
            continue
        there = list(_places(flow, number, pattern))
        for piece, start, end in reversed(there) if back else there:
            further = [piece, start] < beyond if back else [piece, start] > beyond
            if step or further:
                return Found(number, piece, start, end, wrapped)
    return None


def _text(block: Block) -> str:
    """All that is drawn of a block, and perhaps more: the marks of Markdown are in it."""
    return "\n".join([block.text, *(f"{row.gutter}{row.text}" for row in block.rows)])


def _places(flow: Flow, number: int, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, int]]:
    for index, piece in enumerate(flow.pieces(number)):
        for match in pattern.finditer(piece.text):
            yield index, match.start(), match.end()
