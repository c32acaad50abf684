"""What a call would change, in numbered hunks, and what is left of it when a person takes some, refuses some or edits it.

All is computed on the file's own bytes: put together again from texts as they are shown, a hunk that was refused would still
come out with other line ends, or without the bytes that are not UTF-8.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from lmx_core.edits.text import Edit, Text, aligned, lines_of

TOLD_LINES = 24
REGION_BYTES = 20_000
"""Hunks with more text than this, all together, are described by their numbers and lines alone."""


class FileEdit(msgspec.Struct, frozen=True, kw_only=True):
    """One file before and after, None where there is none; and where it is moved to, if it is."""

    path: str
    before: bytes | None
    after: bytes | None
    move_to: str | None = None

    @property
    def changes(self) -> bool:
        return self.before != self.after or self.move_to is not None


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """What can be accepted or refused by itself. `number` counts from 1 over all files of a call.

    `lines` takes the lines from `line` (from 1, of the file before) away and puts others there; `create` and `delete` are the
    whole file, `move` is its new name. Line texts are as they are shown: LF ends, U+FFFD for what is not UTF-8.
    """

    number: int
    path: str
    kind: Literal["lines", "create", "delete", "move"]
    line: int = 1
    removed: str = ""
    added: str = ""


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written after a choice, and the numbers of the hunks that were accepted, refused and edited.

    `elsewhere` counts the changes of the person's own, in places the call did not touch.
    """

    files: tuple[FileEdit, ...]
    accepted: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    edited: tuple[int, ...] = ()
    elsewhere: int = 0

    def record(self) -> dict[str, Any]:
        """For the transcript, as `metadata.hunks` of the result."""
        numbers = {"accepted": list(self.accepted), "refused": list(self.refused), "edited": list(self.edited)}
        return numbers | ({"elsewhere": self.elsewhere} if self.elsewhere else {})


def hunks(files: Sequence[FileEdit]) -> list[Hunk]:
    """The hunks of a call, in the order of its files and of their lines."""
    found: list[Hunk] = []
    for file in files:
        for hunk in _of(file):
            found.append(msgspec.structs.replace(hunk, number=len(found) + 1))
    return found


def described(files: Sequence[FileEdit]) -> list[dict[str, Any]]:
    """The same as plain data, for whoever is asked: `number`, `path`, `kind`, `line`, `removed` and `added`."""
    found = hunks(files)
    size = sum(len(hunk.removed.encode()) + len(hunk.added.encode()) for hunk in found)
    told: list[dict[str, Any]] = [msgspec.to_builtins(hunk) for hunk in found]
    if size <= REGION_BYTES:
        return told
    return [{name: value for name, value in hunk.items() if name not in ("removed", "added")} for hunk in told]


def choose(files: Sequence[FileEdit], accepted: Collection[int]) -> Chosen:
    """The files with the hunks of these numbers and without the others; one that is not changed any more is not among them."""
    numbers = iter(range(1, len(hunks(files)) + 1))
    kept = tuple(file for file in (_kept(file, numbers, accepted) for file in files) if file.changes)
    every = [hunk.number for hunk in hunks(files)]
    return Chosen(
        files=kept,
        accepted=tuple(n for n in every if n in accepted),
        refused=tuple(n for n in every if n not in accepted),
    )


def carry(files: Sequence[FileEdit], texts: Mapping[str, str]) -> Chosen:
    """The files as a person left them: `texts` by path, LF ends, the whole file each. A file without one stays as proposed.

    Raises EncodingConflict for letters that a file in another encoding cannot take.
    """
    left = [_edited(file, texts[file.path]) if file.path in texts else file for file in files]
    verdicts: dict[str, list[int]] = {"accepted": [], "refused": [], "edited": []}
    number = elsewhere = 0
    for proposed, final in zip(files, left, strict=True):
        own = list(_ranges(final))
        for was in _ranges(proposed):
            number += 1
            touching = [is_now for is_now in own if _touch(was, is_now)]
            verdicts["accepted" if was in own else "edited" if touching else "refused"].append(number)
        elsewhere += sum(not any(_touch(was, is_now) for was in _ranges(proposed)) for is_now in own)
    return Chosen(
        files=tuple(file for file in left if file.changes),
        elsewhere=elsewhere,
        **{name: tuple(numbers) for name, numbers in verdicts.items()},
    )


def told(files: Sequence[FileEdit], chosen: Chosen) -> str:
    """What the model reads of a choice: which of its hunks are in force, which are not, and what stands there instead."""
    by_number = {hunk.number: hunk for hunk in hunks(files)}
    said = [f"Of the {len(by_number)} hunks of this call, {_numbers(chosen.accepted)} accepted."]
    for number in chosen.refused:
        hunk = by_number[number]
        said.append(f"Hunk {number} ({_where(hunk)}) was refused; nothing was changed there. It would have been:")
        said.append(_signed(hunk.removed, hunk.added))
    if chosen.edited or chosen.elsewhere:
        more = f", and the person changed {chosen.elsewhere} more places" if chosen.elsewhere else ""
        said.append(f"The text was edited before it was written: {_numbers(chosen.edited)} changed{more}.")
        said += _differences(files, chosen)
    return "\n".join(said)


# --- one file --------------------------------------------------------------------------------------------------------


def _of(file: FileEdit) -> Iterator[Hunk]:
    if file.move_to is not None:
        yield Hunk(number=0, path=file.path, kind="move", added=file.move_to)
    if file.before is None or file.after is None:
        if file.before != file.after:
            kind: Literal["create", "delete"] = "create" if file.before is None else "delete"
            yield Hunk(number=0, path=file.path, kind=kind, removed=_shown(file.before), added=_shown(file.after))
        return
    old, new = _lines(file.before), _lines(file.after)
    for start, end, new_start, new_end in _changed(old, new):
        yield Hunk(
            number=0,
            path=file.path,
            kind="lines",
            line=start + 1,
            removed=_shown(_joined(old[start:end])),
            added=_shown(_joined(new[new_start:new_end])),
        )


def _kept(file: FileEdit, numbers: Iterator[int], accepted: Collection[int]) -> FileEdit:
    """The file with its accepted hunks; takes as many of `numbers` as it has hunks."""
    move_to = file.move_to if file.move_to is not None and next(numbers) in accepted else None
    if file.before is None or file.after is None:
        is_kept = file.before != file.after and next(numbers) in accepted
        return FileEdit(
            path=file.path, before=file.before, after=file.after if is_kept else file.before, move_to=move_to
        )
    old, new = _lines(file.before), _lines(file.after)
    parts: list[str] = []
    for same, start, end, new_start, new_end in aligned(old, new):
        parts += new[new_start:new_end] if same or next(numbers) in accepted else old[start:end]
    return FileEdit(path=file.path, before=file.before, after=_joined(parts), move_to=move_to)


def _edited(file: FileEdit, text: str) -> FileEdit:
    """The file with a person's text: lines they left as they were proposed keep their bytes."""
    base = file.after if file.after is not None else file.before
    if base is None:
        return msgspec.structs.replace(file, after=text.encode())
    whole = Text(base)
    old, new = lines_of(whole.shown), lines_of(text.replace("\r\n", "\n"))
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    edits = [Edit(starts[a], starts[b], "".join(new[c:d])) for a, b, c, d in _changed(old, new)]
    return msgspec.structs.replace(file, after=whole.apply(edits))


_Range = tuple[str, int, int, tuple[str, ...]]


def _ranges(file: FileEdit) -> Iterator[_Range]:
    """Its hunks as what they are of, which old lines they take away, and what they put there."""
    if file.move_to is not None:
        yield "move", -2, -2, (file.move_to,)
    if file.before is None or file.after is None:
        if file.before != file.after:
            yield "file", 0, 0, tuple(_lines(file.after or b""))
        return
    old, new = _lines(file.before), _lines(file.after)
    for start, end, new_start, new_end in _changed(old, new):
        yield "lines", start, end, tuple(new[new_start:new_end])


def _touch(one: _Range, other: _Range) -> bool:
    return one[1] <= other[2] and other[1] <= one[2] and "move" not in (one[0], other[0])


def _changed(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    return ((a, b, c, d) for same, a, b, c, d in aligned(old, new) if not same)


def _lines(data: bytes) -> list[str]:
    return lines_of(data.decode("utf-8", "surrogateescape"))


def _joined(lines: Sequence[str]) -> bytes:
    return "".join(lines).encode("utf-8", "surrogateescape")


def _shown(data: bytes | None) -> str:
    return "" if data is None else Text(data).shown


# --- what is said ----------------------------------------------------------------------------------------------------


def _numbers(numbers: Sequence[int]) -> str:
    if not numbers:
        return "none was"
    if len(numbers) == 1:
        return f"number {numbers[0]} was"
    return f"numbers {', '.join(map(str, numbers[:-1]))} and {numbers[-1]} were"


def _where(hunk: Hunk) -> str:
    if hunk.kind == "lines":
        return f"{hunk.path}, line {hunk.line}"
    return {"create": "create {}", "delete": "delete {}", "move": "move {}"}[hunk.kind].format(hunk.path)


def _signed(removed: str, added: str) -> str:
    lines = [f"-{line}" for line in removed.removesuffix("\n").split("\n") if removed]
    lines += [f"+{line}" for line in added.removesuffix("\n").split("\n") if added]
    more = [f"[... {len(lines) - TOLD_LINES} more lines]"] if len(lines) > TOLD_LINES else []
    return "\n".join([*lines[:TOLD_LINES], *more])


def _differences(files: Sequence[FileEdit], chosen: Chosen) -> Iterator[str]:
    """How the files as they were written differ from the files as they were proposed."""
    final = {file.path: file.after for file in chosen.files}
    for file in files:
        now = final.get(file.path, file.before)
        if now == file.after:
            continue
        changes = [FileEdit(path=file.path, before=file.after, after=now)]
        for hunk in hunks(changes):
            yield f"{file.path}, line {hunk.line} of the text you proposed, has instead:\n{_signed(hunk.removed, hunk.added)}"
