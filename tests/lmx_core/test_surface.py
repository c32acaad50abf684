"""What the engine exports, what importing it starts (nothing), and what it costs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import lmx_core
from lmx_core import testing

ROOT = Path(__file__).parents[2]

PUBLIC = """
    Admission AdmissionRefused Allow AlreadySent AmbiguousSession Aside AssemblyError AwaitTimeout Bash BraveSearch
    BudgetExceeded Busy CallbackFailed Cancelled Clock Compaction CompactionFailed ConfigError Conflict Decision
    DefaultProvider Deny Descriptor Document DocumentTooLarge EXTENSION_API Effects Entry Environment Extension
    ExtensionRefused FOREVER Failure Feedback Guard Harness HookContext HookDenied HookFailed Inherit InvalidAnswer
    InvalidModel JSONLStore Lease LmxError LocalEnvironment ManualClock MemoryStore Messages NothingToDo
    NothingToRetry Override Pending Policy PromptResult Provider ProviderLimiter RefreshFailed Request Result Rewrite Runtime
    SQLiteStore Sandbox SandboxUnavailable Scripted Scrub SearchBackend SearchResult Secrets Session SessionDown
    SessionLocked SnapshotTimeout StandardCompaction Store StoreError StoreUnsupported Subscription SystemClock Tool
    ToolCall ToolContext ToolError ToolExchange ToolProfile ToolSpec ToolStatus ToolsDisallowed TranscriptNotFound
    TranscriptUnreadable UNSET
    UndoRefused UnknownCall UnknownEntry UnknownTask UnknownTools UnsafeFork UnsupportedEffort Usage assemble
    default_tools diff explain fork parse_spec record_receipt replay_request resume_session run run_in_thread search_tools
    start_session
""".split()

HEAVY = "httpx2 textual typer rich pydantic litellm mcp pexpect sqlite3 anyio opentelemetry".split()


def fresh(code: str) -> dict:
    """What a program in an interpreter of its own prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tk_7_the_public_names_are_these_and_each_of_them_is_there():
    assert lmx_core.__all__ == sorted(PUBLIC)
    assert not [name for name in lmx_core.__all__ if getattr(lmx_core, name, None) is None]
    assert set(lmx_core.__all__) <= set(dir(lmx_core))


def test_a_type_checker_sees_the_same_names():
    """The table resolves names when they are used; the checker reads the imports beside it."""
    source = ast.parse(Path(lmx_core.__file__).read_text("utf-8"))
    block = next(node for node in source.body if isinstance(node, ast.If))
    seen = {alias.asname: found.module for found in block.body for alias in found.names}
    assert seen == {name: module for module, names in lmx_core._HOME.items() for name in names.split()}


def test_tk_7_the_kits_names_are_these():
    assert sorted(testing.__all__) == sorted(
        "ManualClock MemoryStore Prompted Scripted assert_valid_transcript collect prompt runtime".split()
    )


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(lmx_core, "Sesion")


def test_rt_1_importing_every_room_starts_nothing():
    """RT-1, RT-10, NO-1, NO-7."""
    found = fresh(
        """
        import gc, json, logging, os, pkgutil, signal, sys, threading, atexit, importlib

        def state():
            return {
                "threads": threading.active_count(),
                "files": sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else [],
                "children": open(f"/proc/self/task/{os.getpid()}/children").read() if os.path.isdir("/proc/self/fd") else "",
                "environ": dict(os.environ),
                "handlers": [str(h) for h in logging.root.handlers],
                "signals": [str(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
                "atexit": atexit._ncallbacks(),
                "cwd": os.getcwd(),
            }

        import asyncio, concurrent.futures.thread, ssl, socket, inspect
        before = state()
        import lmx_core
        [getattr(lmx_core, name) for name in lmx_core.__all__]
        for room in pkgutil.walk_packages(lmx_core.__path__, "lmx_core."):
            if ".wire" not in room.name and "providers" not in room.name:
                importlib.import_module(room.name)
        gc.collect()
        after = state()
        print(json.dumps({"changed": [k for k in before if before[k] != after[k]], "tasks": lmx_core.runtime._mounted}))
        """
    )
    assert found == {"changed": [], "tasks": {}}


def test_rt_1_the_embedders_import_is_light():
    """RT-1, RT-12, NO-3: `from lmx_core import Runtime, run` loads nothing slow and starts no thread."""
    found = fresh(
        f"""
        import json, sys, threading
        from lmx_core import Runtime, run
        print(json.dumps({{"heavy": [m for m in {HEAVY!r} if m in sys.modules], "threads": threading.active_count()}}))
        """
    )
    assert found == {"heavy": [], "threads": 1}


def test_rt_1_a_prompt_with_a_scripted_model_loads_nothing_slow_either():
    found = fresh(
        f"""
        import asyncio, json, sys
        from lmx_core import MemoryStore, Runtime, Scripted, run
        from lmx_core.providers.scripted import complete

        async def main():
            async with Runtime():
                await run("x", provider=Scripted([complete("a")]), store=MemoryStore(), model="m:m")

        asyncio.run(main())
        print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))
        """
    )
    assert found == []


def test_tk_7_the_engine_imports_no_host_and_no_terminal():
    """TK-7, NO-2, NO-3."""
    forbidden = ("lmx", "textual", "typer", "rich", "pexpect", "flask", "django", "sqlalchemy")
    for path in (ROOT / "lmx_core").rglob("*.py"):
        for line in path.read_text("utf-8").splitlines():
            words = line.split()
            if len(words) > 1 and words[0] in ("import", "from"):
                assert words[1].split(".")[0] not in forbidden, f"{path}: {line}"


def test_there_is_one_place_where_tasks_are_made():
    """RT-4, RT-5: everything else starts tasks through `Spawn`; the litellm worker is a process with a loop of its own."""
    makers = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "lmx_core").rglob("*.py")
        if any(word in path.read_text("utf-8") for word in (".create_task(", "ensure_future(", "TaskGroup("))
    }
    assert makers <= {"lmx_core/runtime.py", "lmx_core/tasks.py", "lmx_core/providers/litellm/worker/serve.py"}


def test_rt_10_the_engine_reads_no_configuration_of_its_own():
    """RT-10, NO-1: `LMX_` variables are the program's."""
    assert not [p for p in (ROOT / "lmx_core").rglob("*.py") if '"LMX_' in p.read_text("utf-8")]


@pytest.mark.long
def test_rt_12_what_it_costs_stays_within_its_budget():
    """RT-12: import 120 ms of CPU above a bare interpreter, mount 20 ms, an idle session 2 MiB beyond its entries."""
    found = fresh(
        """
        import json, time
        begun = time.process_time()
        from lmx_core import MemoryStore, Runtime, Scripted, run, start_session
        imported = time.process_time() - begun
        import asyncio, tracemalloc

        async def main():
            begun = time.process_time()
            async with Runtime() as runtime:
                mounted = time.process_time() - begun
                tracemalloc.start()
                await start_session(provider=Scripted([]), store=MemoryStore(), model="m:m")
                before = tracemalloc.get_traced_memory()[0]
                for _ in range(50):
                    await start_session(provider=Scripted([]), store=MemoryStore(), model="m:m")
                session = (tracemalloc.get_traced_memory()[0] - before) / 50
                print(json.dumps({"imported": imported, "mounted": mounted, "session": session}))

        asyncio.run(main())
        """
    )
    assert found["imported"] < 0.120 and found["mounted"] < 0.020 and found["session"] < 2 * 1024 * 1024, found
