"""Records what the calls of one session change: looks before each, looks after it, and writes the difference down.

The look after a call runs in a thread that nobody waits for: the model may read the result meanwhile, and a command that was
cancelled or ran out of time is recorded like any other. The next call waits for it, and so does an undo. What changes between
two calls is the person's: it is seen and belongs to no turn.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from lmx_core.checkpoints import git, journal, looks
from lmx_core.checkpoints import tree as trees
from lmx_core.checkpoints.contents import Contents
from lmx_core.checkpoints.files import ABSENT, MAX_FILE_BYTES, Change, State, at
from lmx_core.checkpoints.journal import Closed, Noted, Opened, Places
from lmx_core.checkpoints.recover import recover
from lmx_core.checkpoints.tree import Entries, LeftOut, Tree

log = logging.getLogger("lmx_core")

WAIT_FOR_OTHERS_S = 5.0
_WHAT_CHARACTERS = 400
_NAMED = 5
_HOME = "what commands change is not recorded, because the folder is a home directory or holds one"
_TOO_LARGE = f"what commands change is not recorded, because the folder has more than {trees.MAX_ENTRIES:,} files"


class Recorder:
    """Records for one session, whose working directory is `cwd`. Its methods block: they are for a thread.

    `commands` False leaves commands out: then only the paths that file tools name are recorded. `avoid` are directories that
    are never looked at: where lmx itself writes.
    """

    def __init__(
        self,
        places: Places,
        cwd: Path,
        *,
        commands: bool = True,
        max_file_bytes: int = MAX_FILE_BYTES,
        avoid: Sequence[Path] = (),
    ):
        self.places, self.cwd = places, Path(os.path.realpath(cwd))
        self._avoid = (*avoid, places.directory)
        self._max_file_bytes = max_file_bytes
        self._lock = threading.RLock()
        self._closing: list[threading.Thread] = []
        self._open: dict[str, Opened] = {}
        self._release: Callable[[], None] | None = None
        self._git_before: dict[str, tuple[str | None, frozenset[bytes] | None]] = {}
        self._seen: Entries | None = None
        self._stored, self._recovered, self._warming = False, False, False
        self._left_out = LeftOut()
        self._use(*trees.root_of(self.cwd))
        self.unrecordable: str | None = None if commands else "what commands change is not recorded"
        """Why commands are not recorded here, in a clause; None where they are, as far as is known."""

    def _use(self, root: Path, repository: git.Repository | None) -> None:
        self.root = os.fsencode(root)
        self._tree = Tree(root, repository, max_file_bytes=self._max_file_bytes, avoid=self._avoid)
        self._repository = git.locate(self.cwd)
        self._contents = Contents(self.places.tree(self.root) / "packs")

    # --- turns

    def begin_turn(self, prompt: str) -> list[journal.PutBack]:
        """A new prompt. What it returns was put back since the last one, and the model does not know of it. Raises OSError."""
        self._wait_for_looks()
        with self._lock:
            return journal.begin_turn(self.places, prompt)

    def warm(self) -> None:
        """Begins the first look at the tree without being waited for: it is the one that takes long."""
        if self._seen is None and self.unrecordable is None and not self._warming:
            self._warming = True
            threading.Thread(target=self._warm, name="lmx-first-look", daemon=True).start()

    def _warm(self) -> None:
        with self._lock:
            try:
                if self._seen is None and self.unrecordable is None:
                    self._look_at_all(ours=False)
            except OSError as error:
                log.warning("the first look at the tree failed with %s", type(error).__name__)

    def note(self, tool: str, sentence: str) -> None:
        """A call runs whose changes are not recorded. Raises OSError."""
        with self._lock:
            journal.append(self.places, Noted(tool=tool, note=sentence))

    # --- calls

    def begin(self, call: str, tool: str, what: str, paths: Sequence[Path] | None) -> Callable[[], None]:
        """A call is about to run that changes `paths` (real, absolute), or, where that is None, whatever it likes.

        What it returns is called when the call is over, and does not block. Raises OSError where nothing can be written, and
        `journal.Busy` while another process puts files of this session back.
        """
        self._wait_for_looks()
        with self._lock:
            if not self._open:
                self._release = journal.lock(self.places, WAIT_FOR_OTHERS_S)
            try:
                opened = self._look_before(call, tool, what[:_WHAT_CHARACTERS], paths)
            except BaseException:
                self._let_go()
                raise
            if opened is None:
                self._let_go()
                return lambda: None
            self._open[call] = opened
            self._git_before[call] = self._head(), self._tree.tracked
        return lambda: self._end(opened)

    def wait(self, seconds: float) -> bool:
        """Waits for the looks after calls that are over; whether they are done."""
        end = time.monotonic() + seconds
        for thread in list(self._closing):
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._closing)

    def _wait_for_looks(self) -> None:
        for thread in list(self._closing):
            thread.join()
        self._closing = [thread for thread in self._closing if thread.is_alive()]

    def _let_go(self) -> None:
        if not self._open and self._release is not None:
            self._release()
            self._release = None

    def _look_before(self, call: str, tool: str, what: str, paths: Sequence[Path] | None) -> Opened | None:
        if not self._recovered:
            recover(self.places, max_file_bytes=self._max_file_bytes, avoid=self._avoid)
            self._recovered = True
        if paths is None:
            if self.unrecordable is None:
                self._look_at_all(ours=bool(self._open))
            if self.unrecordable is not None:
                journal.append(self.places, Noted(tool=tool, note=f"{_named(what)}: {self.unrecordable}"))
                return None
            opened = Opened(call=call, tool=tool, what=what, root=self.root, command=True)
        else:
            with self._contents.writer() as kept:
                before = [Change(path, state := self._at(path, kept.save), state) for path in self._touched(paths)]
            opened = Opened(call=call, tool=tool, what=what, root=self.root, command=False, before=before)
        journal.append(self.places, opened)
        return opened

    def _touched(self, paths: Sequence[Path]) -> list[bytes]:
        """The paths relative to the root, with the folders above them that do not exist yet: they would be made as well."""
        found: dict[bytes, None] = {}
        top = self.root.rstrip(b"/") + b"/"
        for path in map(os.fsencode, paths):
            if not path.startswith(top):
                continue
            relative = path[len(top) :]
            parts = relative.split(b"/")
            above = (b"/".join(parts[:depth]) for depth in range(1, len(parts)))
            found |= {folder: None for folder in above if not os.path.lexists(top + folder)}
            found[relative] = None
        return list(found)

    def _at(self, path: bytes, save: Callable[[bytes, bytes], None]) -> State:
        return at(self.root, path, max_bytes=self._max_file_bytes, save=save)

    def _end(self, opened: Opened) -> None:
        thread = threading.Thread(target=self._look_after, args=(opened,), name="lmx-checkpoint", daemon=True)
        self._closing.append(thread)
        thread.start()

    def _look_after(self, opened: Opened) -> None:
        with self._lock:
            try:
                journal.append(self.places, self._closed(opened))
            except OSError as error:
                log.warning("what a call of %s changed was not recorded: %s", opened.tool, type(error).__name__)
                self._give_up(opened)
            finally:
                self._open.pop(opened.call, None)
                self._let_go()

    def _give_up(self, opened: Opened) -> None:
        """Says at least that something is missing; where not even that can be written, the next start finds the call open."""
        note = f"{_named(opened.what)}: what it changed could not be recorded"
        try:
            journal.append(self.places, Closed(call=opened.call, notes=[note]))
        except OSError:
            return

    def _closed(self, opened: Opened) -> Closed:
        if not opened.command:
            return Closed(call=opened.call, changes=self._changed(opened), notes=self._moved(opened.call))
        try:
            changes = self._changed_all()
        except trees.TooLarge:
            self.unrecordable = _TOO_LARGE
            return Closed(call=opened.call, notes=[*self._moved(opened.call), f"{_named(opened.what)}: {_TOO_LARGE}"])
        return Closed(call=opened.call, changes=changes, notes=[*self._moved(opened.call), *self._left_out_notes()])

    def _changed(self, opened: Opened) -> list[Change]:
        with self._contents.writer() as kept:
            now = [Change(item.path, item.before, self._at(item.path, kept.save)) for item in opened.before]
        if self._seen is not None:
            for item in now:
                self._know(item)
        return [item for item in now if item.before != item.after]

    def _know(self, item: Change) -> None:
        """The look of a command that runs meanwhile must not take what a file tool did for its own."""
        assert self._seen is not None
        self._stored = False
        if item.after == ABSENT:
            self._seen.pop(item.path, None)
        elif item.before != item.after:
            self._seen[item.path] = trees.Seen(item.after, -1, 0, 0, 0, 0)

    # --- whole trees

    def _look_at_all(self, *, ours: bool) -> None:
        """Looks at the tree before a command. With `ours`, what is new since the last look was done by a running call."""
        if self._seen is None:
            self._seen = looks.newest(self.places, self.root, self._contents)
        before = self._seen
        if _too_wide(self.root):
            self._narrow(_HOME)
            return
        try:
            look = self._look(before)
        except trees.TooLarge:
            self._narrow(_TOO_LARGE)
            return
        if self._outside(look.entries):
            self._narrow(_TOO_LARGE)
            return
        if ours and (changes := trees.changes(before, look.entries)):
            running = next(opened for opened in self._open.values())
            self._write_beside(running, changes)
        self._seen, self._left_out = look.entries, look.left_out
        if look.fresh or not self._stored:
            looks.keep(self.places, self.root, look.entries)
            self._stored = True

    def _write_beside(self, running: Opened, changes: list[Change]) -> None:
        """What a running command has changed so far, as a step of its own."""
        part = f"{running.call}/{secrets.token_hex(4)}"
        journal.append(self.places, msgspec.structs.replace(running, call=part, part=True))
        journal.append(self.places, Closed(call=part, changes=changes))

    def _outside(self, entries: Entries) -> bool:
        """Whether the working directory lies in a folder that is not looked at."""
        real = os.fsencode(self.cwd)
        if real == self.root:
            return False
        seen = entries.get(real[len(self.root.rstrip(b"/")) + 1 :])
        return seen is None or seen.state.kind != "directory"

    def _narrow(self, why: str) -> None:
        """Watches the working directory alone, where the whole repository is too large or ignores it."""
        if os.fsencode(self.cwd) == self.root or self._open:
            self.unrecordable = why
            return
        self._seen = None
        self._use(self.cwd, None)
        self._look_at_all(ours=False)

    def _look(self, before: Entries) -> trees.Look:
        with self._contents.writer() as kept:
            return self._tree.look(before, kept.save)

    def _changed_all(self) -> list[Change]:
        """What a command changed. Raises OSError, TooLarge."""
        before = self._seen if self._seen is not None else {}
        look = self._look(before)
        self._seen, self._left_out = look.entries, look.left_out
        self._stored &= not look.fresh
        return trees.changes(before, look.entries)

    # --- what is told beside

    def _head(self) -> str | None:
        return None if self._repository is None else git.revision(self._repository)

    def _moved(self, call: str) -> list[str]:
        """What a call did to the repository, which an undo leaves as it is."""
        head, tracked = self._git_before.pop(call, (None, None))
        said = []
        if head != (now := self._head()):
            said.append(f"the commit that is checked out is another one ({_short(head)} before, {_short(now)} now)")
        elif tracked is not None and tracked != self._tree.tracked:
            said.append("the index of git was changed (files added, removed or renamed in it) and stays so")
        return said

    def _left_out_notes(self) -> list[str]:
        left = self._left_out
        said = [
            ("ignored, so not recorded", left.ignored),
            ("another repository, so not recorded", left.repositories),
            ("not readable, so not recorded", left.unreadable),
        ]
        return [f"{why}: {_few(paths)}" for why, paths in said if paths]


def _too_wide(root: bytes) -> bool:
    """Whether a tree holds a person's home: a command's changes are not worth a copy of everything, keys included."""
    home = os.fsencode(os.path.realpath(Path.home()))
    return (home + b"/").startswith(root.rstrip(b"/") + b"/")


def _short(commit: str | None) -> str:
    return commit[:10] if commit else "none"


def _named(what: str) -> str:
    return " ".join(what.split())[:80] or "a call"


def _few(paths: Sequence[bytes]) -> str:
    named = ", ".join(path.decode("utf-8", "replace") for path in paths[:_NAMED])
    return named if len(paths) <= _NAMED else f"{named} and {len(paths) - _NAMED:,} more"
