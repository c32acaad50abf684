"""The engine's measurements, one a fresh interpreter: memory that one of them took must not count for the next.

    python tests/bench/engine_work.py NAME [SCALE]        prints one JSON object

`engine.py` runs them all. SCALE shortens one (0.1 is a tenth of the work), for a look at a change. Beside whatever depends on
the speed of the machine stands the same work done barely, without the engine, in the same process: budgets are ratios to that.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from lmx_core import (
    DefaultProvider,
    Entry,
    JSONLStore,
    LocalEnvironment,
    MemoryStore,
    Runtime,
    Session,
    events,
    resume_session,
    start_session,
)
from lmx_core.calls import Effects
from lmx_core.calls import Runtime as HowRun
from lmx_core.context.project import Projection
from lmx_core.entry import make
from lmx_core.ids import UlidFactory
from lmx_core.providers.scripted import complete, tool_call, tool_calls
from lmx_core.request import Done, TextDelta
from lmx_core.transcript.codec import encode

T0 = 1_764_500_000_000
KIB, MB = 1_024, 1_000_000
OBJECT = {"type": "object", "properties": {}}


def main() -> None:
    name, scale = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    with tempfile.TemporaryDirectory(prefix="lmx-engine-") as folder:
        print(json.dumps(MEASUREMENTS[name](Path(folder), scale)))


# -- what is measured with


def memory(field: str) -> int:
    """KiB of this process: `VmRSS` now, `VmHWM` at its highest. Not `ru_maxrss`, which is inherited across an exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def settled() -> int:
    gc.collect()
    return memory("VmRSS")


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def best(work: Callable[[], object], times: int = 3) -> float:
    """The shortest of some runs: whatever else the machine does can only make one longer."""
    return min(cpu(work) for _ in range(times))


def conversation(turns: int) -> list[Entry]:
    """Four entries a turn: a prompt, an answer that calls a tool, its result of some 500 bytes, a last answer."""
    made: list[Entry] = []
    ids = UlidFactory()

    def add(type: str, **payload: Any) -> None:
        at = T0 + len(made)
        parent = made[-1].id if made else None
        made.append(make(id=ids.new(at), seq=len(made), type=type, payload=payload, at_ms=at, parent_id=parent))

    for turn in range(turns):
        call = {"id": f"c{turn}", "name": "read", "arguments": {"path": f"src/part_{turn}.py"}}
        add("user", text=f"Please look at part {turn} and say what it does.")
        add("assistant", content=[{"type": "text", "text": "I read it."}], tool_calls=[call], request_id=f"r{turn}")
        add(
            "tool_result", call_id=call["id"], name="read", arguments=call["arguments"], outcome="ok", error=False,
            output="def part(): ...  # a line of code\n" * 15, duration_ms=3, output_bytes=510,
        )  # fmt: skip
        add("assistant", content=[{"type": "text", "text": "It adds two numbers. " * 10}], request_id=f"s{turn}")
    return made


class Steady:
    """A model that answers turn after turn alike: a call, then words. Each answer takes the loop once, as a real one does."""

    def __init__(self, turn: Callable[[int], Sequence[Any]] | None = None):
        self._turn = turn or _a_call_then_words
        self.asked = 0

    async def run(self, request: Any, emit: Callable[[Any], None]) -> None:
        self.asked += 1
        await asyncio.sleep(0)
        for event in self._turn(self.asked):
            emit(event)


def _a_call_then_words(asked: int) -> Sequence[Any]:
    number = (asked - 1) // 2 + 10_000  # as many digits at every turn
    return tool_call("echo", {"text": "x"}, id=f"c{number}") if asked % 2 else complete("It adds two numbers. " * 10)


class Echo:
    name, description, schema = "echo", "says what a file says", OBJECT

    async def run(self, args: dict[str, Any], context: Any) -> str:
        return "def part(): ...  # a line of code\n" * 15


# -- the transcript


def append(folder: Path, scale: float) -> dict[str, Any]:
    """Appends 100,000 entries one by one, as a session does; beside it the same lines written barely."""
    entries = conversation(int(25_000 * scale))
    lines = [encode(entry) + b"\n" for entry in entries]
    store, bare = JSONLStore(folder), folder / "bare"

    def with_the_store() -> None:
        for entry in entries:
            store.append("one", [entry])

    def barely() -> None:
        for line in lines:
            fd = os.open(bare, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(fd, line)
            os.close(fd)

    before = settled()
    began = time.perf_counter()
    used = cpu(with_the_store)
    took = time.perf_counter() - began
    size = (folder / "one.jsonl").stat().st_size
    return {
        "entries": len(entries),
        "bytes": size,
        "mb_s": size / MB / took,
        "us_entry": took / len(entries) * 1e6,
        "ratio": used / cpu(barely),
        "rss_mb": (settled() - before) * KIB / MB,
    }


def read(folder: Path, scale: float) -> dict[str, Any]:
    """Reads a transcript of 100,000 entries; beside it its lines parsed barely."""
    path = folder / "one.jsonl"
    in_a_child(lambda: _write(path, conversation(int(25_000 * scale))))
    size, before = path.stat().st_size, settled()
    began, used = time.perf_counter(), time.process_time()
    entries = JSONLStore(folder).read("one")
    took, used = time.perf_counter() - began, time.process_time() - used
    peak, held, count = memory("VmHWM"), settled(), len(entries)
    del entries
    lines = path.read_bytes().split(b"\n")[:-1]
    return {
        "entries": count,
        "bytes": size,
        "mb_s": size / MB / took,
        "wall_s": took,
        "ratio": used / cpu(lambda: [msgspec.json.decode(line) for line in lines]),
        "peak_mb": (peak - before) * KIB / MB,
        "held_mb": (held - before) * KIB / MB,
        "peak_of_file": (peak - before) * KIB / size,
    }


def resume(folder: Path, scale: float) -> dict[str, Any]:
    """Resumes a session of 10,000 entries as a session writes them; beside it its lines parsed barely."""
    path = folder / "one.jsonl"
    in_a_child(lambda: asyncio.run(_record(folder, int(10_000 * scale))))
    size, (parsed, count) = path.stat().st_size, _parsed(path)

    async def go() -> dict[str, Any]:
        async with Runtime() as runtime:
            given = {"runtime": runtime, "provider": Steady(), "tools": [], "host_tools": [Echo()]}
            await start_session(store=MemoryStore(), model="steady:m", **given)  # what the first session of all pays
            before = settled()
            began, used = time.perf_counter(), time.process_time()
            session = await resume_session(store=JSONLStore(folder), resume="one", **given)
            took, used = time.perf_counter() - began, time.process_time() - used
            peak, held = memory("VmHWM"), settled()
            await session.stop()
        return {
            "wall_s": took,
            "cpu_s": used,
            "ratio": used / parsed,
            "peak_mb": (peak - before) * KIB / MB,
            "held_mb": (held - before) * KIB / MB,
            "peak_of_file": (peak - before) * KIB / size,
        }

    return {"entries": count, "bytes": size, **asyncio.run(go())}


def _parsed(path: Path) -> tuple[float, int]:
    """CPU of parsing each line barely, and how many there are; nothing of it stays in memory."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return best(lambda: [msgspec.json.decode(line) for line in lines]), len(lines)


def in_a_child(work: Callable[[], object]) -> None:
    """Prepares something without leaving its memory behind here."""
    if (child := os.fork()) == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise SystemExit("what was to be measured could not be prepared")


def _write(path: Path, entries: list[Entry]) -> None:
    path.write_bytes(b"".join(encode(entry) + b"\n" for entry in entries))


async def _record(folder: Path, wanted: int) -> None:
    """A session as it is really written: records of requests and evidence included."""
    async with Runtime() as runtime:
        session = await start_session(
            runtime=runtime, provider=Steady(), store=JSONLStore(folder), model="steady:m", id="one", tools=[],
            host_tools=[Echo()], auto_compaction=False,
        )  # fmt: skip
        while len((await session.snapshot()).entries) < wanted:
            for _ in range(50):
                await session.await_prompt("Please look at it and say what it does.")


# -- a session that grows


PLACES = {"10": 10, "100": 100, "1000": 1_000}
"""At which turns is looked."""


def projection(folder: Path, scale: float) -> dict[str, Any]:
    """What a request's entries cost as the transcript grows: what was added, what to send, and its account."""
    entries = conversation(int(1_000 * scale))

    def grow() -> list[float]:
        spent, projected = [], Projection(lambda call: "lost")
        for number, entry in enumerate(entries):
            began = time.perf_counter()
            projected.add(entry)
            if number % 2 == 0:  # after the prompt and after the call's result the model is asked
                projected.account(projected.entries()).summary()
            spent.append(time.perf_counter() - began)
        return [spent[n] + spent[n + 1] for n in range(0, len(spent), 2)]

    requests = [min(each) for each in zip(*(grow() for _ in range(5)), strict=True)]
    half = len(requests) // 2
    return {
        "us_request": {name: around(requests, place * 2) * 1e6 for name, place in PLACES.items()},
        "session_ms": sum(requests) * 1e3,
        "doubled": sum(requests) / sum(requests[:half]),
    }


def turns(folder: Path, scale: float) -> dict[str, Any]:
    """CPU and transcript bytes of a whole turn (a call and a last answer, two requests) as the session grows."""

    async def go() -> tuple[list[float], list[int]]:
        spent, sizes = [], []
        async with Runtime() as runtime:
            session = await start_session(
                runtime=runtime, provider=Steady(), store=JSONLStore(folder), model="steady:m", id="one", tools=[],
                host_tools=[Echo()], system="You are careful.", auto_compaction=False,
            )  # fmt: skip
            path = folder / "one.jsonl"
            for _ in range(int(1_000 * scale)):
                began = time.process_time()
                await session.await_prompt("Please look at it and say what it does.")
                spent.append(time.process_time() - began)
                sizes.append(path.stat().st_size)
        return spent, [after - before for before, after in pairwise(sizes)]

    spent, written = asyncio.run(go())
    half = len(spent) // 2
    return {
        "cpu_ms": {name: around(spent[1:], place) * 1e3 for name, place in PLACES.items()},
        "doubled": sum(spent[1:]) / sum(spent[1 : half + 1]),
        "bytes": {name: written[min(len(written), place) - 1] for name, place in PLACES.items()},
    }


def around(values: list[float], place: int) -> float:
    """The median of up to thirty values up to that place."""
    return statistics.median(values[:place][-30:])


# -- events


def deltas(folder: Path, scale: float) -> dict[str, Any]:
    """CPU of 1,000 streamed deltas, from the provider's `emit` to so many subscribers, each of which takes its events."""
    count = int(20_000 * scale)
    answer = [*(TextDelta(text="word ") for _ in range(count)), Done("stop")]

    async def go(subscribers: int) -> float:
        async with Runtime() as runtime:
            session = await start_session(
                runtime=runtime, provider=Steady(lambda asked: answer), store=MemoryStore(), model="steady:m", tools=[]
            )
            listening = [session.subscribe() for _ in range(subscribers)]
            began = time.process_time()
            await session.await_prompt("go")
            heard = [len(each.get_nowait_all()) for each in listening]
            spent = time.process_time() - began
            assert all(n >= count for n in heard)
        return spent / count * 1e6  # ms a thousand are microseconds each

    def barely() -> None:
        """What cannot be saved: a message made of a piece of text, put into a queue, taken out, and the text joined."""
        queue: deque[Any] = deque()
        for event in answer[:-1]:
            queue.append(events.TextDelta(id="e", text=event.text))
        "".join([queue.popleft().text for _ in range(len(queue))])

    found = {str(n): min(asyncio.run(go(n)) for _ in range(3)) for n in (0, 1, 10)}
    unit = best(barely) / count * 1e6
    each = (found["10"] - found["1"]) / 9
    return {"cpu_ms": found, "bare_ms": unit, "ratio": found["1"] / unit, "more_subscribers_ratio": each / unit}


# -- many sessions, and a busy one


def idle(folder: Path, scale: float) -> dict[str, Any]:
    """Memory and start time of idle sessions in one runtime, with what a host would give them."""
    count = int(1_000 * scale)

    async def start(runtime: Runtime, many: int, provider: Any, store: JSONLStore) -> list[Session]:
        return [
            await start_session(
                runtime=runtime, provider=provider, store=store, model="openai:gpt-5.1", environment=LocalEnvironment(),
                cwd=folder,
            )
            for _ in range(many)
        ]  # fmt: skip

    async def go() -> dict[str, Any]:
        async with Runtime() as runtime:
            provider, store = DefaultProvider(), JSONLStore(folder / "sessions")
            kept = await start(runtime, 10, provider, store)  # what is paid once, by the first
            before = settled()
            began, spent = time.perf_counter(), time.process_time()
            kept += await start(runtime, count, provider, store)
            wall, used = time.perf_counter() - began, time.process_time() - spent
            each = (settled() - before) / count
            written = max(path.stat().st_size for path in (folder / "sessions").glob("*.jsonl"))
            asked = time.perf_counter()
            for session in kept:
                await session.info()
            return {
                "sessions": count,
                "kib_each": each,
                "transcript_kib_each": written / KIB,
                "start_ms_each": wall / count * 1e3,
                "start_cpu_ms_each": used / count * 1e3,
                "info_us_each": (time.perf_counter() - asked) / len(kept) * 1e6,
            }

    return asyncio.run(go())


class Chatter:
    """A tool at work: it runs a command that says something all the time, until it is told to stop."""

    description, schema = "works", OBJECT

    def __init__(self, name: str, working: set[str], over: asyncio.Event):
        self.name, self._working, self._over = name, working, over
        self.metadata = {"runtime": HowRun(concurrency="parallel"), "effects": Effects(effect="read")}

    async def run(self, args: dict[str, Any], context: Any) -> str:
        command = "for i in $(seq 100000); do echo line $i; sleep 0.005; done"
        async for _ in context.environment.run(command, cwd=context.cwd):
            self._working.add(self.name)
            if self._over.is_set():
                break
        return "stopped"


def reply(folder: Path, scale: float) -> dict[str, Any]:
    """How long `info()` takes while eight tools run commands that talk; beside it, a bare turn of the same busy loop."""
    asks = int(1_000 * scale)

    async def go() -> dict[str, Any]:
        working: set[str] = set()
        over = asyncio.Event()
        tools = [Chatter(f"t{n}", working, over) for n in range(8)]
        calls = tool_calls([(tool.name, {}) for tool in tools])
        provider = Steady(lambda asked: calls if asked == 1 else complete("done"))
        async with Runtime() as runtime:
            session = await start_session(
                runtime=runtime, provider=provider, store=JSONLStore(folder), model="steady:m", tools=[],
                host_tools=tools, cwd=folder,
            )  # fmt: skip
            await session.prompt("go")
            while len(working) < 8:
                await asyncio.sleep(0.01)
            took, bare = [], []
            for _ in range(asks):
                at = time.perf_counter()
                await session.info()
                took.append(time.perf_counter() - at)
                at = time.perf_counter()
                await asyncio.sleep(0)
                bare.append(time.perf_counter() - at)
                await asyncio.sleep(0.002)
            over.set()
        return {"asks": asks, **percentiles("info", took), **percentiles("loop", bare)}

    return asyncio.run(go())


def percentiles(name: str, took: list[float]) -> dict[str, float]:
    took = sorted(took)
    return {
        f"{name}_p50_ms": took[len(took) // 2] * 1e3,
        f"{name}_p99_ms": took[min(len(took) - 1, len(took) * 99 // 100)] * 1e3,
    }


MEASUREMENTS: dict[str, Callable[[Path, float], dict[str, Any]]] = {
    "append": append,
    "read": read,
    "resume": resume,
    "projection": projection,
    "turns": turns,
    "deltas": deltas,
    "idle": idle,
    "reply": reply,
}

if __name__ == "__main__":
    main()
