"""A running command that wants to connect somewhere: the hooks are asked, and where they want it a person (C5-1, cli.md 6).

The question belongs to the call that the command runs for, so it is asked as long as that runs and goes with it. A command in
the background has no call any more: what is not listed is refused to it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lmx_core.calls import ToolContext
from lmx_core.environment.base import Destination
from lmx_core.errors import LmxError
from lmx_core.tools.asking import UNDERWAY
from lmx_core.verdict import Allow, Deny, Pending

if TYPE_CHECKING:
    from lmx_core.addresses import Refusal

CONNECTION = "network"
"""What the question is about, in place of the tool's name: its arguments are `host` and `port`."""


MOST_QUESTIONS = 20
"""Of one command. Who is asked again and again stops reading."""

_OVER = "it needs approval, and a command in the background cannot ask"


class Reaching:
    """A `Reach` for the command of one call; `close` it when the call is over."""

    def __init__(self, context: ToolContext):
        self._context, self._open = context, True
        self._turn = asyncio.Lock()
        self._questions = 0

    def close(self) -> None:
        self._open = False

    async def __call__(self, destination: Destination) -> Refusal | None:
        from lmx_core.addresses import Refusal  # only where hosts are listed

        why = await self._why_not(destination)
        return None if why is None else Refusal(why)

    async def _why_not(self, destination: Destination) -> str | None:
        """The end of a sentence that begins with the host; None where it may be reached."""
        context = self._context
        ask = getattr(context.hooks, "reaches", None)
        unlisted = None if destination.listed else "is not reached from here: `network` of the sandbox does not list it"
        if ask is None:
            return unlisted
        try:
            verdict = await ask(destination.host, destination.port, listed=destination.listed, context=context)
            if isinstance(verdict, Pending):
                async with (
                    self._turn
                ):  # a call asks one thing at a time, and the answer before may be one to this as well
                    verdict = await ask(destination.host, destination.port, listed=destination.listed, context=context)
                    if isinstance(verdict, Pending):
                        verdict = await self._answered(destination, verdict)
        except LmxError as error:
            return f"is not reached from here: {error}"
        if verdict is None:
            return unlisted
        if isinstance(verdict, Deny):
            return f"is not reached from here: {verdict.reason}"
        return None if isinstance(verdict, Allow) else "is not reached from here: the question got no decision"

    async def _answered(self, destination: Destination, pending: Pending) -> Any:
        if self._context.park is None:
            return Deny("it needs approval, and nobody can be asked here")
        if not self._open:
            return Deny(_OVER)
        if self._questions >= MOST_QUESTIONS:
            return Deny(f"the command has asked about {MOST_QUESTIONS} hosts before it; list what it needs")
        self._questions += 1
        where = {"host": destination.host, "port": destination.port}
        details = {**pending.details, UNDERWAY: True, "name": CONNECTION, "arguments": where}
        return await self._context.park(self._context.call_id, "approval", details)
