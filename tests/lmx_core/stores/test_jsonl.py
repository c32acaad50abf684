"""Transcript files: what a crash, a full disk and other people may do to them, and what must be left then."""

from __future__ import annotations

import errno
import os
import stat
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lane import fewer
from support.transcripts import Conversation, entries

from lmx_core.errors import StoreError, TranscriptNotFound, TranscriptUnreadable
from lmx_core.stores import private
from lmx_core.stores.jsonl import CHUNK, JSONLStore
from lmx_core.transcript.codec import encode

LONG = "prompt " * 300


def talk(count: int = 4, text: str = "hello"):
    conversation = Conversation()
    for number in range(count):
        conversation.user(f"{text} {number}")
    return conversation.entries


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def store(tmp_path) -> JSONLStore:
    return JSONLStore(tmp_path / "sessions")


@pytest.fixture
def file(store):
    return store.directory / "one.jsonl"


# --- what is written ----------------------------------------------------------------------------------------------


def test_so_2_what_was_appended_is_read_back_in_order(store):
    """SO-2"""
    entries = talk(7)
    store.append("one", entries[:3])
    store.append("one", entries[3:4])
    store.append("one", [])
    JSONLStore(store.directory).append("one", entries[4:])
    assert store.read("one") == entries


def test_js_1_one_file_a_session_one_line_an_entry(store, file):
    """JS-1, JS-4: greppable lines, in a directory made by the first write."""
    entries = talk()
    assert not store.directory.exists()
    store.append("one", entries)
    assert file.read_bytes() == b"".join(encode(entry) + b"\n" for entry in entries)
    assert os.listdir(store.directory) == ["one.jsonl"]


@pytest.mark.parametrize("existing", [False, True])
def test_js_1_a_batch_is_one_write_at_the_end_of_the_file(store, existing, monkeypatch):
    """JS-1: O_APPEND, and one system call a batch."""
    if existing:
        store.append("one", talk(1))
    writes, flags = [], []
    write, open_ = os.write, os.open
    monkeypatch.setattr(os, "write", lambda fd, data: writes.append(len(data)) or write(fd, data))
    monkeypatch.setattr(os, "open", lambda path, how, *mode: flags.append(how) or open_(path, how, *mode))
    store.append("one", talk(5))
    assert len(writes) == 1
    assert all(how & os.O_APPEND for how in flags)


@pytest.mark.parametrize("id", ["", "..", "a/b", "a.b", "a b", "é", "a\n", "../one", "one\0"])
def test_js_1_an_id_that_is_no_file_name_is_refused(store, id):
    """JS-1: refused, never rewritten."""
    for act in (
        lambda: store.append(id, talk()),
        lambda: store.read(id),
        lambda: store.lock(id),
        lambda: store.delete(id),
    ):
        with pytest.raises(StoreError, match="no session id"):
            act()
    assert not store.directory.exists()


def test_js_4_sessions_are_listed_by_name(store):
    """JS-4, SO-2: for ULIDs that is oldest first; what is no transcript is not listed."""
    assert store.list_sessions() == []
    for id in ("b", "a", "c"):
        store.append(id, talk(1))
    for name in ("index.json", "a.lock", "not an id.jsonl", ".hidden.jsonl"):
        (store.directory / name).write_text("x")
    assert store.list_sessions() == ["a", "b", "c"]


def test_so_2_a_transcript_that_is_not_there(store):
    """SO-2: also one that holds no whole entry."""
    with pytest.raises(TranscriptNotFound):
        store.read("one")
    store.append("two", talk())
    with pytest.raises(TranscriptNotFound):
        store.read("one")
    (store.directory / "one.jsonl").write_bytes(b'{"id":"torn')
    with pytest.raises(TranscriptNotFound):
        store.read("one")


def test_delete(store):
    store.append("one", talk())
    store.delete("one")
    assert store.list_sessions() == []
    with pytest.raises(TranscriptNotFound):
        store.delete("one")


def test_so_3_references_are_expanded_when_read(store):
    """SO-3"""
    from lmx_core.transcript.dedup import Compactor

    conversation = Conversation()
    for _ in range(2):
        conversation.add("request", system=LONG)
    compactor = Compactor()
    store.append("one", [compactor.compact(entry) for entry in conversation.entries])
    assert b"$sha256" in (store.directory / "one.jsonl").read_bytes()
    assert store.read("one") == conversation.entries


def test_an_entry_json_cannot_hold_is_a_store_error(store):
    bad = msgspec.structs.replace(talk(1)[0], payload={"text": "\ud800"})
    with pytest.raises(StoreError):
        store.append("one", [*talk(2), bad])
    assert not store.directory.exists()


def test_a_store_shows_only_its_class(tmp_path):
    assert repr(JSONLStore(tmp_path / "canary")) == "<JSONLStore>"


# --- modes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_js_2_what_the_store_makes_is_private(tmp_path, umask):
    """JS-2, C32: 0600 and 0700 whatever the umask."""
    old = os.umask(umask)
    try:
        store = JSONLStore(tmp_path / "sessions")
        store.append("one", talk())
        lock = store.lock("one")
        assert mode(store.directory / "one.jsonl") == 0o600
        assert mode(store.directory / "one.lock") == 0o600
        assert mode(store.directory) == 0o700
        store.unlock("one", lock)
    finally:
        os.umask(old)


def test_js_2_parents_are_made_by_the_umask(tmp_path):
    """JS-2"""
    old = os.umask(0o022)
    try:
        JSONLStore(tmp_path / "a" / "b" / "sessions").append("one", talk(1))
    finally:
        os.umask(old)
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/sessions")] == [0o755, 0o755, 0o700]


def test_js_2_what_was_there_keeps_its_directory_mode_and_loses_its_loose_file_mode(store, file):
    """JS-2: a looser file is tightened by the next append."""
    store.directory.mkdir()
    store.directory.chmod(0o755)
    store.append("one", talk(1))
    file.chmod(0o644)
    assert store.read("one") == talk_of(file)
    assert mode(file) == 0o644
    store.append("one", talk(1))
    assert (mode(file), mode(store.directory)) == (0o600, 0o755)


def talk_of(file):
    return JSONLStore(file.parent).read(file.stem)


def test_js_2_a_file_is_private_before_anything_is_in_it(store, monkeypatch):
    """JS-2: created empty, set to 0600, then written."""
    seen = []
    write = os.write

    def watch(fd, data):
        seen.append((stat.S_IMODE(os.fstat(fd).st_mode), os.fstat(fd).st_size))
        return write(fd, data)

    monkeypatch.setattr(os, "write", watch)
    old = os.umask(0)
    try:
        store.append("one", talk())
    finally:
        os.umask(old)
    assert seen == [(0o600, 0)]


def test_js_2_a_filesystem_without_modes_is_put_up_with(store, monkeypatch):
    """JS-2"""

    def refuse(fd, mode):
        raise OSError(errno.EPERM, "not here")

    monkeypatch.setattr(os, "fchmod", refuse)
    entries = talk()
    store.append("one", entries[:1])
    (store.directory / "one.jsonl").chmod(0o666)
    store.append("one", entries[1:])
    assert store.read("one") == entries


# --- torn tails ---------------------------------------------------------------------------------------------------


def test_js_3_a_crash_at_any_byte_of_a_batch_loses_at_most_that_batch(store, file):
    """JS-3, TK-3, TK-4, D-11: at every byte offset the tail is ignored by reading and sealed by the next append."""
    conversation = Conversation()
    before = [conversation.user("before"), conversation.user("naïve “quotes” 日本 🎉")]
    batch = [conversation.user("in the middle"), conversation.user("é")]
    after = [conversation.user("after")]
    store.append("one", before)
    start = file.stat().st_size
    store.append("one", batch)
    whole = file.read_bytes()
    for cut in range(start, len(whole) + 1):
        file.write_bytes(whole[:cut])
        kept = [entry for entry in batch if whole.index(encode(entry)) + len(encode(entry)) <= cut]
        assert JSONLStore(store.directory).read("one") == before + kept, cut
        JSONLStore(store.directory).append("one", after)
        assert JSONLStore(store.directory).read("one") == before + kept + after, cut
        assert file.read_bytes().count(b"\n") == len(before + kept + after)


@settings(max_examples=fewer(25))
@given(st.lists(entries(), min_size=1, max_size=3), st.data())
def test_js_3_the_same_for_arbitrary_entries(written, data):
    """JS-3, TK-3"""
    with TemporaryDirectory() as directory:
        torn_anywhere(JSONLStore(directory), written, data)


def torn_anywhere(store, written, data):
    whole = b"".join(encode(entry) + b"\n" for entry in written)
    cut = data.draw(st.integers(0, len(whole)))
    (store.directory / "one.jsonl").write_bytes(whole[:cut])
    ends = [len(b"\n".join(encode(entry) for entry in written[:number])) for number in range(1, len(written) + 1)]
    kept = [entry for entry, end in zip(written, ends, strict=True) if end <= cut]
    store.append("one", talk(1))
    assert store.read("one") == kept + talk_of(store.directory / "one.jsonl")[-1:]
    assert len(store.read("one")) == len(kept) + 1


@pytest.mark.parametrize("length", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7])
def test_js_3_a_long_fragment_is_found_from_the_end(store, file, length):
    """JS-3: searched backwards in chunks of 65,536 bytes, whatever side of a chunk's border it begins."""
    assert CHUNK == 65_536
    entries = talk(3)
    store.append("one", entries[:2])
    sound = file.read_bytes()
    file.write_bytes(sound + b'{"id":"' + b"x" * (length - 7))
    JSONLStore(store.directory).append("one", entries[2:])
    assert file.read_bytes().startswith(sound + b'{"id":')
    assert store.read("one") == entries


def test_js_3_a_fragment_with_nothing_before_it(store, file):
    """JS-3"""
    store.directory.mkdir()
    file.write_bytes(b'{"id":"torn')
    store.append("one", talk(1))
    assert file.read_bytes() == b"".join(encode(entry) + b"\n" for entry in store.read("one"))
    assert len(store.read("one")) == 1


@pytest.mark.parametrize("tail", [b"\0" * 300, b"\0" * 300 + b"\n", b'{"id":"half\n', b"\xff\xfe", b"null,"])
def test_js_3_whatever_a_power_cut_left_as_the_last_line(store, file, tail):
    """JS-3, C17: with or without a newline behind it."""
    entries = talk(3)
    store.append("one", entries[:2])
    with file.open("ab") as end:
        end.write(tail)
    assert store.read("one") == entries[:2]
    store.append("one", entries[2:])
    assert JSONLStore(store.directory).read("one") == entries


@pytest.mark.parametrize("kind", ["NUL bytes", "cut and glued", "cut", "blank JSON", "two on a line"])
def test_js_3_damage_earlier_is_reported_with_its_line_and_left_alone(store, file, kind):
    """JS-3, TR-5, C17: never a conversation with a hole; reading and appending leave the file untouched."""
    store.append("one", talk(5))
    lines = file.read_bytes().split(b"\n")
    lines[2:4] = {
        "NUL bytes": [b"\0" * 300, lines[3]],
        "cut and glued": [lines[2][:40] + lines[3]],
        "cut": [lines[2][:40], lines[3]],
        "blank JSON": [b"  {} ", lines[3]],
        "two on a line": [lines[2] + lines[3]],
    }[kind]
    damaged = b"\n".join(lines)
    file.write_bytes(damaged)
    for reader in (store, JSONLStore(store.directory)):
        with pytest.raises(TranscriptUnreadable, match="line 3") as refused:
            reader.read("one")
        assert (refused.value.id, str(file) in refused.value.reason) == ("one", True)
    assert file.read_bytes() == damaged


@pytest.mark.parametrize("change", [{"v": 3}, {"type": "dream"}, {"at": "noon"}])
@pytest.mark.parametrize("newline", [b"\n", b""])
def test_tr_5_a_last_line_of_another_release_is_no_torn_one(store, file, change, newline):
    """TR-5, C1-85: refused by reading and by appending; the file is untouched."""
    entries = talk(2)
    store.append("one", entries[:1])
    line = msgspec.json.encode(msgspec.to_builtins(entries[1]) | change)
    with file.open("ab") as end:
        end.write(line + newline)
    before = file.read_bytes()
    for act in (lambda: store.read("one"), lambda: JSONLStore(store.directory).append("one", entries[1:])):
        with pytest.raises(TranscriptUnreadable, match=str(next(iter(change.values())))):
            act()
    assert file.read_bytes() == before


def test_an_empty_line_is_no_damage(store, file):
    """C17: it holds nothing that could be missing."""
    entries = talk(3)
    store.append("one", entries[:2])
    file.write_bytes(file.read_bytes().replace(b"\n", b"\n\n", 1) + b"\n")
    assert store.read("one") == entries[:2]
    store.append("one", entries[2:])
    assert store.read("one") == entries


def test_js_3_a_tail_torn_by_somebody_else_between_two_appends(store, file):
    """JS-3: what our last append left is only believed while the file still looks like it."""
    entries = talk(3)
    for entry in entries[:2]:
        store.append("one", [entry])
    with file.open("ab") as end:
        end.write(b'{"id":"torn')
    store.append("one", entries[2:])
    assert store.read("one") == entries


# --- disks that refuse --------------------------------------------------------------------------------------------


class Disk:
    """`os.write` on a disk with so many bytes left."""

    def __init__(self, monkeypatch, room: int, error: int = errno.ENOSPC):
        self.room, self.error, self.write = room, error, os.write
        monkeypatch.setattr(os, "write", self)

    def __call__(self, fd, data):
        if self.room <= 0:
            raise OSError(self.error, os.strerror(self.error))
        taken = self.write(fd, data[: self.room])
        self.room -= taken
        return taken


@pytest.mark.parametrize("room", [0, 1, 100, 200, 399])
@pytest.mark.parametrize("torn", [b"", b'{"id":"torn', b"whole"])
def test_a_batch_the_disk_takes_a_part_of_leaves_nothing(store, file, monkeypatch, room, torn):
    """C19, SO-2: the error names path and reason; after space is back the same batch goes in."""
    entries = talk(4)
    store.append("one", entries[:2])
    with file.open("ab") as end:
        end.write(encode(entries[2]) if torn == b"whole" else torn)
    known = entries[:3] if torn == b"whole" else entries[:2]
    with monkeypatch.context() as patch:
        Disk(patch, room)
        with pytest.raises(StoreError, match="No space left on device") as refused:
            store.append("one", entries[len(known) :] * 4)
        assert str(file) in str(refused.value)
    assert store.read("one") == known
    store.append("one", entries[len(known) :])
    assert JSONLStore(store.directory).read("one") == entries


@pytest.mark.parametrize("room", [0, 1, 100])
def test_a_first_batch_the_disk_refuses_leaves_no_session(store, monkeypatch, room):
    """C19"""
    with monkeypatch.context() as patch:
        Disk(patch, room)
        with pytest.raises(StoreError, match="No space left"):
            store.append("one", talk())
    assert os.listdir(store.directory) == []
    store.append("one", talk())
    assert len(store.read("one")) == 4


def test_a_write_taken_in_pieces_is_one_batch(store, monkeypatch):
    """A short write without an error goes on where it stopped."""
    write = os.write
    entries = talk(4)
    store.append("one", entries[:1])
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:50]))
        store.append("one", entries[1:])
    assert store.read("one") == entries


def test_what_another_wrote_behind_a_failed_write_is_not_cut_off(tmp_path, monkeypatch):
    """Two writers are against the rules (`transcript_lock=False`); even so nobody's entry is destroyed."""
    path = tmp_path / "file"
    path.write_bytes(b"start\n")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    write = os.write

    def interrupted(to, data):
        if len(data) < 10:
            write(to, b"other\n")
            raise OSError(errno.EIO, "gone")
        return write(to, data[:5])

    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises(OSError):
        private.write_whole(fd, b"0123456789", 6)
    os.close(fd)
    assert path.read_bytes() == b"start\n01234other\n"


@pytest.mark.parametrize("name", ["link", "pipe", "directory"])
def test_c32_a_planted_file_is_not_followed(store, tmp_path, name):
    """C32, JS-2: neither written through nor waited for."""
    victim = tmp_path / "victim"
    victim.write_text("unchanged\n")
    store.directory.mkdir()
    planted = store.directory / "one.jsonl"
    {"link": lambda: planted.symlink_to(victim), "pipe": lambda: os.mkfifo(planted), "directory": planted.mkdir}[name]()
    with pytest.raises(StoreError) as refused:
        store.append("one", talk())
    assert str(planted) in str(refused.value)
    assert victim.read_text() == "unchanged\n"
    if name != "link":
        with pytest.raises(TranscriptUnreadable):
            store.read("one")


@pytest.mark.parametrize("where", ["a file in the way", "a missing device"])
def test_c10_28_a_directory_that_cannot_be_made_is_a_sentence(tmp_path, where):
    """C10-28: path and reason, when the lock is claimed and so before any request."""
    (tmp_path / "file").write_text("")
    directory = tmp_path / "file" / "sessions" if where == "a file in the way" else "/dev/null/sessions"
    store = JSONLStore(directory)
    for act in (lambda: store.lock("one"), lambda: store.append("one", talk())):
        with pytest.raises(StoreError, match="Not a directory") as refused:
            act()
        assert str(directory) in str(refused.value)


def test_a_process_that_is_killed_leaves_nothing_beside_the_files_where_files_need_no_name(store, monkeypatch):
    """What is left under a name of its own would never be taken away: the session may not be opened again."""
    there = []
    link = os.link
    monkeypatch.setattr(
        os, "link", lambda *args, **how: there.append(os.listdir(store.directory)) or link(*args, **how)
    )
    store.append("one", talk(1))
    store.lock("one")
    assert there == [[], ["one.jsonl"]], "nothing has a name before it is whole"


def test_what_was_left_under_a_name_is_taken_away_a_day_later(store, monkeypatch):
    monkeypatch.setattr(private, "_from_nowhere", lambda path, data: None)
    private._take_away_left.cache_clear()
    store.directory.mkdir()
    left = [".one.lock.0123456789abcdef", ".two.jsonl.0123456789abcdef"]
    kept = [".one.lock.0123456789abcdee", ".one.lock.mine", "one.lock.0123456789abcdef"]
    for name in (*left, *kept):
        (store.directory / name).touch()
    for name in (*left, *kept[1:]):
        os.utime(store.directory / name, (0, 0))
    store.append("three", talk(1))
    assert sorted(os.listdir(store.directory)) == sorted([*kept, "three.jsonl"])


def test_without_hard_links_files_still_appear(store, monkeypatch):
    """LK-1: exclusive creation where links are unavailable."""

    def unavailable(*args, **kwargs):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", unavailable)
    store.append("one", talk(1))
    lock = store.lock("one")
    store.append("one", talk(1))
    with pytest.raises(StoreError):
        store.lock("one")
    store.unlock("one", lock)
    assert os.listdir(store.directory) == ["one.jsonl"]
    assert len(store.read("one")) == 2
