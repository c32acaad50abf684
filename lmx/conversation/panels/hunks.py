"""What a parked call would change, hunk by hunk: some are taken, some are left, a file's text is written by the person (C01).

The card asks about the whole call; this is opened from it. What is chosen holds for the hunks that are shown and no others:
when the call turns out to be different, the panel goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.panels import base, frame
from lmx.conversation.panels.base import Face, Line, Panel, option
from lmx.conversation.session import cards
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.rows import Row
from lmx.sanitize import one_line, pasted, visible
from lmx_core import ToolCall

CONTEXT = 2
HUNK_ROWS = 120
"""Rows of one hunk; what is more is in the pager."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A hunk as the engine describes it, raw. `told` is False where its texts were too long to be sent along."""

    number: int
    path: str
    kind: str
    line: int = 1
    removed: str = ""
    added: str = ""
    told: bool = True


class HunkPanel(Panel, frozen=True, kw_only=True):
    """`chosen` are the numbers that run. `before` has the files as they are, as far as they could be read.

    `texts` are files that the person has written, whole, by path; `rows` how those differ from the file.
    """

    call: ToolCall
    title: str
    changes: tuple[Change, ...]
    chosen: frozenset[int]
    cursor: int = 0
    before: dict[str, str] = msgspec.field(default_factory=dict)
    texts: dict[str, str] = msgspec.field(default_factory=dict)
    rows: dict[str, tuple[Row, ...]] = msgspec.field(default_factory=dict)
    wrong: str = ""

    asked = True

    # --- keys -------------------------------------------------------------------------------------------------------

    def key(self, step: Step, key: str, text: str) -> None:
        here = self.changes[self.cursor]
        match key:
            case "escape":
                frame.close(step)
            case "up" | "down":
                by = 1 if key == "down" else -1
                frame.change(step, replace(self, cursor=(self.cursor + by) % len(self.changes), wrong=""))
            case "space":
                self._toggle(step, here)
            case "enter":
                self._run(step)
            case _ if text.lower() == "a":
                every = frozenset(change.number for change in self.changes)
                frame.change(step, replace(self, chosen=frozenset() if self.chosen == every else every, wrong=""))
            case _ if text.lower() == "e":
                self._edit(step, here.path)
            case _ if text.isdecimal() and 1 <= int(text) <= len(self.changes):
                place = int(text) - 1
                replace(self, cursor=place)._toggle(step, self.changes[place])

    def _toggle(self, step: Step, change: Change) -> None:
        if change.path in self.texts:
            frame.change(step, replace(self, wrong=words.HUNK_IS_EDITED))
        else:
            frame.change(step, replace(self, chosen=self.chosen ^ {change.number}, wrong=""))

    def _run(self, step: Step) -> None:
        """Enter: what is chosen runs. It is consent, so it counts only after it could be read (APR-4)."""
        if frame.unread(step):
            step.flash(words.TOO_EARLY)
            return
        texts = self._left() if self.texts else {}
        if texts is None:
            frame.change(step, replace(self, wrong=words.HUNKS_NOT_BOTH))
        elif not self.texts and not self.chosen:
            frame.change(step, replace(self, wrong=words.NO_HUNK_CHOSEN))
        elif self.texts:
            cards.allow_part(step, self.call.id, text=texts)
        elif len(self.chosen) == len(self.changes):
            cards.allow_part(step, self.call.id)
        else:
            cards.allow_part(step, self.call.id, hunks=tuple(sorted(self.chosen)))

    def _left(self) -> dict[str, str] | None:
        """The texts of all files that are not as proposed. None: a file that is made, deleted or moved cannot be left out."""
        left = dict(self.texts)
        for path in dict.fromkeys(change.path for change in self.changes if change.number not in self.chosen):
            if path not in left:
                text = self._proposed(path)
                if text is None:
                    return None
                left[path] = text
        return left

    def _proposed(self, path: str) -> str | None:
        """The text of a file with its chosen hunks. None where that is not known."""
        mine = [change for change in self.changes if change.path == path]
        kinds = {change.kind for change in mine}
        if kinds == {"create"} and mine[0].number in self.chosen and mine[0].told:
            return mine[0].added
        if kinds != {"lines"} or path not in self.before:
            return None
        return applied(self.before[path], [change for change in mine if change.number in self.chosen])

    def _edit(self, step: Step, path: str) -> None:
        text = self.texts.get(path)
        text = self._proposed(path) if text is None else text
        if text is None or pasted(text)[0] != text:  # an editor would lose what is not text
            frame.change(step, replace(self, wrong=words.HUNK_NO_TEXT))
        else:
            step.do(fx.EditText(self.id, path, text))

    # --- drawing ----------------------------------------------------------------------------------------------------

    def face(self, state: State, width: int) -> Face:
        lines: list[Line] = []
        shift: dict[str, int] = {}
        shown: set[str] = set()
        for place, change in enumerate(self.changes):
            if change.path not in self.texts:
                lines += self._hunk(change, place == self.cursor, shift.get(change.path, 0))
                grown = len(lines_of(change.added)) - len(lines_of(change.removed))
                shift[change.path] = shift.get(change.path, 0) + (grown if change.number in self.chosen else 0)
            elif change.path not in shown:
                shown.add(change.path)
                lines += self._edited(change.path, self.changes[self.cursor].path == change.path)
        chosen = sum(change.number in self.chosen for change in self.changes)
        return Face(
            title=words.hunks_title(self.title, chosen, len(self.changes), len(self.texts)),
            lines=tuple(lines),
            foot=(base.words(self.wrong, tone="error", gutter="✗ "),) if self.wrong else (),
            hints=words.HUNK_KEYS,
        )

    def _hunk(self, change: Change, at: bool, shift: int) -> Iterator[Line]:
        box = "[x] " if change.number in self.chosen else "[ ] "
        where = words.hunk_place(change.kind, one_line(change.path, "evidence"), change.line)
        yield option(where, chosen=at, before=f"{change.number} {box}")
        if not change.told:
            yield Line(kind="hidden", text=words.HUNK_TOO_LONG, gutter="    ", tone="muted", marked=at)
        body = list(self._rows(change, shift))
        for row in body[:HUNK_ROWS]:
            yield Line(kind=row.kind, text=row.text, gutter=row.gutter, tone=row.tone, marked=at)
        if len(body) > HUNK_ROWS:
            more = words.more_lines(len(body) - HUNK_ROWS)
            yield Line(kind="hidden", text=more, gutter="    ", tone="muted", marked=at)

    def _rows(self, change: Change, shift: int) -> Iterator[Row]:
        removed, added = lines_of(change.removed), lines_of(change.added)
        around = lines_of(self.before.get(change.path, "")) if change.kind == "lines" else []
        first, after = change.line - 1, change.line - 1 + len(removed)
        yield from _numbered("context", around[max(first - CONTEXT, 0) : first], max(first - CONTEXT, 0) + 1 + shift)
        yield from _numbered("removed", removed, change.line)
        if change.kind != "move":
            yield from _numbered("added", added, change.line + shift)
        yield from _numbered("context", around[after : after + CONTEXT], change.line + shift + len(added))

    def _edited(self, path: str, at: bool) -> Iterator[Line]:
        yield option(words.hunk_edited(one_line(path, "evidence")), chosen=at, before="[x] ")
        for row in self.rows.get(path, ()):
            yield Line(kind=row.kind, text=row.text, gutter=row.gutter, tone=row.tone, lexer=row.lexer, marked=at)


def _numbered(kind: str, lines: Iterable[str], first: int) -> Iterator[Row]:
    tone = {"added": "ok", "removed": "error"}.get(kind, "muted")
    for number, line in enumerate(lines, first):
        yield Row(kind=kind, text=visible(line.rstrip("\n"), "evidence"), gutter=f"{number:>5} ", tone=tone)


# --- the text ------------------------------------------------------------------------------------------------------------


def lines_of(text: str) -> list[str]:
    """Its lines with their ends."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def applied(before: str, changes: list[Change]) -> str | None:
    """The file with these changes; None where it is not any more what they were made for."""
    lines = lines_of(before)
    for change in sorted(changes, key=lambda one: one.line, reverse=True):
        start, end = change.line - 1, change.line - 1 + len(lines_of(change.removed))
        if not change.told or "".join(lines[start:end]) != change.removed:
            return None
        lines[start:end] = lines_of(change.added)
    return "".join(lines)


def read(changes: object) -> tuple[Change, ...]:
    """The hunks of a parked call; none where it shows none."""
    try:
        found = msgspec.convert(changes, tuple[Change, ...])
    except msgspec.ValidationError:
        return ()
    raw: Any = changes
    return tuple(replace(one, told="added" in told) for one, told in zip(found, raw, strict=True))


# --- around it -----------------------------------------------------------------------------------------------------------


def choose(step: Step) -> None:
    """Alt-H: the hunks of the oldest call that waits."""
    card = cards.oldest(step)
    if card is None:
        step.flash(words.NOTHING_TO_ANSWER)
        return
    changes = read(card.details.get("changes"))
    if not changes:
        step.flash(words.NO_HUNKS)
        return
    panel = HunkPanel(
        id=cards.hunks_id(card.call.id),
        call=card.call,
        title=step.receipts.title(card.call),
        changes=changes,
        chosen=frozenset(change.number for change in changes),
    )
    frame.open(step, panel)
    step.do(fx.ReadProposal(panel.id, tuple(dict.fromkeys(change.path for change in changes))))


def files_read(step: Step, id: str, texts: Mapping[str, str | None]) -> None:
    """The files as they are now, LF ends: for the lines around each hunk, and for editing."""
    panel = frame.find(step, id)
    if isinstance(panel, HunkPanel):
        known = {
            path: text.removeprefix("\ufeff").replace("\r\n", "\n") for path, text in texts.items() if text is not None
        }
        frame.change(step, replace(panel, before=known))


def edited(step: Step, id: str, path: str, text: str) -> None:
    """A file's text comes back from the person's editor, which may have left out the newline at its end."""
    panel = frame.find(step, id)
    if not isinstance(panel, HunkPanel):
        return
    proposed = panel.texts.get(path)
    proposed = panel._proposed(path) if proposed is None else proposed
    if proposed is not None and proposed.endswith("\n") and text and not text.endswith("\n"):
        text += "\n"
    if text == proposed and path not in panel.texts:
        step.flash(words.HUNK_UNCHANGED)
        return
    written = ToolCall(id=panel.call.id, name="write", arguments={"path": path, "content": text})
    rows = step.receipts.evidence(written, panel.before.get(path, ""))
    left = replace(panel, texts={**panel.texts, path: text}, rows={**panel.rows, path: rows}, wrong="")
    frame.change(step, left)
