"""What fills a session's window, piece by piece, and what a person decides about the pieces (MET-7).

A piece may be left out, shortened, or kept word for word through every summary; a summary or a clear may be taken back. Each
decision holds from the next request on and changes how a prompt cache reads what follows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lmx_core.context.marks import KINDS, NAMESPACE, Marks
from lmx_core.entry import Entry
from lmx_core.errors import Busy, ConfigError, NothingToDo
from lmx_core.events import ContextPosition
from lmx_core.session.documents import encoded_value
from lmx_core.transcript.replay import calls_of, text_of
from lmx_core.transcript.weight import overhead, weight

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

SHOWN = 200
"""Characters of a piece that tell which one it is."""


class ContextItem(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the conversation as the next request carries it.

    `bytes` is what it weighs there; `text` is its beginning. `mark` is `left_out`, `shortened`, `kept` or None. `id` is that of
    its entry, None for what stands for others (a summary, words that lead on), which cannot be marked.
    """

    id: str | None
    type: str
    text: str
    bytes: int
    mark: str | None = None


class ContextContents(msgspec.Struct, frozen=True, kw_only=True):
    """What the next request carries: `system` and `tools` in bytes (`tools` by name), and `items` in order.

    `position` is how full the window is. `can_undo`: a summary or a clear is in force.
    """

    system: int
    tools: dict[str, int]
    items: list[ContextItem]
    position: ContextPosition
    can_undo: bool


async def contents(actor: Actor) -> ContextContents:
    marks = actor.ledger.projection.marks
    sent = actor.ledger.projection.entries() if actor.run is None else actor.ledger.projection.so_far()
    return ContextContents(
        system=overhead(actor.settings.options.system, ()),
        tools={tool.name: overhead(None, (tool,)) for tool in actor.settings.specs},
        items=[_item(entry, marks) for entry in sent],
        position=actor.room.position(),
        can_undo=_newest_cut(actor, marks) is not None,
    )


def _item(entry: Entry, marks: Marks) -> ContextItem:
    made_up = bool(entry.meta.get("synthetic"))
    return ContextItem(
        id=None if made_up else entry.id,
        type=entry.type,
        text=_told(entry)[:SHOWN],
        bytes=weight(entry),
        mark=None if made_up else marks.of(entry.id),
    )


def _told(entry: Entry) -> str:
    if entry.type == "tool_result":
        return f"{entry.payload.get('name')}: {entry.payload.get('output')}"
    return text_of(entry) or ", ".join(call.name for call in calls_of(entry))


async def mark(actor: Actor, id: str, kind: str | None) -> None:
    """Raises Busy, and ConfigError for what is no piece of the conversation or no mark."""
    if actor.run is not None:
        raise Busy
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"a piece of the conversation is marked as one of {', '.join(KINDS)}, or None")
    marks = actor.ledger.projection.marks
    known = {entry.id for entry in actor.ledger.projection.entries() if not entry.meta.get("synthetic")}
    if id not in known and marks.of(id) is None:
        raise ConfigError(f"the conversation has no piece {id!r}")
    await _put(actor, marks.with_mark(id, kind))


async def undo_compaction(actor: Actor) -> int:
    """How many entries are sent again. Raises Busy, NothingToDo."""
    if actor.run is not None:
        raise Busy
    projection = actor.ledger.projection
    marks = projection.marks
    cut = _newest_cut(actor, marks)
    if cut is None:
        raise NothingToDo("no summary stands for anything, and nothing was cleared")
    before = len(projection.entries())
    await _put(actor, msgspec.structs.replace(marks, undone=marks.undone | {cut}))
    return max(0, len(projection.entries()) - before)


def _newest_cut(actor: Actor, marks: Marks) -> str | None:
    """The id of the newest summary or clear that is in force."""
    entries = reversed(actor.ledger.entries)
    return next((e.id for e in entries if e.type == "compaction" and e.id not in marks.undone), None)


async def _put(actor: Actor, marks: Marks) -> None:
    documents = actor.documents
    revision = (await documents.document(NAMESPACE)).revision
    await documents.put(NAMESPACE, revision, encoded_value(marks.to_value()), None)
    actor.room.cleared()
    actor.emit(actor.room.position())


class Contents:
    """What `Session` has of this. Every method raises SessionDown once the session has ended."""

    _actor: Actor

    async def contents(self) -> ContextContents:
        """What the next request would carry, piece by piece, and what each piece weighs; also while it works."""
        return await self._actor.ask(contents, self._actor)

    async def mark(self, id: str, kind: str | None) -> None:
        """Decides about a piece of the conversation, from the next request on; the transcript keeps all of it.

        `left_out`: a note stands in the place of its words. `shortened`: their beginning and end. `kept`: they outlive cuts
        word for word. None: as written. Raises Busy, ConfigError, DocumentTooLarge (thousands are marked).
        """
        await self._actor.ask(mark, self._actor, id, kind)

    async def undo_compaction(self) -> int:
        """Takes back the newest summary or clear in force: what it cut is sent again. Returns how many pieces came back.

        Raises Busy, NothingToDo. It may be asked again, for the one before.
        """
        return await self._actor.ask(undo_compaction, self._actor)
