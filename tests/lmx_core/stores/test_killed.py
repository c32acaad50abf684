"""Killed by SIGKILL at every byte: of a batch, of a claim, of a whole session (TK-4).

A process that forks once for each place dies there; what it leaves is judged by the next one. Truncating a file to every
length, the obvious test, never sees what the dying process itself left beside the file: its lock and its temporary files.
The gate takes some of the places, the long lane all.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.long_talks import assert_sound

from lmx_core import JSONLStore, Runtime, Scripted, resume_session
from lmx_core.providers.scripted import complete

ROOT = Path(__file__).parents[3]

START = """
import json, os, shutil, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.transcripts import Conversation
from lmx_core.errors import StoreError, TranscriptNotFound
from lmx_core.stores import private
from lmx_core.stores.jsonl import JSONLStore
from lmx_core.transcript.replay import validate

base, stride = Path(sys.argv[2]), int(sys.argv[3])
real_write, real_link, real_unlink = os.write, os.link, os.unlink

def dies(work, bytes=None, at=None):
    # Runs `work` in a child that is killed once it has written so many bytes to files, or in its n-th call of the kernel.
    child = os.fork()
    if child == 0:
        left = [bytes]
        def write(fd, data):
            if bytes is None or fd < 3:
                step()
                return real_write(fd, data)
            taken = real_write(fd, memoryview(data)[: left[0]])
            left[0] -= taken
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return taken
        calls = [0]
        def step():
            calls[0] += 1
            if at is not None and calls[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
        def stepped(call):
            def made(*args, **kwargs):
                step()
                return call(*args, **kwargs)
            return made
        os.write = write
        if at is not None:
            for name in ("open", "link", "unlink", "fchmod", "close", "mkdir", "ftruncate"):
                setattr(os, name, stepped(getattr(os, name)))
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

def fresh(name):
    folder = base / str(name)
    shutil.rmtree(folder, ignore_errors=True)
    return folder

def goes_on(folder, acknowledged, batch):
    # The next process: takes the lock, reads what is whole, appends, and reads all of it.
    store = JSONLStore(folder)
    lock = store.lock("one")
    try:
        found = store.read("one")
    except TranscriptNotFound:
        found = []
    whole = acknowledged + batch
    wrong = []
    if found != whole[: len(found)] or len(found) < len(acknowledged):
        wrong.append(f"{len(found)} entries of {len(acknowledged)} and {len(batch)}")
    talk = Conversation()
    talk.entries = list(found)
    store.append("one", [talk.user("and on")])
    again = JSONLStore(folder).read("one")
    if again != talk.entries or validate(again):
        wrong.append("what was appended afterwards does not read back")
    store.unlock("one", lock)
    return wrong
"""

AN_APPEND = """
talk = Conversation()
first = [talk.user("one é"), talk.answer("two", "c1")]
second = [talk.result("c1", "three"), talk.user("four \\u2028")]
wrong, killed = [], 0
from lmx_core.transcript.codec import encode
for acknowledged, batch in (([], first), (first, second)):
    for place in range(1, sum(len(encode(entry)) + 1 for entry in batch) + 1, stride):
        folder = fresh("append")
        if acknowledged:
            JSONLStore(folder).append("one", acknowledged)
        held = []
        def work():
            store = JSONLStore(folder)
            store.append("one", batch)
        killed += dies(work, bytes=place)
        wrong += [f"at byte {place}: {what}" for what in goes_on(folder, acknowledged, batch)]
print(json.dumps({"killed": killed, "wrong": wrong}))
"""

A_CLAIM = """
wrong, killed = [], 0
talk = Conversation()
said = [talk.user("one")]
for place in range(1, 60):
    folder = fresh("claim")
    JSONLStore(folder).append("one", said)
    def work():
        store = JSONLStore(folder)
        lock = store.lock("one")
        store.append("one", [])
        store.unlock("one", lock)
    if not dies(work, at=place):
        break
    killed += 1
    wrong += [f"in call {place}: {what}" for what in goes_on(folder, said, [])]
    if "one" not in JSONLStore(folder).list_sessions() or len(JSONLStore(folder).list_sessions()) != 1:
        wrong.append(f"in call {place}: the sessions are {JSONLStore(folder).list_sessions()}")
for place in range(1, 400, stride):
    folder = fresh("claim")
    JSONLStore(folder).append("one", said)
    if not dies(lambda: JSONLStore(folder).lock("one"), bytes=place):
        break
    killed += 1
    wrong += [f"at byte {place} of the claim: {what}" for what in goes_on(folder, said, [])]
print(json.dumps({"killed": killed, "wrong": wrong}))
"""

A_SESSION = """
import asyncio
from support.long_talks import assert_sound
from support.sessions import Echo
from lmx_core import ManualClock, Runtime, Scripted, resume_session, start_session
from lmx_core.providers.scripted import complete, tool_call, tool_calls
from lmx_core.testing import assert_valid_transcript

options = {"model": "scripted:m", "tools": [], "host_tools": [Echo()]}

def whole(folder):
    async def go():
        script = [tool_calls([("echo", {"text": "a"}), ("echo", {"text": "b"})]), complete("one"), complete("two")]
        async with Runtime() as runtime:
            session = await start_session(
                runtime=runtime, provider=Scripted(script), store=JSONLStore(folder), id="one", **options
            )
            await session.await_prompt("first")
            await session.await_prompt("second")
    asyncio.run(go())

def resumed(folder):
    async def go():
        before = (folder / "one.jsonl").read_bytes()
        provider = Scripted([complete("on")])
        async with Runtime() as runtime:
            session = await resume_session(
                runtime=runtime, provider=provider, store=JSONLStore(folder), resume="one", **options
            )
            await session.await_prompt("go on")
        assert_sound(provider.requests[0])
        assert_valid_transcript(JSONLStore(folder).read("one"))
        kept = before[: before.rfind(b"\\n") + 1]
        assert (folder / "one.jsonl").read_bytes().startswith(kept)
    asyncio.run(go())

def passes(work, told):
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            real_write(told, f"{type(error).__name__}: {error}"[:500].encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

wrong, killed, place = [], 0, 1
while True:
    folder = fresh("session")
    if not dies(lambda: whole(folder), bytes=place):
        break
    killed += 1
    read, write = os.pipe()
    if any(b"\\n" in path.read_bytes() for path in folder.glob("one.jsonl")):
        if not passes(lambda: resumed(folder), write):
            wrong.append(f"at byte {place}: {os.read(read, 500).decode()}")
    os.close(read)
    os.close(write)
    place += stride
print(json.dumps({"killed": killed, "wrong": wrong}))
"""

IN_A_TOOL = """
import asyncio
from lmx_core import Runtime, Scripted, start_session
from lmx_core.providers.scripted import tool_calls

async def main():
    work = base / "work"
    work.mkdir()
    command = "echo $$ > shell; sleep 300 & echo $! > child; wait"
    script = [tool_calls([("write", {"path": "made", "content": "x"}), ("bash", {"command": command})])]
    async with Runtime():
        session = await start_session(
            provider=Scripted(script), store=JSONLStore(base / "s"), model="scripted:m", id="one", cwd=work
        )
        await session.prompt("go")
        while not (work / "child").exists() or not (work / "child").read_text():
            await asyncio.sleep(0.01)
        print("at work", flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""


def told_by(program: str, *args: object) -> dict[str, Any]:
    line = [sys.executable, "-c", START + program, str(ROOT / "tests"), *map(str, args)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it forks, which other systems allow to few programs")


@pytest.mark.parametrize("stride", [29, pytest.param(1, marks=pytest.mark.long)])
def test_tk_4_killed_at_every_byte_of_an_append(tmp_path, stride):
    """TK-4, JS-1, JS-3, SO-2: of the first batch of a file and of a later one; what was acknowledged is there, in order."""
    found = told_by(AN_APPEND, tmp_path, stride)
    assert found["wrong"] == [] and found["killed"] > 700 // stride


@pytest.mark.parametrize("stride", [17, pytest.param(1, marks=pytest.mark.long)])
def test_tk_4_killed_at_every_byte_of_a_claim_and_in_every_call_around_it(tmp_path, stride):
    """TK-4, LK-1, LK-3: whatever is left of a claim, the next process takes the session, and no stray file is a session."""
    found = told_by(A_CLAIM, tmp_path, stride)
    assert found["wrong"] == [] and found["killed"] > 10 + 150 // stride


@pytest.mark.parametrize("stride", [997, pytest.param(23, marks=pytest.mark.long)])
def test_tk_4_killed_anywhere_in_a_whole_session_it_is_resumed(tmp_path, stride):
    """TK-4, RS-1, RS-2, C14 c: every call has its one result, the next request is sound, no line that was whole is changed."""
    found = told_by(A_SESSION, tmp_path, stride)
    assert found["wrong"] == [] and found["killed"] >= 7_000 // stride


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


@pytest.mark.asyncio
async def test_tk_4_killed_in_the_middle_of_a_tool(tmp_path):
    """TK-4, EN-3, RS-2: nothing of the command goes on, the file tool's result stands, and the model is told of the other."""
    line = [sys.executable, "-c", START + IN_A_TOOL, str(ROOT / "tests"), str(tmp_path), "1"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None and host.stdout.readline() == "at work\n"
        pids = [int((tmp_path / "work" / name).read_text()) for name in ("shell", "child")]
        assert all(map(runs, pids))
        host.send_signal(signal.SIGKILL)
    end = time.monotonic() + 20
    while any(map(runs, pids)):
        assert time.monotonic() < end, "the command went on without its host"
        await asyncio.sleep(0.01)
    provider = Scripted([complete("on")])
    async with Runtime() as runtime:
        store = JSONLStore(tmp_path / "s")
        session = await resume_session(runtime=runtime, provider=provider, store=store, resume="one")
        await session.await_prompt("go on")
        entries = (await session.snapshot()).entries
    assert_sound(provider.requests[0])
    results = {entry.payload["name"]: entry.payload for entry in entries if entry.type == "tool_result"}
    assert {name: result["outcome"] for name, result in results.items()} == {"write": "ok", "bash": "unknown"}
    assert "may have" in results["bash"]["output"] and (tmp_path / "work" / "made").read_text() == "x"
