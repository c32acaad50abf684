"""What the panels of /resume and /diff ask of the disk. Each answers with a message; a thread does the reading (GEN-4)."""

from __future__ import annotations

from lmx import words
from lmx.bridge.host import Host
from lmx.bridge.shown import Shown
from lmx.bridge.surface import Surface
from lmx.changes import Change, Changes, Patch
from lmx.conversation import messages as msg
from lmx.conversation.panels.picker import Stored
from lmx.sanitize import one_line
from lmx.sessions import SessionInfo
from lmx_core import run_in_thread
from lmx_core.errors import LmxError


class Looked:
    """`search` asks for one thing at a time: what was typed while it ran is looked for next, and only the newest of it."""

    def __init__(self, host: Host, shown: Shown, surface: Surface):
        self._host, self._shown, self._surface = host, shown, surface
        self._wanted: tuple[str, bool] | None = None
        self._searching = False

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
