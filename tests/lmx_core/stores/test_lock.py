"""The claim file: one holder, taken over only from the dead, removed only by its owner."""

from __future__ import annotations

import gc
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from lmx_core.errors import SessionLocked, StoreError
from lmx_core.stores import lock as locks
from lmx_core.stores.jsonl import JSONLStore
from lmx_core.stores.memory import MemoryStore

DEAD = 2**22 + 1  # above the largest pid Linux gives out


@pytest.fixture
def store(tmp_path) -> JSONLStore:
    return JSONLStore(tmp_path / "sessions", process="lmx 0.1.0")


@pytest.fixture
def path(store):
    return store.directory / "one.lock"


def plant(path, **changes) -> bytes:
    """Puts a claim like ours, with some fields changed, where a session of another process would."""
    store = JSONLStore(path.parent)
    lock = store.lock("template")
    facts = json.loads(lock.path.read_bytes()) | {"token": "theirs"} | changes
    store.unlock("template", lock)
    path.write_text(json.dumps(facts))
    return path.read_bytes()


def test_lk_1_a_claim_names_its_holder(store, path):
    """LK-1: whole from the first moment, private, and with the facts that prove who it was."""
    lock = store.lock("one")
    facts = json.loads(path.read_bytes())
    assert set(facts) == {"token", "host", "os_pid", "os_started", "process", "since"}
    assert (facts["host"], facts["os_pid"], facts["process"]) == (os.uname().nodename, os.getpid(), "lmx 0.1.0")
    assert facts["os_started"]
    assert facts["since"].endswith("Z")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(store.directory) == ["one.lock"]
    store.unlock("one", lock)
    assert os.listdir(store.directory) == []


def test_lk_1_a_claim_is_linked_into_place_whole(store, path, monkeypatch):
    """LK-1"""
    made = []
    link = os.link

    def seen(source, target, **how):
        made.append((json.loads(Path(source).read_bytes()), target))
        link(source, target, **how)

    monkeypatch.setattr(os, "link", seen)
    store.lock("one")
    assert made[0][1] == path
    assert made[0][0]["os_pid"] == os.getpid()


def test_lk_2_a_live_holder_refuses_and_is_named(store, path):
    """LK-2, C10-13"""
    lock = store.lock("one")
    for other in (store, JSONLStore(store.directory)):
        with pytest.raises(SessionLocked) as refused:
            other.lock("one")
        assert refused.value.holder == {
            "host": os.uname().nodename,
            "os_pid": os.getpid(),
            "process": "lmx 0.1.0",
            "since": json.loads(path.read_bytes())["since"],
            "path": str(path),
        }
    store.unlock("one", lock)
    store.lock("one")


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "another"},
        {"host": "another", "os_pid": DEAD},
        {"os_pid": os.getppid()},  # alive, and nobody knows when the claim's process started
    ],
)
def test_lk_2_doubt_refuses(store, path, changes):
    """LK-2: another host, or a live pid whose start time was never known. However old the claim is (D-12)."""
    before = plant(path, **({"os_started": "", "since": "2001-01-01T00:00:00.000Z"} | changes))
    with pytest.raises(SessionLocked):
        store.lock("one")
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", [b"", b"{", b"null", b'{"token":1}', b"\xff" * 100])
def test_lk_2_a_claim_that_cannot_be_read_is_in_doubt(store, path, data):
    """LK-2"""
    store.directory.mkdir()
    path.write_bytes(data)
    with pytest.raises(SessionLocked, match="unknown") as refused:
        store.lock("one")
    assert str(path) in str(refused.value)
    assert path.read_bytes() == data


def test_lk_2_a_dead_holder_is_taken_over(store, path):
    """LK-2, TK-4: no such pid on this host."""
    plant(path, os_pid=DEAD)
    lock = store.lock("one")
    assert json.loads(path.read_bytes())["token"] == lock.token


def test_lk_2_a_reused_pid_is_no_holder(store, path):
    """LK-2, D-12: the pid lives, but was started at another time."""
    facts = json.loads(plant(path))
    prefix, ticks = facts["os_started"].rsplit(" ", 1)
    plant(path, os_pid=os.getpid(), os_started=f"{prefix} {int(ticks) - 1}")
    store.lock("one")


def test_lk_2_a_session_of_this_process_that_is_gone_is_taken_over(store, path):
    """LK-2: it dropped its lock without a word; one that is only forgotten by its store is not gone."""
    lock = store.lock("one")
    with pytest.raises(SessionLocked):
        store.lock("one")
    del lock
    gc.collect()
    store.lock("one")


def test_lk_3_release_removes_only_our_own_file(store, path):
    """LK-3: after a takeover, or when somebody put another file there, it is not ours to remove."""
    lock = store.lock("one")
    path.unlink()
    theirs = plant(path)
    store.unlock("one", lock)
    assert path.read_bytes() == theirs
    store.unlock("one", lock)
    path.unlink()
    store.unlock("one", lock)


def test_lk_3_a_stale_file_is_removed_only_unchanged(store, path, monkeypatch):
    """LK-3: what was judged is not what is there any more, because another claimed it meanwhile."""
    plant(path, os_pid=DEAD)
    judged = []

    def slow(claim, here, in_use):
        judged.append(claim.token)
        plant(path, token="quicker", host="another")
        return claim.os_pid == DEAD

    monkeypatch.setattr(locks, "provably_gone", slow)
    with pytest.raises(SessionLocked) as refused:
        store.lock("one")
    assert refused.value.holder["host"] == "another"
    assert json.loads(path.read_bytes())["token"] == "quicker"
    assert judged == ["theirs", "quicker"]


def test_lk_3_a_stale_file_is_removed_only_while_it_is_the_one_in_place(store, path, monkeypatch):
    """LK-3: between opening it and holding it another took over; what is in place now is a live claim."""
    plant(path, os_pid=DEAD)

    def beaten(fd):
        path.unlink()
        plant(path, token="quicker", host="another")
        return True

    monkeypatch.setattr(locks, "_flock", beaten)
    with pytest.raises(SessionLocked):
        store.lock("one")
    assert json.loads(path.read_bytes())["token"] == "quicker"


def test_lk_3_three_attempts(store, path, monkeypatch):
    """LK-3: a file that comes back each time is not fought over for ever."""
    tries = []

    def never(path, seen):
        tries.append(seen)

    plant(path, os_pid=DEAD)
    monkeypatch.setattr(locks, "_remove_unchanged", never)
    with pytest.raises(SessionLocked):
        store.lock("one")
    assert len(tries) == 3


def test_lk_3_a_claim_that_vanishes_is_tried_again(store, path, monkeypatch):
    """LK-3"""
    plant(path)
    create = locks.create_whole
    calls = []

    def lost_race(at, data):
        calls.append(at)
        made = create(at, data)
        if len(calls) == 1:
            path.unlink()
        return made

    monkeypatch.setattr(locks, "create_whole", lost_race)
    store.lock("one")
    assert len(calls) == 2


def contend(store: JSONLStore, contenders: int) -> tuple[list, list]:
    """Who won and who was refused when so many threads claim at the same moment."""
    won, refused = [], []
    start = threading.Barrier(contenders)

    def claim():
        start.wait()
        try:
            won.append(store.lock("one"))
        except SessionLocked as error:
            refused.append(error)

    threads = [threading.Thread(target=claim) for _ in range(contenders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won, refused


def test_lk_3_of_many_that_take_over_at_once_one_wins(store, path):
    """LK-3: judging and removing are two steps, and between them another may have done both."""
    for _ in range(30):
        plant(path, os_pid=DEAD)
        won, refused = contend(store, 8)
        assert (len(won), len(refused)) == (1, 7)
        assert json.loads(path.read_bytes())["token"] == won[0].token
        store.unlock("one", won[0])


def test_lk_3_a_forked_child_does_not_release_its_parents_lock(store, path):
    """LK-3"""
    lock = store.lock("one")
    child = os.fork()
    if child == 0:
        store.unlock("one", lock)
        os._exit(0)
    os.waitpid(child, 0)
    assert path.exists()


@pytest.mark.parametrize("content", ["unchanged", "a stale claim"])
def test_c32_a_planted_lock_is_not_followed(store, path, tmp_path, content):
    """C32: not read as a claim, not removed, and its target is unchanged."""
    victim = tmp_path / "victim"
    victim.write_bytes(plant(path, os_pid=DEAD) if content == "a stale claim" else b"unchanged")
    before = victim.read_bytes()
    store.directory.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(victim)
    with pytest.raises(SessionLocked):
        store.lock("one")
    assert victim.read_bytes() == before
    assert path.is_symlink()


def test_a_lock_that_cannot_be_made_is_a_store_error(store):
    store.directory.parent.mkdir(exist_ok=True)
    store.directory.write_text("in the way")
    with pytest.raises(StoreError, match=r"one\.lock"):
        store.lock("one")


def test_tk_1_a_memory_store_locks_too():
    """TK-1"""
    store = MemoryStore()
    token = store.lock("one")
    with pytest.raises(SessionLocked):
        store.lock("one")
    store.unlock("one", "another")
    with pytest.raises(SessionLocked):
        store.lock("one")
    store.unlock("one", token)
    store.lock("one")


def test_a_file_in_the_place_of_the_directory_is_named_as_such(tmp_path):
    """C10-28."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Not a directory"):
        JSONLStore(tmp_path / "file").lock("one")
    assert (tmp_path / "file").read_text() == ""
