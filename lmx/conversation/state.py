"""What the screen knows between two things that happen. Small and frozen: the transcript itself is not in it.

Blocks leave the reducer as they come (`effects.Append`, `Replace`, `Remove`), and only what may still change is kept here: the
open answer, the calls without a result, the cards. So a delta costs the same in a long conversation as in a new one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lmx.conversation.draft import EMPTY, Draft
from lmx.conversation.panels.base import Panel
from lmx.conversation.picker import Index
from lmx.rows import Row
from lmx_core import ToolCall


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """The base of everything here. Times are milliseconds of one clock, given with every message."""


class Answer(Struct, frozen=True, kw_only=True):
    """An answer that streams. `text` is shown; `held` is the end of a delta that may be half an escape sequence."""

    id: str
    text: str = ""
    thinking: str = ""
    held: str = ""
    revision: int = 0
    thinking_since: int | None = None
    thinking_ms: int | None = None
    shown: bool = False
    thinking_shown: bool = False


class Call(Struct, frozen=True, kw_only=True):
    """A call of the current wave. `state`: waiting, parked, running, or how it ended. `key`: of the block that tells it.

    `item` is its place in an Explored block, None if it has a block of its own. `tail` is the newest of its live output, raw;
    `hidden` counts the lines before it.
    """

    call: ToolCall
    key: str
    state: str = "waiting"
    item: int | None = None
    tail: str | None = None
    hidden: int = 0
    revision: int = 0

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "parked", "running")


class Item(Struct, frozen=True, kw_only=True):
    """One line under `Explored`: what was looked at, how often in a row, what came of it, and a failure's output."""

    call_id: str
    text: str
    result: str = ""
    failed: tuple[Row, ...] = ()
    done: bool = False


class Explored(Struct, frozen=True, kw_only=True):
    """A group of looking-at-things calls. It takes no more items once another block follows (`closed`). `active`: one runs."""

    key: str
    items: tuple[Item, ...] = ()
    closed: bool = False
    active: bool = False
    revision: int = 0


class Suggestion(Struct, frozen=True, kw_only=True):
    """What else the person may answer: switching the mode, or a rule that is remembered."""

    sentence: str
    mode: str | None = None
    rule: str | None = None


class Card(Struct, frozen=True, kw_only=True):
    """A parked call. `painted`: when its evidence was last drawn; `front`: since when it is the oldest (APR-4).

    `until`: when nobody's answer is taken for one, in a session that does not wait for ever; `left` are the seconds last drawn.
    """

    call: ToolCall
    key: str
    since: int
    details: dict[str, Any] = {}
    suggestions: tuple[Suggestion, ...] = ()
    before: str | None = None
    painted: int | None = None
    front: int | None = None
    answered: bool = False
    until: int | None = None
    left: int | None = None
    revision: int = 0


class Steer(Struct, frozen=True, kw_only=True):
    """A message for the running turn that the engine holds. `undelivered`: it is being taken back after the turn's end.

    `masked`: the engine holds it with placeholders for credentials, so its record will not say the same.
    """

    draft: Draft
    text: str
    key: str
    undelivered: bool = False
    masked: bool = False


class Signals(Struct, frozen=True, kw_only=True):
    """What a turn's calls came to, in numbers only. `failures` are those that nothing has made up for; `last` is the last kind:
    edit, command, read or other."""

    edits: int = 0
    commands: int = 0
    failures: int = 0
    reads: int = 0
    last: str = ""


class Turn(Struct, frozen=True, kw_only=True):
    """A prompt at work. `began` and `last` are the times of its first and newest entry: what the summary's time is made of.

    `usage`: (input, cache read, cache write, output) of its requests. `measured` is False once one came without numbers.
    `turned_away` counts those that were refused before any work, which cost nothing.
    """

    number: int
    since: int
    began: int | None = None
    last: int | None = None
    requests: int = 0
    turned_away: int = 0
    calls: int = 0
    usage: tuple[int, int, int, int] = (0, 0, 0, 0)
    measured: bool = True
    answered: bool = False
    cancelled: bool = False
    told: bool = False
    failure: tuple[str, str] | None = None
    signals: Signals = Signals()


class Phase(Struct, frozen=True, kw_only=True):
    """What the turn is doing, for the live row. A phase that continues keeps `since` (ACT-1)."""

    kind: str
    since: int
    text: str = ""
    until: int | None = None


class Totals(Struct, frozen=True, kw_only=True):
    """Of the whole session, as its entries tell it. `cost` None: nobody knows. `open`: a request's usage has not come yet."""

    requests: int = 0
    tokens: int = 0
    complete: bool = True
    cost: float | None = 0.0
    open: bool = False


class Window(Struct, frozen=True, kw_only=True):
    """How full the model's window is. None: unknown (GEN-7)."""

    tokens: int | None = 0
    size: int | None = None


class Browsing(Struct, frozen=True, kw_only=True):
    """Going through what was written before: `place` counts back from the newest, `live` is the draft to come back to."""

    place: int
    live: Draft
    began: int | None = None


class Menu(Struct, frozen=True, kw_only=True):
    """The completion menu. `kind`: command or the kind of argument. Each row is (what is taken, what is shown beside it)."""

    kind: str
    rows: tuple[tuple[str, str], ...] = ()
    selected: int = 0
    loading: bool = False


class Queue(Struct, frozen=True, kw_only=True):
    """Drafts that wait for the end of a turn, the oldest first (CMP-40). `at` is the selected one; `paused`: none is sent.

    `revising` is the place of the one that stands in the composer; `before` what stood there when it came.
    """

    items: tuple[Draft, ...] = ()
    at: int = 0
    paused: bool = False
    revising: int | None = None
    before: Draft = EMPTY


class Task(Struct, frozen=True, kw_only=True):
    """A task of the session's plan. `status`: pending, in_progress or completed."""

    title: str
    status: str


class Box(Struct, frozen=True, kw_only=True):
    """The notices that are shown, as (text, tone), and when they go; None: not by themselves."""

    key: str
    items: tuple[tuple[str, str], ...] = ()
    until: int | None = None


class State(Struct, frozen=True, kw_only=True):
    """`life`: starting, ready, failed (no session could be started) or down (the session ended by itself).

    `draft` mirrors the composer; `began` is when its first character was typed, with the terminal's focus or without
    (`began_focused`). `stash` holds drafts that something cleared, newest last; `held` is a message sent before there was a
    session; `sending` one whose prompt the session has not yet recorded. `performing` counts commands that are being
    performed; `kept` says that what is not sent is kept on disk for the next sitting. `settled` are the calls of the wave
    whose questions are over; `all_asked` those that `/approve all` has listed and would run; `notes` go to the model with the
    next message; `hint` is offered in an empty composer. `notices` are all of the sitting, `box` those that are shown;
    `accessible`: nothing goes away by itself.
    """

    life: str = "starting"
    session_id: str | None = None
    name: str = ""
    model: str = ""
    model_on_record: str | None = None
    mode: str = ""
    sandbox: str = ""
    seq: int = -1
    keys: int = 0
    turns: int = 0

    turn: Turn | None = None
    phase: Phase | None = None
    answer: Answer | None = None
    wave: dict[str, Call] = {}
    explored: dict[str, Explored] = {}
    open_group: str | None = None
    cards: tuple[Card, ...] = ()
    all_asked: frozenset[str] = frozenset()
    settled: frozenset[str] = frozenset()
    steer: Steer | None = None
    tasks: tuple[Task, ...] = ()
    box: Box | None = None
    notices: tuple[tuple[str, str], ...] = ()
    accessible: bool = False

    draft: Draft = EMPTY
    began: int | None = None
    began_focused: bool = True
    edited_at: int | None = None
    focused: bool = True
    held: Draft | None = None
    held_key: str | None = None
    sending: Draft | None = None
    stash: tuple[Draft, ...] = ()
    queue: Queue = Queue()
    performing: int = 0
    kept: bool = False
    notes: tuple[str, ...] = ()
    hint: str = ""
    history: tuple[Draft, ...] = ()
    browsing: Browsing | None = None
    menu: Menu | None = None
    menu_closed: str | None = None
    offers: dict[str, tuple[tuple[str, str], ...]] = {}
    panel: Panel | None = None
    waiting_panels: tuple[Panel, ...] = ()
    panel_painted: int | None = None
    files: Index | None = None
    files_asked: int | None = None

    armed: int | None = None
    escaped: int | None = None
    quit_asked: bool = False
    told: frozenset[str] = frozenset()

    totals: Totals = Totals()
    window: Window = Window()

    @property
    def busy(self) -> bool:
        return self.turn is not None

    @property
    def counts_down(self) -> bool:
        """Does anything on the screen say how much time is left?"""
        return any(card.until is not None for card in self.cards)

    @property
    def unsent(self) -> tuple[Draft, ...]:
        """What would be lost with the screen, the newest last: drafts put aside and what stands in the composer (CMP-10)."""
        live = (self.browsing.live,) if self.browsing is not None else ()
        panels = () if self.panel is None else (self.panel, *self.waiting_panels)
        written = tuple(draft for panel in panels for draft in panel.unsent())
        known = {(draft.text, draft.pastes) for draft in self.history}
        drafts = (*self.stash, *live, self.draft, *written)
        return tuple(draft for draft in drafts if not draft.blank and (draft.text, draft.pastes) not in known)
