"""What a hook at the start of a session has to say to the model: it goes ahead of the first prompt (CH-8).

The hook only watches, and the prompt does not wait for who watches. Without a meeting place its words would come too late, or,
if the start waited for them, a slow hook would hold up a screen on which nobody has typed anything yet.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from lmx_core.clock import Clock, deadline
from lmx_core.hooks import dialect
from lmx_core.hooks.base import Hook, HookContext
from lmx_core.hooks.command import CommandHook, marked
from lmx_core.verdict import Allow, Rewrite

log = logging.getLogger("lmx_core")

TAG = "session-start-hook-context"
SPARE_MS = 5_000
"""What the first prompt waits beyond the time limits of the hooks."""


class Opening:
    """Where the start hooks of one document and the first prompt of a session meet. As a `user_prompt` hook it puts what they
    said ahead of that prompt, waiting at most for their time limits and SPARE_MS.
    """

    name = "session start context"

    def __init__(self, hooks: Sequence[CommandHook], clock: Clock):
        self._clock, self._count = clock, len(hooks)
        self._limit_ms = sum(hook.command.timeout_ms for hook in hooks) + SPARE_MS
        self._meetings: dict[str | None, _Meeting] = {}

    def at(self, context: HookContext) -> _Meeting:
        """The meeting of a session."""
        return self._meetings.setdefault(context.session_id, _Meeting(self._count))

    async def __call__(self, text: str, context: HookContext) -> Allow | Rewrite:
        meeting = self.at(context)
        if meeting.over or context.aside is not None:
            return Allow()
        meeting.over = True
        try:
            async with deadline(self._clock, self._limit_ms):
                await meeting.complete.wait()
        except TimeoutError:
            log.warning("the hooks at the start of the session took too long; the prompt goes without them")
            return Allow()
        said = "\n".join(meeting.said)
        return Rewrite(f"{marked(TAG, said)}\n\n{text}") if said else Allow()

    def forget(self, reason: str, context: HookContext) -> None:
        """As a `session_end` hook."""
        self._meetings.pop(context.session_id, None)


class _Meeting:
    """What was said so far, whether that is all, and whether the first prompt has gone."""

    def __init__(self, count: int):
        self._awaited, self.said = count, list[str]()
        self.complete = asyncio.Event()
        self.over = False

    def hear(self, said: Sequence[str]) -> None:
        self.said += filter(None, said)
        self._awaited -= 1
        if self._awaited == 0:
            self.complete.set()


class StartHook:
    """A command at the start of a session whose words go to the model."""

    def __init__(self, hook: CommandHook, opening: Opening):
        self._hook, self._opening, self.name = hook, opening, hook.name

    async def __call__(self, subject: Any, context: HookContext) -> None:
        said: list[str] = []
        try:
            if dialect.wants(self._hook.command, subject, context):
                answered = await self._hook.ask(dialect.told(self._hook.command, subject, context), context)
                said = [answered.context, answered.text]
        finally:
            self._opening.at(context).hear(said)


def placed(hooks: Sequence[CommandHook], clock: Clock) -> list[Hook]:
    """Each hook at its point, and what brings the words of those at the start of a session before the first prompt."""
    start = [hook for hook in hooks if hook.command.event.name == "sessionStart" and hook.command.dialect == "claude"]
    if not start:
        return [(hook.command.event.point, hook) for hook in hooks]
    opening = Opening(start, clock)
    own = [(hook.command.event.point, StartHook(hook, opening) if hook in start else hook) for hook in hooks]
    return [("user_prompt", opening), *own, ("session_end", opening.forget)]
