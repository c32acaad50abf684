"""What was said to the session, one after another, so that a message taken back cannot overtake itself (CMP-44).

Cancelling and answering do not wait here: they must reach a session that is busy with what was said before.
"""

from __future__ import annotations

import asyncio

from lmx.bridge.shown import Shown
from lmx.bridge.surface import Surface
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx_core.errors import AlreadySent, LmxError


class Said:
    """A queue with one task, which `in_order` is."""

    def __init__(self, shown: Shown, surface: Surface):
        self._shown, self._surface = shown, surface
        self._queue: asyncio.Queue[fx.Prompt | fx.SteerTurn | fx.Revoke] = asyncio.Queue()

    def put(self, effect: fx.Prompt | fx.SteerTurn | fx.Revoke) -> None:
        self._queue.put_nowait(effect)

    async def in_order(self) -> None:
        while True:
            effect = await self._queue.get()
            match effect:
                case fx.Prompt():
                    await self._prompt(effect)
                case fx.SteerTurn(text):
                    await self._steer(text)
                case fx.Revoke(text):
                    await self._revoke(text)

    async def _prompt(self, effect: fx.Prompt) -> None:
        try:
            await self._shown.live().prompt(effect.text)
        except LmxError as error:
            self._surface.tell(msg.Rejected(effect.draft, str(error)))

    async def _steer(self, text: str) -> None:
        try:
            await self._shown.live().steer(text)
        except LmxError:
            return  # the session is down, and its last event gives the words back

    async def _revoke(self, text: str) -> None:
        try:
            await self._shown.live().revoke_steer(text)
        except AlreadySent:
            self._surface.tell(msg.Revoked(False))
        except LmxError:
            self._surface.tell(msg.Revoked(True))  # the session is gone: nothing will be sent
        else:
            self._surface.tell(msg.Revoked(True))
