"""Files of the local machine: where a path really leads, and that a write is whole or nothing."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from lmx_core.environment import base, confine, files
from lmx_core.environment.base import DirEntry, FileError
from lmx_core.environment.local import LocalEnvironment

pytestmark = pytest.mark.asyncio
ENVIRONMENT = LocalEnvironment()


@pytest.fixture
def work(tmp_path):
    """A working directory with something to escape to beside it."""
    work = tmp_path / "work"
    (work / "inside").mkdir(parents=True)
    (work / "inside" / "file").write_bytes(b"in")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"out")
    (tmp_path / "work-not").mkdir()
    (work / "up").symlink_to("../outside")
    (work / "link").symlink_to("inside/file")
    (work / "absolute").symlink_to(tmp_path / "outside" / "file")
    (work / "circle").symlink_to("circle")
    (work / "dangling").symlink_to("inside/new")
    (work / "dangling-out").symlink_to("../outside/new")
    return work


def kind(answer) -> str:
    assert isinstance(answer, FileError), answer
    return answer.kind


OUTSIDE = [
    "..",
    "../outside/file",
    "inside/../../outside/file",
    "missing/../../outside/file",
    "up/file",
    "up/../work/inside/file/../../../outside/file",
    "absolute",
    "dangling-out",
    "/etc/passwd",
    "../work-not/file",
    "up/new/deep",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_en_5_what_leads_outside_is_refused_everywhere(work, path):
    """EN-5: every operation, before it touches anything."""
    assert kind(ENVIRONMENT.confined(work, path)) == "outside_worktree"
    assert kind(await ENVIRONMENT.read_file(work, path)) == "outside_worktree"
    assert kind(await ENVIRONMENT.write_file(work, path, b"x")) == "outside_worktree"
    assert kind(await ENVIRONMENT.list_dir(work, path)) == "outside_worktree"
    pieces = [piece async for piece in ENVIRONMENT.stream_file(work, path)]
    assert [kind(piece) for piece in pieces] == ["outside_worktree"]
    assert sorted(os.listdir(work.parent / "outside")) == ["file"]
    assert (work.parent / "outside" / "file").read_bytes() == b"out"


@pytest.mark.parametrize(
    "path", ["inside/file", "./inside/../inside/file", "link", "missing/../inside/file", "up/../work/link"]
)
async def test_en_5_what_leads_inside_is_read(work, path):
    assert await ENVIRONMENT.read_file(work, path) == b"in"


async def test_en_5_an_absolute_path_inside_and_a_linked_working_directory(work, tmp_path):
    (tmp_path / "alias").symlink_to(work)
    assert await ENVIRONMENT.read_file(work, str(work / "inside/file")) == b"in"
    assert await ENVIRONMENT.read_file(tmp_path / "alias", str(work / "inside/file")) == b"in"
    assert ENVIRONMENT.confined(tmp_path / "alias", "link") == work / "inside/file"
    assert kind(await ENVIRONMENT.read_file(work, "/proc/self/cwd/etc/passwd")) in ("outside_worktree", "not_found")


async def test_d_14_a_folder_that_becomes_a_link_after_the_check_is_not_followed(work, monkeypatch):
    """EN-5, C12: between the check and the opening somebody swaps a folder for a link; what was checked is what is opened."""
    real = confine.open_directory

    def swapped(place, parts, *, create=False):
        os.rename(work / "inside", work / "aside")
        (work / "inside").symlink_to("../outside")
        return real(place, parts, create=create)

    monkeypatch.setattr(files, "open_directory", swapped)
    assert kind(await ENVIRONMENT.read_file(work, "inside/file")) in ("changed", "not_a_directory")
    os.unlink(work / "inside")
    os.rename(work / "aside", work / "inside")
    assert kind(await ENVIRONMENT.write_file(work, "inside/file", b"x")) in ("changed", "not_a_directory")
    os.unlink(work / "inside")
    os.rename(work / "aside", work / "inside")
    assert kind(await ENVIRONMENT.delete_file(work, "inside/file")) in ("changed", "not_a_directory")
    assert (work.parent / "outside" / "file").read_bytes() == b"out"


async def test_d_14_parents_are_checked_again_while_they_are_created(work, monkeypatch):
    """EN-5: a link put where a parent was just created is not written through."""
    real = os.mkdir

    def mkdir(path, *args, dir_fd=None):
        real(path, *args, dir_fd=dir_fd)
        if path == "b":
            os.rmdir(path, dir_fd=dir_fd)
            os.symlink(work.parent / "outside", path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", mkdir)
    assert kind(await ENVIRONMENT.write_file(work, "a/b/file", b"x")) in ("changed", "not_a_directory")
    assert (work.parent / "outside" / "file").read_bytes() == b"out"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("nothing", "not_found"),
        ("inside", "is_directory"),
        (".", "is_directory"),
        ("inside/", "is_directory"),
        ("inside/file/x", "not_a_directory"),
        ("circle", "changed"),
        ("a\0b", "invalid_path"),
        ("x" * 300, "invalid_path"),
        ("pipe", "not_a_file"),
    ],
)
async def test_en_1_errors_are_values(work, path, expected):
    os.mkfifo(work / "pipe")
    answer = await ENVIRONMENT.read_file(work, path)
    assert kind(answer) == expected and answer.path == path and answer.message
    assert [kind(piece) async for piece in ENVIRONMENT.stream_file(work, path)] == [expected]


async def test_a_file_too_large_for_memory_is_a_value(work, monkeypatch):
    monkeypatch.setattr(files, "MAX_WHOLE_FILE_BYTES", 1)
    assert kind(await ENVIRONMENT.read_file(work, "inside/file")) == "too_large"


async def test_a_large_file_streams_in_pieces(work):
    data = os.urandom(1_000_000)
    (work / "large").write_bytes(data)
    pieces = [piece async for piece in ENVIRONMENT.stream_file(work, "large")]
    assert b"".join(pieces) == data and max(map(len, pieces)) <= base.STREAM_CHUNK_BYTES


async def test_a_stream_that_is_left_early_is_closed(work):
    (work / "large").write_bytes(bytes(1_000_000))
    async with base.closing(ENVIRONMENT.stream_file(work, "large")) as pieces:
        await anext(pieces)
    for _ in range(1_000):  # the thread that read may be about to let go
        if str(work / "large") not in {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}:
            return
        await asyncio.sleep(0.001)
    raise AssertionError("the file is still open")


async def test_en_1_write_creates_and_overwrites(work):
    assert await ENVIRONMENT.write_file(work, "new/deep/file", b"1") == "created"
    assert await ENVIRONMENT.write_file(work, "new/deep/file", b"2") == "overwritten"
    assert (work / "new/deep/file").read_bytes() == b"2"
    assert os.listdir(work / "new/deep") == ["file"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("inside", "is_directory"),
        ("new/", "is_directory"),
        ("inside/file/x", "not_a_directory"),
        ("pipe", "not_a_file"),
    ],
)
async def test_en_1_what_cannot_be_written_is_a_value(work, path, expected):
    os.mkfifo(work / "pipe")
    assert kind(await ENVIRONMENT.write_file(work, path, b"x")) == expected


async def test_a_write_keeps_the_mode_and_follows_a_link_to_its_target(work):
    (work / "inside/file").chmod(0o754)
    assert await ENVIRONMENT.write_file(work, "link", b"new") == "overwritten"
    assert (work / "link").is_symlink() and (work / "inside/file").read_bytes() == b"new"
    assert stat.S_IMODE((work / "inside/file").stat().st_mode) == 0o754
    assert await ENVIRONMENT.write_file(work, "dangling", b"new") == "created"
    assert (work / "dangling").is_symlink() and (work / "inside/new").read_bytes() == b"new"


async def test_a_new_file_has_the_mode_of_the_umask(work):
    old = os.umask(0o027)
    try:
        await ENVIRONMENT.write_file(work, "fresh", b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((work / "fresh").stat().st_mode) == 0o640


async def test_a_full_disk_leaves_the_old_file_whole(work, monkeypatch):
    """A write is whole or nothing: on ENOSPC nothing changes and nothing is left beside the file."""

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *args):
            self.file.close()

        def write(self, data):
            self.file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = os.fdopen
    monkeypatch.setattr(files.os, "fdopen", lambda fd, mode: Full(real(fd, mode)) if mode == "wb" else real(fd, mode))
    assert kind(await ENVIRONMENT.write_file(work, "inside/file", b"xxxxxxxx")) == "no_space"
    assert (work / "inside/file").read_bytes() == b"in" and os.listdir(work / "inside") == ["file"]


async def test_nobody_ever_reads_half_a_file(work):
    """A reader beside many writes sees one whole version or the other."""
    target, stop, seen = work / "busy", threading.Event(), set()
    versions = {b"a" * 300_000, b"b" * 300_000}
    target.write_bytes(b"a" * 300_000)

    def watch() -> None:
        while not stop.is_set():
            seen.add(target.read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    for i in range(100):
        await ENVIRONMENT.write_file(work, "busy", (b"b" if i % 2 else b"a") * 300_000)
    stop.set()
    watcher.join()
    assert seen <= versions


async def test_a_hard_link_becomes_a_file_of_its_own(work):
    """Documented: hard links are not detected, and a write parts them."""
    os.link(work / "inside/file", work / "second")
    await ENVIRONMENT.write_file(work, "second", b"new")
    assert (work / "inside/file").read_bytes() == b"in" and (work / "second").read_bytes() == b"new"


async def test_list_dir_tells_kinds_and_sorts(work):
    os.mkfifo(work / "pipe")
    (work / "a").write_text("")
    listed = await ENVIRONMENT.list_dir(work, ".")
    assert [entry for entry in listed if entry.name in ("a", "inside", "link", "pipe")] == [
        DirEntry("a", "file"),
        DirEntry("inside", "directory"),
        DirEntry("link", "symlink"),
        DirEntry("pipe", "other"),
    ]
    assert kind(await ENVIRONMENT.list_dir(work, "a")) == "not_a_directory"
    assert kind(await ENVIRONMENT.list_dir(work, "nothing")) == "not_found"


async def test_en_5_delete_removes_a_link_and_not_its_target_never_a_directory(work):
    assert await ENVIRONMENT.delete_file(work, "link") is None
    assert (work / "inside/file").read_bytes() == b"in" and not (work / "link").is_symlink()
    assert await ENVIRONMENT.delete_file(work, "absolute") is None  # a link inside, wherever it points
    assert (work.parent / "outside/file").read_bytes() == b"out"
    assert await ENVIRONMENT.delete_file(work, "up") is None
    assert (work.parent / "outside").is_dir()
    assert kind(await ENVIRONMENT.delete_file(work, "inside")) == "is_directory"
    assert kind(await ENVIRONMENT.delete_file(work, ".")) == "is_directory"
    assert kind(await ENVIRONMENT.delete_file(work, "../outside/file")) == "outside_worktree"


async def test_en_1_deleting_what_is_absent_succeeds(work):
    assert await ENVIRONMENT.delete_file(work, "nothing") is None
    assert await ENVIRONMENT.delete_file(work, "no/such/folder") is None
    assert await ENVIRONMENT.delete_file(work, "inside/file") is None and not (work / "inside/file").exists()


@contextmanager
def unprivileged():
    """As somebody whom permissions bind: root is let through everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_en_1_permission_denied_is_a_value():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, mode in (("secret", 0o000), ("read-only", 0o444)):
            (work / name).write_text("x")
            (work / name).chmod(mode)
        (work / "closed").mkdir(mode=0o700)
        work.chmod(0o777)
        with unprivileged():
            if os.geteuid() != os.stat(folder).st_uid:
                assert kind(await ENVIRONMENT.write_file(work, "closed/new", b"y")) == "permission_denied"
            assert kind(await ENVIRONMENT.read_file(work, "secret")) == "permission_denied"
            assert kind(await ENVIRONMENT.write_file(work, "read-only", b"y")) == "permission_denied"
        assert (work / "read-only").read_text() == "x"


class Plain:
    """An environment with nothing but what is needed."""

    def __init__(self, inner: LocalEnvironment):
        self.read_file, self.write_file, self.run = inner.read_file, inner.write_file, inner.run


async def test_en_1_what_an_environment_lacks_has_a_fallback(work):
    plain = Plain(ENVIRONMENT)
    assert isinstance(plain, base.Environment)
    assert [piece async for piece in base.stream_file(plain, work, "inside/file")] == [b"in"]
    assert kind(await base.list_dir(plain, work, ".")) == "unsupported"
    assert await base.delete_file(plain, work, "link") is None and not (work / "link").is_symlink()
    assert await base.delete_file(plain, work, "nothing") is None
    assert kind(await base.delete_file(plain, work, "inside")) == "io_error"
    assert not base.is_sandboxed(plain) and not base.is_sandboxed(ENVIRONMENT)


async def test_the_functions_use_what_an_environment_has(work):
    assert [piece async for piece in base.stream_file(ENVIRONMENT, work, "inside/file")] == [b"in"]
    assert [entry.name for entry in await base.list_dir(ENVIRONMENT, work, "inside")] == ["file"]
    assert await base.delete_file(ENVIRONMENT, work, "inside/file") is None
