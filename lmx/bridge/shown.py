"""The session that is shown: opened, listened to, and left for another.

Events are read by one task that merges what streams, at most thirty times a second. When another session cannot be opened the
one that is shown stays, and only one opening goes on at a time: two would each leave the other's session running unseen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from lmx import words
from lmx.bridge.host import Host, NeedsModel
from lmx.bridge.kept.drafts import Drafts
from lmx.bridge.merging import merged
from lmx.bridge.surface import Surface
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx_core.errors import LmxError
from lmx_core.names import name_of

if TYPE_CHECKING:
    from lmx_core import Session, Subscription

FRAME_S = 1 / 30
SLICE = 400
"""Stored entries folded at once; between slices keys are served (PRF-5)."""


class Shown:
    """Owns the session that is shown, and the subscription to it."""

    def __init__(self, host: Host, surface: Surface, drafts: Drafts):
        self._host, self._surface, self._drafts = host, surface, drafts
        self.session: Session | None = None
        self._subscription: Subscription | None = None
        self._opening = asyncio.Lock()

    def live(self) -> Session:
        """The session. Raises LmxError where there is none."""
        if self.session is None:
            raise LmxError(words.NEEDS_A_SESSION)
        return self.session

    # --- opening ----------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """The start: the session the command line asks for, and its first prompt (LAY-9)."""
        if self._host.first_prompt:
            self._surface.tell(msg.FirstPrompt(self._host.first_prompt))
        await self.open(self._host.start, words.STARTING)

    async def open(self, make: Callable[[], Awaitable[Session]], doing: str = words.SWITCHING) -> None:
        """Changes to another session; when it cannot be opened the one that is shown stays (C9-3)."""
        async with self._opening:
            self._surface.tell(msg.Starting(doing))
            failure, lacking = words.START_BROKE, None
            session = None
            try:
                session = await make()
            except NeedsModel as error:
                failure = str(error)
                lacking = error
            except LmxError as error:
                failure = str(error)
            finally:
                alive = self.session is not None and self.session.down is None
                if session is None and (alive or lacking is None):
                    self._surface.tell(msg.StartFailed(failure, keep=alive))
            if session is None:
                if lacking is not None and not alive:
                    await self._offer_ways(lacking)
                return
            left = self.session
            subscription = self._listen(session)
            await self._load(session)
            self._surface.work(self._pump(subscription), "events")
            if left is not None and left is not session:
                await left.stop()

    async def _offer_ways(self, lacking: NeedsModel) -> None:
        """No model can be reached: the person is shown the ways to one."""
        ways, where = await self._host.ways()
        self._surface.tell(msg.NoModel(ways=tuple(ways), why=str(lacking), where=where, model=lacking.model))

    async def unlock(self, effect: fx.UseProvider) -> None:
        """Starts on the model that was chosen, with its key where one was typed. What became of the key is said after that:
        another session clears the screen."""
        if effect.key:
            model = None if effect.key_alone else effect.model
            self._host.notices.append(await self._host.unlock(effect.provider, effect.key, model))
        if self.session is None or self.session.down is not None:
            await self.start(effect.model)
        else:
            self._surface.tell(msg.Unlocked())
            await self.session.set_model(effect.model)
        while self._host.notices:  # there is no new screen to say it on
            self._surface.tell(msg.Notice(self._host.notices.pop(0)))

    async def switch(self, model: str) -> None:
        """Another model for the session that is shown; one whose key is missing is asked for it. Raises LmxError."""
        lacking = self._host.lacks_key(model)
        if lacking is None:
            await self.live().set_model(model)
        else:
            await self._offer_ways(lacking)

    def _listen(self, session: Session) -> Subscription:
        """Listens to another session from here on, and to no other."""
        if self._subscription is not None:
            self._subscription.close()
        subscription: Subscription = session.subscribe()
        self.session, self._subscription = session, subscription
        return subscription

    async def _load(self, session: Session) -> None:
        snapshot, left_behind = await session.snapshot(), await self._drafts.read(session.id)
        if left_behind is None and not any(entry.type == "user" for entry in snapshot.entries):
            left_behind = await self._drafts.adopted()
        self._surface.tell(
            msg.Opened(
                session_id=session.id,
                name=name_of(session.id),
                model=snapshot.model,
                mode=self._host.permission.mode,
                sandbox=self._host.sandbox,
            )
        )
        for start in range(0, len(snapshot.entries), SLICE):
            self._surface.tell(msg.Earlier(snapshot.entries[start : start + SLICE]))
            await asyncio.sleep(0)
        if left_behind is not None:
            self._surface.tell(msg.Restored(left_behind))
        self._surface.tell(
            msg.Ready(pending=snapshot.pending, busy=snapshot.status == "busy", window=snapshot.context.window)
        )
        while self._host.notices:
            self._surface.tell(msg.Notice(self._host.notices.pop(0)))

    async def start(self, model: str) -> None:
        """Tries again to start, with this model (LAY-11)."""
        await self.open(lambda: self._host.start(model), words.STARTING)

    async def new(self) -> None:
        """Changes to a new session, set up as the program was started."""
        await self.open(self._host.new)

    async def resume(self, ref: str) -> None:
        """Changes to a stored session by id, prefix or name."""
        if self.session is not None and ref in (self.session.id, name_of(self.session.id)):
            self._surface.tell(msg.Say(text=words.ALREADY_HERE))
        else:
            await self.open(lambda: self._host.resume(ref))

    async def restart(self) -> None:
        """Takes the session that ended by itself up again from its transcript (LAY-12)."""
        session = self.session
        if session is not None:
            await self.open(lambda: self._host.resume(session.id))

    async def close(self) -> None:
        """The surface is gone: the turn is cancelled and recorded, the session ends."""
        if self.session is not None:
            await self.session.stop()

    # --- events -----------------------------------------------------------------------------------------------------

    async def _pump(self, subscription: Subscription) -> None:
        while True:
            await subscription.wait()
            arrived = subscription.get_nowait_all()
            if self._subscription is not subscription or (subscription.closed and not arrived):
                return
            self._surface.tell_all(merged(arrived))
            await asyncio.sleep(FRAME_S)
