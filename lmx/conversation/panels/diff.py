"""What has changed in the work tree (/diff): a tree of files, and the difference of one of them.

The panel knows nothing of git: what there is comes with `DiffRead` and `PatchRead`, and it asks for them with effects.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import split

import msgspec
from msgspec.structs import replace

from lmx import words
from lmx.changes import Change, Changes, Patch
from lmx.conversation import effects as fx
from lmx.conversation.panels import frame
from lmx.conversation.panels.base import Face, Line, Panel, option
from lmx.conversation.panels.base import words as says
from lmx.conversation.state import State
from lmx.conversation.step import Step
from lmx.sanitize import one_line

PAGE = 10


class Row(msgspec.Struct, frozen=True):
    """A row of the tree: a heading or folder (`change` None), which `key` folds, or a file below it."""

    key: str
    text: str
    depth: int
    change: Change | None = None


class DiffPanel(Panel, frozen=True, kw_only=True):
    """`open`: the file whose `patch` is shown, None until it has come; `at`: the row of the tree, `line` of the patch."""

    id: str = "diff"
    changes: Changes
    folded: frozenset[str] = frozenset()
    at: int = 0
    open: Change | None = None
    patch: Patch | None = None
    line: int = 0

    asked = True

    def face(self, state: State, width: int) -> Face:
        return self._patch_face() if self.open is not None else self._tree_face()

    def _tree_face(self) -> Face:
        files = self.changes.files
        foot = (says(words.diff_more(self.changes.more), tone="muted"),) if self.changes.more else ()
        lines = tuple(self._told(row, chosen=n == self.at) for n, row in enumerate(self._rows()))
        title = words.diff_title(len(files) + self.changes.more)
        return Face(
            title=title, lines=lines or (says(words.DIFF_NOTHING, tone="muted"),), foot=foot, hints=words.DIFF_KEYS
        )

    def _told(self, row: Row, *, chosen: bool) -> Line:
        if row.change is None:
            mark = "▸ " if row.key in self.folded else "▾ "
            tone = "accent" if row.depth == 0 else "muted"
            return option(mark + row.text, chosen=chosen, before="  " * row.depth, tone=tone)
        before = f" ← {one_line(row.change.before, 'evidence')}" if row.change.before else ""
        return option(f"{row.change.how} {row.text}{before}", chosen=chosen, before="  " * row.depth)

    def _patch_face(self) -> Face:
        change = self.open
        assert change is not None
        title = f"{words.DIFF_WHERE[change.where]}: {one_line(change.path, 'evidence')}"
        if self.patch is None:
            return Face(title=title, lines=(says(words.DIFF_READING, tone="muted"),), hints=words.PATCH_KEYS)
        lines = [_drawn(text, marked=number == self.line) for number, text in enumerate(self.patch.lines)]
        foot = (says(words.more_diff_lines(self.patch.more), tone="muted"),) if self.patch.more else ()
        return Face(title=title, lines=tuple(lines), foot=foot, hints=words.PATCH_KEYS)

    def key(self, step: Step, key: str, text: str) -> None:
        if self.open is not None:
            self._in_patch(step, key, text)
            return
        rows = self._rows()
        row = rows[self.at] if rows else None
        match key:
            case "escape" | "q":
                frame.close(step)
            case "r":
                step.do(fx.ReadChanges())
            case "up" | "down" | "line_start" | "line_end":  # Home and End, by what they do in a text
                self._move(step, key, len(rows))
            case "left" | "right" if row is not None:
                self._fold(step, row, away=key == "left")
            case "enter" if row is not None and row.change is not None:
                frame.change(step, replace(self, open=row.change, patch=None, line=0))
                step.do(fx.ReadPatch(row.change))
            case "enter" if row is not None:
                self._fold(step, row, away=row.key not in self.folded)

    def _move(self, step: Step, key: str, rows: int) -> None:
        to = {"up": self.at - 1, "down": self.at + 1, "line_start": 0, "line_end": rows - 1}[key]
        frame.change(step, replace(self, at=max(0, min(to, rows - 1))))

    def _fold(self, step: Step, row: Row, *, away: bool) -> None:
        """Left on a file goes to what it lies in."""
        rows = self._rows()
        if row.change is not None:
            if away:
                above = max((n for n in range(self.at) if rows[n].change is None), default=0)
                frame.change(step, replace(self, at=above))
            return
        folded = self.folded | {row.key} if away else self.folded - {row.key}
        frame.change(step, replace(self, folded=folded))

    def _in_patch(self, step: Step, key: str, text: str) -> None:
        most = len(self.patch.lines) - 1 if self.patch is not None else 0
        moves = {"up": -1, "down": 1, "k": -1, "j": 1, "space": PAGE, "b": -PAGE, "line_start": -most, "line_end": most}
        if key in ("tab", "escape", "left"):
            frame.change(step, replace(self, open=None, patch=None))
        elif key == "q":
            frame.close(step)
        elif key in moves:
            frame.change(step, replace(self, line=max(0, min(self.line + moves[key], most))))

    def leave(self, step: Step) -> None:
        frame.close(step)

    def _rows(self) -> list[Row]:
        return list(_tree(self.changes.files, self.folded))


def _tree(files: tuple[Change, ...], folded: frozenset[str]) -> Iterator[Row]:
    """Headings, the folders in them, and the files in those, as they are listed."""
    where = folder = None
    for change in files:
        if change.where != where:
            where, folder = change.where, None
            number = sum(1 for other in files if other.where == where)
            yield Row(where, f"{words.DIFF_WHERE[where]} ({number})", 0)
        if where in folded:
            continue
        lies_in, name = split(change.path)
        key = f"{where}:{lies_in}"
        if lies_in and key != folder:
            folder = key
            yield Row(key, one_line(lies_in, "evidence") + "/", 1)
        if not lies_in or key not in folded:
            yield Row(f"{where}:{change.path}", one_line(name, "evidence"), 2 if lies_in else 1, change)


def _drawn(text: str, *, marked: bool) -> Line:
    kinds = {"+": "added", "-": "removed", " ": "context"}
    if text[:1] in kinds:
        return Line(kind=kinds[text[0]], text=text[1:], marked=marked)
    return Line(kind="detail", text=text, tone="muted", marked=marked)


def read(step: Step, changes: Changes) -> None:
    """What has changed has been read: the panel opens, or is brought up to date where it stands."""
    shown = frame.find(step, "diff")
    if not isinstance(shown, DiffPanel):
        frame.open(step, DiffPanel(changes=changes))
        return
    fresh = replace(shown, changes=changes)
    frame.change(step, replace(fresh, at=max(0, min(fresh.at, len(fresh._rows()) - 1))))


def patch_read(step: Step, change: Change, patch: Patch) -> None:
    """The difference of a file has come; too late where another is shown by now."""
    shown = frame.find(step, "diff")
    if isinstance(shown, DiffPanel) and shown.open == change:
        frame.change(step, replace(shown, patch=patch))
