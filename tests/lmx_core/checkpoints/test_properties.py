"""Whatever tools and commands do to a tree, undo after undo ends where it began, and redo after redo where it ended."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.undo import Session

NAMES = ("a", "b", "A", "d", "d/a", "d/b", "d/e", "d/e/a", "x.log", "o")
PATHS = st.sampled_from(NAMES)
DATA = st.one_of(st.binary(max_size=6), st.sampled_from([b"", b"same", b"x" * 2_000]))
STEPS = st.one_of(
    st.tuples(st.just("write"), PATHS, DATA),
    st.tuples(st.just("tool"), PATHS, DATA),
    st.tuples(st.just("delete"), PATHS, st.none()),
    st.tuples(st.just("folder"), PATHS, st.none()),
    st.tuples(st.just("mode"), PATHS, st.sampled_from([0o600, 0o644, 0o755, 0o700, 0o400])),
    st.tuples(st.just("move"), PATHS, PATHS),
    st.tuples(st.just("link"), PATHS, PATHS),
    st.tuples(st.just("hardlink"), PATHS, PATHS),
)
COMMANDS = st.lists(STEPS, max_size=5)
TURNS = st.lists(st.lists(COMMANDS, max_size=3), min_size=1, max_size=4)


def do(work: Path, kind: str, path: Path, with_: object) -> None:
    """One step, as a command would do it; what cannot be done is not done."""
    if kind in ("write", "tool"):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(with_)  # type: ignore[arg-type]  # what the strategy of this kind draws
    elif kind == "delete":
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    elif kind == "folder":
        path.mkdir(parents=True)
    elif kind == "mode":
        path.chmod(with_) if not path.is_symlink() else None  # type: ignore[arg-type]  # as above
    elif kind == "move":
        path.rename(work / str(with_))
    elif kind == "link":
        path.symlink_to(str(with_))
    elif kind == "hardlink":
        (work / str(with_)).hardlink_to(path)


def run(session: Session, command: list[tuple[str, str, object]]) -> None:
    tools = [step for step in command if step[0] == "tool"]
    for kind, path, with_ in tools:
        target = session.work / path
        if not target.is_symlink() and not target.is_dir() and not _through_a_link(session.work, target):
            with session.tool(path):
                try:
                    do(session.work, kind, target, with_)
                except OSError:
                    pass
    with session.command():
        for kind, path, with_ in command:
            try:
                do(session.work, kind, session.work / path, with_)
            except (OSError, shutil.Error):
                pass


def _through_a_link(work: Path, path: Path) -> bool:
    return os.path.realpath(path) != str(path)


def check(turns: list[list[list[tuple[str, str, object]]]], steps: int) -> None:
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="lmx-undo-")))
    try:
        session = Session(base)
        (session.work / "d" / "e").mkdir(parents=True)
        (session.work / "a").write_text("first")
        (session.work / "d" / "b").write_text("second")
        pictures = [session.picture()]
        for turn in turns:
            session.turn()
            for command in turn:
                run(session, command)
            pictures.append(session.picture())
        back = len(turns)
        while back:
            count = min(steps, back)
            back -= count
            report = session.undo.rewind(count)
            assert report.whole, report
            assert session.picture() == pictures[back]
        while True:
            count = min(steps, len(turns) - back) if back or len(turns) % steps == 0 else len(turns) % steps
            session.undo.redo()
            back += count
            assert session.picture() == pictures[back]
            if back == len(turns):
                break
        session.undo.rewind(len(turns))
        assert session.picture() == pictures[0]
    finally:
        shutil.rmtree(base)


@settings(max_examples=60, deadline=None)
@given(TURNS, st.integers(1, 3))
def test_ck_4_undo_leads_to_the_beginning_and_redo_to_the_end(turns, steps) -> None:
    """CK-4, CK-2: writes, deletions, renames, modes, links, folders, by tools and by commands, in any order."""
    check(turns, steps)


@pytest.mark.long
@settings(max_examples=3_000, deadline=None)
@given(TURNS, st.integers(1, 3))
def test_ck_4_undo_and_redo_at_length(turns, steps) -> None:
    """CK-4: the same, for as long as the long lane lasts."""
    check(turns, steps)
