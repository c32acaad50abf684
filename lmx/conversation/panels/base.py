"""What a panel is: data, a face that is drawn, and what a key does to it (PNL-1 to PNL-4). Pure.

One widget draws every panel and one queue orders them. With a widget a panel, each would bring its own idea of what Esc does,
of when a key counts and of what is left on a small screen, and none of it could be tested without a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lmx.conversation.draft import Draft
from lmx.rows import Row

if TYPE_CHECKING:
    from lmx.conversation.state import State
    from lmx.conversation.step import Step

FIRST_RUN, TRUST, QUESTION, ELICITATION, SERVERS, LOOKING = range(6)
"""Ranks: what is shown first when several wait (PNL-1). `LOOKING`: a person opened it to look at something."""

CHOSEN, NOT_CHOSEN = "› ", "  "


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """Text that is being written in a line. `secret`: dots are drawn (CMP-20). `rows`: how many it may grow to.

    A field of one row holds one line; what is pasted into it loses its newlines.
    """

    draft: Draft = Draft()
    rows: int = 1
    secret: bool = False


class Line(Row, frozen=True, kw_only=True):
    """A row of a panel. `marked`: the one that the keys act on, which stays in sight. At most one of a face has a `field`."""

    marked: bool = False
    field: Field | None = None


class Face(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn of a panel. `head` and `foot` stay where they are, `lines` scroll between them (LAY-25).

    `beside` is drawn to the right of the lines where there is room, else under them. `hints` are the keys, most needed first.
    """

    title: str
    head: tuple[Line, ...] = ()
    lines: tuple[Line, ...] = ()
    foot: tuple[Line, ...] = ()
    beside: tuple[Row, ...] = ()
    hints: tuple[str, ...] = ()


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all panels. `id` tells two of a kind apart; opening one with the id of another that waits replaces it.

    `asked`: the person opened it, so its first key was meant for it and counts at once. `of_session`: it goes with the session.
    """

    id: str

    rank = LOOKING
    asked = False
    of_session = True

    def face(self, state: State, width: int) -> Face:
        """What is drawn of it, `width` cells inside the frame."""
        raise LookupError(type(self).__name__)

    def faces(self, state: State, width: int) -> tuple[Face, ...]:
        """Its face on every tab: a panel keeps the height of the highest (PNL-2)."""
        return (self.face(state, width),)

    def key(self, step: Step, key: str, text: str) -> None:
        """A key, by its name (`enter`, `escape`, `up`, `shift+tab`, `space`, or an action of the key table such as `search`);
        `text` is what it types, empty for others."""

    def edited(self, step: Step, draft: Draft) -> None:
        """What stands in its field now."""

    def leave(self, step: Step) -> None:
        """Ctrl-C: out of it altogether. By default it is what Esc does."""
        self.key(step, "escape", "")

    def unsent(self) -> tuple[Draft, ...]:
        """What was written in it and would be lost with it; never a secret (CMP-10)."""
        return ()


def option(text: str, *, chosen: bool, before: str = "", tone: str = "plain", marked: bool | None = None) -> Line:
    """A row that can be chosen: `›` marks it, `before` is a number or a box."""
    mark = CHOSEN if chosen else NOT_CHOSEN
    return Line(kind="option", text=text, gutter=mark + before, tone=tone, marked=chosen if marked is None else marked)


def words(text: str, *, tone: str = "plain", gutter: str = "") -> Line:
    """A row that says something."""
    return Line(kind="detail", text=text, tone=tone, gutter=gutter)
