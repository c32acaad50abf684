"""What has changed in a work tree, told without running anything that the repository configures."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lmx import worktree
from lmx.changes import MOST_FILES, MOST_LINES, Change
from lmx_core.errors import LmxError


def git(where: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(where), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=where, env=env, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    for name in ("a.txt", "src/b.py", "gone.txt", "both.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("one\ntwo\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def told(root: Path) -> list[tuple[str, str, str, str]]:
    return [(c.where, c.how, c.path, c.before) for c in worktree.changes(root).files]


def test_staged_unstaged_renamed_and_untracked(tree):
    git(tree, "mv", "a.txt", "c.txt")
    (tree / "src/b.py").write_text("one\nTWO\n")
    (tree / "gone.txt").unlink()
    (tree / "both.txt").write_text("staged\n")
    git(tree, "add", "both.txt")
    (tree / "both.txt").write_text("staged\nand more\n")
    (tree / "new \u00e9\n.txt").write_text("n")
    (tree / ".gitignore").write_text("ignored\n")
    (tree / "ignored").write_text("x")
    assert told(tree / "src") == [
        ("staged", "M", "both.txt", ""), ("staged", "R", "c.txt", "a.txt"),
        ("unstaged", "M", "both.txt", ""), ("unstaged", "D", "gone.txt", ""), ("unstaged", "M", "src/b.py", ""),
        ("untracked", "?", ".gitignore", ""), ("untracked", "?", "new \u00e9\n.txt", ""),
    ]  # fmt: skip


def test_the_difference_of_each_side(tree):
    (tree / "src/b.py").write_text("one\nSTAGED\n")
    git(tree, "add", "-A")
    (tree / "src/b.py").write_text("one\nLATER \x1b[2J\n")
    (tree / "new.txt").write_text("x\ny")
    (tree / "raw").write_bytes(b"\0\1")
    lines = {
        c.where: worktree.patch(tree / "src", c).lines for c in worktree.changes(tree).files if c.path == "src/b.py"
    }
    assert lines["staged"][-2:] == ("-two", "+STAGED") and lines["unstaged"][-2:] == ("-STAGED", "+LATER \\x1b[2J")
    untracked = Change(where="untracked", how="?", path="new.txt")
    assert worktree.patch(tree, untracked).lines == ("+x", "+y")
    assert worktree.patch(tree, Change(where="untracked", how="?", path="raw")).lines == ("binary file",)
    assert worktree.patch(tree, Change(where="untracked", how="?", path="src")).lines == (
        "no regular file, or too large to show",
    )


def test_nothing_of_the_repository_runs_or_is_touched(tree, tmp_path, monkeypatch):
    """Filters, monitors, external diffs, hooks: whatever a model could have written into .git/config and .gitattributes."""
    ran = tmp_path / "ran"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    trap.chmod(0o755)
    (tree / ".gitattributes").write_text("* filter=evil diff=evil\n")
    for key in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.command",
        "diff.evil.textconv",
        "core.fsmonitor",
        "diff.external",
        "core.pager",
    ):
        git(tree, "config", key, str(trap))
    git(tree, "config", "filter.evil.required", "true")
    hooks = tree / ".git" / "hooks"
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (hooks / name).write_text(trap.read_text())
        (hooks / name).chmod(0o755)
    (tree / "a.txt").write_text("changed\n")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(f'[filter "evil"]\n\tclean = {trap}\n[diff]\n\texternal = {trap}\n')
    before = (tree / ".git" / "index").stat().st_mtime_ns, sorted(os.listdir(tree / ".git"))
    found = worktree.changes(tree)
    for change in found.files:
        worktree.patch(tree, change)
    assert ("unstaged", "M", "a.txt", "") in told(tree) and not ran.exists()
    assert before == ((tree / ".git" / "index").stat().st_mtime_ns, sorted(os.listdir(tree / ".git")))


def test_a_submodule_is_not_entered(tree, tmp_path):
    ran = tmp_path / "ran"
    inner = tree / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x").write_text("1")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "in")
    git(tree, "add", "inner")
    git(tree, "commit", "-qm", "with")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    trap.chmod(0o755)
    git(inner, "config", "core.fsmonitor", str(trap))
    git(inner, "config", "filter.e.clean", str(trap))
    (inner / ".gitattributes").write_text("* filter=e\n")
    (inner / "x").write_text("22")
    assert told(tree) == [] and not ran.exists()


def test_before_the_first_commit_and_without_a_repository(tmp_path):
    with pytest.raises(LmxError, match="no git work tree"):
        worktree.changes(tmp_path)
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("x\n")
    git(tmp_path, "add", "a")
    assert told(tmp_path) == [("staged", "A", "a", "")]
    assert worktree.patch(tmp_path, worktree.changes(tmp_path).files[0]).lines[-1] == "+x"


def test_a_sha256_repository(tmp_path):
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "a").write_text("x\n")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-qm", "1")
    (tmp_path / "a").write_text("y\n")
    assert told(tmp_path) == [("unstaged", "M", "a", "")]


def test_what_is_too_much_is_counted(tree):
    for number in range(MOST_FILES + 5):
        (tree / f"n{number:03}").write_text("x")
    found = worktree.changes(tree)
    assert len(found.files) == MOST_FILES and found.more == 5
    (tree / "a.txt").write_text("".join(f"{n}\n" for n in range(MOST_LINES * 2)))
    patch = worktree.patch(tree, Change(where="unstaged", how="M", path="a.txt"))
    assert len(patch.lines) == MOST_LINES and patch.more > MOST_LINES


def test_without_git_it_is_a_sentence(tree, monkeypatch):
    monkeypatch.setenv("PATH", str(tree))
    with pytest.raises(LmxError, match="git is not installed"):
        worktree.changes(tree)
