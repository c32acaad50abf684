"""A provider that plays a script: for tests of hosts, for the demo, for docs (SC-1, SC-2).

No key, no network, no waiting. It speaks the `Provider` contract, not any vendor's wire: a test of a host that replayed
recorded HTTP instead would test our adapters a second time and break with every vendor's change.

    Scripted([tool_call("read", {"path": "a.txt"}), complete("It says hello.")])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from lmx_core.clock import Clock, SystemClock, sleep
from lmx_core.errors import Failure
from lmx_core.providers.base import Emit
from lmx_core.request import (
    Done,
    Error,
    Message,
    ProviderEvent,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageReport,
)
from lmx_core.usage import Usage


class Delay(msgspec.Struct, frozen=True):
    """A pause in a turn, on the provider's clock."""

    ms: float


Step = ProviderEvent | Delay
Turn = Sequence[Step] | Callable[[Request], Sequence[Step]]
Call = tuple[str, Mapping[str, Any]] | ToolCallReady
"""A call in a script: `(name, arguments)`, whose id is given out when it is played, or a whole one."""


class Scripted:
    """Plays `turns` in order, one a request; `requests` lists what was asked.

    A turn is a list of events and `Delay`s, or a function of the request that returns one. Past the end the answer is an
    `Error` with code `script_exhausted`. Calls without an id get `call_<turn>_<n>`. `estimated_cost_usd` is what
    `estimate_cost` tells: a number, None (unknown), or a function of the request.
    """

    def __init__(
        self,
        turns: Iterable[Turn],
        *,
        estimated_cost_usd: float | Callable[[Request], float | None] | None = None,
        clock: Clock | None = None,
    ):
        self._turns = list(turns)
        self._cost = estimated_cost_usd
        self._clock = clock or SystemClock()
        self.requests: list[Request] = []

    def __repr__(self) -> str:
        return f"Scripted({len(self._turns)} turns)"

    def estimate_cost(self, request: Request) -> float | None:
        return self._cost(request) if callable(self._cost) else self._cost

    async def run(self, request: Request, emit: Emit) -> None:
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._turns):
            emit(Error(_exhausted(number, len(self._turns))))
            return
        turn = self._turns[number]
        steps = turn(request) if callable(turn) else turn
        given = 0
        for step in steps:
            if isinstance(step, Delay):
                await sleep(self._clock, step.ms)
            elif isinstance(step, ToolCallReady):
                emit(_with_id(step, number, given))
                given += 1
            elif isinstance(step, Message):
                calls = [_with_id(call, number, n) for n, call in enumerate(step.tool_calls)]
                emit(msgspec.structs.replace(step, tool_calls=calls))
            else:
                emit(step)


def _exhausted(number: int, turns: int) -> Failure:
    return Failure(
        code="script_exhausted",
        message=f"the script has {turns} turns and was asked for turn {number + 1}",
        retryable=False,
        provider="scripted",
    )


def _with_id(call: ToolCallReady, turn: int, n: int) -> ToolCallReady:
    return call if call.id else msgspec.structs.replace(call, id=f"call_{turn}_{n}")


# --- turns --------------------------------------------------------------------------------------------------------


def complete(
    text: str = "",
    fragments: Sequence[str] | None = None,
    usage: Usage | None = None,
    finish_reason: str = "stop",
) -> list[Step]:
    """An answer in words, streamed in `fragments` (whose join is the text) or in one piece."""
    parts = [text] if fragments is None else list(fragments)
    return _answer("", parts, [], usage, finish_reason)


def thinking(
    thought: str,
    text: str = "",
    calls: Sequence[Call] = (),
    usage: Usage | None = None,
    reasoning_details: Sequence[dict[str, Any]] = (),
) -> list[Step]:
    """An answer that begins with thinking. `reasoning_details` is what a real provider would want back."""
    return _answer(thought, [text], _calls(calls), usage, None, reasoning_details)


def tool_call(
    name: str, arguments: Mapping[str, Any] | None = None, *, id: str = "", text: str = "", usage: Usage | None = None
) -> list[Step]:
    """An answer that calls one tool, after some words if `text` is given."""
    return _answer("", [text], [ToolCallReady(id=id, name=name, arguments=dict(arguments or {}))], usage, None)


def tool_calls(calls: Sequence[Call], *, text: str = "", usage: Usage | None = None) -> list[Step]:
    """An answer that makes several calls at once."""
    return _answer("", [text], _calls(calls), usage, None)


def invalid_tool_call(
    name: str, raw: str = '{"path": ', *, id: str = "", finish_reason: str = "tool_calls"
) -> list[Step]:
    """A call whose arguments, `raw`, are not one JSON object."""
    call = ToolCallReady(id=id, name=name, argument_error=f"not one JSON object: {raw[:200]}")
    return _answer("", [""], [call], None, finish_reason, raw=raw)


def error(failure: Failure | str, text: str = "") -> list[Step]:
    """A failed attempt, after `text` if some is given. A string makes an untyped failure."""
    if isinstance(failure, str):
        failure = Failure(code="scripted", message=failure, provider="scripted")
    return [*([TextDelta(text)] if text else []), Error(failure)]


def http_error(
    status: int,
    headers: Mapping[str, str] | None = None,
    code: str = "http",
    retryable: bool | None = None,
    message: str | None = None,
) -> list[Step]:
    """What an adapter makes of an HTTP error. Of the headers `retry-after` (seconds) and `retry-after-ms` count."""
    lower = {key.lower(): value for key, value in (headers or {}).items()}
    wait: float | None = None
    if "retry-after-ms" in lower:
        wait = float(lower["retry-after-ms"])
    elif "retry-after" in lower:
        wait = float(lower["retry-after"]) * 1_000
    kinds = {401: "auth", 402: "quota", 403: "auth", 408: "timeout", 429: "rate_limit"}
    return error(
        Failure(
            code=code,
            message=message or f"the scripted provider answered {status}",
            category=kinds.get(status, "server" if status >= 500 else "other"),
            http_status=status,
            retry_after_ms=None if wait is None else round(wait),
            retryable=retryable,
            provider="scripted",
        )
    )


def stream_timeout(text: str = "") -> list[Step]:
    """A stream that fell silent, after `text`."""
    return error(
        Failure(code="timeout", message="the stream fell silent", category="timeout", provider="scripted"), text
    )


def context_limit() -> list[Step]:
    """A refusal because the conversation is too long."""
    return stated_context_limit(None)


def stated_context_limit(window: int | None) -> list[Step]:
    """The same, where the refusal states the window in tokens."""
    return error(
        Failure(
            code="context_limit",
            message="the conversation is too long for the model",
            category="context_limit",
            http_status=400,
            stated_context_window=window,
            provider="scripted",
        )
    )


def interrupted(text: str) -> list[Step]:
    """A stream that broke off after `text`."""
    lost = Failure(code="connection", message="the connection was lost", category="server", provider="scripted")
    return error(lost, text)


def delayed(ms: float, turn: Turn) -> Turn:
    """`turn`, `ms` later on the provider's clock."""
    if callable(turn):
        return lambda request: [Delay(ms), *turn(request)]
    return [Delay(ms), *turn]


def _calls(calls: Sequence[Call]) -> list[ToolCallReady]:
    return [c if isinstance(c, ToolCallReady) else ToolCallReady(id="", name=c[0], arguments=dict(c[1])) for c in calls]


def _answer(
    thought: str,
    parts: Sequence[str],
    calls: Sequence[ToolCallReady],
    usage: Usage | None,
    finish_reason: str | None,
    reasoning_details: Sequence[dict[str, Any]] = (),
    raw: str | None = None,
) -> list[Step]:
    steps: list[Step] = [ThinkingDelta(thought)] if thought else []
    steps += [TextDelta(part) for part in parts if part]
    for n, call in enumerate(calls):
        fragment = msgspec.json.encode(call.arguments).decode() if raw is None else raw
        steps.append(ToolCallDelta(index=n, name=call.name, fragment=fragment))
    steps += calls
    content = [{"type": "thinking", "text": thought}] if thought else []
    if text := "".join(parts):
        content.append({"type": "text", "text": text})
    steps.append(Message(content=content, tool_calls=list(calls), reasoning_details=list(reasoning_details)))
    steps.append(UsageReport(usage or Usage(input_tokens=10, output_tokens=5, model="scripted")))
    steps.append(Done(finish_reason or ("tool_calls" if calls else "stop")))
    return steps
