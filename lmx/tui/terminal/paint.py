"""Frames to bytes: only cells that changed are sent, and nothing from a cell but characters (RND-9, SAF-2).

Textual sends every cell of every widget that was refreshed: a transcript that follows an answer is sent whole with each frame,
megabytes for one long answer. This keeps what the terminal shows, row by row, and sends the difference; rows that moved
together are moved by the terminal. It is also the last guard: here a control character in a cell can still be told from our
own sequences, so none is ever written.

Pure: rows of segments in, text out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style

Run = tuple[str, str]
"""Characters and how they look: attributes, foreground and background as SGR codes and a link, `|` between them; the text."""
Row = tuple[Run, ...]

_SYSTEMS = {"truecolor": ColorSystem.TRUECOLOR, "256": ColorSystem.EIGHT_BIT, "16": ColorSystem.STANDARD}
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CODES = re.compile(r"\x1b\[([\d;]*)m")
_URL = re.compile(r"(?:https?|file)://[^\x00-\x20\x7f-\U0010ffff@/]*(?:/[\x21-\x7e]{0,2000})?")
"""An address that may become a link: plain ASCII, without credentials (SAF-5)."""
_MIN_SCROLL = 3
"""Rows that must fit for a move to be worth its sequences."""


class Painter:
    """What one terminal shows. `depth` is a colour depth of `look`; without `colours` only attributes are sent.

    `violations` counts control characters that were about to be written from a cell.
    """

    def __init__(self, depth: str = "truecolor", colours: bool = True):
        self.violations = 0
        self.width = self.height = 0
        self._shown: list[Row | None] = []
        self._codes = lru_cache(maxsize=4096)(_Codes(_SYSTEMS[depth], colours))
        self._cursor: tuple[int, int] | None = None

    def resize(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.forget()

    def forget(self) -> None:
        """Nothing is known of what the terminal shows: the next frame is sent whole."""
        self._shown = [None] * self.height
        self._cursor = None

    @property
    def incomplete(self) -> bool:
        """Are there rows of which it is not known what the terminal shows?"""
        return None in self._shown

    def row(self, segments: Iterable[Segment]) -> Row:
        """A row as it will be sent: neighbours that look alike joined, control characters replaced."""
        runs: list[Run] = []
        codes, text = "", ""
        for part, style, control in segments:
            if control or not part:
                continue
            if not part.isprintable() and _FORBIDDEN.search(part):
                part, count = _FORBIDDEN.subn("\ufffd", part)
                self.violations += count
                part = part.replace("\u200d ", "")  # counted as no cell, but a terminal would show the blank
            look = self._codes(style) if style is not None else ""
            if look == codes:
                text += part
                continue
            if text:
                runs.append((codes, text))
            codes, text = look, part
        if text:
            runs.append((codes, text))
        return tuple(runs)

    def frame(self, rows: Mapping[int, Row], cursor: tuple[int, int]) -> str:
        """The text that makes the terminal show `rows` (by number; the others stay) and puts the cursor at (column, row)."""
        out: list[str] = []
        wanted = {y: row for y, row in rows.items() if y < self.height and self._shown[y] != row}
        if len(wanted) > _MIN_SCROLL:
            before = list(self._shown)
            if moved := self._scroll(wanted):
                out.append(moved)  # what lay between the wanted rows moved with them and has to be put back
                wanted = {y: wanted.get(y) or before[y] or () for y in range(min(wanted), max(wanted) + 1)}
        for y, row in wanted.items():
            old = self._shown[y]
            if old != row:
                out.append(_whole(y, row) if old is None else _changed(y, old, row))
                self._shown[y] = row
        drawn = "".join(out)
        if not drawn and cursor == self._cursor:
            return ""
        self._cursor = cursor
        return f"{drawn}\x1b[{cursor[1] + 1};{cursor[0] + 1}H"

    def _scroll(self, wanted: Mapping[int, Row]) -> str:
        """Moves a block of rows up or down when that makes most of the wanted ones right."""
        top, bottom = min(wanted), max(wanted)
        old = self._shown[top : bottom + 1]
        if None in old:
            return ""
        new = [wanted.get(y, self._shown[y]) for y in range(top, bottom + 1)]
        shift = _best_shift(old, new)
        if not shift:
            return ""
        kept: list[Row | None]
        blank: list[Row | None] = [(("", " " * self.width),)] * abs(shift)
        kept = old[shift:] + blank if shift > 0 else blank + old[:shift]
        self._shown[top : bottom + 1] = kept
        command = f"{shift}M" if shift > 0 else f"{-shift}L"
        return f"\x1b[{top + 1};{bottom + 1}r\x1b[{top + 1};1H\x1b[{command}\x1b[r"


class _Codes:
    """A Rich style as SGR codes, and its link."""

    def __init__(self, system: ColorSystem, colours: bool):
        self._system, self._colours = system, colours

    def __call__(self, style: Style) -> str:
        attributes = self._sgr(style.without_color)
        front = back = ""
        if self._colours:
            front = self._colour(style.color, Style(color=style.color))
            back = self._colour(style.bgcolor, Style(bgcolor=style.bgcolor))
        link = style.link if style.link and _URL.fullmatch(style.link) else ""
        look = f"{attributes}|{front}|{back}|{link}"
        return "" if look == "|||" else look

    def _colour(self, colour: Color | None, style: Style) -> str:
        return "" if colour is None or colour.is_default else self._sgr(style)

    def _sgr(self, style: Style) -> str:
        match = _CODES.match(style.update_link(None).render("x", color_system=self._system))
        return match[1] if match else ""


def _best_shift(old: Sequence[Row | None], new: Sequence[Row | None]) -> int:
    """By how many rows `old` moved up (positive) or down to become most like `new`; 0 if a move is not worth it."""
    places: dict[Row | None, list[int]] = {}
    for index, row in enumerate(old):
        places.setdefault(row, []).append(index)
    votes: dict[int, int] = {}
    for index, row in enumerate(new):
        found = places.get(row, ())
        if len(found) == 1 and found[0] != index:
            votes[found[0] - index] = votes.get(found[0] - index, 0) + 1
    if not votes:
        return 0
    shift = max(votes, key=votes.__getitem__)
    staying = sum(a == b and b != () for a, b in zip(old, new, strict=True))
    return shift if votes[shift] >= _MIN_SCROLL and votes[shift] > staying else 0


def _same_start(one: str, other: str) -> int:
    """How many characters two texts share at their start."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def _whole(y: int, row: Row) -> str:
    return f"\x1b[{y + 1};1H{_runs(row, True)}"


def _changed(y: int, old: Row, new: Row) -> str:
    """The part of a row between the cells that are the same at its start and at its end."""
    start, shared = 0, min(len(old), len(new))
    while start < shared and old[start] == new[start]:
        start += 1
    column = sum(cell_len(text) for _, text in new[:start])
    old, new = old[start:], new[start:]
    end, shared = 0, min(len(old), len(new))
    while end < shared and old[-1 - end] == new[-1 - end]:
        end += 1
    kept = new[len(new) - end :]
    old, new = old[: len(old) - end], new[: len(new) - end]
    if old and new and old[0][0] == new[0][0] and old[0][1].isascii() and new[0][1].isascii():
        same = _same_start(old[0][1], new[0][1])
        column += same
        new = ((new[0][0], new[0][1][same:]), *new[1:])
        old = ((old[0][0], old[0][1][same:]), *old[1:])
    to_end = not kept
    if old and new and old[-1][0] == new[-1][0] and old[-1][1].isascii() and new[-1][1].isascii():
        look, text = new[-1]
        same = _same_start(old[-1][1][::-1], text[::-1])
        text = text[: len(text) - same]
        if same and not (to_end and not look and text.endswith("    ")):  # blanks up to the edge are erased, not sent
            new, to_end = (*new[:-1], (look, text)), False
    return f"\x1b[{y + 1};{column + 1}H{_runs(new, to_end)}"


def _runs(row: Row, to_end: bool) -> str:
    """Runs with their looks. `to_end`: they reach the right edge, so plain blanks at the end need not be sent."""
    out: list[str] = []
    current = ""
    last = len(row) - 1
    for index, (look, text) in enumerate(row):
        erase = False
        if to_end and index == last and not look:
            stripped = text.rstrip(" ")
            if len(text) - len(stripped) > 3:
                text, erase = stripped, True
        if look != current and (text or erase):
            out.append(_switch(current, look))
            current = look
        out.append(text)
        if erase:
            out.append("\x1b[K")
    if current:
        out.append(_switch(current, ""))
    return "".join(out)


def _switch(before: str, after: str) -> str:
    """From one look to another, by what differs: a long row of colours is mostly foregrounds on one background."""
    old_attributes, old_front, old_back, old_link = before.split("|", 3) if before else ("", "", "", "")
    attributes, front, back, link = after.split("|", 3) if after else ("", "", "", "")
    out = f"\x1b]8;;{link}\x1b\\" if old_link != link else ""
    if old_attributes != attributes and old_attributes:
        codes = ["0", attributes, front, back] if after else []
    else:
        codes = [
            attributes if attributes != old_attributes else "",
            (front or "39") if front != old_front else "",
            (back or "49") if back != old_back else "",
        ]
        if not any(codes):
            return out
        if not (attributes or front or back):
            codes = []
    return f"{out}\x1b[{';'.join(filter(None, codes)) or '0'}m"
