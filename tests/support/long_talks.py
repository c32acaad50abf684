"""A model for long conversations: it works through calls, and answers summary requests with what a test gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lmx_core.clock import Clock, SystemClock, sleep
from lmx_core.entry import Entry
from lmx_core.providers.scripted import Delay, complete, tool_call
from lmx_core.request import Request, UsageReport
from lmx_core.usage import Usage

Answer = Callable[[Request], Sequence[Any]]


def asks_for_summary(request: Request) -> bool:
    return bool(request.entries) and request.entries[-1].id.endswith("-summarise")


def text_of(request: Request) -> str:
    """Everything a request carries, as text."""
    return "\n".join([request.system or "", *(str(entry.payload) for entry in request.entries)])


def sizes(entries: Sequence[Entry]) -> int:
    return sum(len(str(entry.payload)) for entry in entries)


class Talker:
    """Answers each turn with `turn(request)` and each summary request with `summary(request)`; both are listed.

    It knows a window of `window` tokens. With `measures`, it reports one token of input for that many bytes.
    """

    def __init__(
        self,
        turn: Answer = lambda request: complete("done"),
        summary: Answer = lambda request: complete("what was done so far"),
        *,
        window: int | None = 1_000,
        measures: int | None = None,
    ):
        self._turn, self._summary, self._window, self._measures = turn, summary, window, measures
        self.requests: list[Request] = []
        self.clock: Clock = SystemClock()

    @property
    def summaries(self) -> list[Request]:
        return [request for request in self.requests if asks_for_summary(request)]

    @property
    def turns(self) -> list[Request]:
        return [request for request in self.requests if not asks_for_summary(request)]

    async def context_window(self, model: str) -> int | None:
        return self._window

    async def run(self, request: Request, emit: Callable[[Any], None]) -> None:
        self.requests.append(request)
        for event in self._summary(request) if asks_for_summary(request) else self._turn(request):
            if isinstance(event, Delay):
                await sleep(self.clock, event.ms)
                continue
            if self._measures and event.__class__.__name__ == "Done":
                emit(UsageReport(Usage(input_tokens=len(text_of(request)) // self._measures, output_tokens=5)))
            emit(event)


def assert_sound(request: Request) -> None:
    """Every call with its one result right after it, as every provider demands."""
    open_calls: list[str] = []
    assert request.entries[0].type == "user"
    for entry in request.entries:
        if entry.type == "tool_result":
            open_calls.remove(entry.payload["call_id"])
            continue
        assert open_calls == [], "something stands between a call and its result"
        open_calls = [call["id"] for call in entry.payload.get("tool_calls", ())]
    assert open_calls == []


def worker(calls: int, words: str = "word " * 30) -> Answer:
    """Calls `echo` so many times in a prompt, each time with other words, and is done then."""
    made = {"n": 0}

    def turn(request: Request) -> Sequence[Any]:
        made["n"] += 1
        if made["n"] % (calls + 1) == 0:
            return complete(f"done {made['n']}")
        return tool_call("echo", {"text": f"{made['n']} {words}"}, id=f"c{made['n']}")

    return turn
