"""Answers to parked calls, the permission mode, and the rules a person has remembered."""

from __future__ import annotations

from lmx import words
from lmx.bridge.host import Host
from lmx.bridge.shown import Shown
from lmx.bridge.surface import Surface
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx.sanitize import one_line
from lmx_core import Allow, Deny, run_in_thread
from lmx_core.errors import InvalidAnswer, LmxError, UnknownCall
from lmx_core.permissions import Handle, Rules


class Gate:
    """The person's side of the permission gate. It is what `lmx.commands.base.Permission` asks for, too."""

    def __init__(self, host: Host, shown: Shown, surface: Surface):
        self._host, self._shown, self._surface = host, shown, surface

    async def resolve(self, effect: fx.Resolve) -> None:
        """Answers a parked call, after the mode or the rule that came with the answer is in force."""
        if effect.mode is not None:
            self.set_mode(effect.mode)
        if effect.rule is not None:
            await self._keep(effect)
        verdict: Allow | Deny = Deny(effect.reason or words.DENIED)
        if effect.verdict == "allow":
            verdict = Allow(approved_by="person", hunks=effect.hunks, text=effect.text)
        try:
            await self._shown.live().resolve_tool(effect.call_id, verdict)
        except InvalidAnswer as error:
            self._surface.tell(msg.AnswerRefused(effect.call_id, one_line(str(error))))
        except UnknownCall:
            self._surface.tell(msg.AnswerLost(effect.call_id))
        except LmxError as error:
            self._surface.tell(msg.Trouble(str(error)))

    async def answer(self, effect: fx.AnswerQuestion) -> None:
        """Answers what a tool asked; an answer that the engine does not take is told to the person who gave it."""
        try:
            await self._shown.live().answer(effect.call_id, effect.value)
        except InvalidAnswer as error:
            self._surface.tell(msg.AnswerRefused(effect.call_id, one_line(str(error))))
        except UnknownCall:
            self._surface.tell(msg.AnswerLost(effect.call_id))
        except LmxError as error:
            self._surface.tell(msg.Trouble(str(error)))

    async def _keep(self, effect: fx.Resolve) -> None:
        """Keeps a rule. A rule that cannot be kept does not keep the call from running: that was answered, too."""
        rule = one_line(effect.rule or "")
        try:
            await self.remember(effect.rule or "", "allow", effect.scope, effect.for_ms)
        except LmxError as error:
            self._surface.tell(msg.Say(text=words.NOT_REMEMBERED.format(reason=one_line(str(error))), tone="warn"))
        else:
            scope = words.remembered_for(effect.scope, effect.for_ms)
            self._surface.tell(msg.Say(text=words.REMEMBERED.format(rule=rule, scope=scope), tone="muted"))

    def in_force(self) -> tuple[Handle, Rules]:
        """The mode, and every rule that holds now."""
        handle = self._host.permission
        return handle, self._host.rules.more(handle.rules())

    def set_mode(self, mode: str) -> None:
        self._surface.tell(msg.ModeChanged(self._host.permission.set_mode(mode)))

    def cycle(self) -> None:
        """To the next mode; full auto is never reached this way (APR-9)."""
        self._surface.tell(msg.ModeChanged(self._host.permission.cycle()))

    async def remember(self, rule: str, verb: str, scope: str, for_ms: int | None) -> None:
        """Keeps a rule of the person's. Raises LmxError where it is none or cannot be written."""
        keep = self._host.permission.remember
        try:
            await run_in_thread(lambda: keep(rule, verb, scope=scope, for_ms=for_ms))
        except OSError as error:
            raise LmxError(str(error)) from error

    async def forget(self, rule: str) -> bool:
        """Takes a remembered rule back; False if there was none. Raises LmxError where that cannot be written."""
        try:
            found: bool = await run_in_thread(self._host.permission.forget, rule)
        except OSError as error:
            raise LmxError(str(error)) from error
        return found
