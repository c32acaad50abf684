"""No model can be reached: which provider, and its key (tui.md 5.5, cli.md 8.5).

A key that is typed here is in this panel and in the one effect that hands it on, and nowhere else: not in the draft, not in the
history, not among what would be kept if the screen were gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.draft import EMPTY, Draft
from lmx.conversation.panels import base, frame
from lmx.conversation.panels.base import Face, Field, Line, Panel, option
from lmx.sanitize import one_line

if TYPE_CHECKING:
    from lmx.conversation.state import State
    from lmx.conversation.step import Step

ID = "first run"


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """A way to a model. `variable` is where its key is looked for, empty for one that needs none; `keyed`: there is a key."""

    provider: str
    label: str
    model: str
    variable: str = ""
    keyed: bool = False

    @property
    def open(self) -> bool:
        return self.keyed or not self.variable


class FirstRun(Panel, frozen=True, kw_only=True):
    """`row` is None until something is marked (FIR-1). `where` is the file a key is saved in, empty where none can be.

    `named` is the row of a model that the person named: of that one only the key is saved. `asking`: for the marked row's key.
    """

    id: str = ID
    ways: tuple[Access, ...] = ()
    why: str = ""
    where: str = ""
    row: int | None = None
    named: int | None = None
    asking: bool = False
    key_draft: Draft = EMPTY
    wrong: str = ""
    busy: bool = False

    rank = base.FIRST_RUN

    def __repr__(self) -> str:
        return f"FirstRun(row={self.row}, asking={self.asking})"  # no key is ever told

    # --- keys -------------------------------------------------------------------------------------------------------

    def key(self, step: Step, key: str, text: str) -> None:
        if self.busy:
            return
        if self.asking:
            self._asked(step, key)
        elif key == "escape":
            self._left(step)
        elif key in ("up", "down") and self.ways:
            by = 1 if key == "down" else -1
            row = (self.row + by) % len(self.ways) if self.row is not None else 0 if by > 0 else len(self.ways) - 1
            frame.change(step, replace(self, row=row, wrong=""))
        elif key == "enter":
            self._take(step)
        elif text.isdecimal() and 1 <= int(text) <= len(self.ways):
            replace(self, row=int(text) - 1)._take(step)

    def edited(self, step: Step, draft: Draft) -> None:
        if self.asking and not self.busy:
            frame.change(step, replace(self, key_draft=draft, wrong=""))

    def _take(self, step: Step) -> None:
        if self.row is None:
            frame.change(step, replace(self, wrong=words.CHOOSE_PROVIDER))
        elif self.ways[self.row].open:
            self._use(step, "")
        else:
            frame.change(step, replace(self, asking=True, key_draft=EMPTY, wrong=""))

    def _asked(self, step: Step, key: str) -> None:
        if key == "escape":
            frame.change(step, replace(self, asking=False, key_draft=EMPTY, wrong=""))
        elif key == "enter":
            typed = self.key_draft.expanded().strip()
            if not typed:
                frame.change(step, replace(self, wrong=words.KEY_EMPTY))
            elif not typed.isascii() or not typed.isprintable() or " " in typed:
                frame.change(step, replace(self, wrong=words.KEY_ODD))
            else:
                self._use(step, typed)

    def _use(self, step: Step, key: str) -> None:
        """What happens now is told by rows; the panel goes when a session opens."""
        assert self.row is not None
        way = self.ways[self.row]
        frame.change(step, replace(self, busy=True, key_draft=EMPTY, wrong=""))
        step.do(fx.UseProvider(provider=way.provider, model=way.model, key=key, key_alone=self.row == self.named))

    def _left(self, step: Step) -> None:
        """Esc: what can be done now, and what the start had said (FIR-4)."""
        frame.close(step)
        now = [way.provider for way in self.ways if way.open]
        step.note(
            words.first_run_left(self.why, [way.variable for way in self.ways if way.variable], now), tone="notice"
        )

    # --- drawing ----------------------------------------------------------------------------------------------------

    def faces(self, state: State, width: int) -> tuple[Face, ...]:
        return (replace(self, asking=False).face(state, width), self.face(state, width))

    def face(self, state: State, width: int) -> Face:
        return Face(
            title=words.FIRST_RUN_TITLE if not self.asking else words.KEY_TITLE,
            head=() if self.asking else (base.words(self.why, tone="notice"),),
            lines=tuple(self._key_stage() if self.asking else self._rows()),
            foot=tuple(self._foot()),
            hints=words.KEY_KEYS if self.asking else words.FIRST_RUN_KEYS,
        )

    def _rows(self) -> Iterator[Line]:
        wide = max((len(way.label) for way in self.ways), default=0)
        for number, way in enumerate(self.ways):
            mark = words.KEY_SET if way.keyed else words.NO_KEY_NEEDED if not way.variable else ""
            text = words.joined((f"{way.label:<{wide}}  {way.model}", mark))
            yield option(text, chosen=number == self.row, before=f"{number + 1}  ")
        yield base.words(words.FIRST_RUN_ELSE, tone="muted", gutter="     ")

    def _key_stage(self) -> Iterator[Line]:
        way = self.ways[self.row or 0]
        yield base.words(words.KEY_ASKED.format(variable=way.variable, label=way.label))
        yield base.words(
            words.KEY_SAVED_IN.format(path=self.where) if self.where else words.KEY_NOT_SAVED, tone="muted"
        )
        field = Field(draft=self.key_draft, secret=True)
        yield Line(kind="detail", text=words.KEY_HINT, gutter="› ", field=field, marked=True)

    def _foot(self) -> Iterator[Line]:
        if self.busy:
            yield base.words(words.STARTING, tone="muted")
        elif self.wrong:
            yield base.words(self.wrong, tone="error", gutter="✗ ")


def offer(step: Step, ways: tuple[Access, ...], why: str, where: str, model: str | None) -> None:
    """Opens it, or tells an open one why the start failed again."""
    ways = tuple(replace(way, label=one_line(way.label), model=one_line(way.model)) for way in ways)
    row = None
    if model is not None:
        provider = model.partition(":")[0]
        row = next((n for n, way in enumerate(ways) if way.provider == provider), None)
        if row is not None:
            named = replace(ways[row], model=one_line(model))
            ways = (*ways[:row], named, *ways[row + 1 :])
    frame.open(step, FirstRun(ways=ways, why=why, where=where, row=row, named=row))
