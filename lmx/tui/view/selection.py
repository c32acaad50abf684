"""What a drag selects, anchored to the text and not to the screen, and what a copy of it is (SEL-1, SEL-2).

A place is a character of a piece of a block, so the selection stays on its words while the answer grows, the view scrolls or
the width changes.
"""

from __future__ import annotations

from typing import NamedTuple

from lmx.tui.view.flow import Flow, Place
from lmx.tui.view.pieces import Piece
from lmx.tui.view.width import cells, index_at


class Mark(NamedTuple):
    """A character: the key of its block, the number of its piece, and its place in the text."""

    key: str
    piece: int
    at: int


class Selection:
    """From where the drag began to where it is. `dropped` are keys of blocks that were replaced under it."""

    def __init__(self, anchor: Mark):
        self.anchor = self.head = anchor
        self.dropped: set[str] = set()

    @property
    def empty(self) -> bool:
        return self.anchor == self.head

    def ends(self, flow: Flow) -> tuple[Place, Place] | None:
        """First and last place, the `row` of each an index into the text; None when a block of an end is gone."""
        found = []
        for mark in (self.anchor, self.head):
            number = flow.number_of(mark.key)
            if number is None:
                return None
            found.append(Place(number, mark.piece, mark.at))
        return min(found), max(found)


def mark_at(flow: Flow, place: Place, column: int) -> Mark:
    """The character at a column of a row in sight; before its text the first, behind it the end."""
    piece = flow.piece(place)
    start, end = piece.rows(flow.width)[place.row]
    column -= cells(piece.before(place.row, flow.width))
    index = start + index_at(piece.text[start:end], column) if column > 0 else start
    return Mark(flow.entries[place.block].block.key, place.piece, index)


def selected_columns(flow: Flow, selection: Selection, place: Place) -> tuple[int, int] | None:
    """Which columns of a row in sight are selected: first, and one behind the last."""
    ends = selection.ends(flow)
    if ends is None or selection.empty or flow.entries[place.block].block.key in selection.dropped:
        return None
    piece = flow.piece(place)
    start, end = piece.rows(flow.width)[place.row]
    first, last = _part_of(piece, place.block, place.piece, *ends)
    first, last = max(first, start), min(last, end)
    if first >= last:
        return None
    before = cells(piece.before(place.row, flow.width))
    return before + cells(piece.text[start:first]), before + cells(piece.text[start:last])


def selected_text(flow: Flow, selection: Selection) -> str:
    """The selected text as it was meant: rows joined, without gutters and padding, tabs as they came."""
    ends = selection.ends(flow)
    if ends is None or selection.empty:
        return ""
    out: list[str] = []
    for number, index, piece in flow.walk(*ends):
        if flow.entries[number].block.key in selection.dropped:
            continue
        first, last = _part_of(piece, number, index, *ends)
        if out:
            out.append("\n" if piece.joined is None else piece.joined)
        lead = piece.lead if first == 0 else ""
        out.append(lead if piece.drawn else lead + piece.copied(first, last))
    return "\n".join(line.rstrip(" ") for line in "".join(out).split("\n"))


def _part_of(piece: Piece, number: int, index: int, first: Place, last: Place) -> tuple[int, int]:
    """The indices of a piece that lie between two places."""
    here = (number, index)
    start = (
        0 if here > (first.block, first.piece) else first.row if here == (first.block, first.piece) else len(piece.text)
    )
    end = len(piece.text) if here < (last.block, last.piece) else last.row if here == (last.block, last.piece) else 0
    return min(start, len(piece.text)), min(end, len(piece.text))
