"""Calls that wait for a person (PK-1 to PK-3).

A parked call holds a future that its task awaits; everything about it is decided here, in the actor's task, so that
whichever host answers first is the one that is recorded and a late answer finds nothing (appendix D 6).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from lmx_core.calls import ToolCall
from lmx_core.clock import FOREVER, Clock, Handle
from lmx_core.entry import json_shaped
from lmx_core.errors import InvalidAnswer, ToolError, UnknownCall
from lmx_core.events import Event, Question, ToolApproval
from lmx_core.messages import Messages
from lmx_core.session.ledger import Ledger
from lmx_core.tools import plan as choices
from lmx_core.tools.asking import UNDERWAY
from lmx_core.verdict import Allow, Deny, Rewrite

if TYPE_CHECKING:
    from lmx_core.tools.questions import Question as Asked

APPROVAL = "approval"

Decided = Allow | Deny | Rewrite
Post = Callable[[Callable[[], Awaitable[None]]], None]
"""Has something done in the actor's task."""


def _said(allow: Allow) -> dict[str, Any]:
    """What is recorded of a permission: who gave it, and what part of the call it is for."""
    said: dict[str, Any] = {"approved_by": allow.approved_by} if allow.approved_by else {}
    if allow.hunks is not None:
        said["hunks"] = sorted(set(allow.hunks))
    if allow.text is not None:
        said["text"] = allow.text if isinstance(allow.text, str) else dict(allow.text)
    return said


class Parked(msgspec.Struct, kw_only=True):
    call_id: str
    kind: str
    payload: dict[str, Any]
    answer: asyncio.Future[Any]
    timeout_reply: Any = None
    timer: Handle | None = None
    asked: list[Asked] | None = None


def _asked(payload: dict[str, Any]) -> list[Asked] | None:
    from lmx_core.tools import questions  # only where somebody is asked

    return questions.asked(payload)


def _given(parked: Parked, value: Any) -> str | dict[str, Any]:
    """An answer as it is kept: of questions in our own form, checked. Raises InvalidAnswer, and then the call waits on."""
    if not isinstance(value, str | dict):
        raise InvalidAnswer("a question is answered with text or a dict")
    if parked.asked:
        from lmx_core.tools import questions  # only where somebody is asked

        return questions.checked(parked.asked, value)
    try:
        shaped: str | dict[str, Any] = json_shaped(value, "the answer")
    except ValueError as error:
        raise InvalidAnswer(str(error)) from None
    return shaped


class Approvals:
    """The parked calls of a session. `attention` tells the watchers that a person is needed, and that none is any more.

    `end_turn` ends the prompt at work: a person who cancels a question has had enough of it (QST-5).
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        emit: Callable[[Event], None],
        clock: Clock,
        messages: Messages,
        timeout_ms: float,
        attention: Callable[[dict[str, Any]], None],
        end_turn: Callable[[], None],
        post: Post,
    ):
        self._ledger, self._emit, self._clock, self._messages = ledger, emit, clock, messages
        self._timeout_ms, self._attention, self._post = timeout_ms, attention, post
        self._end_turn = end_turn
        self._parked: dict[str, Parked] = {}

    def pending(self) -> list[dict[str, Any]]:
        return [{"call_id": p.call_id, "kind": p.kind, "payload": p.payload} for p in self._parked.values()]

    def awaits_approval(self, call_id: str) -> bool:
        """Whether the call has not begun, because nobody has allowed it yet."""
        parked = self._parked.get(call_id)
        return parked is not None and parked.kind == APPROVAL and not parked.payload.get(UNDERWAY)

    async def park(self, call: ToolCall, kind: str, payload: dict[str, Any], timeout_reply: Any) -> asyncio.Future[Any]:
        """Records the wait and announces it. The future gives the decision, the answer, or raises ToolError."""
        if kind == APPROVAL:  # a hook may have rewritten the call: what is shown is what would run
            name = payload.get("name", call.name) if payload.get(UNDERWAY) else call.name
            payload = payload | {"id": call.id, "name": name}
            payload.setdefault("arguments", call.arguments)
        payload = self._ledger.secrets.shaped(payload)
        await self._record(call.id, kind, "pending", payload)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        parked = Parked(call_id=call.id, kind=kind, payload=payload, answer=answer, timeout_reply=timeout_reply)
        parked.asked = None if kind == APPROVAL else _asked(payload)
        self._parked[call.id] = parked
        if self._timeout_ms != FOREVER:
            parked.timer = self._clock.call_later(self._timeout_ms, lambda: self._post(lambda: self._expire(parked)))
        asks = Question(call_id=call.id, kind=kind, payload=payload)
        wait = None if self._timeout_ms == FOREVER else int(self._timeout_ms)
        self._emit(ToolApproval(call=payload, timeout_ms=wait) if kind == APPROVAL else asks)
        self._attention({"state": "waiting", "call_id": call.id, "kind": kind})
        return answer

    async def resolve(self, call_id: str, decision: Decided) -> None:
        """Answers a parked approval. Raises UnknownCall, or InvalidAnswer for what is no decision: the call waits on."""
        parked = self._waiting(call_id)
        if parked.kind != APPROVAL:
            raise InvalidAnswer(f"call {call_id} asks a question: use `answer`")
        match decision:
            case Allow() as allow:
                if (wrong := choices.problem(allow, parked.payload.get("changes"))) is not None:
                    raise InvalidAnswer(wrong)
                await self._release(parked, "allowed", _said(allow), decision)
            case Deny(reason):
                await self._release(parked, "denied", {"reason": reason}, decision)
            case Rewrite(dict() as arguments):
                await self._release(parked, "rewritten", {"arguments": arguments}, decision)
            case _:
                raise InvalidAnswer("an approval is answered with Allow, Deny, or Rewrite with a dict of arguments")

    async def answer(self, call_id: str, value: str | dict[str, Any]) -> None:
        """Answers a parked question, or says why there is no answer (QST-7). Raises UnknownCall, InvalidAnswer."""
        parked = self._waiting(call_id)
        if parked.kind == APPROVAL:
            raise InvalidAnswer(f"call {call_id} waits for approval: use `resolve_tool`")
        given = _given(parked, value)
        status = given.get("status") if isinstance(given, dict) and parked.asked else None
        if status == "cancelled":
            await self.withdraw(call_id)
            self._end_turn()
        elif status is not None:
            await self._release(parked, status, {}, given)
        else:
            await self._release(parked, "answered", {"answer": given}, given)

    async def withdraw(self, call_id: str) -> None:
        """Nobody can answer this call any more: it ended while it waited (DI-4), or the person cancelled it."""
        if (parked := self._parked.get(call_id)) is None:
            return
        if parked.kind != APPROVAL:
            await self._record(call_id, parked.kind, "cancelled", {})
        self._remove(parked)

    async def withdraw_all(self) -> None:
        """The prompt has ended: nobody is asked anything of it any more, of a command of a hook's own neither."""
        for call_id in list(self._parked):
            await self.withdraw(call_id)

    async def lost(self, call_id: str, kind: str) -> None:
        """Closes the record of a question that a crash left open: no reader of the transcript shows it as waiting."""
        await self._record(call_id, kind, "cancelled", {"reason": "the session ended"})

    def _waiting(self, call_id: str) -> Parked:
        if call_id not in self._parked:
            raise UnknownCall(call_id)
        return self._parked[call_id]

    async def _expire(self, parked: Parked) -> None:
        if self._parked.get(parked.call_id) is not parked:
            return
        ms = self._timeout_ms
        if parked.kind == APPROVAL:
            reply: Any = Deny(self._messages.approval_timed_out(ms))
        else:
            reply = parked.timeout_reply or ToolError(self._messages.question_timed_out(ms))
        await self._release(parked, "timed_out", {"after_ms": ms}, reply)

    async def _release(self, parked: Parked, status: str, detail: dict[str, Any], reply: Any) -> None:
        await self._record(parked.call_id, parked.kind, status, detail)
        self._remove(parked)
        if parked.answer.done():
            return
        if isinstance(reply, Exception):
            parked.answer.set_exception(reply)
        else:
            parked.answer.set_result(reply)

    def _remove(self, parked: Parked) -> None:
        del self._parked[parked.call_id]
        if parked.timer is not None:
            parked.timer.cancel()
        if not self._parked:
            self._attention({"state": "working"})

    async def _record(self, call_id: str, kind: str, status: str, detail: dict[str, Any]) -> None:
        await self._ledger.append("approval", {"call_id": call_id, "kind": kind, "status": status, "detail": detail})
