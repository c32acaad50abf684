"""Reads what a prompt refers to, once, as it will stay on the transcript (AT-3, AT-4).

Everything is asked of the session's environment, so what a tool may not read, a reference may not either. What goes wrong with
a path that can only be meant as one becomes an attachment that says so: the model must not take a missing file for an empty
one. Nothing is read again later; a resumed session that did would show the model files as they were not when it answered.
"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lmx_core.edits.window import Window, mask_lines, numbered
from lmx_core.entry import valid_text
from lmx_core.environment.base import DirEntry, Environment, FileError, closing, list_dir, marked, stream_file
from lmx_core.environment.globs import SKIPPED_FOLDERS, compile_glob, fixed_folder
from lmx_core.environment.kinds import Kind, kind_of
from lmx_core.secrets.masker import NOTHING, Masker
from lmx_core.turn.effects import Reference

FILE_BYTES = 60_000
PROMPT_BYTES = 200_000
DIRECTORY_ENTRIES = 1_000
MEDIA_FILES = 5
MEDIA_BYTES = 3_500_000
PATTERN_FILES = 25
PATTERN_FOLDERS = 500
MAX_REFERENCES = 100
"""More than anybody types; a pasted log may hold thousands of `@`."""

NOTE_BYTES = 300
"""Kept free in each attachment for the sentences behind its lines."""

_ENOUGH_LINES = FILE_BYTES

Refuses = Callable[[str, Path], str | None]

Attachment = dict[str, Any]
"""`{ref, path, kind, bytes}` and, by kind: `text` of a file, directory, error or elided one; `data` (base64) and `media_type`
of an image or document. `bytes` is the size of what was read, absent where nothing was; `cut` says what is not shown of it."""


async def attach(
    references: Sequence[Reference],
    environment: Environment,
    cwd: Path,
    modalities: frozenset[str],
    secrets: Masker = NOTHING,
    refuses: Refuses | None = None,
) -> list[Attachment]:
    """What the references stand for, in their order. `modalities` is what the model is known to read besides text.

    `refuses` says of a path why it is not read, or None.
    """
    reader = _Reader(environment, cwd, modalities, secrets, refuses)
    meant = [reference for reference in references if reference.explicit or await reader.is_file_here(reference.path)]
    for reference in meant[:MAX_REFERENCES]:
        await reader.take(reference)
    if more := meant[MAX_REFERENCES:]:
        text = f"A prompt may refer to {MAX_REFERENCES} paths; {len(more):,} more, from here on, were not looked at."
        reader.say(more[0], "elided", text)
    return reader.attached


class _Reader:
    """One prompt's attachments as they are read, and what is left of its budgets."""

    def __init__(
        self,
        environment: Environment,
        cwd: Path,
        modalities: frozenset[str],
        secrets: Masker,
        refuses: Refuses | None,
    ):
        self._secrets, self._refuses = secrets, refuses
        self.attached: list[Attachment] = []
        self._environment, self._cwd, self._modalities = environment, cwd, modalities
        self._room = PROMPT_BYTES
        self._media = 0
        self._seen: set[str] = set()
        self._names: dict[str, str] | None = None

    def say(self, reference: Reference, kind: str, text: str, *, path: str | None = None) -> None:
        """Attaches a sentence. A guess that came to nothing says nothing (AT-2)."""
        if reference.explicit or kind != "error":
            self.attached.append(
                {"ref": reference.ref, "path": reference.path if path is None else path, "kind": kind, "text": text}
            )

    async def take(self, reference: Reference) -> None:
        if reference.path == "~" or reference.path.startswith("~/"):
            self.say(reference, "error", f"{reference.path} is outside the working directory.")
        elif reference.pattern:
            await self._pattern(reference)
        else:
            await self._path(reference, reference.path)

    async def is_file_here(self, name: str) -> bool:
        """May this bare word be a file? One listing answers for all of them."""
        if self._names is None:
            listed = await list_dir(self._environment, self._cwd, ".")
            self._names = {} if isinstance(listed, FileError) else {entry.name: entry.kind for entry in listed}
        return self._names.get(name, "directory") != "directory"

    async def _path(self, reference: Reference, path: str) -> None:
        """Attaches a file or a directory, once whatever it is called."""
        same = posixpath.normpath(path)
        if same in self._seen:
            return
        self._seen.add(same)
        pin = getattr(self._environment, "pinned", None)  # what is judged is what is opened (C12)
        environment: Environment = self._environment if pin is None else pin(self._cwd, [path])
        if self._refuses is not None and (why := self._refuses(path, self._cwd)) is not None:
            self.say(reference, "elided", f"Not attached: {why}.", path=path)
            return
        window = Window(1, _ENOUGH_LINES, self._limit)
        kind: Kind | None = None
        pieces: list[bytes] = []
        async with closing(stream_file(environment, self._cwd, path)) as stream:
            async for piece in stream:
                if isinstance(piece, FileError):
                    await self._failed(reference, path, piece, environment)
                    return
                window.feed(piece)
                kind = kind_of(window.head)
                if kind is not None and kind.media is not None:
                    pieces.append(piece)
                if window.size > MEDIA_BYTES if kind is not None else not window.wants_more:
                    break
            else:
                window.end()
        if kind is None:
            self._text(reference, path, window)
        elif kind.media is None:
            self.say(reference, "error", f"{path} is {kind.words} and is not attached as text.", path=path)
        else:
            self._medium(reference, path, kind, b"".join(pieces))

    async def _failed(self, reference: Reference, path: str, failure: FileError, environment: Environment) -> None:
        if failure.kind == "is_directory" and reference.explicit:
            await self._directory(reference, path, environment)
        else:
            self.say(reference, "error", f"{failure.message.rstrip('.')}.", path=path)

    def _text(self, reference: Reference, path: str, window: Window) -> None:
        mask_lines(window, self._secrets)
        lines, cut = numbered(window), None
        if window.next is not None:
            total = "an unknown number of" if window.total is None else f"{window.total:,}"
            cap = f"an attachment holds {FILE_BYTES:,} bytes, those of a prompt {PROMPT_BYTES:,}"
            cut = f"lines 1 to {window.next - 1:,} of {total}; {cap}"
        self._add(reference, path, "file", lines or ["(the file is empty)"], cut, window.size)

    async def _directory(self, reference: Reference, path: str, environment: Environment) -> None:
        """One level, as names on lines."""
        listed = await list_dir(environment, self._cwd, path)
        if isinstance(listed, FileError):
            self.say(reference, "error", f"{listed.message.rstrip('.')}.")
            return
        lines: list[str] = []
        room = self._limit
        for entry in listed[:DIRECTORY_ENTRIES]:
            line = valid_text(marked(entry))
            room -= len(line.encode()) + 1
            if room < 0:
                break
            lines.append(line)
        cut = f"the first {len(lines):,} of {len(listed):,} names" if len(lines) < len(listed) else None
        self._add(reference, path, "directory", lines or ["(the directory is empty)"], cut)

    @property
    def _limit(self) -> int:
        """Bytes of lines that the next attachment may hold."""
        return max(0, min(FILE_BYTES, self._room) - NOTE_BYTES)

    def _add(
        self, reference: Reference, path: str, kind: str, lines: list[str], cut: str | None, size: int | None = None
    ) -> None:
        if self._limit < NOTE_BYTES:
            said = f"Not attached: the attachments of a prompt hold {PROMPT_BYTES:,} bytes, and those are used up."
            self.say(reference, "elided", said, path=path)
            return
        text = "\n".join(lines if cut is None else [*lines, f"[{cut}]"])
        used = len(text.encode())
        self._room -= used
        found = {
            "ref": reference.ref,
            "path": path,
            "kind": kind,
            "text": text,
            "bytes": used if size is None else size,
        }
        self.attached.append(found if cut is None else found | {"cut": cut})

    def _medium(self, reference: Reference, path: str, kind: Kind, data: bytes) -> None:
        if kind.media not in self._modalities:
            text = f"{path} is {kind.words}, and the model is not known to read one, so it is not attached."
            self.say(reference, "error", text, path=path)
        elif len(data) > MEDIA_BYTES:
            text = f"{path} is {kind.words} of more than {MEDIA_BYTES:,} bytes, too large to attach."
            self.say(reference, "error", text, path=path)
        elif self._media >= MEDIA_FILES:
            text = f"Not attached: {path} would be more than {MEDIA_FILES} images and documents in one prompt."
            self.say(reference, "elided", text, path=path)
        else:
            self._media += 1
            self.attached.append(
                {
                    "ref": reference.ref,
                    "path": path,
                    "kind": kind.media,
                    "media_type": kind.media_type,
                    "data": base64.b64encode(data).decode("ascii"),
                    "bytes": len(data),
                }
            )

    # -- patterns

    async def _pattern(self, reference: Reference) -> None:
        pattern = reference.path.removeprefix(f"{self._cwd}/").removeprefix("./")
        try:
            matches = compile_glob(pattern)
        except ValueError as error:
            self.say(reference, "error", f"{reference.path}: {error}.")
            return
        found, cut, failure = await self._walk(pattern, matches)
        if failure is not None:
            self.say(reference, "error", f"{failure.message.rstrip('.')}.")
        elif not found:
            self.say(reference, "error", f"No file matches {reference.path}.")
        for path in found[:PATTERN_FILES]:
            await self._path(reference, path)
        if len(found) > PATTERN_FILES:
            cut = f"{reference.path} matches more than {PATTERN_FILES} files; only the first {PATTERN_FILES} are attached."
        if cut is not None:
            self.say(reference, "elided", cut)

    async def _walk(self, pattern: str, matches: re.Pattern[str]) -> tuple[list[str], str | None, FileError | None]:
        """Up to one more file than may be attached, folder by folder; why the search ended early; why it could not begin.

        Links are not followed, and folders of dependencies and builds are only searched when the pattern names them.
        """
        start = fixed_folder(pattern)
        deep = None if "**" in pattern else pattern.count("/")
        waiting, looked = [start], 0
        found: list[str] = []
        while waiting:
            if looked == PATTERN_FOLDERS:
                return found, f"{pattern} was only looked for in {PATTERN_FOLDERS} folders; narrow it.", None
            folder = waiting.pop(0)
            listed = await list_dir(self._environment, self._cwd, folder or ".")
            looked += 1
            if isinstance(listed, FileError):
                if folder == start:
                    return [], None, listed
                continue
            below: list[str] = []
            for path, kind in _joined(folder, listed):
                if kind == "file" and matches.match(path) is not None:
                    found.append(path)
                    if len(found) > PATTERN_FILES:
                        return found, None, None
                elif kind == "directory" and (deep is None or path.count("/") < deep):
                    below.append(path)
            waiting[:0] = [path for path in below if posixpath.basename(path) not in SKIPPED_FOLDERS]
        return found, None, None


def _joined(folder: str, listed: Sequence[DirEntry]) -> Iterator[tuple[str, str]]:
    for entry in listed:
        yield (f"{folder}/{entry.name}" if folder else entry.name), entry.kind
