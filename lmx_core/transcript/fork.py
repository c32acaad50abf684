"""A copy of a conversation up to some point, to go on from there another way (RS-4).

The copy is one append to a new id, so it is there whole or not at all, and the source, which may be running, is only read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from lmx_core.clock import Clock, SystemClock
from lmx_core.entry import Entry, make
from lmx_core.errors import ConfigError, TranscriptNotFound, UnknownEntry, UnsafeFork
from lmx_core.ids import UlidFactory
from lmx_core.tasks import run_in_thread
from lmx_core.transcript.dedup import Compactor, expand
from lmx_core.transcript.replay import calls_of, is_aside, unanswered_calls


class ReadsAndAppends(Protocol):
    """What a fork needs of a store; each method sync or async."""

    def read(self, session_id: str) -> Any: ...

    def append(self, session_id: str, entries: Sequence[Entry]) -> Any: ...


async def fork(
    store: ReadsAndAppends,
    session_id: str,
    *,
    at: str | None = None,
    unsafe: bool = False,
    clock: Clock | None = None,
) -> str:
    """The id of a new session that holds `session_id` up to and including `at`, and then says where it came from.

    `at` is an entry id, `seq=N`, or `turn=N`: the end of the N-th whole answer (from 1), the results of its calls included.
    Without it everything is copied. Copied entries keep their ids. Raises `UnknownEntry` when there is no such place, and
    `UnsafeFork` when the copy would end among calls without results, unless `unsafe`; a resume then answers those calls. And
    ConfigError for an `at` that is no text.
    """
    entries = expand(await _call(store.read, session_id))
    if not entries:
        raise TranscriptNotFound(session_id)
    kept = entries[: _cut(entries, at)]
    last = kept[-1]
    if not unsafe and unanswered_calls(kept):
        raise UnsafeFork(last.id)
    now = (clock or SystemClock()).now_ms()
    ulids = UlidFactory()
    forked = ulids.new(now)
    origin = make(
        id=ulids.new(now),
        seq=last.seq + 1,
        type="fork",
        payload={"from": session_id, "at": last.id},
        at_ms=now,
        parent_id=last.id,
    )
    compactor = Compactor()
    await _call(store.append, forked, [compactor.compact(entry) for entry in (*kept, origin)])
    return forked


def _cut(entries: Sequence[Entry], at: str | None) -> int:
    """How many entries to keep."""
    if at is None:
        return len(entries)
    if not isinstance(at, str):
        raise ConfigError("at= of a fork is text: the id of an entry, seq=N or turn=N")
    if at.startswith("turn="):
        ends = turn_ends(entries)
        number = _number(at)
        if not 1 <= number <= len(ends):
            raise UnknownEntry(at)
        return ends[number - 1]
    if at.startswith("seq="):
        number = _number(at)
        places = (place for place, entry in enumerate(entries) if entry.seq == number)
    else:
        places = (place for place, entry in enumerate(entries) if entry.id == at)
    position = next(places, None)
    if position is None:
        raise UnknownEntry(at)
    return position + 1


def _number(at: str) -> int:
    digits = at.partition("=")[2]
    if not digits.isascii() or not digits.isdigit():
        raise UnknownEntry(at)
    return int(digits)


def turn_ends(entries: Sequence[Entry]) -> list[int]:
    """For each completed turn, how many entries there are up to its end."""
    ends = []
    for position, entry in enumerate(entries):
        if entry.type != "assistant" or entry.payload.get("partial") or is_aside(entry):
            continue
        open_calls = [call.id for call in calls_of(entry)]
        end = position
        while open_calls and end + 1 < len(entries) and not calls_of(entries[end + 1]):
            end += 1
            if entries[end].type == "tool_result" and entries[end].payload.get("call_id") in open_calls:
                open_calls.remove(entries[end].payload["call_id"])
        if not open_calls:
            ends.append(end + 1)
    return ends


async def _call(method: Callable[..., Any], *args: Any) -> Any:
    result = method(*args) if inspect.iscoroutinefunction(method) else await run_in_thread(method, *args)
    return await result if inspect.isawaitable(result) else result
