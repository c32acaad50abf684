"""`refresh()`: attached files are read again, and what has changed becomes one new prompt (MET-9).

It stands where a prompt would while it reads: an actor that read files by itself would hear nobody meanwhile, and one that
went on to be idle would let another prompt in between reading and telling.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lmx_core.context.attach import Attachment
from lmx_core.context.refresh import latest_attachments
from lmx_core.errors import Busy, Cancelled, RefreshFailed, SessionDown
from lmx_core.session.prompt.end import Interrupted
from lmx_core.session.prompt.errand import Errand
from lmx_core.session.prompt.run import Run
from lmx_core.turn.effects import Refresh

if TYPE_CHECKING:
    from lmx_core.session.actor import Actor

Refreshed = tuple[int, asyncio.Future[None] | None]
"""How many attachments have changed, and the start of the prompt that tells of them."""


class Refreshing(Errand[Refreshed]):
    """Its result is there once everything has been read."""

    def __init__(self, actor: Actor, attached: list[Attachment]):
        super().__init__(actor)
        self.attached = attached

    async def go(self) -> None:
        actor = self._actor
        wanted = Refresh(attachments=self.attached, model=actor.settings.model)
        try:
            outcome = await actor.outcome(self._work.start(wanted))
        except Interrupted:
            self._work.abandon()
            self.over(Cancelled("the refresh was cancelled; nothing was written"))
            return
        changed: list[Attachment] = outcome.value or []
        if outcome.error is not None:
            self.over(RefreshFailed(f"reading them broke with {type(outcome.error).__name__}"))
        elif not changed:
            self.over((0, None))
        else:
            paths = list(dict.fromkeys(str(attached["path"]) for attached in changed))
            run = Run(actor, actor.messages.attachments_refreshed(paths), attachments=changed)
            self.over((len(paths), run.started))
            actor.run = run


async def begin(actor: Actor) -> asyncio.Future[Refreshed]:
    """The future of what has changed. Raises Busy, SessionDown."""
    if actor.run is not None:
        raise Busy
    if actor.is_ending:
        raise SessionDown("stopped")
    refreshing = Refreshing(actor, latest_attachments(actor.ledger.entries))
    if not refreshing.attached:
        refreshing.result.set_result((0, None))
    else:
        actor.run = refreshing
    return refreshing.result
