"""The fault suite of the store, with real processes, a real SIGKILL and a real full disk (TK-4)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.long_talks import assert_sound
from support.sessions import Echo
from support.transcripts import Conversation

from lmx_core import Runtime, Scripted, SessionDown, resume_session, start_session
from lmx_core.errors import SessionLocked, StoreError
from lmx_core.providers.scripted import complete, tool_call
from lmx_core.stores.jsonl import JSONLStore
from lmx_core.transcript.replay import validate

START = """
import sys
from pathlib import Path
from lmx_core.clock import SystemClock
from lmx_core.entry import make
from lmx_core.errors import SessionLocked, StoreError
from lmx_core.ids import UlidFactory
from lmx_core.stores.jsonl import JSONLStore

store, ids = JSONLStore(Path(sys.argv[1])), UlidFactory()

def entry(before, text):
    now = SystemClock().now_ms()
    seq, parent = (before.seq + 1, before.id) if before else (0, None)
    return make(id=ids.new(now), seq=seq, type="user", payload={"text": text}, at_ms=now, parent_id=parent)

def say(text):
    print(text, flush=True)
"""

WRITES_FOR_EVER = """
lock, last = store.lock("one"), None
while True:
    batch = []
    for size in (10, 3_000_000, 50):
        last = entry(last, "é" * size)
        batch.append(last)
    store.append("one", batch)
    say(last.seq)
"""

HOLDS_OR_TELLS = """
try:
    lock = store.lock("one")
    say("won")
except SessionLocked as error:
    say(f"refused by {error.holder['os_pid']}")
sys.stdin.read()
"""

WRITES_UNTIL_REFUSED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
last = None
try:
    while True:
        last = entry(last, "x" * 999)
        store.append("one", [last])
        kept = last.seq
except StoreError as error:
    say(error)
found = store.read("one")
say(f"{found[-1].seq} of {kept}")
"""


@pytest.fixture
def child(tmp_path):
    """Starts a Python program over the sessions directory; none of them outlives the test."""
    running = []

    def start(program: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", START + program, str(tmp_path / "sessions")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def store(tmp_path) -> JSONLStore:
    return JSONLStore(tmp_path / "sessions")


@pytest.mark.parametrize("appends", range(4))
def test_tk_4_a_process_killed_while_it_writes_loses_only_the_batch_at_hand(child, store, appends):
    """TK-4, JS-1, JS-3: SIGKILL in the middle of an append or mid-lock; the next process takes over and goes on."""
    writer = child(WRITES_FOR_EVER)
    told = -1
    for _ in range(appends + 1):
        told = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    found = store.read("one")
    assert validate(found) == []
    assert len(found) > told, "an entry that was acknowledged is there"
    lock = store.lock("one")
    following = Conversation()
    following.entries = list(found)
    store.append("one", [following.user("and on")])
    assert JSONLStore(store.directory).read("one") == following.entries
    store.unlock("one", lock)


def test_tk_4_a_second_writer_is_refused_until_the_first_is_dead(child, store):
    """TK-4, LK-2, C18: across processes; killed, and even before anybody has reaped it, it is taken over."""
    holder = child(HOLDS_OR_TELLS)
    assert holder.stdout.readline() == "won\n"
    with pytest.raises(SessionLocked) as refused:
        store.lock("one")
    assert refused.value.holder["os_pid"] == holder.pid
    assert child(HOLDS_OR_TELLS).stdout.readline() == f"refused by {holder.pid}\n"
    holder.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    lock = store.lock("one")
    assert child(HOLDS_OR_TELLS).stdout.readline() == f"refused by {os.getpid()}\n"
    store.unlock("one", lock)
    assert child(HOLDS_OR_TELLS).stdout.readline() == "won\n"


def test_tk_4_of_processes_that_take_over_a_stale_claim_one_wins(child, store):
    """TK-4, LK-3, C18"""
    dead = child(HOLDS_OR_TELLS)
    assert dead.stdout.readline() == "won\n"
    dead.kill()
    dead.wait()
    contenders = [child(HOLDS_OR_TELLS) for _ in range(4)]
    told = {process.pid: process.stdout.readline().strip() for process in contenders}
    winners = [pid for pid, said in told.items() if said == "won"]
    assert len(winners) == 1
    assert all(said == "won" or said.startswith("refused") for said in told.values())


def test_c19_a_file_that_may_not_grow_any_more(child, store):
    """C19: the kernel takes a part of the batch and refuses the rest; what is left parses and misses nothing acknowledged."""
    writer = child(WRITES_UNTIL_REFUSED)
    error, kept = writer.stdout.readline(), writer.stdout.readline()
    assert str(store.directory / "one.jsonl") in error
    assert "File too large" in error
    last, acknowledged = kept.strip().split(" of ")
    assert last == acknowledged
    assert validate(store.read("one")) == []
    assert (store.directory / "one.jsonl").read_bytes().endswith(b"\n")


@pytest.fixture
def small_disk(tmp_path):
    """A filesystem of one megabyte, and what remounts it with other options."""

    def mount(*options: str) -> None:
        done = subprocess.run(["mount", *options, str(disk)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no filesystem can be mounted here: {done.stderr.strip()}")

    if os.geteuid() != 0:
        pytest.skip("only root can mount a small filesystem")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs")
    try:
        yield disk, lambda options: mount("-o", f"remount,{options}")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_c19_a_full_disk_and_then_room_again(small_disk):
    """C19: each refusal is a StoreError with path and reason; nothing half stays, nothing is lost, and writing goes on."""
    disk, _ = small_disk
    store, talk = JSONLStore(disk / "sessions"), Conversation()
    with pytest.raises(StoreError, match="No space left on device") as refused:
        while True:
            store.append("one", [talk.user("x" * 30_000), talk.user("y" * 3_000)])
    assert str(disk) in str(refused.value)
    acknowledged = talk.entries[:-2]
    assert store.read("one") == acknowledged
    for id in ("one", "two"):
        with pytest.raises(StoreError, match="No space left"):
            store.append(id, [talk.user("z" * 300_000)])
    assert store.list_sessions() == ["one"]
    store.append("one", [small := small_entry(acknowledged)])
    assert JSONLStore(store.directory).read("one") == [*acknowledged, small]


def small_entry(before):
    following = Conversation()
    following.entries = list(before)
    return following.user("small enough")


def test_c10_28_a_disk_that_is_read_only(small_disk):
    """C10-28: reading works; claiming and writing are refused before any request, with path and reason."""
    disk, remount = small_disk
    store, talk = JSONLStore(disk / "sessions"), Conversation()
    store.append("one", [talk.user("before")])
    remount("ro")
    for act in (
        lambda: store.lock("one"),
        lambda: store.lock("two"),
        lambda: store.append("one", [talk.user("x")]),
        lambda: store.append("two", [talk.user("x")]),
    ):
        with pytest.raises(StoreError, match="Read-only file system") as refused:
            act()
        assert str(disk) in str(refused.value)
    assert store.read("one") == talk.entries[:1]
    assert store.list_sessions() == ["one"]
    remount("rw")
    assert os.listdir(store.directory) == ["one.jsonl"]


@pytest.mark.asyncio
async def test_c19_a_session_on_a_full_disk_ends_with_what_it_has_and_is_resumed_when_there_is_room(small_disk):
    """C19, SE-2, RS-2: what was announced is on the disk; after room was made the conversation goes on from there."""
    disk, remount = small_disk
    store, told = JSONLStore(disk / "sessions"), []
    given = {"store": store, "model": "scripted:m", "tools": [], "host_tools": [Echo()], "auto_compaction": False}
    turns = [tool_call("echo", {"text": f"{n} " * 20_000}, id=f"c{n}") for n in range(40)]
    async with Runtime() as runtime:
        session = await start_session(runtime=runtime, provider=Scripted(turns), id="one", **given)
        session.subscribe(lambda id, event: told.append(event))
        with pytest.raises(SessionDown, match="No space left on device") as down:
            await session.await_prompt("go")
        assert down.value.reason == "store_failed" and str(disk) in str(down.value)
        written = store.read("one")
        assert [e.entry for e in told if e.type == "entry"] == [e for e in written if e.type != "session"]
        assert store.path("one").read_bytes().endswith(b"\n") and validate(written) == []
        remount("size=4m")
        provider = Scripted([complete("on")])
        again = await resume_session(runtime=runtime, provider=provider, resume="one", **given)
        assert (await again.await_prompt("go on")).text == "on"
        assert_sound(provider.requests[0])
        entries = store.read("one")
        assert entries[: len(written)] == written and validate(entries) == []


@pytest.mark.asyncio
async def test_c19_a_session_on_a_read_only_disk_asks_no_model(small_disk):
    """C10-28, C19, OPT-8: it does not start, new or resumed, and says where and why."""
    disk, remount = small_disk
    store = JSONLStore(disk / "sessions")
    given = {"store": store, "tools": [], "provider": (provider := Scripted([complete("a")]))}
    async with Runtime() as runtime:
        session = await start_session(runtime=runtime, model="scripted:m", id="one", **given)
        await session.stop()
        before = store.path("one").read_bytes()
        remount("ro")
        for start in (
            start_session(runtime=runtime, model="scripted:m", **given),
            resume_session(runtime=runtime, resume="one", **given),
        ):
            with pytest.raises(StoreError, match="Read-only file system") as refused:
                await start
            assert str(disk) in str(refused.value)
        assert runtime.sessions == () and provider.requests == [] and store.path("one").read_bytes() == before
