"""The reducer with its state, for a surface: messages in, effects carried out, and a border that what breaks does not cross.

A surface says which effects it carries out itself; the others are the bridge's (GEN-1).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lmx import words
from lmx.bridge.actions import perform
from lmx.bridge.bridge import Bridge
from lmx.bridge.host import Host
from lmx.bridge.kept import history
from lmx.bridge.surface import Surface
from lmx.commands import COMMANDS, Command
from lmx.conversation import Conversation, State
from lmx.conversation import draft as drafts
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.conversation.step import Policy
from lmx.receipts import Receipts
from lmx_core import run_in_thread
from lmx_core.errors import LmxError


class Reducing:
    """`does` has what the surface does with an effect, by its type. `now` gives milliseconds; every rule about time uses it."""

    def __init__(
        self,
        host: Host,
        surface: Surface,
        does: Mapping[type, Callable[[Any], None]],
        *,
        now: Callable[[], int],
        commands: Sequence[Command] = COMMANDS,
        policy: Policy | None = None,
        state: State | None = None,
    ):
        self.host, self.now, self._does = host, now, does
        self.state = state or State(mode=host.permission.mode, kept=host.drafts is not None)
        self.bridge = Bridge(host, surface, commands, policy)
        self._rules = Conversation(Receipts(), commands, policy)

    def update(self, message: object) -> None:
        """One message: its effects are carried out, in order, before this returns."""
        with self.border(type(message).__name__):
            self._fold(message, self.now())
        self.bridge.drafts.changed(self.state)

    def update_as_of(self, message: object, at: int) -> None:
        """The same for something that happened at an earlier time."""
        with self.border(type(message).__name__):
            self._fold(message, at)

    def _fold(self, message: object, at: int) -> None:
        self.state, made = self._rules.update(self.state, message, at)
        for effect in made:
            does = self._does.get(type(effect))
            if does is None:
                self.bridge.perform(effect)
            else:
                does(effect)

    @contextmanager
    def border(self, name: str) -> Iterator[None]:
        """What fails in here is a row and a log line, and the surface goes on (GEN-4)."""
        try:
            yield
        except LmxError as error:
            self._fold(msg.Trouble(str(error)), self.now())
        except Exception as error:
            self.host.log.exception("%s failed", name)
            self._fold(msg.Trouble(words.WORK_FAILED.format(what=name, error=type(error).__name__)), self.now())

    async def bordered(self, job: Coroutine[Any, Any, None], name: str) -> None:
        with self.border(name):
            await job

    # --- what every surface does -------------------------------------------------------------------------------------

    async def load_history(self) -> None:
        path = self.host.history_path
        if path is not None:
            lines = await run_in_thread(history.load, path)
            self.update(msg.Loaded(tuple(drafts.of(drafts.plain(line)) for line in lines)))

    async def remember(self, text: str) -> None:
        """Writes a line to the history (CMP-21)."""
        path = self.host.history_path
        if path is None:
            return
        try:
            await run_in_thread(history.append, path, self.host.mask(text))
        except OSError as error:
            self.host.log.warning("the history could not be written: %s", error.strerror)

    async def run_command(self, effect: fx.Run) -> None:
        """Performs a slash command."""
        command = next(c for c in self.bridge.commands if c.name == effect.command)
        await perform(self.bridge, command, effect, model=self.state.model)

    async def leave(self) -> None:
        """Once the surface is gone, whatever ended it: unsent drafts go where the next sitting finds them (CMP-10)."""
        await self.bridge.drafts.close(self.state)
        for draft in self.state.unsent:
            await self.remember(draft.expanded())
        await self.bridge.close()
