"""A command that the person runs with `!` (CMP-37): streamed a frame at a time, and ended with Ctrl-C."""

from __future__ import annotations

import asyncio
import itertools

from lmx.bridge.shown import FRAME_S, Shown
from lmx.bridge.surface import Surface
from lmx.conversation import messages as msg


class Shell:
    """Runs one at a time: the reducer refuses another while it works."""

    def __init__(self, shown: Shown, surface: Surface):
        self._shown, self._surface = shown, surface
        self._numbers = itertools.count(1)
        self._running: asyncio.Task[object] | None = None
        self._said: list[str] = []
        self._frame: asyncio.TimerHandle | None = None

    def cancel(self) -> bool:
        """Ends the command; False where none runs."""
        if self._running is None:
            return False
        self._running.cancel()
        return True

    async def run(self, command: str) -> None:
        """Runs it to its end. Raises LmxError where there is no session."""
        session, id = self._shown.live(), f"!{next(self._numbers)}"
        self._surface.tell(msg.ShellBegan(id, command))
        self._running = asyncio.current_task()
        output, ending, status, reason = "", "stopped", None, ""
        heard: list[str] = []

        def hear(text: str) -> None:
            self._hear(id, text)
            heard[:] = ["".join([*heard, text])[-_STOPPED_BYTES:]]

        try:
            result = await session.run_command(command, hear)
            output, ending, status, reason = result.output, result.ending, result.exit_status, result.reason
        finally:
            self._running = None
            self._flush(id)
            output = output or "".join(heard)
            self._surface.tell(
                msg.ShellEnded(id=id, command=command, output=output, ending=ending, exit_status=status, reason=reason)
            )

    def _hear(self, id: str, text: str) -> None:
        """However much it says, the screen is told thirty times a second."""
        self._said.append(text)
        if self._frame is None:
            self._frame = asyncio.get_running_loop().call_later(FRAME_S, self._flush, id)

    def _flush(self, id: str) -> None:
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        said, self._said = "".join(self._said), []
        if said:
            self._surface.tell(msg.ShellSaid(id, said))


_STOPPED_BYTES = 15_000
"""Of a command that was stopped, the end of what it had said."""
