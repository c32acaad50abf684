"""What has changed in a work tree since the last commit, asked of git in a way that runs nothing the repository configures.

`git diff` in a checkout starts what its `.git/config` names: filters, a file system monitor, an external diff, its hooks. A
model can write that file. So git is given a directory of our own as its git directory: the objects of the repository by
reference, a copy of its index, and no configuration at all, neither the repository's nor a person's (cli.md 9.9).

A file that only looks changed without its filter (LFS) is therefore shown as changed once it was touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lmx.changes import MOST_FILES, MOST_LINES, Change, Changes, Patch
from lmx.sanitize import one_line, visible
from lmx_core.checkpoints import git
from lmx_core.errors import LmxError

LIMIT_S = 20.0
UNTRACKED_BYTES = 200_000
EXCLUDE_BYTES = 1_000_000

NO_REPOSITORY = (
    "this directory is in no git work tree, so there is nothing to compare with; /undo shows what a turn changed"
)
NO_GIT = "git is not installed here, and /diff asks it"
UNREADABLE = "this repository keeps its branches in a way that cannot be read here"


def changes(cwd: Path) -> Changes:
    """Blocking. Raises LmxError where there is no repository, or git cannot tell."""
    with _private(cwd) as (repository, run):
        arguments = [
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
            "--renames",
            "--no-ahead-behind",
        ]
        found = list(_read(run(["status", *arguments])))
    order = {"staged": 0, "unstaged": 1, "untracked": 2}
    found.sort(key=lambda change: (order[change.where], change.path))
    return Changes(root=str(repository.root), files=tuple(found[:MOST_FILES]), more=max(0, len(found) - MOST_FILES))


def patch(cwd: Path, change: Change) -> Patch:
    """Blocking. Raises LmxError as `changes` does."""
    with _private(cwd) as (repository, run):
        if change.where == "untracked":
            return _whole(repository.root / change.path)
        how = ["--no-ext-diff", "--no-textconv", "--no-color", "-M", "--ignore-submodules=dirty"]
        staged = ["--cached"] if change.where == "staged" else []
        paths = [path for path in (change.before, change.path) if path]
        told = run(["diff", *how, *staged, "--", *(f":(top,literal){path}" for path in paths)])
    return _cut(told.decode("utf-8", "replace"))


def _whole(path: Path) -> Patch:
    """A file that git does not know, as if all of it had been added."""
    data = git.read(path, UNTRACKED_BYTES)
    if data is None:
        return Patch(lines=("no regular file, or too large to show",))
    if b"\0" in data:
        return Patch(lines=("binary file",))
    return _cut("".join(f"+{line}\n" for line in data.decode("utf-8", "replace").removesuffix("\n").split("\n")))


def _cut(text: str) -> Patch:
    lines = text.removesuffix("\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("@@")), 0)
    shown = [visible(line, "evidence") for line in lines[first : first + MOST_LINES]]
    return Patch(lines=tuple(shown), more=max(0, len(lines) - first - MOST_LINES))


def _read(told: bytes) -> Iterator[Change]:
    """`git status --porcelain=v2 -z`: a file that is staged and changed again since is in both."""
    fields = iter(told.decode("utf-8", "surrogateescape").split("\0"))
    for line in fields:
        kind = line[:1]
        if kind == "?":
            yield Change(where="untracked", how="?", path=line[2:])
        elif kind in ("1", "2", "u"):
            parts = line.split(" ", {"1": 8, "2": 9, "u": 10}[kind])
            before = next(fields, "") if kind == "2" else ""
            yield from _sides(parts[1], parts[-1], before, unmerged=kind == "u")


def _sides(letters: str, path: str, before: str, *, unmerged: bool) -> Iterator[Change]:
    if unmerged:
        yield Change(where="unstaged", how="U", path=path)
        return
    for where, letter in zip(("staged", "unstaged"), letters, strict=False):
        if letter != ".":
            yield Change(where=where, how=letter, path=path, before=before if letter in "RC" else "")


class _Run:
    def __init__(self, root: Path, git_dir: Path, program: str):
        self._program, self._root = program, root
        self._env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.environ.get("HOME", "/"),
            "LC_ALL": "C.UTF-8",
            "GIT_DIR": str(git_dir),
            "GIT_WORK_TREE": str(root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_PAGER": "cat",
        }

    def __call__(self, arguments: Sequence[str]) -> bytes:
        line = [
            self._program,
            "-c",
            "core.fsmonitor=false",
            "-c",
            f"core.hooksPath={os.devnull}",
            "--no-pager",
            *arguments,
        ]
        try:
            done = subprocess.run(
                line,
                cwd=self._root,
                env=self._env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise LmxError(f"git did not answer within {LIMIT_S:g} s") from error
        except OSError as error:
            raise LmxError(f"git could not be started: {error.strerror}") from error
        if done.returncode != 0:
            raise LmxError(f"git could not tell: {one_line(done.stderr.decode('utf-8', 'replace'))[:300]}")
        return done.stdout


@contextmanager
def _private(cwd: Path) -> Iterator[tuple[git.Repository, _Run]]:
    """A git directory of our own for the work tree around `cwd`, gone afterwards. Raises LmxError."""
    repository = git.locate(cwd)
    if repository is None:
        raise LmxError(NO_REPOSITORY)
    if (program := shutil.which("git")) is None:
        raise LmxError(NO_GIT)
    made = Path(tempfile.mkdtemp(prefix="lmx-git-"))  # 0700
    try:
        _furnish(made, repository)
        yield repository, _Run(repository.root, made, program)
    except OSError as error:
        raise LmxError(f"the repository could not be read: {error.strerror}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _furnish(made: Path, repository: git.Repository) -> None:
    revision = git.revision(repository)
    if revision is None and (repository.common / "reftable").exists():
        raise LmxError(UNREADABLE)
    wide = revision is not None and len(revision) == 64
    config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n" + (
        "[extensions]\n\tobjectformat = sha256\n" if wide else ""
    )
    (made / "config").write_text(config)
    (made / "HEAD").write_text(f"{revision or 'ref: refs/heads/none'}\n")
    (made / "refs").mkdir()
    (made / "objects" / "info").mkdir(parents=True)
    (made / "objects" / "info" / "alternates").write_bytes(os.fsencode(repository.common / "objects") + b"\n")
    (made / "info").mkdir()
    (made / "info" / "exclude").write_bytes(git.read(repository.common / "info" / "exclude", EXCLUDE_BYTES) or b"")
    for index in (repository.git / "index", *repository.git.glob("sharedindex.*")):
        if index.is_file():
            shutil.copy2(index, made / index.name)
