"""lmx is killed at every moment it touches the disk: what was recorded before is still there, and can be put back."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.undo import Session

from lmx_core.checkpoints import journal
from lmx_core.checkpoints import plan as why
from lmx_core.checkpoints.contents import Contents
from lmx_core.checkpoints.files import digest
from lmx_core.checkpoints.journal import Places

TOUCHES = ("open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.symlink", "os.truncate")


def killed_at(moment: int, work: Callable[[], None]) -> bool:
    """Runs `work` in a child that is killed when it touches the disk for the `moment`-th time; whether it got so far."""
    pid = os.fork()
    if pid == 0:
        left = [moment]

        def watch(event: str, _: object) -> None:
            if event in TOUCHES:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def prepared(base: Path) -> tuple[Session, dict[str, object]]:
    base.mkdir()
    session = Session(base)
    (session.work / "a").write_text("one")
    (session.work / "sub").mkdir()
    (session.work / "sub" / "b").write_text("b")
    before = session.picture()
    session.turn()
    session.shell("echo 1 > a; echo 1 > sub/c")
    return session, dict(before)


def change(session: Session) -> None:
    session.again()
    session.turn()
    with session.command():
        (session.work / "a").write_text("two")
        (session.work / "sub" / "b").unlink()
        (session.work / "new").mkdir()
    session.write("new/x", "x")


def test_killed_while_a_turn_is_recorded(tmp_path: Path) -> None:
    """CK-2: whatever had been reached, everything goes back; what lmx did not see end only with force."""
    moment = 0
    while True:
        moment += 1
        session, before = prepared(tmp_path / f"t{moment}")
        was_killed = killed_at(moment, lambda session=session: change(session))
        for _ in range(20):
            report = session.undo.undo(force=True)
            if report.next is None and session.picture() == before:
                break
        assert session.picture() == before, moment
        if not was_killed:
            break
    assert moment > 30


def test_killed_while_an_undo_is_carried_out(tmp_path: Path) -> None:
    """CK-4: the next undo finishes it, and a redo does again all of it."""
    moment = 0
    while True:
        moment += 1
        session, _ = prepared(tmp_path / f"t{moment}")
        before = session.picture()
        change(session)
        after = session.picture()
        was_killed = killed_at(moment, lambda session=session: session.undo.undo() and None)
        if session.undo.turns()[0].undone:
            assert session.picture() == before
        else:
            assert was_killed and session.undo.undo().whole and session.picture() == before, moment
        session.undo.redo()
        assert session.picture() == after, moment
        if not was_killed:
            break
    assert moment > 30


def test_killed_while_a_redo_is_carried_out(tmp_path: Path) -> None:
    moment = 0
    while True:
        moment += 1
        session, _ = prepared(tmp_path / f"t{moment}")
        before = session.picture()
        change(session)
        after = session.picture()
        session.undo.undo()
        was_killed = killed_at(moment, lambda session=session: session.undo.redo() and None)
        if session.undo.turns()[0].undone:
            session.undo.redo()
        assert session.picture() == after, moment
        session.undo.undo()
        assert session.picture() == before, moment
        if not was_killed:
            break


def test_a_record_that_was_cut_short_hides_nothing(tmp_path: Path) -> None:
    """The journal, cut at every byte: the records before are read, and what is appended later is, too."""
    session, _ = prepared(tmp_path / "s")
    places = Places(session.store, session.id)
    whole, records = places.journal.read_bytes(), journal.read(places)
    for end in range(len(whole)):
        places.journal.write_bytes(whole[:end])
        found = journal.read(places)
        assert found == records[: len(found)] and len(found) < len(records)
        journal.append(places, records[0])
        assert journal.read(places) == [*found, records[0]]
    places.journal.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert journal.read(places) == records[:-1]


def test_what_lmx_did_not_see_end_is_uncertain(tmp_path: Path) -> None:
    """CK-4: named and left, unless it is forced."""
    session, _ = prepared(tmp_path / "s")
    session.again()
    session.turn()
    session.recorder.begin("c9", "bash", "sleep", None)
    session.recorder._release()  # type: ignore[misc]  # as the kernel does when the process is killed
    (session.work / "a").write_text("whose?")
    report = session.undo.undo()
    assert [(left.path, left.why) for left in report.uncertain] == [("a", why.UNSURE)]
    assert (session.work / "a").read_text() == "whose?"
    assert session.undo.undo(force=True).restored == ["a"] and (session.work / "a").read_text() == "1\n"


def test_a_damaged_pack_loses_what_it_held_and_nothing_else(tmp_path: Path) -> None:
    session, _ = prepared(tmp_path / "s")
    session.turn()
    session.shell("rm sub/b; echo 3 > a")
    packs = sorted(session.store.rglob("*.pack"))
    data = bytearray(packs[0].read_bytes())
    data[0] ^= 0xFF  # the first content of the first look
    packs[0].write_bytes(data)
    report = session.undo.undo()
    assert (len(report.unrestorable), len(report.restored)) in ((1, 1), (0, 2)) and report.whole == (
        not report.unrestorable
    )
    for pack in packs:
        pack.write_bytes(pack.read_bytes()[:-3])
    assert session.undo.undo().unrestorable


def test_contents_are_kept_once_and_a_pack_appears_whole(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "packs")
    big, small = os.urandom(1_000) * 50, b"small"
    with contents.writer() as kept:
        for data in (big, small, big):
            kept.save(digest(data), data)
        assert not list((tmp_path / "packs").glob("*.pack"))
    with contents.writer() as kept:
        kept.save(digest(big), big)
    (pack,) = (tmp_path / "packs").iterdir()
    assert contents.read(digest(big)) == big and contents.read(digest(small)) == small
    assert contents.read(digest(b"never")) is None and pack.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ZeroDivisionError), contents.writer() as kept:
        kept.save(digest(b"x" * 99), b"x" * 99)
        raise ZeroDivisionError
    assert list((tmp_path / "packs").iterdir()) == [pack]
