"""Blocking, for programs without a loop."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from lmx_core import ConfigError, MemoryStore, Scripted, sync
from lmx_core import runtime as rooms
from lmx_core.providers.scripted import complete, http_error
from lmx_core.sync import run_sync

ROOT = Path(__file__).parents[2]


def shape(*script, **more):
    return {"provider": Scripted(script), "store": MemoryStore(), "model": "scripted:m", "tools": []} | more


def test_rt_15_it_blocks_until_the_answer_is_there_and_leaves_nothing_behind():
    before = threading.active_count()
    heard = []
    result = run_sync("go", **shape(complete("a"), on_event=heard.append))
    assert (result.text, result.stop_reason) == ("a", "stop") and heard[-1].type == "finished"
    assert threading.active_count() == before and rooms._mounted == {}


def test_rt_15_the_loop_is_its_own_and_closed_afterwards():
    loops = []

    class Notes:
        async def run(self, request, emit):
            loops.append((asyncio.get_running_loop(), threading.current_thread()))
            await Scripted([complete("a")]).run(request, emit)

    for _ in range(2):
        run_sync("go", **shape(provider=Notes()))
    (first, thread), (second, _) = loops
    assert first is not second and first.is_closed() and second.is_closed()
    assert thread is not threading.current_thread() and not thread.is_alive()


def test_rt_15_several_threads_may_call_it_at_once():
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(run_sync("go", **shape(complete("a"))).text)) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["a"] * 5


@pytest.mark.asyncio
async def test_rt_15_inside_a_running_loop_it_is_refused():
    with pytest.raises(ConfigError, match="await run"):
        run_sync("go", **shape(complete("a")))


def test_rt_15_a_runtime_cannot_be_chosen():
    with pytest.raises(ConfigError, match="runtime="):
        run_sync("go", **shape(complete("a"), runtime="lmx"))


def test_rt_15_what_goes_wrong_is_raised_here():
    with pytest.raises(ConfigError, match="model="):
        run_sync("go", provider=Scripted([]), store=MemoryStore())
    with pytest.raises(ConfigError, match="max_turns="):
        run_sync("go", **shape(max_turns=0))

    def broken(event):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_sync("go", **shape(complete("a"), on_event=broken))
    assert rooms._mounted == {}
    assert run_sync("go", **shape(http_error(401))).error.category == "auth"


def test_rt_15_context_variables_of_the_caller_are_seen():
    name, seen = contextvars.ContextVar("name"), []
    name.set("caller")
    run_sync("go", **shape(complete("a"), on_event=lambda event: seen.append(name.get())))
    assert set(seen) == {"caller"}


INTERRUPTED = """
    import asyncio, os, signal, sys, threading
    from lmx_core import JSONLStore
    from lmx_core.sync import run_sync

    async def ended(reason, context):
        print("session_end", reason, flush=True)
        {at_the_end}

    class Slow:
        async def run(self, request, emit):
            print("asked", flush=True)
            await asyncio.Event().wait()

    handler = signal.getsignal(signal.SIGINT)
    try:
        run_sync(
            "go", provider=Slow(), store=JSONLStore("sessions"), model="m:m", tools=[], id="s",
            hooks=[("session_end", ended)],
        )
    except KeyboardInterrupt:
        alive = sum(thread.name == "lmx-sync" for thread in threading.enumerate())
        print("interrupted", alive, signal.getsignal(signal.SIGINT) is handler, flush=True)
"""


def interrupted(folder: Path, times: int, at_the_end: str = "") -> list[str]:
    """What that program prints, sent so many Ctrl-Cs: one when the model is asked, the next when the session ends."""
    code = textwrap.dedent(INTERRUPTED).replace("{at_the_end}", at_the_end)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    program = subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = []
    try:
        for _ in range(times):
            said.append(program.stdout.readline().strip())
            program.send_signal(signal.SIGINT)
        said += program.communicate(timeout=30)[0].splitlines()
    finally:
        program.kill()
    assert program.returncode == 0, said
    return said


def test_rt_15_ctrl_c_ends_the_session_in_order_before_it_is_raised(tmp_path):
    """RT-15: hooks are run, the entry of the cancellation is written, the lock is released; no handler is installed (NO-7)."""
    assert interrupted(tmp_path, 1) == ["asked", "session_end stopped", "interrupted 0 True"]
    [transcript] = (tmp_path / "sessions").glob("s*.jsonl")
    assert '"cancelled"' in transcript.read_text("utf-8")
    assert not list((tmp_path / "sessions").glob("*.lock*"))


def test_rt_15_a_second_ctrl_c_leaves_at_once(tmp_path):
    said = interrupted(tmp_path, 2, at_the_end="await asyncio.Event().wait()")
    assert said[:2] == ["asked", "session_end stopped"] and said[-1] == "interrupted 1 True"


def test_tk_7_the_module_exports_this():
    assert sync.__all__ == ["run_sync"]
