"""What fills the model's window (/context), and a summary that is looked at before it stands for anything (/compact look).

The bar has a glyph for each band, so that it reads without colour; the sizes are the provider's own count, shared out by
bytes, for no provider says how much of a request its system prompt was (CMD-4).
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from lmx import words
from lmx.conversation import draft as drafts
from lmx.conversation import effects as fx
from lmx.conversation.draft import Draft
from lmx.conversation.panels import frame
from lmx.conversation.panels.base import Face, Field, Line, Panel, option
from lmx.conversation.panels.base import words as says
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.sanitize import one_line

PANEL, SUMMARY = "context", "summary"
GLYPHS = {"system": "▓", "tools": "▒", "conversation": "█", "output": "▚", "free": "·"}
MARKS = {"d": "left_out", "s": "shortened", "p": "kept"}
SUMMARY_ROWS = 14


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the conversation; `id` None for what cannot be marked. `who` is you, lmx, tool or note."""

    id: str | None
    who: str
    text: str
    bytes: int
    mark: str | None = None


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """`tokens` are in the window, `output` of them the last answer's; `measured`: a provider counted them. Others are bytes."""

    tokens: int
    window: int | None
    measured: bool
    output: int
    system: int
    tools: int
    pieces: tuple[Piece, ...]
    spent: str
    can_undo: bool = False


class Band(msgspec.Struct, frozen=True):
    name: str
    tokens: int


def bands(filled: Filled) -> list[Band]:
    """The bands in order; what is free only where the window is known. The split adds up to what was counted."""
    answer = next((p.bytes for p in reversed(filled.pieces) if p.who == "lmx"), 0) if filled.output else 0
    talk = max(0, sum(piece.bytes for piece in filled.pieces) - answer)
    sizes = {"system": filled.system, "tools": filled.tools, "conversation": talk}
    sent, total = max(0, filled.tokens - filled.output), sum(sizes.values()) or 1
    found = {name: sent * size // total for name, size in sizes.items()}
    found["conversation"] += sent - sum(found.values())
    found["output"] = filled.output
    if filled.window is not None:
        found["free"] = max(0, filled.window - filled.tokens)
    return [Band(name, tokens) for name, tokens in found.items()]


def bar(filled: Filled, width: int) -> str:
    """The bands side by side in `width` cells; a narrow one may have none, and is in the legend all the same."""
    found = bands(filled)
    total = sum(band.tokens for band in found) or 1
    cells, done, before = "", 0, 0
    for band in found:
        done += band.tokens
        upto = done * width // total
        cells += GLYPHS[band.name] * (upto - before)
        before = upto
    return cells.ljust(width, GLYPHS["free"])


class ContextPanel(Panel, frozen=True, kw_only=True):
    """`at`: the piece that the keys act on."""

    id: str = PANEL
    filled: Filled
    at: int = 0

    asked = True

    def face(self, state: State, width: int) -> Face:
        filled = self.filled
        head = [Line(kind="code", text=bar(filled, max(width, 1)))]
        head += [self._legend(band) for band in bands(filled)]
        notes = [words.CONTEXT_SPLIT, "" if filled.measured else words.CONTEXT_UNMEASURED, filled.spent]
        head.append(says(words.joined(notes), tone="muted"))
        lines = tuple(self._told(piece, chosen=n == self.at) for n, piece in enumerate(filled.pieces))
        return Face(
            title=words.context_title(filled.tokens, filled.window),
            head=tuple(head),
            lines=lines or (says(words.CONTEXT_EMPTY, tone="muted"),),
            hints=words.CONTEXT_KEYS + ((words.CONTEXT_UNDO_KEY,) if filled.can_undo else ()),
        )

    def _legend(self, band: Band) -> Line:
        share = "" if self.filled.window is None else f"  {100 * band.tokens / max(1, self.filled.window):.1f}%"
        return says(
            f"{words.CONTEXT_BANDS[band.name]:<14} {words.count(band.tokens):>7}{share}", gutter=f"{GLYPHS[band.name]} "
        )

    def _told(self, piece: Piece, *, chosen: bool) -> Line:
        mark = words.CONTEXT_MARKS.get(piece.mark or "", "")
        tokens = words.count(self._tokens(piece))
        text = words.joined((one_line(piece.text)[:100], mark))
        return option(
            text, chosen=chosen, before=f"{tokens:>6} {piece.who:<5} ", tone="muted" if piece.id is None else "plain"
        )

    def _tokens(self, piece: Piece) -> int:
        filled = self.filled
        total = filled.system + filled.tools + sum(other.bytes for other in filled.pieces)
        return filled.tokens * piece.bytes // max(1, total)

    def key(self, step: Step, key: str, text: str) -> None:
        pieces = self.filled.pieces
        if key in ("escape", "q"):
            frame.close(step)
        elif key in ("up", "down", "line_start", "line_end"):  # Home and End, by what they do in a text
            to = {"up": self.at - 1, "down": self.at + 1, "line_start": 0, "line_end": len(pieces) - 1}[key]
            frame.change(step, replace(self, at=max(0, min(to, len(pieces) - 1))))
        elif key in MARKS and self.at < len(pieces):
            self._mark(step, pieces[self.at], MARKS[key])
        elif key in ("c", "u") and step.state.busy:
            step.flash(words.CONTEXT_BUSY)
        elif key == "c":
            frame.close(step)
            step.run("compact", "look")
        elif key == "u" and self.filled.can_undo:
            step.do(fx.UndoCompaction())

    def _mark(self, step: Step, piece: Piece, kind: str) -> None:
        """The same key again takes it back."""
        if piece.id is None:
            step.flash(words.CONTEXT_NOT_MARKED)
        elif step.state.busy:
            step.flash(words.CONTEXT_BUSY)
        else:
            step.do(fx.MarkPiece(piece.id, None if piece.mark == kind else kind))


def read(step: Step, filled: Filled) -> None:
    """What fills the window has been read: the panel opens with it, or is brought up to date."""
    shown = frame.find(step, PANEL)
    if isinstance(shown, ContextPanel):
        at = max(0, min(shown.at, len(filled.pieces) - 1))
        frame.change(step, replace(shown, filled=filled, at=at))
    else:
        frame.open(step, ContextPanel(filled=filled, at=max(0, len(filled.pieces) - 1)))


class SummaryPanel(Panel, frozen=True, kw_only=True):
    """A summary that would stand for the earlier conversation, to be changed, taken or not. `proposed` is how it came."""

    id: str = SUMMARY
    proposed: str
    text: Draft

    def face(self, state: State, width: int) -> Face:
        line = Line(kind="detail", text=words.SUMMARY_EMPTY, field=Field(draft=self.text, rows=SUMMARY_ROWS))
        return Face(title=words.SUMMARY_TITLE, foot=(line,), hints=words.SUMMARY_KEYS)

    def edited(self, step: Step, draft: Draft) -> None:
        frame.change(step, replace(self, text=draft))

    def key(self, step: Step, key: str, text: str) -> None:
        if key == "enter":
            if self.text.blank:
                step.flash(words.SUMMARY_EMPTY)
                return
            frame.close(step)
            step.do(fx.AnswerSummary(self.text.expanded()))
        elif key == "escape":
            frame.close(step)
            step.do(fx.AnswerSummary(None))

    def unsent(self) -> tuple[Draft, ...]:
        return () if self.text.expanded() == self.proposed else (self.text,)


def propose(step: Step, text: str) -> None:
    """A summary waits for the person's word."""
    frame.open(step, SummaryPanel(proposed=text, text=drafts.of(text)))


def settled(step: Step) -> None:
    """It waits no longer, whatever came of it."""
    frame.close(step, SUMMARY, keep=True)
