"""What a slash command may do, over a surface and its bridge (`lmx.commands.base.Actions`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from lmx import words
from lmx.bridge import putback
from lmx.bridge.bridge import Bridge
from lmx.commands import Command
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx_core import FOREVER
from lmx_core.errors import Cancelled, CompactionFailed, LmxError
from lmx_core.names import name_of

if TYPE_CHECKING:
    from lmx.bridge.gate import Gate
    from lmx.bridge.host import Host
    from lmx.changes import Changes
    from lmx_core import Session


async def perform(bridge: Bridge, command: Command, line: fx.Run, *, model: str) -> None:
    """Performs a command. The reducer hears when it is done, for what is queued behind it waits for that (CMP-42)."""
    ok = False
    try:
        await command.perform(LineActions(bridge, line, model=model), line.argument)
        ok = True
    finally:
        bridge.surface.tell(msg.Performed(ok))


class LineActions:
    """For one typed line: `began` and `focused` say when and how it was typed, which decides whether it may answer (APR-4)."""

    def __init__(self, bridge: Bridge, line: fx.Run, *, model: str):
        self._bridge, self._surface = bridge, bridge.surface
        self._line, self._model = line, model

    @property
    def session(self) -> Session:
        return self._bridge.shown.live()

    @property
    def host(self) -> Host:
        return self._bridge.host

    @property
    def permission(self) -> Gate:
        return self._bridge.gate

    def say(self, text: str, tone: str = "plain") -> None:
        self._surface.tell(msg.Say(text=text, tone=tone))

    def decide(self, verdict: str, which: str, reason: str) -> None:
        began, focused = self._line.began, self._line.focused
        self._surface.tell(msg.Decide(verdict=verdict, which=which, reason=reason, began=began, focused=focused))

    def cancel(self) -> None:
        self._surface.tell(msg.CancelAsked())

    def take_back(self) -> None:
        self._surface.tell(msg.TakeBack())

    def quit(self) -> None:
        self._surface.tell(msg.QuitAsked())

    def copy(self, text: str) -> None:
        self._surface.tell(msg.Wanted(fx.Copy(text)))

    def read(self, text: str) -> None:
        self._surface.tell(msg.Wanted(fx.Read(text)))

    def find(self, text: str) -> None:
        self._surface.tell(msg.FindAsked(text))

    def colour(self, name: str | None) -> None:
        self._surface.tell(msg.Wanted(fx.Tint(name)))

    def mouse(self, on: bool | None) -> None:
        self._surface.tell(msg.Wanted(fx.Mouse(on)))

    def terminal(self) -> None:
        self._surface.tell(msg.Wanted(fx.TellTerminal()))

    def prompt(self, text: str) -> None:
        self._surface.tell(msg.PromptAsked(text))

    def label(self, name: str | None) -> None:
        self._surface.tell(msg.Labelled(name))

    def queue(self, *, clear: bool) -> None:
        self._surface.tell(msg.QueueAsked(clear=clear))

    def theme(self, name: str) -> None:
        self._surface.tell(msg.ThemeAsked(name))

    def notices(self) -> None:
        self._surface.tell(msg.ShowNotices())

    def model(self) -> str:
        return self._model

    async def set_model(self, spec: str) -> None:
        shown = self._bridge.shown
        if shown.session is None or shown.session.down is not None:
            await shown.start(spec)
        else:
            await shown.switch(spec)

    async def new(self) -> None:
        await self._bridge.shown.new()

    async def resume(self, ref: str) -> None:
        await self._bridge.shown.resume(ref)

    async def context(self) -> None:
        await self._bridge.looked.read_context()

    async def compact(self, *, look: bool = False) -> None:
        self._surface.tell(msg.Compacting(True))
        review = self._bridge.looked.review if look else None
        try:
            await self.session.compact(timeout_ms=FOREVER, review=review)
        except (CompactionFailed, Cancelled):
            pass  # its entry said so
        finally:
            self._surface.tell(msg.Compacting(False))

    async def retry(self) -> None:
        self._surface.tell(msg.Retrying(True))
        try:
            await self.session.retry()
        except LmxError:
            self._surface.tell(msg.Retrying(False))
            raise

    async def fork(self, turn: int | None) -> None:
        left = self.session.id
        copy = await self.host.fork(left, turn)
        await self.resume(copy)
        if self.session.id == copy:
            self.say(words.forked(name_of(left), turn), tone="muted")

    async def pick_session(self, *, everywhere: bool) -> None:
        await self._bridge.looked.list_sessions(everywhere=everywhere)

    async def diff(self) -> None:
        await self._bridge.looked.read_changes()

    async def changes(self) -> Changes:
        return await self._bridge.looked.changes()

    async def refresh(self) -> int:
        return await self.session.refresh()

    async def shell(self, command: str) -> None:
        await self._bridge.shell.run(command)

    async def put_back(self, action: Literal["undo", "redo", "rewind"], turns: int, *, sure: bool, force: bool) -> None:
        told = await putback.put_back(self.host.checkpoints, self.session.id, action, turns, sure=sure, force=force)
        self.say(told)

    def commands(self) -> Sequence[Command]:
        return self._bridge.allowed()

    def keys(self) -> Sequence[tuple[str, str]]:
        return self._surface.keys()
