"""One step of the reducer while it is being made: the state so far and the effects so far.

The functions of this package take a `Step` and change it, which reads like ordinary code; from outside the reducer is still a
function from (state, message) to (state, effects), because a step never outlives its call and holds nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from lmx import words
from lmx.conversation import effects as fx
from lmx.conversation.blocks import Block
from lmx.conversation.draft import EMPTY, Draft
from lmx.conversation.state import Signals, State
from lmx.rows import Row
from lmx.sanitize import visible
from lmx_core import ToolCall

STASH_LIMIT = 50
"""Drafts kept for Up. What they push out goes to the history on disk, so that none is lost."""


class Receipts(Protocol):
    """How calls are told, one renderer a tool (RCP-1). `lmx.receipts` has the shipped one."""

    def call(self, call: ToolCall, state: str, result: Mapping[str, Any] | None = None) -> tuple[Row, ...]: ...

    def explored(self, call: ToolCall) -> str | None: ...

    def found(self, call: ToolCall, result: Mapping[str, Any]) -> str: ...

    def result(self, call: ToolCall, result: Mapping[str, Any]) -> tuple[Row, ...]: ...

    def failed(self, call: ToolCall, result: Mapping[str, Any]) -> tuple[Row, ...]: ...

    def live(self, call: ToolCall, tail: str, hidden: int) -> tuple[Row, ...]: ...

    def evidence(self, call: ToolCall, before: str | None) -> tuple[Row, ...]: ...

    def whole_evidence(self, call: ToolCall, before: str | None) -> str: ...

    def title(self, call: ToolCall) -> str: ...

    def changes(self, call: ToolCall) -> str | None: ...


class Command(Protocol):
    """What the reducer must know of a slash command to decide about its line; performing it is the screen's business."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def summary(self) -> str: ...

    @property
    def hint(self) -> str: ...

    @property
    def when(self) -> str:
        """`any`: with a session; `always`: also without; `idle-always`: also without, but not during a turn."""

    @property
    def offers(self) -> str | None:
        """The kind of its argument menu, if it has one."""

    @property
    def asks(self) -> bool:
        """Whether taking it from the menu opens its argument menu instead of running it."""

    def check(self, argument: str) -> str | None:
        """What is wrong with the argument, or None. Pure."""


Policy = Callable[[fx.Run], str | None]
"""Why a host does not allow a command with this argument, in a sentence; None where it does (CMD-1). Pure: keys wait for it."""


Suggest = Callable[[Signals], str | None]
"""What the person may want to say after a turn with these signals; None: nothing (tui.md 12)."""


class Step:
    """`state` and `effects` are the result; `now` is the time of the message in ms."""

    def __init__(
        self,
        state: State,
        now: int,
        receipts: Receipts,
        commands: Sequence[Command],
        policy: Policy | None = None,
        suggest: Suggest | None = None,
    ):
        self.state, self.now, self.receipts, self.commands = state, now, receipts, commands
        self._policy, self.suggest = policy, suggest
        self.effects: list[fx.Effect] = []
        self.live = True  # False while stored entries are folded

    def set(self, **changes: Any) -> None:
        self.state = msgspec.structs.replace(self.state, **changes)

    def do(self, effect: fx.Effect) -> None:
        self.effects.append(effect)

    def denied(self, command: str, argument: str = "") -> str | None:
        """Why the host does not allow it, None where it does. Asked where commands are listed, and again before each is run."""
        return None if self._policy is None else self._policy(fx.Run(command=command, argument=argument))

    def run(self, command: str, argument: str = "") -> None:
        """Performs a command that nobody typed just now: it answers no card (APR-4)."""
        if (denied := self.denied(command, argument)) is not None:
            self.note(denied, tone="error", kind="error")
            return
        self.set(performing=self.state.performing + 1)
        self.do(fx.Run(command=command, argument=argument, focused=False))

    def flash(self, text: str) -> None:
        self.do(fx.Flash(text))

    # --- blocks -----------------------------------------------------------------------------------------------------

    def key(self, kind: str) -> str:
        self.set(keys=self.state.keys + 1)
        return f"{kind}:{self.state.keys}"

    def append(self, block: Block, *, keeps_group: bool = False) -> None:
        """A new block at the end: it closes an open Explored group, and a waiting message stays below it (CMP-31).

        Blocks that will be taken away again keep the group, or a resumed session would group differently (GEN-6).
        """
        if not keeps_group:
            self.close_group()
        steer = self.state.steer
        if steer is None or steer.key == block.key:
            self.do(fx.Append(block))
            return
        self.do(fx.Remove(steer.key))
        self.do(fx.Append(block))
        key = self.key("steer")
        self.set(steer=msgspec.structs.replace(steer, key=key))
        self.do(fx.Append(steer_box(key, steer.text)))

    def replace(self, block: Block) -> None:
        self.do(fx.Replace(block))

    def note(self, text: str, tone: str = "plain", kind: str = "note") -> None:
        self.append(Block(key=self.key(kind), kind=kind, text=visible(text), tone=tone))

    def close_group(self) -> None:
        """Ends the open Explored group. It is kept only for results that may still come, or a long session would fill up."""
        key = self.state.open_group
        if key is None:
            return
        groups = dict(self.state.explored)
        if all(item.done and not item.failed for item in groups[key].items):
            del groups[key]
        else:
            groups[key] = msgspec.structs.replace(groups[key], closed=True)
        self.set(open_group=None, explored=groups)

    # --- drafts -----------------------------------------------------------------------------------------------------

    def set_draft(self, draft: Draft) -> None:
        """Puts `draft` into the composer. What stood there must have been sent or stashed by the caller.

        It was not typed, so it answers no card (APR-4); whoever completes a typed line puts its `began` back.
        """
        self.set(draft=draft, began=None, menu=None, menu_closed=None)
        self.do(fx.SetDraft(draft))

    def clear_draft(self) -> None:
        """Empties the composer after its content was sent or stashed."""
        self.end_browsing()
        self.set_draft(EMPTY)

    def end_browsing(self) -> None:
        """What is shown becomes the draft; the live one it stood in for is put aside."""
        if self.state.browsing is not None:
            live = self.state.browsing.live
            self.set(browsing=None)
            self.stash(live)

    def stash(self, draft: Draft) -> None:
        """Keeps a draft that something is about to clear (CMP-10). Blank ones have nothing to lose."""
        if not draft.blank:
            kept = tuple(one for one in self.state.stash if one.text != draft.text or one.pastes != draft.pastes)
            *oldest, _ = stash = (*kept, draft)
            for one in oldest[
                : max(len(stash) - STASH_LIMIT, 0)
            ]:  # there is no end to a sitting: these are history now
                self.do(fx.Remember(one.expanded()))
            self.set(stash=stash[-STASH_LIMIT:])

    def gather(self) -> tuple[Draft, ...]:
        """The history, with what was put aside as its newest lines: from now on they are history, on disk too."""
        aside = self.state.stash
        texts = {draft.expanded() for draft in aside}
        before = tuple(draft for draft in self.state.history if draft.expanded() not in texts) if aside else ()
        for draft in aside:
            self.do(fx.Remember(draft.expanded()))
        if aside:
            self.set(history=(*before, *aside), stash=())
        return self.state.history

    def give_back(self, draft: Draft) -> bool:
        """Returns what could not be sent: into the composer when that is empty (True), else to the stash (CMP-33)."""
        state = self.state
        free = state.browsing is None and state.queue.revising is None
        if state.draft.blank and free:
            self.set_draft(draft)
            return True
        self.stash(draft)
        return False


def steer_box(key: str, text: str) -> Block:
    """What a message for the running turn looks like until it is sent."""
    return _waiting_box(key, text, words.STEER_BOX)


def held_box(key: str, text: str) -> Block:
    """What a message for a session that does not exist yet looks like."""
    return _waiting_box(key, text, words.HELD_BOX)


def _waiting_box(key: str, text: str, why: str) -> Block:
    first, *more = visible(text).split("\n")
    shown = words.spaced(first, words.more_of_message(len(more)) if more else "")
    rows = (
        Row(kind="heading", text=shown, gutter="> ", tone="muted"),
        Row(kind="detail", text=why, gutter="  ", tone="muted"),
    )
    return Block(key=key, kind="note", rows=rows, open=True, tone="muted")
