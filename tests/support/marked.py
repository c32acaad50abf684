"""A session in which one mark stands wherever a person, a model, a tool, a host or a server may put words.

What must not say any of them, a log or a trace, is run with it and looked through for the mark.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from support.sessions import Gate, world

from lmx_core import Deny, Failure, LmxError, MemoryStore, Runtime, StoreError, ToolError
from lmx_core.providers.scripted import complete, error, tool_call
from lmx_core.request import Done, Message, ResponseMetadata, TextDelta, ThinkingDelta
from lmx_core.turn.guard import Continue, Stop

MARK = "sk-MARK-7f3e"
"""It has no white space and begins as a key does: no shape alone gives it away."""

ENDINGS = (
    "answered",
    "refused by the provider",
    "the provider raises",
    "an odd stop reason",
    "the tool raises",
    "the tool fails",
    "a tool there is not",
    "a hook forbids the call",
    "a hook refuses the prompt",
    "a hook raises",
    "a stop hook raises",
    "the guard stops",
    "the guard raises",
    "cancelled",
    "the store is full",
)


class Marked:
    """A tool whose every word is marked. `fails`: it raises that instead."""

    name, description = "marked", MARK
    schema: ClassVar = {"type": "object", "properties": {"text": {"type": "string", "description": MARK}}}

    def __init__(self, fails: Exception | None = None):
        self.fails = fails

    async def run(self, args: dict[str, Any], context: Any) -> str:
        if self.fails is not None:
            raise self.fails
        return MARK


class Model:
    """Plays turns; an exception among them is raised."""

    def __init__(self, turns: list[Any]):
        self.turns = iter(turns)
        self.base_url = f"http://{MARK}.example/v1"

    async def run(self, request: Any, emit: Callable[[Any], None]) -> None:
        emit(ResponseMetadata(headers={"x-mark": MARK}, resolved_model=MARK))
        emit(ThinkingDelta(MARK))
        turn = next(self.turns)
        if isinstance(turn, Exception):
            raise turn
        for event in turn:
            emit(event)


class MarkedGuard:
    def __init__(self, decides: Any):
        self.decides = decides

    def decide(self, view: Any) -> Any:
        if isinstance(self.decides, Exception):
            raise self.decides
        return self.decides


class Full(MemoryStore):
    """Has room for a prompt's first entries."""

    def __init__(self, room: int):
        super().__init__()
        self.room = room

    def append(self, session_id: str, entries: Any) -> None:
        self.room -= len(entries)
        if self.room < 0:
            raise StoreError("there is no room left")
        super().append(session_id, entries)


def _refused() -> list[Any]:
    failure = Failure(code=MARK, message=f"no: {MARK}", category=MARK, http_status=400, provider=MARK, retryable=False)
    return error(failure, MARK)


def _last_turn(ending: str) -> Any:
    match ending:
        case "refused by the provider":
            return _refused()
        case "the provider raises":
            return ValueError(MARK)
        case "an odd stop reason":
            return [TextDelta(MARK), Done(MARK)]
        case "the tool raises" | "the tool fails" | "a hook forbids the call" | "the guard stops" | "the guard raises":
            return tool_call("marked", {"text": MARK}, text=MARK)
        case "a tool there is not":
            return tool_call(MARK, {"text": MARK})
        case "cancelled":
            return tool_call("gate", {"text": MARK})
        case _:
            return [TextDelta(MARK), Message(content=[{"type": "text", "text": MARK}]), Done("stop")]


def _raising(error: Exception) -> Callable[..., Any]:
    async def hook(*_: Any) -> Any:
        raise error

    return hook


def _hooks(ending: str) -> list[tuple[str, Any]]:
    async def forbids(said: Any, context: Any) -> Deny:
        return Deny(MARK)

    hooks: list[tuple[str, Any]] = [
        ("session_start", _raising(ValueError(MARK))),
        ("error", _raising(ValueError(MARK))),
        ("session_end", _raising(ValueError(MARK))),
    ]
    match ending:
        case "a hook forbids the call":
            hooks.append(("before_tool_call", forbids))
        case "a hook refuses the prompt":
            hooks.append(("user_prompt", forbids))
        case "a hook raises":
            hooks.append(("prepare_next_turn", _raising(ValueError(MARK))))
        case "a stop hook raises":
            hooks.append(("stop", _raising(ValueError(MARK))))
    return hooks


def _guard(ending: str) -> Any:
    match ending:
        case "the guard stops":
            return MarkedGuard(Stop(reason=MARK, message=MARK))
        case "the guard raises":
            return MarkedGuard(ValueError(MARK))
        case _:
            return MarkedGuard(Continue())


def _fails(ending: str) -> Exception | None:
    return {"the tool raises": ValueError(MARK), "the tool fails": ToolError(MARK)}.get(ending)


def _subscriber(session_id: str, event: Any) -> None:
    raise ValueError(MARK)


async def marked_session(
    ending: str, calls: int = 1, *, compacts: bool = False, attach: Callable[[Runtime], Any]
) -> None:
    """Runs a session to that ending, after so many calls, with `attach` listening to its runtime from the beginning."""
    fails, gate = _fails(ending), Gate()
    before = [complete(MARK)] * 5 if compacts else []
    turns = [*before, *[tool_call("marked", {"text": MARK}, text=MARK) for _ in range(calls)], _last_turn(ending)]
    with tempfile.TemporaryDirectory(prefix=MARK) as directory:
        options: dict[str, Any] = {
            "provider": Model([*turns, complete(MARK), complete(MARK)]),
            "tools": [Marked(fails), gate],
            "hooks": _hooks(ending),
            "guard": _guard(ending),
            "system": MARK,
            "model": f"local:/home/{MARK}/tiny.gguf",
            "cwd": Path(directory),
            "params": {"stop": [MARK]},
            "harness_context": {"mark": MARK},
            "correlation_ids": {"mark": MARK},
            "subscriber": _subscriber,
            "provider_retry": False,
            "context_window_fallback": 2_000,
            "auto_compaction": False,
        }
        if ending == "the store is full":
            options["store"] = Full(5)
        async with world(**options) as w:
            attach(w.runtime)
            try:
                if compacts:
                    for _ in range(4):
                        await w.session.await_prompt(MARK * 150)
                    await w.session.compact()
                await w.session.steer(MARK)
                asked = asyncio.ensure_future(w.session.await_prompt(f"{MARK} @{MARK}/none"))
                if ending == "cancelled":
                    await w.until(lambda: gate.began or asked.done())
                    await w.session.cancel(MARK)
                await asked
            except LmxError:
                pass  # how it ended is not what is looked at
