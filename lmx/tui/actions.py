"""What commands may do, as the screen does it (`lmx.commands.base.Actions`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from lmx.conversation import messages as msg
from lmx.tui import keymap
from lmx.tui.bridge import Bridge, Screen
from lmx_core.permissions import Handle, Rules


class LineActions:
    """For one typed line: `began` and `focused` say when and how it was typed, which decides whether it may answer (APR-4)."""

    def __init__(self, screen: Screen, bridge: Bridge, *, began: int | None, focused: bool, model: str):
        self._screen, self._bridge = screen, bridge
        self._began, self._focused, self._model = began, focused, model

    def say(self, text: str, tone: str = "plain") -> None:
        self._screen.tell(msg.Say(text=text, tone=tone))

    def decide(self, verdict: str, which: str, reason: str) -> None:
        self._screen.tell(
            msg.Decide(verdict=verdict, which=which, reason=reason, began=self._began, focused=self._focused)
        )

    def cancel(self) -> None:
        self._screen.tell(msg.CancelAsked())

    def take_back(self) -> None:
        self._screen.tell(msg.TakeBack())

    def quit(self) -> None:
        self._screen.tell(msg.QuitAsked())

    def model(self) -> str:
        return self._model

    async def set_model(self, spec: str) -> None:
        await self._bridge.set_model(spec)

    async def new(self) -> None:
        await self._bridge.new()

    async def resume(self, ref: str) -> None:
        await self._bridge.resume(ref)

    async def compact(self) -> None:
        await self._bridge.compact()

    async def retry(self) -> None:
        await self._bridge.retry()

    async def clear(self) -> None:
        await self._bridge.clear()

    async def put_back(self, action: Literal["undo", "redo", "rewind"], turns: int, *, sure: bool, force: bool) -> None:
        await self._bridge.put_back(action, turns, sure=sure, force=force)

    async def sessions(self, *, everywhere: bool) -> list[tuple[str, str]]:
        return await self._bridge.sessions(everywhere=everywhere)

    def permissions(self) -> tuple[Handle, Rules]:
        return self._bridge.permissions()

    def set_mode(self, mode: str) -> None:
        self._bridge.set_mode(mode)

    def directory(self) -> Path:
        return self._bridge.directory

    async def remember(self, rule: str, verb: str, scope: str, for_ms: int | None) -> None:
        await self._bridge.remember(rule, verb, scope, for_ms)

    async def forget(self, rule: str) -> bool:
        return await self._bridge.forget(rule)

    def keys(self) -> Sequence[tuple[str, str]]:
        return keymap.listed()
