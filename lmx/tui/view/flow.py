"""Which rows of the transcript are in sight: following, scrolling, anchoring, without a terminal (SCR-1, RND-1, RND-2).

The place on the screen is a row of a piece of a block, not a number of rows from the top: heights outside the view are
estimates, and a place that was counted in rows would move when one is corrected, a block above grows, or the width changes.
Only pieces in sight are wrapped, so every operation costs what the view shows, however long the transcript is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lmx.conversation.blocks import Block
from lmx.tui.view.heights import Heights
from lmx.tui.view.markdown import Markdown
from lmx.tui.view.pieces import Piece
from lmx.tui.view.render import dimmed, gap_between, lay_out
from lmx.tui.view.theme import DARK, Theme


class Place(NamedTuple):
    """A row: the number of its block, of its piece in it, and of the row in that."""

    block: int
    piece: int
    row: int


class Entry:
    """A block of the transcript and, when it was in sight at this width, its pieces."""

    __slots__ = ("block", "counted", "gap", "markdown", "pieces", "rows_counted", "width")

    def __init__(self, block: Block, gap: bool):
        self.block, self.gap = block, gap
        self.forget()

    def forget(self) -> None:
        self.pieces: list[Piece] | None = None
        self.markdown: Markdown | None = None
        self.width = 0
        self.counted = self.rows_counted = 0

    def estimate(self, width: int) -> int:
        """Rows it may have, from its text alone."""
        block = self.block
        rows = sum(1 + row.text.count("\n") + len(row.text) // max(width, 1) for row in block.rows)
        if block.text and block.kind != "thinking":
            rows += 1 + block.text.count("\n") + len(block.text) // (max(width, 1) * 2)
        return rows + self.gap


class Flow:
    """Blocks in order and a view of `width` by `height` on them. `following`: the newest row is in sight and stays so."""

    def __init__(self, theme: Theme = DARK):
        self.theme = theme
        self.width, self.height = 80, 24
        self.following = True
        self.entries: list[Entry] = []
        self.heights = Heights()
        self._numbers: dict[str, int] = {}
        self._grown: set[str] = set()
        self._held: int | None = (
            None  # the character the top row shows, through changes of the width until it is scrolled
        )
        self._top = Place(0, 0, 0)

    # The blocks

    def append(self, block: Block) -> None:
        """Adds a block at the end. One whose key is there already replaces it."""
        if block.key in self._numbers:
            self.replace(block)
            return
        before = self.entries[-1].block if self.entries else None
        entry = Entry(block, gap_between(before, block))
        self._numbers[block.key] = len(self.entries)
        self.entries.append(entry)
        self.heights.append(entry.estimate(self.width))

    def replace(self, block: Block) -> bool:
        """Puts a block in the place of the one with its key, or at the end. True when it only went on with the old text."""
        number = self._numbers.get(block.key)
        if number is None:
            self.append(block)
            return True
        entry = self.entries[number]
        old, entry.block = entry.block, block
        grown = block.kind == old.kind == "assistant" and block.tone == old.tone and block.text.startswith(old.text)
        grown = grown and old.open
        if grown and entry.markdown is not None and entry.width == self.width:
            entry.pieces = None  # it goes on from where it was
            self._grown.add(block.key)
        else:
            entry.forget()
            self.heights.set(number, entry.estimate(self.width))
        return grown

    def remove(self, key: str) -> None:
        """Takes a block out; what is in sight below it does not move."""
        number = self._numbers.pop(key, None)
        if number is None:
            return
        del self.entries[number]
        self.heights.remove(number)
        for other in range(number, len(self.entries)):
            self._numbers[self.entries[other].block.key] = other
        if number < len(self.entries):
            entry = self.entries[number]
            gap = gap_between(self.entries[number - 1].block if number else None, entry.block)
            if gap != entry.gap:
                entry.gap = gap
                entry.forget()
        if self._top.block > number:
            self._top = self._top._replace(block=self._top.block - 1)
        elif self._top.block == number:
            self._top, self._held = Place(number, 0, 0), None

    def clear(self) -> None:
        self.entries.clear()
        self._numbers.clear()
        self.heights = Heights()
        self._top, self.following, self._held = Place(0, 0, 0), True, None

    def number_of(self, key: str) -> int | None:
        return self._numbers.get(key)

    def resize(self, width: int, height: int) -> None:
        """The top row keeps its text; the pieces are wrapped anew when they come into sight."""
        width, height = max(width, 1), max(height, 1)
        if width != self.width and self.entries:
            if self._held is None:
                self._held = self._start_of(self._top)
            self.width = width
            self._top = self._row_with(self._top, self._held)
        self.width, self.height = width, height

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        for entry in self.entries:
            entry.forget()

    # What is in sight

    def rows(self) -> list[Place]:
        """The rows in sight, from the top, at most `height`."""
        for key in self._grown:
            if (number := self._numbers.get(key)) is not None:
                self.pieces(number)
        self._grown.clear()
        if not self.following:
            found = self._forward(self._top, self.height)
            if len(found) == self.height:
                self._top = found[0]
                return found
            self.following = True  # there is nothing below any more: the bottom is reached
        found = self._backward(self._end(), self.height)
        self._top, self._held = found[0] if found else Place(0, 0, 0), None
        return found

    def piece(self, place: Place) -> Piece:
        return self.pieces(place.block)[place.piece]

    def rows_below(self, rows: list[Place]) -> int:
        """How many rows lie below those in sight; an estimate, except that 0 is exact."""
        if self.following or not rows:
            return 0
        last = rows[-1]
        pieces = self.pieces(last.block)
        rest = sum(piece.height(self.width) for piece in pieces[last.piece + 1 :])
        rest += len(pieces[last.piece].rows(self.width)) - last.row - 1
        return rest + self.heights.total - self.heights.before(last.block + 1)

    def scroll(self, rows: int) -> None:
        """Moves the view down by `rows`, up for negative ones; at the bottom it follows again."""
        top = self.rows()[:1]
        if not top or not rows:
            return
        self._held = None
        if rows < 0:
            found = self._backward(top[0], -rows)
            if found:
                self.following, self._top = False, found[0]
        elif not self.following:
            found = self._forward(top[0], rows + 1)
            self._top = found[-1]
            self.following = len(self._forward(self._top, self.height + 1)) <= self.height

    def to_top(self) -> None:
        if self.entries:
            self.following, self._top, self._held = False, Place(0, 0, 0), None
            self.rows()

    def to_bottom(self) -> None:
        self.following, self._held = True, None

    def show(self, number: int, piece: int, at: int) -> None:
        """Has a character of a piece in sight, a third of the way down."""
        place = self._row_with(Place(number, piece, 0), at)
        above = self._backward(place, self.height // 3)
        self.following, self._held, self._top = False, None, above[0] if above else place
        self.rows()

    # Pieces

    def pieces(self, number: int) -> list[Piece]:
        """The pieces of a block, laid out if they are not, its height noted."""
        entry = self.entries[number]
        if entry.pieces is None or entry.width != self.width:
            if entry.width != self.width:
                entry.forget()
            entry.pieces = self._lay_out(entry)
            entry.width = self.width
            self.heights.set(number, self._height(entry))
        return entry.pieces

    def _lay_out(self, entry: Entry) -> list[Piece]:
        block = entry.block
        if block.kind != "assistant":
            pieces = lay_out(block, self.width, self.theme)
            return [Piece(""), *pieces] if entry.gap and pieces else pieces
        if entry.markdown is None:
            entry.markdown = Markdown(self.width, self.theme)
            if entry.gap:
                entry.markdown.leave_gap()
        entry.markdown.update(block.text, final=not block.open)
        return dimmed(entry.markdown.pieces, block, self.theme)

    def _height(self, entry: Entry) -> int:
        """Rows of a block. Of an answer that grows, only what is new is counted."""
        pieces = entry.pieces or []
        settled = entry.markdown.settled if entry.markdown is not None else len(pieces)
        if settled > entry.counted:
            entry.rows_counted += sum(piece.height(self.width) for piece in pieces[entry.counted : settled])
            entry.counted = settled
        return entry.rows_counted + sum(piece.height(self.width) for piece in pieces[entry.counted :])

    def _wrapped(self, number: int, index: int) -> int:
        """The rows of a piece, wrapped now; a wrong estimate is put right."""
        entry = self.entries[number]
        piece = self.pieces(number)[index]
        before = piece.height(self.width)
        rows = len(piece.rows(self.width))
        if rows != before:
            if index < entry.counted:
                entry.rows_counted += rows - before
            self.heights.set(number, self.heights[number] + rows - before)
        return rows

    # Walking

    def _forward(self, start: Place, count: int) -> list[Place]:
        """Up to `count` rows from `start` on."""
        found: list[Place] = []
        number, index, row = start
        while number < len(self.entries) and len(found) < count:
            pieces = self.pieces(number)
            while index < len(pieces) and len(found) < count:
                rows = self._wrapped(number, index)
                row = min(row, rows - 1)
                found.extend(Place(number, index, r) for r in range(row, min(rows, row + count - len(found))))
                index, row = index + 1, 0
            number, index, row = number + 1, 0, 0
        return found

    def _backward(self, end: Place, count: int) -> list[Place]:
        """Up to `count` rows before `end`, in order."""
        found: list[Place] = []
        number, index, row = end
        while len(found) < count:
            if row <= 0:
                if index > 0:
                    index -= 1
                else:
                    number -= 1
                    if number < 0:
                        break
                    index = len(self.pieces(number)) - 1
                    if index < 0:
                        index = 0
                        continue
                row = self._wrapped(number, index)
            taken = min(row, count - len(found))
            found.extend(Place(number, index, r) for r in range(row - 1, row - 1 - taken, -1))
            row -= taken
        return found[::-1]

    def _end(self) -> Place:
        return Place(len(self.entries), 0, 0)

    def _start_of(self, place: Place) -> int:
        """The index in its piece at which a row begins."""
        if place.block >= len(self.entries):
            return 0
        pieces = self.pieces(place.block)
        if place.piece >= len(pieces):
            return 0
        rows = pieces[place.piece].rows(self.width)
        return rows[min(place.row, len(rows) - 1)][0]

    def _row_with(self, place: Place, start: int) -> Place:
        """The row of a piece in which the character `start` is."""
        pieces = self.pieces(place.block) if place.block < len(self.entries) else []
        if not pieces:
            return place
        index = min(place.piece, len(pieces) - 1)
        rows = pieces[index].rows(self.width)
        row = max((n for n, (begin, _) in enumerate(rows) if begin <= start), default=0)
        return Place(place.block, index, row)

    def walk(self, first: Place, last: Place) -> Iterator[tuple[int, int, Piece]]:
        """The pieces from one place to another: number of the block, of the piece, and the piece."""
        for number in range(first.block, min(last.block, len(self.entries) - 1) + 1):
            pieces = self.pieces(number)
            begin = first.piece if number == first.block else 0
            end = last.piece if number == last.block else len(pieces) - 1
            for index in range(begin, min(end, len(pieces) - 1) + 1):
                yield number, index, pieces[index]
