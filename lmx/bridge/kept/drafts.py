"""Unsent words on disk: one file a session, for its owner only, replaced whole (CMP-11, CMP-43).

Typing is saved two seconds after it began, so that a fast typist costs the disk nothing. A change of the queue is saved at
once, and so is that a saved draft has been sent: what has left must not come back after a crash and be sent a second time.
Nothing is written between two sessions: the file of the one that is being opened has not been read yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from pathlib import Path

import msgspec

from lmx.bridge.host import Host
from lmx.bridge.surface import Surface
from lmx.conversation.draft import EMPTY, Draft
from lmx.conversation.state import State
from lmx.conversation.unsent import kept
from lmx.conversation.unsent.kept import Kept
from lmx_core import run_in_thread

DELAY_S = 2.0


class File(Kept, frozen=True, kw_only=True):
    """How it lies on disk: whose process wrote it, and in which directory."""

    pid: int = 0
    cwd: str = ""


class Drafts:
    """Saves what `changed` is told of, one write at a time, always the newest."""

    def __init__(self, host: Host, surface: Surface):
        self._host, self._surface = host, surface
        self._session: str | None = None
        self._on_disk = self._wanted = Kept()
        self._timer: asyncio.TimerHandle | None = None
        self._writing = asyncio.Lock()

    async def read(self, session_id: str) -> Kept | None:
        """What the session's last sitting left behind; None when there is nothing, or nothing that can be read."""
        path = self._path(session_id) if session_id != self._session else None  # else all of it is still here
        return None if path is None else await run_in_thread(read, path)

    async def adopted(self) -> Kept | None:
        """What a session left that was killed before anything was sent in it: it cannot be resumed, so the next one takes it.

        Only of this directory, and of no lmx that still runs.
        """
        directory = self._host.drafts
        return None if directory is None else await run_in_thread(adopt, directory, str(self._host.cwd))

    def changed(self, state: State) -> None:
        """The state is another: what is to be kept of it is saved soon."""
        if self._host.drafts is None or state.session_id is None or state.life == "starting":
            return
        now, at_once = kept.of(state), False
        if state.session_id != self._session:
            left, self._session = self._session, state.session_id
            self._on_disk = Kept(version=0)  # whatever is there
            if left is not None:
                at_once = True
                self._surface.work(self._forget(left), "drafts")
        elif now == self._wanted:
            return
        sent = now.draft.blank and not self._on_disk.draft.blank
        at_once = at_once or sent or now.queue != self._wanted.queue
        self._wanted = now
        if at_once:
            self._save_now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_S, self._save_now)

    async def close(self, state: State) -> None:
        """The surface is gone: whatever stands there now is saved."""
        if self._timer is not None:
            self._timer.cancel()
        if self._host.drafts is not None and self._session is not None and state.session_id == self._session:
            self._wanted = kept.of(state)
            await self._save()

    def _save_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._surface.work(self._save(), "drafts")

    async def _save(self) -> None:
        async with self._writing:
            wanted = self._wanted
            path = self._path(self._session or "")
            if wanted == self._on_disk or path is None:
                return
            try:
                await run_in_thread(write, path, wanted, str(self._host.cwd))
            except OSError as error:
                self._host.log.warning("the drafts could not be written: %s", error.strerror)
            else:
                self._on_disk = wanted

    async def _forget(self, session_id: str) -> None:
        """The person went on in another session and took everything along."""
        async with self._writing:
            path = self._path(session_id)
            if path is not None:
                await run_in_thread(write, path, Kept())

    def _path(self, session_id: str) -> Path | None:
        return None if self._host.drafts is None or not session_id else self._host.drafts / f"{session_id}.json"


def read(path: Path) -> Kept | None:
    found = _file(path)
    return None if found is None else Kept(**{name: getattr(found, name) for name in Kept.__struct_fields__})


def _file(path: Path) -> File | None:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=File)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.version == kept.VERSION and not found.nothing else None


def adopt(directory: Path, cwd: str) -> Kept | None:
    """Takes the files of such sessions away and returns all of it as one, the newest last; queued messages become drafts."""
    live, aside = EMPTY, list[Draft]()
    for path in sorted(directory.glob("*.json"), key=lambda path: path.name):  # names of sessions begin with their time
        found = _file(path)
        if found is None or found.used or found.cwd != cwd or _runs(found.pid):
            continue
        with contextlib.suppress(OSError):
            path.unlink()  # of two that start at once, one gets it
            aside += [live, *found.stash, *found.queue]
            live = found.draft
    left = Kept(draft=live, stash=tuple(draft for draft in aside if not draft.blank))
    return None if left.nothing else left


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return pid > 0


def write(path: Path, wanted: Kept, cwd: str = "") -> None:
    """Replaces the file, or takes it away where there is nothing to keep. Raises OSError."""
    if wanted.nothing:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(File(**msgspec.structs.asdict(wanted), pid=os.getpid(), cwd=cwd)))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink(missing_ok=True)
