"""What the panels of /resume, /diff and /context ask of the disk and of the session. Each answers with a message (GEN-4)."""

from __future__ import annotations

import asyncio

from lmx import words
from lmx.bridge.host import Host
from lmx.bridge.shown import Shown
from lmx.bridge.surface import Surface
from lmx.changes import Change, Changes, Patch
from lmx.conversation import messages as msg
from lmx.conversation.panels.context import Filled, Piece
from lmx.conversation.panels.picker import Stored
from lmx.sanitize import one_line, visible
from lmx.sessions import SessionInfo
from lmx_core import run_in_thread
from lmx_core.errors import LmxError

_WHO = {"user": "you", "assistant": "lmx", "tool_result": "tool"}


class Looked:
    """`search` asks for one thing at a time: what was typed while it ran is looked for next, and only the newest of it."""

    def __init__(self, host: Host, shown: Shown, surface: Surface):
        self._host, self._shown, self._surface = host, shown, surface
        self._wanted: tuple[str, bool] | None = None
        self._searching = False
        self._proposed: asyncio.Future[str | None] | None = None

    # --- the window -----------------------------------------------------------------------------------------------------

    async def read_context(self) -> None:
        session = self._shown.live()
        there, info = await session.contents(), await session.info()
        position, used = there.position, info.usage["total"]
        self._surface.tell(
            msg.ContextRead(
                Filled(
                    tokens=position.tokens,
                    window=position.window,
                    measured=position.measured,
                    output=position.current.get("output", 0) if position.measured else 0,
                    system=there.system,
                    tools=sum(there.tools.values()),
                    pieces=tuple(
                        Piece(
                            id=item.id,
                            who=_WHO.get(item.type, "note") if item.id is not None else "note",
                            text=item.text,
                            bytes=item.bytes,
                            mark=item.mark,
                        )
                        for item in there.items
                    ),
                    spent=words.spent_in_session(
                        info.requests, words.count(used.input_tokens + used.output_tokens), words.cost(info.spent_usd)
                    ),
                    can_undo=there.can_undo,
                )
            )
        )

    async def mark(self, id: str, kind: str | None) -> None:
        await self._shown.live().mark(id, kind)
        await self.read_context()

    async def undo_compaction(self) -> None:
        pieces = await self._shown.live().undo_compaction()
        self._surface.tell(msg.Say(text=words.compaction_undone(pieces), tone="muted"))
        await self.read_context()

    async def review(self, summary: str) -> str | None:
        """Shows a summary to the person and waits for their word."""
        self._proposed = asyncio.get_running_loop().create_future()
        self._surface.tell(msg.SummaryProposed(visible(summary)))
        try:
            return await self._proposed
        finally:
            self._proposed = None
            self._surface.tell(msg.SummarySettled())

    def answer_summary(self, text: str | None) -> None:
        if self._proposed is not None and not self._proposed.done():
            self._proposed.set_result(text)

    # --- the work tree and the disk ----------------------------------------------------------------------------------------

    async def changes(self) -> Changes:
        """Raises LmxError where there is nothing to compare with."""
        from lmx import worktree

        found: Changes = await run_in_thread(worktree.changes, self._host.cwd)
        return found

    async def read_changes(self) -> None:
        self._surface.tell(msg.ChangesRead(await self.changes()))

    async def read_patch(self, change: Change) -> None:
        from lmx import worktree

        try:
            patch = await run_in_thread(worktree.patch, self._host.cwd, change)
        except LmxError as error:
            patch = Patch(lines=(one_line(str(error)),))
        self._surface.tell(msg.PatchRead(change, patch))

    async def list_sessions(self, *, everywhere: bool) -> None:
        """All but the one that is shown."""
        found = await self._host.sessions(everywhere)
        rows = tuple(_stored(info) for info in found if info.id != self._mine)
        self._surface.tell(msg.SessionsListed(rows, everywhere))

    async def search(self, query: str, *, everywhere: bool) -> None:
        self._wanted = (query, everywhere)
        if self._searching:
            return
        self._searching = True
        try:
            while self._wanted is not None:
                wanted, self._wanted = self._wanted, None
                await self._search(*wanted)
        finally:
            self._searching = False

    async def _search(self, query: str, everywhere: bool) -> None:
        rows: tuple[Stored, ...] = ()
        try:
            results = await self._host.search(query, everywhere=everywhere)
            rows = tuple(
                _stored(found.info, tuple((words.HIT_SAID_BY[hit.kind], hit.text) for hit in found.hits))
                for found in results.found
                if found.info.id != self._mine
            )
            notice = results.notice
        except LmxError as error:
            notice = str(error)
        self._surface.tell(msg.SessionsFound(query, everywhere, rows, notice))

    @property
    def _mine(self) -> str | None:
        return self._shown.session.id if self._shown.session is not None else None


def _stored(info: SessionInfo, hits: tuple[tuple[str, str], ...] = ()) -> Stored:
    told = words.joined((info.last_activity, words.plural(info.turns, "turn")))
    return Stored(id=info.id, name=info.name, told=told, preview=info.preview, cwd=info.cwd or "", hits=hits)
