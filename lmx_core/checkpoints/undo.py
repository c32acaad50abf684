"""Puts files back as they were before a turn, and does it again: file by file, never over what somebody else has changed.

What a path is put back to is found by walking its changes backwards, from what is there now. Where a step does not begin with
what the step after it, or the disk, says is there, somebody else has been at the file in between: it is a conflict, it is
named, and the others go on. Comparing only the first state with the last would overwrite what a person had typed between two
calls.

Files only: no commit, branch, index or stash is looked at or changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from lmx_core.checkpoints import journal, looks
from lmx_core.checkpoints.contents import Contents
from lmx_core.checkpoints.files import Change, sweep
from lmx_core.checkpoints.journal import History, Part, Places, PutBack, Story
from lmx_core.checkpoints.plan import Chains, Plan, chains_of
from lmx_core.checkpoints.put import put
from lmx_core.checkpoints.recover import recover
from lmx_core.checkpoints.report import Action, Left, Report, TurnTold
from lmx_core.errors import UndoRefused

T = TypeVar("T")

_Begun = dict[bytes, dict[bytes, Change]]
"""By root and path."""

WAIT_S = 5.0


class Undo:
    """The undo of one session. Its methods block: they are for a thread.

    Every method but `turns` raises UndoRefused; its `code` is `nothing_to_undo`, `nothing_to_redo`, `still_recording` (a call
    runs, or its last look does, for longer than five seconds) or `unwritable` (what is done could not be written down, so it
    is not done).
    """

    def __init__(self, directory: Path, session_id: str, *, wait_s: float = WAIT_S, avoid: Sequence[Path] = ()):
        self._places, self._wait_s, self._avoid = Places(directory, session_id), wait_s, avoid
        self._opened: dict[bytes, Contents] = {}

    def turns(self) -> list[TurnTold]:
        """Every turn of the session, the newest first."""
        return [_told(turn) for turn in reversed(self._read().turns)]

    def undo(self, *, force: bool = False, preview: bool = False) -> Report:
        """Takes back the newest turn that is not undone. With `force` also what an undo before this one has left."""
        return self._alone(lambda: self._undo("undo", 1, force, preview))

    def rewind(self, turns: int, *, force: bool = False, preview: bool = False) -> Report:
        """Takes back the newest `turns` turns at once."""
        return self._alone(lambda: self._undo("rewind", turns, force, preview))

    def redo(self, *, force: bool = False, preview: bool = False) -> Report:
        """Does again what the last undo took back; possible until a later turn has changed something."""
        return self._alone(lambda: self._redo(force, preview))

    def forget(self) -> None:
        """Deletes what is recorded of the session, and contents that no other session needs. Raises UndoRefused."""
        if self._places.journal.exists():
            self._alone(self._forget)

    # --- alone

    def _alone(self, work: Callable[[], T]) -> T:
        try:
            if not self._places.journal.exists():
                raise UndoRefused("nothing_to_undo")
            with journal.locked(self._places, self._wait_s):
                recover(self._places, avoid=self._avoid)
                return work()
        except journal.Busy:
            raise UndoRefused("still_recording") from None
        except OSError as error:
            raise UndoRefused("unwritable", error.strerror or "input/output error") from error

    def _read(self) -> History:
        return journal.history(journal.read(self._places))

    def _undo(self, action: Action, count: int, force: bool, preview: bool) -> Report:
        told = self._read()
        last = told.redo[-1] if told.redo else None
        if force and last is not None and _leaves_something(last, action, count):
            turns = told.numbered(last.turns)
            left = {(part.root, path) for part in last.parts for path in part.left}
            chains = {place: chain for place, chain in chains_of(turns).items() if place in left}
        else:
            turns = told.undoable()[:count]
            chains = chains_of(turns)
        if not turns:
            raise UndoRefused("nothing_to_undo")
        return self._carry_out(action, told, turns, chains, force, preview)

    def _redo(self, force: bool, preview: bool) -> Report:
        told = self._read()
        if not told.redo:
            raise UndoRefused("nothing_to_redo")
        last = told.redo[-1]
        chains: Chains = {
            (part.root, item.path): [(item.before, item.after, False)] for part in last.parts for item in part.changes
        }
        return self._carry_out("redo", told, told.numbered(last.turns), chains, force, preview)

    def _carry_out(
        self, action: Action, told: History, turns: list[Story], chains: Chains, force: bool, preview: bool
    ) -> Report:
        roots = list(dict.fromkeys(root for root, _ in chains)) or [b""]
        report = Report(
            action=action,
            preview=preview,
            root=os.fsdecode(roots[0]),
            turns=[_told(turn) for turn in turns],
            commands=[command for turn in turns for command in turn.commands],
            not_undone=_outside(turns),
        )
        numbers = [turn.number for turn in turns]
        begun = _begun(told, action, numbers)
        plans = [self._plan(root, chains, begun, force=force, keep=not preview) for root in roots if root]
        if not preview:
            parts = [Part(plan.root, plan.changes) for plan in plans]
            journal.append(self._places, PutBack(action=action, turns=numbers, parts=parts, done=False))
            for plan in plans:
                put(plan, partial(self._content, told))
            done = [Part(plan.root, _with_begun(begun.get(plan.root, {}), plan), plan.left()) for plan in plans]
            journal.append(self._places, PutBack(action=action, turns=numbers, parts=done, forced=force))
        for plan in plans:
            _tell(report, plan, roots[0])
        report.next = _next(self._read().undoable(), numbers if preview and action != "redo" else [])
        return report

    def _plan(self, root: bytes, chains: Chains, begun: _Begun, *, force: bool, keep: bool) -> Plan:
        """What is to be done below one root. With `keep`, what is going to be overwritten is kept first."""
        mine = {path: chain for (place, path), chain in chains.items() if place == root}
        earlier = begun.get(root, {})
        if not keep:
            return Plan(root, mine, force=force, save=None, begun=earlier)
        for path in earlier:
            sweep(root, path)
        with self._contents(root).writer() as kept:
            return Plan(root, mine, force=force, save=kept.save, begun=earlier)

    def _content(self, told: History, key: bytes) -> bytes | None:
        """A content that was kept, below whichever root of the session."""
        for root in dict.fromkeys(step.opened.root for turn in told.turns for step in turn.steps):
            if (data := self._contents(root).read(key)) is not None:
                return data
        return None

    def _contents(self, root: bytes) -> Contents:
        if root not in self._opened:
            self._opened[root] = Contents(self._places.tree(root) / "packs")
        return self._opened[root]

    # --- forgetting

    def _forget(self) -> None:
        mine = _roots(journal.read(self._places))
        for path in (self._places.journal, self._places.before):
            path.unlink(missing_ok=True)
        needed: dict[bytes, set[bytes]] = {root: set() for root in mine}
        for session in (self._places.directory / "sessions").iterdir():
            records = journal.read(Places(self._places.directory, session.name))
            for root in _roots(records) & mine:
                needed[root] |= _contents_of(records) | looks.contents_before(session / "before")
        for root, keys in needed.items():
            (self._places.tree(root) / "seen").unlink(missing_ok=True)
            self._contents(root).keep_only(keys)


def _leaves_something(last: PutBack, action: Action, count: int) -> bool:
    """Whether force could put back more of what the undo before has left: then that is meant, and not the turn before it."""
    again = action == "undo" or len(last.turns) == count
    return again and not last.forced and any(part.left for part in last.parts)


def _roots(records: Sequence[journal.Record]) -> set[bytes]:
    return {record.root for record in records if isinstance(record, journal.Opened)}


def _contents_of(records: Sequence[journal.Record]) -> set[bytes]:
    """Every content that the records speak of."""
    found: list[Change] = []
    for item in records:
        match item:
            case journal.Opened(before=changes) | journal.Closed(changes=changes):
                found += changes
            case PutBack(parts=parts):
                found += [change for part in parts for change in part.changes]
    return {state.content for change in found for state in (change.before, change.after) if state.content}


def _begun(told: History, action: Action, numbers: list[int]) -> _Begun:
    """What the same undo was about to do when it was cut short; nothing where it was not."""
    cut = told.cut_short
    if cut is None or (cut.action, cut.turns) != (action, numbers):
        return {}
    return {part.root: {item.path: item for item in part.changes} for part in cut.parts}


def _with_begun(begun: dict[bytes, Change], plan: Plan) -> list[Change]:
    """What was done, together with what the same undo had done before it was cut short: a redo needs both."""
    done = {item.path: item for item in plan.done}
    for path, item in begun.items():
        if path not in done and plan.now.get(path) == item.after:
            done[path] = item
        elif path in done and done[path].before.kind == "directory":
            done[path] = Change(path, item.before, done[path].after)
    return list(done.values())


def _tell(report: Report, plan: Plan, first: bytes) -> None:
    prefix = b"" if plan.root == first else plan.root.rstrip(b"/") + b"/"
    for item in plan.changes if report.preview else plan.done:
        (report.deleted if item.after.kind == "absent" else report.restored).append(_shown(prefix + item.path))
    for where, left in (
        (report.conflicts, plan.conflicts),
        (report.unrestorable, plan.unrestorable),
        (report.uncertain, plan.uncertain),
    ):
        where += [Left(_shown(prefix + path), why) for path, why in left.items()]


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "replace")


def _told(turn: Story) -> TurnTold:
    paths = {(step.opened.root, change.path) for step in turn.steps for change in step.changes}
    return TurnTold(
        number=turn.number,
        prompt=turn.prompt,
        at_ms=turn.at_ms,
        changed=len(paths),
        undone=turn.undone,
        commands=turn.commands,
        notes=_outside([turn]),
    )


def _outside(turns: Sequence[Story]) -> list[str]:
    """What was done that no undo reaches, each sentence once."""
    notes = [note for turn in turns for note in (*turn.notes, *(n for step in turn.steps for n in step.notes))]
    return list(dict.fromkeys(notes))


def _next(remaining: Sequence[Story], without: Sequence[int]) -> TurnTold | None:
    return next((_told(turn) for turn in remaining if turn.number not in without), None)
