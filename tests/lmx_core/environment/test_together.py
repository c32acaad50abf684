"""Several files change together: all, or none, whatever fails and whenever the process dies."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lmx_core.environment import files, together
from lmx_core.environment.base import Changed, FileChange

ROOT = Path(__file__).parents[3]


def tree(cwd: Path) -> dict[str, bytes | str]:
    return {
        str(path.relative_to(cwd)): path.readlink().as_posix() if path.is_symlink() else path.read_bytes()
        for path in sorted(cwd.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def change(path: str, before: bytes | None, after: bytes | None, mode_of: str | None = None) -> FileChange:
    return FileChange(path=path, before=before, after=after, mode_of=mode_of)


CHANGES = (
    change("gone", b"g\n", None),
    change("a", b"a\n", b"A\n"),
    change("new/n", None, b"n\n"),
    change("link", b"a\n", None),
    change("z", b"z\n", b"Z\n"),
)


def made(cwd: Path) -> Path:
    for name in ("a", "gone", "z"):
        (cwd / name).write_text(f"{name[0]}\n")
    (cwd / "z").chmod(0o755)
    (cwd / "link").symlink_to("a")
    return cwd


def test_ap_1_all_of_it(tmp_path: Path) -> None:
    """AP-1: written, made, deleted; modes as they were; nothing else is left in the directories."""
    assert together.change_files(made(tmp_path), CHANGES) == Changed()
    assert tree(tmp_path) == {"a": b"A\n", "new/n": b"n\n", "z": b"Z\n"}
    assert (tmp_path / "z").stat().st_mode & 0o777 == 0o755


def test_ap_1_writes_come_before_deletes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AP-1: so that at no moment the content of a moved file is nowhere."""
    order: list[str] = []
    rename = os.rename

    def watched(source: str, target: str, **fds: int) -> None:
        order.append(target if source.startswith(".lmx-") else f"-{source}")
        rename(source, target, **fds)

    monkeypatch.setattr(os, "rename", watched)
    together.change_files(made(tmp_path), CHANGES)
    assert order == ["a", "n", "z", "-gone", "-link"]


@pytest.mark.parametrize("nth", range(1, 6))
def test_ap_1_a_step_that_fails_undoes_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
    """AP-1: each of the five renames fails once; the tree is as it was, links and modes too, and no directory is left."""
    before = tree(made(tmp_path))
    count, rename = 0, os.rename

    def failing(*args: str, **fds: int) -> None:
        nonlocal count
        count += 1
        if count == nth:
            raise OSError(errno.EIO, "input/output error")
        rename(*args, **fds)

    monkeypatch.setattr(os, "rename", failing)
    changed = together.change_files(tmp_path, CHANGES)
    assert changed.failure is not None and changed.failure.kind == "io_error" and changed.left == ()
    assert tree(tmp_path) == before and not (tmp_path / "new").exists()
    assert (tmp_path / "z").stat().st_mode & 0o777 == 0o755


def test_ap_1_what_cannot_be_put_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AP-1: an I/O error midway names what changed."""
    made(tmp_path)
    rename = os.rename

    def failing(source: str, target: str, **fds: int) -> None:
        if target in ("n", "a") and (tmp_path / "a").read_bytes() == b"A\n":
            raise OSError(errno.EIO, "input/output error")
        rename(source, target, **fds)

    monkeypatch.setattr(os, "rename", failing)
    changed = together.change_files(tmp_path, CHANGES)
    assert changed.failure is not None and changed.left == ("a",) and tree(tmp_path)["a"] == b"A\n"


@pytest.mark.parametrize(
    ("second", "kind"),
    (
        (change("a/below", None, b"x"), "not_a_directory"),
        (change("../out", None, b"x"), "outside_worktree"),
        (change("dir", None, None), "is_directory"),
        (change("fresh/below", None, b"x"), "is_directory"),
        (change("missing", b"x", None), "not_found"),
    ),
)
def test_ap_1_what_fails_for_real_leaves_nothing(tmp_path: Path, second: FileChange, kind: str) -> None:
    """AP-1: a file where a directory should be, a path that leads out, a directory where a file should be."""
    (tmp_path / "w" / "dir").mkdir(parents=True)
    (tmp_path / "w" / "a").write_text("a\n")
    first = [change("a", b"a\n", b"A\n"), change("fresh", None, b"f\n"), change("deep/er/n", None, b"n")]
    changed = together.change_files(tmp_path / "w", [*first, second])
    assert changed.failure is not None and changed.failure.kind == kind, changed
    assert tree(tmp_path) == {"w/a": b"a\n"} and not (tmp_path / "w" / "deep").exists()


def test_a_full_disk_is_met_before_the_first_file_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(made(tmp_path))
    keep = files._keep_identity

    def full(fd: int, status: os.stat_result) -> None:
        if status.st_mode & 0o777 == 0o755:
            raise OSError(errno.ENOSPC, "no space")
        keep(fd, status)

    monkeypatch.setattr(files, "_keep_identity", full)
    changed = together.change_files(tmp_path, CHANGES)
    assert changed.failure is not None and changed.failure.kind == "no_space" and tree(tmp_path) == before


@pytest.mark.parametrize("nth", range(1, 6))
def test_killed_between_two_files_every_file_is_whole(tmp_path: Path, nth: int) -> None:
    """A real SIGKILL before each rename: a file is the old or the new one, in the order of the changes, never half of one."""
    made(tmp_path)
    program = f"""
        import os, signal
        from pathlib import Path
        from lmx_core.environment import together
        from lmx_core.environment.base import FileChange
        count, rename = 0, os.rename
        def killing(*args, **fds):
            global count
            count += 1
            if count == {nth}:
                os.kill(os.getpid(), signal.SIGKILL)
            rename(*args, **fds)
        os.rename = killing
        changes = {[(c.path, c.before, c.after) for c in CHANGES]!r}
        together.change_files(Path({str(tmp_path)!r}), [FileChange(path=p, before=b, after=a) for p, b, a in changes])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    now = {name: data for name, data in tree(tmp_path).items() if ".lmx-" not in name}
    steps: list[dict[str, bytes | str | None]] = [{"a": b"A\n"}, {"new/n": b"n\n"}, {"z": b"Z\n"}, {"gone": None}]
    expected: dict[str, bytes | str] = {"a": b"a\n", "gone": b"g\n", "link": "a", "z": b"z\n"}
    for step in steps[: nth - 1]:
        for name, data in step.items():
            expected.pop(name, None)
            expected |= {} if data is None else {name: data}
    assert now == expected
    aside = [data for name, data in tree(tmp_path).items() if ".lmx-" in name]
    assert nth < 5 or b"g\n" in aside, "what was about to be deleted is still there under its other name"
