"""What is looked at again and what is not, and calls that run at the same time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.undo import Session

from lmx_core.checkpoints import files, tree
from lmx_core.checkpoints.tree import Tree, changes


def look(root: Path, before: tree.Entries | None = None, **options: int) -> tree.Look:
    return Tree(root, None, max_file_bytes=options.pop("max_file_bytes", 1_000)).look(
        before or {}, lambda key, data: None
    )


def test_a_file_written_in_the_moment_of_the_look_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time could not tell a second change: within one tick of the file system's clock both have the same."""
    (tmp_path / "a").write_text("1")
    assert look(tmp_path).entries[b"a"].modified == -1
    monkeypatch.setattr(tree, "_RACY_NS", -10_000_000_000)
    assert look(tmp_path).entries[b"a"].modified == (tmp_path / "a").stat().st_mtime_ns


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_RACY_NS", -10_000_000_000)
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("a", "b", "x.log", "empty"):
        (tmp_path / name).write_text(name)
    (tmp_path / "empty").write_text("")
    (tmp_path / "large").write_bytes(b"x" * 2_000)
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("a")
    over = Tree(tmp_path, None, max_file_bytes=1_000)
    first = over.look({}, lambda key, data: None)
    read: list[bytes] = []
    real = files._read
    monkeypatch.setattr(files, "_read", lambda fd, name, most: (read.append(name), real(fd, name, most))[1])
    again = over.look(first.entries, lambda key, data: None)
    assert read == [] and not again.fresh and changes(first.entries, again.entries) == []
    other = Tree(tmp_path, None, max_file_bytes=1_000).look(first.entries, lambda key, data: None)
    assert read == [] and changes(first.entries, other.entries) == []
    times = (tmp_path / "b").stat()
    (tmp_path / "b").write_text("c")
    os.utime(tmp_path / "b", ns=(times.st_atime_ns, times.st_mtime_ns))
    (change,) = changes(again.entries, over.look(again.entries, lambda key, data: None).entries)
    assert change.path == b"b" and read == [b"b"]


def test_a_second_session_reads_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents are kept once, and the newest look serves the next session of the same tree."""
    monkeypatch.setattr(tree, "_RACY_NS", -10_000_000_000)
    one, two = Session(tmp_path, "one"), Session(tmp_path, "two")
    (one.work / "a").write_text("first")
    one.turn()
    one.shell("true")
    monkeypatch.setattr(files, "_read", lambda *_: pytest.fail("it was read again"))
    two.turn()
    two.shell("true")
    assert len(list(one.store.rglob("*.pack"))) == 1


def test_what_lmx_itself_writes_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "work" / "state").mkdir(parents=True)
    session = Session(tmp_path, avoid=[tmp_path / "work" / "state"])
    session.turn()
    session.shell("echo x > state/log; echo x > x")
    assert session.undo.undo().deleted == ["x"]


def test_more_than_is_kept_is_known_by_time_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_KEPT_BYTES", 10)
    for name in "abc":
        (tmp_path / name).write_bytes(b"x" * 6)
    found = look(tmp_path).entries
    assert sorted(bool(seen.state.content) for seen in found.values()) == [False, True, True]
    monkeypatch.setattr(tree, "MAX_ENTRIES", 2)
    with pytest.raises(tree.TooLarge):
        look(tmp_path)


def test_pipes_and_sockets_are_never_opened(tmp_path: Path) -> None:
    session = Session(tmp_path)
    os.mkfifo(session.work / "pipe")
    session.turn()
    session.shell("mkfifo made; rm pipe; echo x > x")
    report = session.undo.undo()
    assert report.deleted == ["x"] and {left.path for left in report.unrestorable} == {"pipe", "made"}


def test_a_file_tool_while_a_command_runs(tmp_path: Path) -> None:
    """Each has its own part of the turn, and all of it goes back, in whichever order they end."""
    for inner_first in (True, False):
        session = Session(tmp_path, f"s{inner_first}")
        (session.work / "a").write_text("0")
        before = session.picture()
        session.turn()
        command = session.command("slow")
        command.__enter__()
        (session.work / "b").write_text("by the command")
        tool = session.tool("a")
        tool.__enter__()
        (session.work / "a").write_text("1")
        for end in (tool, command) if inner_first else (command, tool):
            end.__exit__(None, None, None)
        after = session.picture()
        assert session.undo.undo().whole and session.picture() == before
        assert session.undo.redo().whole and session.picture() == after
        session.undo.undo()


def test_two_commands_at_once(tmp_path: Path) -> None:
    session = Session(tmp_path)
    (session.work / "a").write_text("0")
    before = session.picture()
    session.turn()
    with session.command("first"):
        (session.work / "a").write_text("1")
        with session.command("second"):
            (session.work / "a").write_text("2")
            (session.work / "b").write_text("2")
        (session.work / "b").write_text("3")
    assert session.undo.undo().whole and session.picture() == before


def test_a_file_system_that_does_not_tell_letter_case_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file renamed from `a.txt` to `A.TXT` is not there under its old name, whatever `lstat` says."""
    session = Session(tmp_path)
    (session.work / "a.txt").write_text("x")
    session.turn()
    session.shell("mv a.txt A.TXT")
    real = os.stat

    def stat(path, *args, dir_fd=None, **options):
        if dir_fd is not None:
            there = {name.lower(): name for name in os.listdir(dir_fd)}
            path = os.fsencode(there.get(os.fsdecode(path).lower(), os.fsdecode(path)))
        return real(path, *args, dir_fd=dir_fd, **options)

    monkeypatch.setattr(files.os, "stat", stat)
    report = session.undo.undo()
    assert report.whole and report.restored == ["a.txt"] and report.deleted == ["A.TXT"]
    assert os.listdir(session.work) == ["a.txt"]


def test_records_of_a_newer_lmx_are_passed_over(tmp_path: Path) -> None:
    import struct
    import zlib

    import msgspec

    session = Session(tmp_path)
    session.turn()
    session.shell("echo x > x")
    body = msgspec.msgpack.encode({"type": "from the future", "x": 1})
    with (session.store / "sessions" / "s1" / "journal").open("ab") as file:
        file.write(struct.pack(">II", len(body), zlib.crc32(body)) + body)
    session.turn()
    session.shell("echo y > y")
    assert session.undo.undo().deleted == ["y"] and session.undo.undo().deleted == ["x"]


def test_a_file_system_without_locks_is_put_up_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    session = Session(tmp_path)
    session.turn()
    session.shell("echo x > x")
    assert session.undo.undo().deleted == ["x"]
