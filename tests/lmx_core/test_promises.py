"""What the engine promises not to do, each promise watched from outside while a whole session works (core.md section 16)."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.raw_server import read_request, response, serving
from support.sessions import Echo, world

from lmx_core import (
    ConfigError,
    DefaultProvider,
    Harness,
    JSONLStore,
    LocalEnvironment,
    Runtime,
    Scrub,
    fork,
    start_session,
)
from lmx_core.providers.scripted import complete, http_error, tool_call
from lmx_core.testing import assert_valid_transcript

ROOT = Path(__file__).parents[2]

WATCHED = """
import asyncio, json, locale, logging, os, signal, sys, threading, warnings
HOME, SESSIONS, WORK = (os.environ["HOME"], os.environ["HOME"] + "/sessions", os.getcwd())
before_mount, touched, read = [], [], []
mounted = False
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink",
           "os.truncate", "os.utime", "os.putenv", "os.unsetenv", "os.chdir", "socket.connect", "socket.bind",
           "subprocess.Popen", "os.fork", "os.exec", "os.posix_spawn", "os.kill", "os.killpg"}

def watch(event, args):
    if event == "open":
        path, _, flags = args
        if not isinstance(path, (str, bytes)):
            return
        path = os.fsdecode(path)
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and path != os.devnull:
            (touched if mounted else before_mount).append(path)
        elif not path.endswith((".py", ".pyc", ".so")) and path.startswith((HOME, WORK)):
            read.append(path)
    elif event in CHANGES:
        (touched if mounted else before_mount).append(f"{event} {args[0]}")

class Environ(type(os.environ)):
    asked = {}  # by the line that asked: the one that hands everything on to a command reads every variable
    def __getitem__(self, key):
        frame = sys._getframe(1)
        while frame.f_code.co_filename.startswith(("<", os.__file__)) and frame.f_back:
            frame = frame.f_back
        self.asked.setdefault(f"{frame.f_code.co_filename}:{frame.f_lineno}", set()).add(key)
        return super().__getitem__(key)

def state():
    return {
        "signals": [str(signal.getsignal(n)) for n in signal.valid_signals() if n not in (signal.SIGKILL, signal.SIGSTOP)],
        "cwd": os.getcwd(), "umask": (m := os.umask(0), os.umask(m))[0], "environ": dict(os.environ),
        "root logging": [str(logging.root.handlers), logging.root.level, logging.raiseExceptions, logging.lastResort.level],
        "own logger": [str(logging.getLogger("lmx_core").handlers), logging.getLogger("lmx_core").level],
        "hooks": [str(sys.excepthook), str(threading.excepthook), str(sys.unraisablehook), str(sys.displayhook)],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval()], "locale": locale.setlocale(locale.LC_ALL),
        "warnings": str(warnings.filters), "policy": str(type(asyncio.get_event_loop_policy())), "stdout": id(sys.stdout),
        "path": list(sys.path), "loop": str(asyncio.tasks.Task),
    }

def never(*_):
    raise SystemExit("os._exit was called")

from importlib import import_module
import encodings.idna, http.client, ssl, unittest.mock
os._exit = never
first = state()
os.environ.__class__ = Environ
sys.addaudithook(watch)

from lmx_core import *
from lmx_core import LocalEnvironment, JSONLStore, SQLiteStore, Scripted, DefaultProvider, Runtime, Harness
from lmx_core.providers.scripted import complete, tool_call
things = [JSONLStore(SESSIONS), SQLiteStore(SESSIONS + "/all.db"), LocalEnvironment(), DefaultProvider(), Harness()]
default_tools()
unmounted = {"threads": threading.active_count(), "made": list(before_mount)}

async def main():
    global mounted
    mounted = True
    script = [
        tool_call("write", {"path": "made.txt", "content": "x"}), tool_call("bash", {"command": "echo hi; cd /; umask 0"}),
        complete("done"),
    ]
    runtime = await Runtime("mine").start()
    session = await start_session(runtime="mine", provider=Scripted(script), store=things[0], model="scripted:m")
    names = set()
    def note(id, event):
        names.update(task.get_name() for task in asyncio.all_tasks())
        names.update(thread.name for thread in threading.enumerate())
    session.subscribe(note)
    ended = await session.await_prompt("go")
    await runtime.stop()
    return ended.stop_reason, sorted(names), [t.get_name() for t in asyncio.all_tasks()]

stop_reason, names, left = asyncio.run(main())
last = state()
print(json.dumps({
    "unmounted": unmounted, "touched": touched, "read": read, "names": names, "left": left, "stop_reason": stop_reason,
    "asked": [[line, sorted(keys)] for line, keys in Environ.asked.items() if not keys >= set(first["environ"])],
    "changed": [key for key in first if first[key] != last[key]],
}))
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> dict:
    """What a program saw that constructed everything, then mounted a runtime and ran a session with its default tools."""
    home, work = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("work")
    for decoy in (".lmx/config.toml", ".config/lmx/config.toml", ".lmx/managed.toml"):
        (home / decoy).parent.mkdir(parents=True, exist_ok=True)
        (home / decoy).write_text('model = "decoy:m"')
    for decoy in (".env", "lmx.toml", "pyproject.toml", "litellm_config.yaml"):
        (work / decoy).write_text("LMX_MODEL=decoy:m\n")
    env = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "LMX_MODEL": "decoy:m",
        "LMX_STORE": "x",
    }
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED],
        cwd=work,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["stop_reason"] == "stop"
    return found | {"home": str(home), "work": str(work)}


def test_no_1_nothing_starts_and_nothing_is_made_before_a_host_mounts_it(watched):
    """NO-1, RT-1: every room imported and every thing constructed."""
    assert watched["unmounted"]["threads"] == 1
    assert watched["unmounted"]["made"] == []


def test_no_1_what_is_made_bears_the_mounts_name_and_is_where_the_host_said(watched):
    """NO-1, RT-4: tasks by name, threads as the engine's, files in the store and where a tool was told to write."""
    strange = [n for n in watched["names"] if not n.startswith(("mine/", "lmx-")) and n not in ("MainThread", "Task-1")]
    assert strange == []
    assert watched["left"] == ["Task-1"]
    allowed = (watched["home"] + "/sessions", watched["work"] + "/", "pipe:")
    files = [what for what in watched["touched"] if what.startswith("/")]
    assert [path for path in files if not path.startswith(allowed)] == []


def test_no_1_it_reads_no_configuration(watched):
    """NO-1, RT-10: no variable of its own, and none of the files that lie about."""
    assert watched["asked"], "what it asks for is seen"
    assert [line for line, names in watched["asked"] if any(name.startswith("LMX") for name in names)] == []
    read = [Path(path) for path in watched["read"] if not path.startswith(watched["home"] + "/sessions")]
    assert [path for path in read if path.is_file() and path.name != "made.txt"] == []


def test_no_7_the_process_is_as_it_was(watched):
    """NO-7: signals, directory, mask, environment, logging, hooks, limits, locale; and `os._exit` was not called."""
    assert watched["changed"] == []


def test_no_7_no_line_of_the_engine_could():
    """NO-7: what one session does not reach is not there either. The worker of litellm is a process of its own."""
    calls = ("os._exit(", "signal.signal(", "os.chdir(", "os.umask(", "basicConfig(", "setrecursionlimit(", "setlocale(",
             "simplefilter(", "set_event_loop_policy(", "os.environ[", "os.putenv(", "excepthook =")  # fmt: skip
    places = [p for p in (ROOT / "lmx_core").rglob("*.py") if "litellm/worker" not in p.as_posix()]
    found = [f"{path.name}: {call}" for path in places for call in calls if call in path.read_text("utf-8")]
    # The watchdog's child says what is left to kill before it ends itself.
    assert [each for each in found if not each.startswith("watchdog.py")] == []


KEYS = {name: f"sk-{name}-0123456789abcdef0123456789abcdef" for name in ("given", "found", "param", "header", "raised")}


@pytest.mark.asyncio
async def test_no_4_no_credential_leaves_by_any_door(tmp_path, caplog, monkeypatch):
    """NO-4, D-9: given, found in the environment, in a parameter, in a header, echoed by a server, quoted by an exception."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEYS["found"])
    sent: list[bytes] = []

    async def echo(reader, writer):
        head, body = await read_request(reader)
        sent.append(head + body)
        said = json.dumps({"error": {"message": f"no: {head.decode()}", "detail": body.decode(), "code": "bad_key"}})
        writer.write(response(said.encode(), status="401 Unauthorized", kind="application/json"))
        await writer.drain()

    def raises(*_):
        raise RuntimeError(KEYS["raised"])

    class Broken(Echo):
        async def run(self, args, context):
            raises()

    shown: list[str] = []

    def told(id, event):
        shown.append(repr(event))

    async with serving(echo) as url, Runtime("r") as runtime:
        provider = DefaultProvider(base_url=f"{url}/v1", api_keys={"openai": KEYS["given"]})
        for model in ("openai-chat:m", "anthropic:m"):
            store = JSONLStore(tmp_path / "sessions")
            harness = Harness()
            session = await start_session(
                runtime=runtime,
                provider=provider,
                store=store,
                model=model,
                tools=[],
                host_tools=[Broken()],
                environment=LocalEnvironment(credentials=Scrub()),
                params={"api_key": KEYS["param"], "extra_headers": {"X-Auth": KEYS["header"]}, "temperature": 0.5},
                harness=harness,
                hooks=[("error", raises)],
                provider_retry=False,
            )
            session.subscribe(told)
            ended = await session.await_prompt("hello")
            assert ended.stop_reason == "error"
            shown += [repr(x) for x in (ended, session, provider, store, harness, runtime, await session.info())]
            shown += [repr(await session.snapshot())]
        async with world([tool_call("echo", id="c"), complete("a")], tools=[Broken()], store=store) as w:
            await w.session.await_prompt("go")
        with pytest.raises(ConfigError) as wrong:
            await start_session(runtime=runtime, provider=KEYS["given"], store=store, model="m:m")
        shown.append(str(wrong.value))
        with pytest.raises(ConfigError) as wrong:
            await start_session(runtime=runtime, provider=provider, store=store, model="m:m", params=KEYS["param"])
        shown.append(str(wrong.value))
    assert any(KEYS["given"].encode() in each for each in sent), "the provider it is for was sent it"
    written = b"".join(path.read_bytes() for path in (tmp_path / "sessions").iterdir()).decode()
    for place in ("\n".join(shown), written, caplog.text):
        assert [name for name, key in KEYS.items() if key in place or key[:18] in place] == []


@pytest.mark.asyncio
async def test_no_6_every_line_that_was_written_stays_as_it_is(tmp_path):
    """NO-6, TR-1: through retries, a cut, a clear, a cancel, another model, a resume, a fork and a torn tail."""
    store, seen = JSONLStore(tmp_path), b""

    def kept(id: str) -> bytes:
        nonlocal seen
        now = (tmp_path / f"{id}.jsonl").read_bytes()
        assert now.startswith(seen), "a line that stood was changed"
        assert len(now) > len(seen)
        seen = now
        return now

    calls = [tool_call("echo", {"text": f"{n} " * 50}) for n in range(9)]
    script = [http_error(500), *calls, complete("one"), complete("two"), complete("summary")]
    async with world(script, tools=[Echo()], store=store, keep=0.2) as w:
        await w.session.prompt("first")
        while w.session.down is None and (await w.session.info()).status == "busy":
            await w.clock.advance(60_000)
        kept(w.session.id)
        await w.session.await_prompt("second")
        kept(w.session.id)
        await w.session.compact()
        kept(w.session.id)
        await w.session.set_model("scripted:other")
        kept(w.session.id)
        await w.session.clear()
        kept(w.session.id)
        await fork(store, w.session.id)
        assert (tmp_path / f"{w.session.id}.jsonl").read_bytes() == seen
    async with world([complete("three")], resume=w, store=store) as again:
        await again.session.await_prompt("third")
        whole = kept(w.session.id)
    torn = whole + b'{"id":"half'
    (tmp_path / f"{w.session.id}.jsonl").write_bytes(torn)
    async with world([complete("four")], resume=w, store=JSONLStore(tmp_path)) as last:
        await last.session.await_prompt("fourth")
        kept(w.session.id)
        assert_valid_transcript(last.entries)


@pytest.mark.asyncio
async def test_no_5_a_transcript_names_no_code(tmp_path, monkeypatch):
    """NO-5, PR-3: whatever it calls a tool, an extension or a strategy, nothing of that name is imported or run."""
    (tmp_path / "planted.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').write_text('x')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    store = JSONLStore(tmp_path / "s")
    async with world([complete("a")], store=store) as w:
        await w.session.await_prompt("go")
    path = tmp_path / "s" / f"{w.session.id}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["type"] == "session":
            line["payload"] |= {
                "hooks": ["planted:x"],
                "harness_assembly": {"extensions": ["planted"]},
                "guard": "planted.x",
            }
            line["payload"] |= {"extensions": ["planted"], "environment": "planted:x", "permissions": "full_auto"}
    for names in ([], ["planted"], ["planted:run"], ["planted.run"], ["lmx_core.builtin:bash"], ["os:system"]):
        for line in lines:
            if line["type"] == "session":
                line["payload"]["tools"] = names
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        if names:
            with pytest.raises(ConfigError, match="tools="):
                async with world([], resume=w, store=store):
                    raise AssertionError("it was resumed")
        else:
            async with world(
                [tool_call("bash", {"command": "touch ran"}), complete("b")], resume=w, store=store
            ) as again:
                await again.session.await_prompt("go on")
                assert (await again.session.info()).tools == []
    assert "planted" not in sys.modules and not (tmp_path / "ran").exists()


def test_no_3_it_brings_no_web_framework_database_or_terminal():
    """NO-3: a program that loads every room of the base engine gets these libraries and what they bring, nothing else."""
    code = """
        import importlib, json, pkgutil, sys
        before = set(sys.modules)
        import lmx_core
        for room in pkgutil.walk_packages(lmx_core.__path__, "lmx_core."):
            if room.name not in ("lmx_core.otel",) and ".litellm.worker" not in room.name:
                importlib.import_module(room.name)
        new = {name.split(".")[0] for name in set(sys.modules) - before}
        print(json.dumps(sorted(new - set(sys.stdlib_module_names) - {"lmx_core"})))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    brought = {name for name in json.loads(done.stdout) if not name.startswith("_")}
    assert brought <= set(
        "msgspec httpx2 httpcore2 h11 anyio sniffio idna certifi truststore typing_extensions".split()
    )


NO_WALLS = ("path", "scrub", "hook", "confine", "gate", "variables", "harness", "extension", "neither")
NEGATED = (
    "not",
    "no",
    "neither",
    "nothing",
    "none",
    "never",
    "takes a container",
    "where the environment is sandboxed",
)


def test_no_8_no_page_calls_paths_scrubbing_or_hooks_isolation():
    """NO-8, EN-10: where one of them is spoken of with isolation, it says that it is none."""
    assert LocalEnvironment().sandboxed() is False and LocalEnvironment(credentials=Scrub()).sandboxed() is False
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    claims = []
    for page in pages:
        for sentence in re.split(r"\.\s|\n\n|\|", page.read_text("utf-8")):
            words = f" {' '.join(sentence.lower().split())} "
            # There are walls of the kernel too, and they may be called a sandbox; what is listed here may not.
            claimed = "isolat" in words or ("sandbox " in words and any(word in words for word in NO_WALLS))
            if claimed and not any(f" {no}" in words for no in NEGATED):
                claims.append(f"{page.name}: {sentence[:80]}")
    assert claims == []
    assert "isolation" in (ROOT / "docs/start/embedding.md").read_text("utf-8"), "that it is none has to be said"
