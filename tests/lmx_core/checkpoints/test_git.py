"""Real repositories of every kind: nothing they configure runs, and nothing of theirs changes by one byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.undo import Session, picture

from lmx_core.checkpoints import git
from lmx_core.checkpoints import plan as why
from lmx_core.checkpoints.report import Left

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_ALLOW_PROTOCOL": "file",
}


def run(cwd: Path, script: str) -> str:
    done = subprocess.run(["sh", "-ec", script], cwd=cwd, env=ENV, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


FILES = "printf 'a\\n' > a.txt; mkdir -p src; printf 'b\\n' > src/b.txt; printf 'build/\\n*.log\\n' > .gitignore"


def plain(base: Path, work: Path) -> None:
    run(work, f"git init -q -b main; {FILES}; git add .; git commit -qm one")
    run(work, "echo staged >> a.txt; git add a.txt; echo more >> a.txt; git stash -q; git stash apply -q; git tag v1")


def trapped(base: Path, work: Path) -> None:
    """Every program a repository can name leaves a file when it runs."""
    trap = base / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $@" >> {base}/sprung\ncat\n')
    trap.chmod(0o755)
    run(work, f"git init -q -b main; {FILES}")
    attributes = "*.txt filter=evil diff=evil merge=evil\n*.bin filter=lfs diff=lfs merge=lfs -text\n"
    (work / ".gitattributes").write_text(attributes)
    (work / "large.bin").write_bytes(b"\0\1\2" * 100)
    run(work, "git add .; git commit -qm one")
    for key in (
        "core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy credential.helper "
        "filter.evil.clean filter.evil.smudge filter.evil.process filter.lfs.clean filter.lfs.smudge filter.lfs.process "
        "diff.evil.textconv diff.evil.command diff.external merge.evil.driver gpg.program sequence.editor "
        "uploadpack.packObjectsHook"
    ).split():
        run(work, f"git config {key} {trap}")
    run(
        work,
        f"git config core.hooksPath {base}/hooks; git config alias.status '!{trap}'; git config filter.evil.required true",
    )
    for folder in (base / "hooks", work / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in (
            "pre-commit post-checkout post-index-change fsmonitor-watchman reference-transaction pre-auto-gc post-rewrite "
            "applypatch-msg pre-applypatch post-applypatch post-commit post-merge pre-push pre-receive update"
        ).split():
            (folder / hook).write_text(trap.read_text())
            (folder / hook).chmod(0o755)


def linked(base: Path, work: Path) -> None:
    main = base / "main"
    main.mkdir()
    run(main, f"git init -q -b main; {FILES}; git add .; git commit -qm one")
    work.rmdir()
    run(main, f"git worktree add -q {work} -b other")


def sparse(base: Path, work: Path) -> None:
    plain(base, work)
    run(
        work,
        "git stash drop -q; git reset -q --hard; git sparse-checkout init --cone --sparse-index; git sparse-checkout set src",
    )


def borrowed(base: Path, work: Path) -> None:
    """Objects of another repository, by alternates; a split index; the fourth version of it."""
    main = base / "main"
    main.mkdir()
    run(main, f"git init -q -b main; {FILES}; git add .; git commit -qm one; git gc -q")
    work.rmdir()
    run(base, f"git clone -q --shared {main} {work}")
    run(work, "git update-index --index-version 4; git update-index --split-index")


def nested(base: Path, work: Path) -> None:
    """A submodule, and a repository that just lies there."""
    other = base / "other"
    other.mkdir()
    run(other, f"git init -q -b main; {FILES}; git add .; git commit -qm one")
    plain(base, work)
    run(
        work,
        f"git -c protocol.file.allow=always submodule -q add {other} module; git commit -qm module; git init -q stray",
    )
    (work / "stray" / "x").write_text("x")


def detached(base: Path, work: Path) -> None:
    """`.git` is a file that points, HEAD is a commit, refs are packed."""
    plain(base, work)
    run(work, "git checkout -q --detach; git pack-refs --all")
    (work / ".git").rename(base / "elsewhere")
    (work / ".git").write_text(f"gitdir: {base}/elsewhere\n")


KINDS = [plain, trapped, linked, sparse, borrowed, nested, detached]

CHANGES = """
echo changed > src/b.txt; echo new > src/new.txt; mkdir -p build; echo made > build/out; echo line > x.log
"""


@pytest.mark.parametrize("kind", KINDS)
def test_ck_3_nothing_of_the_repository_runs_and_nothing_of_it_changes(
    tmp_path: Path, kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CK-2, CK-3, C3-51, C31: git itself is never started (one on the PATH would leave a trace), and `.git`, wherever it is, is
    byte for byte and in every time as it was: HEAD, refs, reflogs, index, stash, objects."""
    session = Session(tmp_path)
    kind(tmp_path, session.work)
    session.again()
    fake = tmp_path / "bin"
    fake.mkdir()
    for name in ("git", "git-lfs", "ssh"):
        (fake / name).write_text(f'#!/bin/sh\necho "{name} $@" >> {tmp_path}/sprung\n')
        (fake / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    places = [path for path in (session.work / ".git", tmp_path / "main", tmp_path / "elsewhere") if path.exists()]

    def kept() -> list[object]:
        return [
            (str(path), facts.st_mtime_ns, facts.st_size, facts.st_mode, path.read_bytes() if path.is_file() else None)
            for place in places
            for path in sorted([place, *place.rglob("*")])
            for facts in [path.lstat()]
        ]

    (tmp_path / "sprung").unlink(missing_ok=True)
    before, files = kept(), session.picture()
    session.turn()
    session.shell(CHANGES)
    session.write("a2.txt", "made by a tool")
    report = session.undo.undo()
    assert report.restored == ["src/b.txt"] and {"src/new.txt", "a2.txt"} <= set(report.deleted)
    assert kept() == before and not (tmp_path / "sprung").exists()
    now = session.picture()
    made = {name: now.pop(name) for name in ("build", "build/out", "x.log")}
    assert now == files and made["build/out"][2] == b"made\n"  # ignored: left, and named
    assert Left("x.log", why.UNKEPT) in report.unrestorable and Left("build", why.IGNORED) in report.unrestorable
    session.undo.redo()
    session.undo.undo()
    assert kept() == before and not (tmp_path / "sprung").exists()


def test_ck_2_files_behind_filters_come_back_byte_for_byte(tmp_path: Path) -> None:
    session = Session(tmp_path)
    trapped(tmp_path, session.work)
    session.again()
    session.turn()
    session.shell("printf 'pointer' > large.bin; printf 'x' > a.txt")
    assert session.undo.undo().whole and (session.work / "large.bin").read_bytes() == b"\0\1\2" * 100


def test_ck_2_what_is_in_another_repository_is_named_as_not_recorded(tmp_path: Path) -> None:
    """CK-2: submodule contents are not saved."""
    session = Session(tmp_path)
    nested(tmp_path, session.work)
    session.again()
    session.turn()
    session.shell("echo changed > module/a.txt; echo changed > a.txt; rm -rf stray")
    report = session.undo.undo()
    assert report.restored == ["a.txt"] and report.unrestorable == [Left("stray", why.REPOSITORY)]
    assert any("module" in sentence for sentence in report.not_undone)
    assert (session.work / "module" / "a.txt").read_text() == "changed\n"


def test_ck_4_a_commit_stays_a_commit_and_is_said(tmp_path: Path) -> None:
    """CK-4: files only; that another commit is checked out is told."""
    session = Session(tmp_path)
    plain(tmp_path, session.work)
    session.again()
    first = run(session.work, "git rev-parse HEAD").strip()
    session.turn()
    with session.command("git commit"):
        run(session.work, "echo 3 > a.txt; git commit -qam two")
    report = session.undo.undo()
    second = run(session.work, "git rev-parse HEAD").strip()
    assert second != first and any(first[:10] in said and second[:10] in said for said in report.not_undone)
    assert (session.work / "a.txt").read_text() != "3\n"


def test_ck_4_the_index_stays_as_it_is_and_that_is_said(tmp_path: Path) -> None:
    """CK-4: what a command staged stays staged; a `git status` in between is nothing to speak of."""
    session = Session(tmp_path)
    plain(tmp_path, session.work)
    session.again()
    session.turn()
    with session.command("git status"):
        run(session.work, "touch src/b.txt; git status")
    assert session.undo.undo(preview=True).not_undone == []
    with session.command("git rm"):
        run(session.work, "git rm -q src/b.txt")
    report = session.undo.undo()
    assert report.restored == ["src", "src/b.txt"] and any("index of git" in said for said in report.not_undone)
    assert "src/b.txt" not in run(session.work, "git ls-files")


def test_what_an_ignore_rule_uncovers_is_not_new(tmp_path: Path) -> None:
    """A command that takes a rule away must not make an undo delete what the rule had covered, and the other way round."""
    session = Session(tmp_path)
    plain(tmp_path, session.work)
    run(
        session.work,
        "mkdir build; echo precious > build/kept; echo precious > kept.log; echo t > tracked.log; git add -f tracked.log",
    )
    session.again()
    before = session.picture()
    session.turn()
    session.shell(": > .gitignore; echo 2 > tracked.log; echo x > build/new")
    report = session.undo.undo()
    assert (session.work / "build" / "kept").exists() and (session.work / "kept.log").read_text() == "precious\n"
    assert set(report.restored) == {".gitignore", "tracked.log"} and not report.deleted
    session.turn()
    session.shell("echo '*.txt' >> .gitignore; echo src >> .gitignore")
    assert session.undo.undo().restored == [".gitignore"]
    assert {k: v for k, v in session.picture().items() if k != "build/new"} == before


def test_a_folder_inside_a_repository_is_watched_up_to_the_top(tmp_path: Path) -> None:
    session = Session(tmp_path)
    plain(tmp_path, session.work)
    session.again(session.work / "src")
    session.turn()
    session.shell("echo 2 > a.txt")
    assert session.undo.undo().restored == ["a.txt"]


def test_an_ignored_working_directory_is_watched_by_itself(tmp_path: Path) -> None:
    session = Session(tmp_path)
    plain(tmp_path, session.work)
    (session.work / "build").mkdir()
    (session.work / "build" / "x").write_text("1")
    session.again(session.work / "build")
    session.turn()
    session.shell("echo 2 > build/x")
    assert session.undo.undo().restored == ["x"] and (session.work / "build" / "x").read_text() == "1"


@pytest.mark.parametrize("kind", KINDS)
def test_ck_3_what_git_keeps_is_read_as_git_would(tmp_path: Path, kind) -> None:
    """CK-3: locate, revision and the index, against git itself."""
    work = tmp_path / "work"
    work.mkdir()
    kind(tmp_path, work)
    found = git.locate(work / "src")
    assert found is not None and found.root == work
    assert found.git == Path(run(work, "git rev-parse --absolute-git-dir").strip())
    assert found.common == Path(run(work, "git rev-parse --path-format=absolute --git-common-dir").strip())
    assert git.revision(found) == run(work, "git rev-parse HEAD").strip()
    listed = run(work, "git ls-files --sparse -z").split("\0")[:-1]
    known = git.tracked(found)
    assert known == (None if kind is borrowed else {os.fsencode(path) for path in listed})


@pytest.mark.parametrize("version", [2, 3, 4])
def test_ck_3_every_version_of_the_index_is_read(tmp_path: Path, version: int) -> None:
    plain(tmp_path, tmp_path)
    long = "/".join(["d" * 200] * 6)
    run(tmp_path, f"mkdir -p {long}; echo x > {long}/f; git add .; echo y > later; git add -N later")
    run(tmp_path, f"git update-index --index-version {version}")
    repository = git.locate(tmp_path)
    assert repository is not None
    assert git.tracked(repository) == {os.fsencode(p) for p in run(tmp_path, "git ls-files -z").split("\0")[:-1]}


def test_an_index_that_is_damaged_is_not_known(tmp_path: Path) -> None:
    plain(tmp_path, tmp_path)
    repository = git.locate(tmp_path)
    assert repository is not None
    index = tmp_path / ".git" / "index"
    whole = index.read_bytes()
    for data in (b"", b"DIRC", whole[:40], whole[:80], b"DIRC\0\0\0\2\xff\xff\xff\xff" + whole[12:]):
        index.write_bytes(data)
        assert git.tracked(repository) is None
    index.unlink()
    assert git.tracked(repository) == frozenset()
    os.mkfifo(index)
    assert git.tracked(repository) is None


def test_no_git_repository_and_hostile_ones(tmp_path: Path) -> None:
    assert git.locate(tmp_path / "nowhere") is None or os.path.lexists("/tmp/.git")
    (tmp_path / ".git").write_text("gitdir: /dev/zero\n")
    found = git.locate(tmp_path)
    assert found is not None and git.revision(found) is None and git.tracked(found) == frozenset()
    (tmp_path / ".git").unlink()
    os.mkfifo(tmp_path / ".git")
    assert git.locate(tmp_path) is None
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/../../../../etc/passwd\n")
    found = git.locate(tmp_path)
    assert found is not None and git.revision(found) is None
    assert picture(tmp_path) == {}
