"""What menus and cards ask of the disk or of a provider. Each runs beside the drawing and answers with a message (GEN-4)."""

from __future__ import annotations

from typing import Any

from lmx import words
from lmx.bridge.evidence import read_before
from lmx.bridge.host import Host
from lmx.bridge.shown import Shown
from lmx.bridge.surface import Surface
from lmx.conversation import messages as msg
from lmx.conversation import picker
from lmx.sanitize import one_line
from lmx_core import run_in_thread
from lmx_core.errors import LmxError


def _named(parked: dict[str, Any]) -> str:
    return str((parked.get("payload") or {}).get("name") or "")


class Menus:
    def __init__(self, host: Host, shown: Shown, surface: Surface):
        self._host, self._shown, self._surface = host, shown, surface

    async def files(self) -> None:
        """The files of the `@` menu; sorting twenty thousand of them would hold up the keys, so a thread does it."""
        files: list[str] = []
        try:
            files = await self._shown.live().files()
        except LmxError as error:
            self._surface.tell(msg.Trouble(str(error)))
        self._surface.tell(msg.Listed(await run_in_thread(picker.index, files)))

    async def offer(self, kind: str) -> None:
        """Rows for a menu. What cannot be asked just now is an empty menu and a row that says why."""
        rows: tuple[tuple[str, str], ...] = ()
        try:
            if kind == "models":
                rows = tuple((spec, "") for spec in await self._host.models())
            elif kind == "providers":
                rows = tuple(await self._host.providers())
            elif kind == "efforts":
                rows = tuple((level, "") for level in [*await self._shown.live().reasoning_efforts(), "default"])
            elif kind == "calls":
                parked = (await self._shown.live().info()).pending
                rows = tuple((call["call_id"], one_line(_named(call))) for call in parked if call["kind"] == "approval")
            elif kind == "sessions":
                rows = tuple(await self.sessions(everywhere=False))
        except LmxError as error:
            self._surface.tell(msg.Trouble(str(error)))
        self._surface.tell(msg.Offered(kind, rows))

    async def sessions(self, *, everywhere: bool) -> list[tuple[str, str]]:
        """Stored sessions but the one that is shown, as (name, what tells it apart)."""
        found = await self._host.sessions(everywhere)
        mine = self._shown.session.id if self._shown.session is not None else None
        return [
            (info.name, words.joined((info.last_activity, words.plural(info.turns, "turn"), info.preview)))
            for info in found
            if info.id != mine
        ]

    async def before(self, call_id: str, path: str) -> None:
        text: str | None = await run_in_thread(read_before, self._host.cwd, path)
        self._surface.tell(msg.Before(call_id, text))

    async def proposal(self, id: str, paths: tuple[str, ...]) -> None:
        """The files a call would change, for a panel that shows its hunks."""

        def read() -> dict[str, str | None]:
            return {path: read_before(self._host.cwd, path) for path in paths}

        self._surface.tell(msg.ProposalRead(id, await run_in_thread(read)))
