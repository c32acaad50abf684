"""What is put back, what is left, and what is said about it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from support.undo import Session, picture

from lmx_core.checkpoints import Left, put
from lmx_core.checkpoints import plan as why
from lmx_core.errors import UndoRefused


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session(tmp_path)
    (made.work / "a.txt").write_text("one\n")
    (made.work / "sub").mkdir()
    (made.work / "sub" / "b.bin").write_bytes(bytes(range(256)))
    (made.work / "script.sh").write_text("#!/bin/sh\n")
    (made.work / "script.sh").chmod(0o755)
    (made.work / "link").symlink_to("sub/b.bin")
    (made.work / "empty").mkdir(mode=0o711)
    return made


EVERYTHING = """
echo two > a.txt; rm -r sub; chmod 600 script.sh; rm link; ln -s a.txt link; rmdir empty
mkdir -p new/deep; echo x > new/deep/x; printf '\\000\\377' > bin; mkdir bare; chmod 500 bare; : > nothing
"""


def test_ck_2_a_command_is_taken_back_whole_and_done_again(session: Session) -> None:
    """CK-2, CK-4: contents, modes, links, empty folders, deletions; without git."""
    before = session.picture()
    session.turn()
    session.shell(EVERYTHING)
    after = session.picture()
    report = session.undo.undo()
    assert session.picture() == before and report.whole
    assert set(report.restored) == {"a.txt", "sub", "sub/b.bin", "script.sh", "link", "empty"}
    assert set(report.deleted) == {"new", "new/deep", "new/deep/x", "bin", "bare", "nothing"}
    assert report.commands == [EVERYTHING] and report.next is None
    session.undo.redo()
    assert session.picture() == after
    session.undo.undo()
    assert session.picture() == before


@pytest.mark.parametrize(
    "script",
    [
        "mv a.txt z.txt",
        "mv a.txt A.TXT",
        "rm a.txt; mkdir a.txt; echo x > a.txt/x",
        "rm -r sub; echo x > sub",
        "rm -r sub; ln -s / sub",
        "rm link; mkdir link; echo x > link/x",
        "mv sub other; mv other/b.bin other/c.bin",
        "chmod 400 a.txt; chmod 4755 script.sh",
        "mv a.txt t; mv script.sh a.txt; mv t script.sh",
        "chmod 700 sub; chmod 555 empty",
        "mkdir -p d/e/f; chmod 555 d/e",
        "printf 'two\\n' > a.txt; touch -r sub a.txt",
        "cp -p a.txt t; mv t a.txt",
        "ln a.txt hard; echo more >> hard",
        "printf 'x' > \"$(printf 'n\\377me')\"",
        "printf 'x' > 'a b\nc'",
        "rm -rf ./* && : > a.txt",
    ],
)
def test_ck_4_every_kind_of_change_comes_back(session: Session, script: str) -> None:
    """CK-4: renames, letter case, kinds that change, modes, names that are no text."""
    before = session.picture()
    session.turn()
    session.shell(script)
    after = session.picture()
    assert session.undo.undo().whole and session.picture() == before
    assert session.undo.redo().whole and session.picture() == after


def test_ck_1_a_file_tool_keeps_what_was_there(tmp_path: Path) -> None:
    """CK-1: content or absence, the folders it makes, ignored files and `.env` included; nothing else is looked at."""
    session = Session(tmp_path, commands=False)
    (session.work / ".gitignore").write_text(".env\nout/\n")
    (session.work / ".env").write_text("KEY=1\n")
    before = session.picture()
    session.turn()
    session.write(".env", "KEY=2\n")
    session.write("out/deep/x", "x")
    (session.work / "mine").write_text("not the session's")
    report = session.undo.undo()
    assert report.restored == [".env"] and report.deleted == ["out", "out/deep", "out/deep/x"]
    assert session.picture() == before | {"mine": session.picture()["mine"]}
    assert not list((session.store / "trees").rglob("seen"))


def test_ck_1_what_a_later_hook_does_to_the_file_belongs_to_the_call(session: Session) -> None:
    """CK-1: the look comes after the post-tool hooks; a formatter's work is no conflict."""
    session.turn()
    with session.tool("a.txt"):
        (session.work / "a.txt").write_text("two")
        (session.work / "a.txt").write_text("formatted")
    assert session.undo.undo().whole and (session.work / "a.txt").read_text() == "one\n"


def test_ck_1_a_file_over_the_limit_is_named(tmp_path: Path) -> None:
    """CK-1: changed or made, it stays as it is now, and the others are put back."""
    session = Session(tmp_path, max_file_bytes=100)
    (session.work / "big").write_bytes(b"x" * 101)
    (session.work / "small").write_bytes(b"x" * 100)
    session.turn()
    session.shell("echo y >> big; echo y > small; head -c 200 /dev/zero > made; rm -f nothing")
    session.write("big", b"z" * 300)
    report = session.undo.undo()
    assert report.unrestorable == [Left("big", why.UNKEPT), Left("made", why.UNKEPT)]
    assert report.restored == ["small"] and (session.work / "big").read_bytes() == b"z" * 300


def test_ck_4_the_newest_turn_first_and_the_next_is_named(session: Session) -> None:
    """CK-4: turn by turn; one that changed nothing is still the turn that is reported."""
    pictures = [session.picture()]
    for number, script in enumerate(("echo 1 > a.txt", "true", "echo 3 > a.txt; echo 3 > c"), 1):
        session.turn(f"prompt {number}")
        session.shell(script)
        pictures.append(session.picture())
    for number in (3, 2, 1):
        report = session.undo.undo()
        assert [turn.number for turn in report.turns] == [number] and session.picture() == pictures[number - 1]
        assert (report.next.number if report.next else 0) == number - 1
        assert report.nothing == (number == 2)
    with pytest.raises(UndoRefused) as refused:
        session.undo.undo()
    assert refused.value.code == "nothing_to_undo"
    for number in (1, 2, 3):
        session.undo.redo()
        assert session.picture() == pictures[number]
    with pytest.raises(UndoRefused) as refused:
        session.undo.redo()
    assert refused.value.code == "nothing_to_redo"
    assert session.undo.rewind(2).whole and session.picture() == pictures[1]
    assert session.undo.redo().whole and session.picture() == pictures[3]


def test_ck_4_a_session_that_changed_nothing_has_nothing_to_undo(tmp_path: Path) -> None:
    with pytest.raises(UndoRefused) as refused:
        Session(tmp_path).undo.undo()
    assert refused.value.code == "nothing_to_undo" and not (tmp_path / "checkpoints").exists()


def test_ck_4_what_a_person_changed_is_a_conflict_and_the_others_go_on(session: Session) -> None:
    """CK-4: never stops at the first conflict; with force it is overwritten, and a redo brings it back."""
    session.turn()
    session.shell("echo 2 > a.txt; echo 2 > script.sh; rm sub/b.bin; echo n > new")
    (session.work / "a.txt").write_text("mine")
    (session.work / "sub" / "b.bin").write_text("mine, too")
    (session.work / "new").unlink()
    preview = session.undo.undo(preview=True)
    assert preview.restored == ["script.sh"] and (session.work / "script.sh").read_text() == "2\n"
    report = session.undo.undo()
    assert report.conflicts == [Left("a.txt", why.CHANGED), Left("sub/b.bin", why.CHANGED)] == preview.conflicts
    assert report.restored == ["script.sh"] and (session.work / "a.txt").read_text() == "mine"
    forced = session.undo.undo(force=True)
    assert forced.restored == ["a.txt", "sub/b.bin"] and (session.work / "a.txt").read_text() == "one\n"
    session.undo.redo()
    assert (session.work / "a.txt").read_text() == "mine"


def test_ck_4_what_a_person_changed_between_two_calls_is_not_lost(session: Session) -> None:
    """CK-4: the file goes back to what the person had typed, and the rest of the way is a conflict."""
    session.turn()
    session.shell("echo 2 > a.txt")
    (session.work / "a.txt").write_text("typed by a person")
    session.shell("echo 3 > a.txt")
    report = session.undo.undo()
    assert (session.work / "a.txt").read_text() == "typed by a person"
    assert report.restored == ["a.txt"] and report.conflicts == [Left("a.txt", why.BETWEEN)]


def test_what_changes_between_two_calls_is_the_persons(session: Session) -> None:
    session.turn()
    session.shell("echo 2 > a.txt")
    (session.work / "script.sh").write_text("mine")
    (session.work / "mine").write_text("mine")
    session.shell("echo x > x")
    assert session.undo.undo().whole
    assert (session.work / "script.sh").read_text() == "mine" and (session.work / "mine").exists()


def test_a_folder_that_somebody_has_put_something_into_stays(session: Session) -> None:
    session.turn()
    session.shell("mkdir new; echo x > new/x")
    (session.work / "new" / "mine").write_text("mine")
    report = session.undo.undo()
    assert report.conflicts == [Left("new", put.NOT_EMPTY)] and report.deleted == ["new/x"]
    assert (session.work / "new" / "mine").read_text() == "mine"


def test_a_redo_ends_where_a_later_turn_has_changed_something(session: Session) -> None:
    session.turn()
    session.shell("echo 2 > a.txt")
    session.undo.undo()
    session.turn()
    session.shell("true")
    assert session.undo.redo(preview=True).restored == ["a.txt"]
    session.shell("echo 3 > script.sh")
    with pytest.raises(UndoRefused) as refused:
        session.undo.redo()
    assert refused.value.code == "nothing_to_redo"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(session: Session) -> None:
    session.turn()
    session.shell("echo 2 > sub/b.bin; echo 2 > a.txt")
    (session.work / "sub").chmod(0o555)
    try:
        report = session.undo.undo()
        assert report.unrestorable == [Left("sub/b.bin", "permission denied")] and report.restored == ["a.txt"]
    finally:
        (session.work / "sub").chmod(0o755)


def test_what_fails_midway_is_named_and_the_rest_is_done(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full for one file: exactly that one is reported, and a second undo with force finishes it."""
    before = session.picture()
    session.turn()
    session.shell("echo 2 > a.txt; echo 2 > script.sh; rm -r sub")
    real = put.files.put_file

    def full(root: bytes, path: bytes, data: bytes, mode: int) -> None:
        if path == b"script.sh":
            raise OSError(28, "No space left on device")
        real(root, path, data, mode)

    monkeypatch.setattr(put.files, "put_file", full)
    report = session.undo.undo()
    assert report.unrestorable == [Left("script.sh", "no space left on device")]
    assert report.restored == ["a.txt", "sub", "sub/b.bin"]
    monkeypatch.undo()
    assert session.undo.undo(force=True).restored == ["script.sh"] and session.picture() == before


def test_an_undo_never_writes_through_a_link(session: Session, tmp_path: Path) -> None:
    """C32: a folder that was swapped for a link leads nowhere, force or not."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.bin").write_text("not yours")
    session.turn()
    session.shell("echo 2 > sub/b.bin")
    (session.work / "sub" / "b.bin").unlink()
    (session.work / "sub").rmdir()
    (session.work / "sub").symlink_to(outside)
    session.undo.undo()
    session.undo.undo(force=True)
    assert picture(outside) == {"b.bin": ("file", stat.S_IMODE((outside / "b.bin").stat().st_mode), b"not yours")}


def test_ck_5_everything_is_kept_until_it_is_forgotten(tmp_path: Path) -> None:
    """CK-5, C3-83: contents stay while a session needs them; what nobody needs goes with the last."""
    one, two = Session(tmp_path, "one"), Session(tmp_path, "two")
    (one.work / "a").write_text("first")
    one.turn()
    one.shell("echo second > a")
    two.turn()
    two.shell("echo third > a; echo b > b")
    one.undo.forget()
    with pytest.raises(UndoRefused):
        one.undo.undo()
    assert two.undo.undo().whole and (two.work / "a").read_text() == "second\n"
    two.undo.forget()
    assert not list((tmp_path / "checkpoints").rglob("*.pack"))
    one.undo.forget()


def test_ck_4_nothing_is_put_back_while_a_call_is_recorded(session: Session) -> None:
    """CK-4: still_recording."""
    session.turn()
    with session.command():
        (session.work / "a.txt").write_text("two")
        with pytest.raises(UndoRefused) as refused:
            session.undo.undo()
        assert refused.value.code == "still_recording"
    assert session.undo.undo().whole


def test_ck_4_what_cannot_be_written_down_is_not_done(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """CK-4: unwritable, before any file is touched."""
    session.turn()
    session.shell("echo 2 > a.txt")
    after = session.picture()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lmx_core.checkpoints.journal.append", full)
    with pytest.raises(UndoRefused, match="No space left") as refused:
        session.undo.undo()
    assert refused.value.code == "unwritable" and session.picture() == after


def test_a_home_is_never_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CK-5: a command in the home directory, or above it, is not recorded, and nothing of it is kept; file tools are."""
    for home in (tmp_path / "work", tmp_path / "work" / "me"):
        monkeypatch.setenv("HOME", str(home))
        session = Session(tmp_path, f"s-{home.name}")
        home.mkdir(exist_ok=True)
        (session.work / ".git").mkdir(exist_ok=True)
        (session.work / "key").write_text("secret")
        session.turn()
        session.shell("echo 2 > key")
        session.write("b", "b")
        report = session.undo.undo()
        assert report.deleted == ["b"] and any("home directory" in said for said in report.not_undone)
        assert not any(b"secret" in path.read_bytes() for path in session.store.rglob("*") if path.is_file())
    below = Session(tmp_path, "below")
    (below.work / "project").mkdir()
    below.again(below.work / "project")
    below.turn()
    below.shell("echo 2 > project/x")
    assert below.undo.undo().deleted == ["x"]


def test_a_folder_that_could_not_be_looked_into_is_not_new_when_it_can(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes to light must not be deleted by an undo."""
    from lmx_core.checkpoints import tree

    def closed(fd: int, name: bytes, **_: object) -> int:
        if name == b"sub":
            raise PermissionError(13, "Permission denied")
        return real(fd, name)

    real = tree.step
    monkeypatch.setattr(tree, "step", closed)
    session.turn()
    with session.command():
        monkeypatch.setattr(tree, "step", real)
    report = session.undo.undo()
    assert (session.work / "sub" / "b.bin").exists() and not report.deleted
    assert Left("sub/b.bin", why.UNREADABLE) in report.unrestorable


def test_a_larger_limit_holds_for_putting_back_too(tmp_path: Path) -> None:
    session = Session(tmp_path, max_file_bytes=40_000_000)
    (session.work / "big").write_bytes(os.urandom(1 << 20) * 12)
    before = session.picture()
    session.turn()
    session.shell("echo more >> big")
    after = session.picture()
    assert session.undo.undo().whole and session.picture() == before
    assert session.undo.redo().whole and session.picture() == after


def test_a_file_recorded_below_two_roots_has_one_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First the repository is watched, then, since it has grown too large, the working directory alone."""
    session = Session(tmp_path)
    (session.work / ".git").mkdir()
    (session.work / "part").mkdir()
    (session.work / "part" / "x").write_text("0")
    before = session.picture()
    session.again(session.work / "part")
    session.turn()
    session.shell("echo 1 > part/x")
    (session.work / "more").mkdir()
    for number in range(8):
        (session.work / "more" / str(number)).touch()
    monkeypatch.setattr("lmx_core.checkpoints.tree.MAX_ENTRIES", 6)
    session.shell("echo 2 > part/x")
    after = session.picture()
    assert len(list((session.store / "trees").iterdir())) == 2
    assert session.undo.undo().restored == ["part/x"]
    assert {k: v for k, v in session.picture().items() if not k.startswith("more")} == before
    session.undo.redo()
    assert session.picture() == after


def test_what_only_another_session_has_seen_stays(tmp_path: Path) -> None:
    """CK-5: forgetting one session takes nothing from the last look of another."""
    one, two = Session(tmp_path, "one"), Session(tmp_path, "two")
    (one.work / "a").write_text("first")
    one.turn()
    one.shell("true")
    two.turn()
    with two.command():
        one.undo.forget()
        (two.work / "a").write_text("second")
    assert two.undo.undo().whole and (two.work / "a").read_text() == "first"


def test_force_finishes_an_undo_once_and_then_goes_on(tmp_path: Path) -> None:
    """CK-4: what no force can put back does not hold up the turns before it; a rewind by force is as long as it says."""
    session = Session(tmp_path, max_file_bytes=100)
    (session.work / "big").write_bytes(b"x" * 101)
    for number in (1, 2, 3):
        session.turn()
        session.shell(f"echo {number} >> big; echo {number} > small")
    (session.work / "small").write_text("mine")
    assert not session.undo.undo().whole
    assert session.undo.undo(force=True).restored == ["small"] and (session.work / "small").read_text() == "2\n"
    assert [turn.number for turn in session.undo.undo(force=True).turns] == [2]
    (session.work / "small").write_text("mine")
    assert [turn.number for turn in session.undo.undo().turns] == [1]
    session.turn()
    session.shell("echo 4 > small")
    assert [turn.number for turn in session.undo.rewind(2, force=True).turns] == [4]
