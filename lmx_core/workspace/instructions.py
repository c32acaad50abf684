"""AGENTS.md and CLAUDE.md: what the person and the project want the agent to know (cli.md 4.2, WS-2).

They are prompt text and nothing else: no line of them is an include, a setting or a command to lmx. The person's come first,
then the repository's from its root down to the working directory, so that the nearer one has the last word.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lmx_core.workspace import layers
from lmx_core.workspace.files import Head, Skipped, read_inside, read_personal, repository_root

MAX_BYTES = 32_768
"""What of one file goes into the prompt; the rest is cut at the end of a line."""

PERSONAL = ((".claude/CLAUDE.md",), (".lmx/AGENTS.md",), (".codex/AGENTS.override.md", ".codex/AGENTS.md"))
"""Files under the home, in their order; of a group the first that is there."""

IN_EACH_DIRECTORY = (("CLAUDE.md",), ("CLAUDE.local.md",), ("AGENTS.override.md", "AGENTS.md"))

_HEADING = (
    "What follows was written by the person and the project. Nearer files come later and win where two disagree. Before "
    "you work in a directory further down, read an AGENTS.md or CLAUDE.md there."
)


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was read. `name` is relative to the repository or begins with `~/`; `size` is the whole file's bytes."""

    name: str
    text: str
    size: int


class Instructions(msgspec.Struct, frozen=True, kw_only=True):
    """What was found from a working directory. `notices` name what was left out or cut, one sentence each."""

    root: Path
    files: tuple[Instruction, ...] = ()
    notices: tuple[str, ...] = ()

    def text(self) -> str:
        """The body of the prompt's workspace layer."""
        parts = [
            f'<instructions file="{file.name}">\n{layers.quoted(file.text)}\n</instructions>' for file in self.files
        ]
        return "\n\n".join([_HEADING, *parts])


def discover(cwd: Path, *, home: Path, personal: bool = True) -> Instructions:
    """Reads the instruction files that hold for `cwd`. Blocking, bounded, runs no program, raises for nothing it finds.

    `home` is where the person's files and credentials are; `personal=False` leaves the person's files out. Without a
    repository the working directory is the root.
    """
    real = Path(os.path.realpath(cwd))
    root = repository_root(real) or real
    files: list[Instruction] = []
    notices: list[str] = []
    for name, found in _candidates(real, root, home, personal=personal):
        if isinstance(found, Skipped):
            notices.append(f"{name} was not read: {found.reason}")
        else:
            file, remarks = _decode(name, found)
            files.extend([file] if file else [])
            notices.extend(remarks)
    return Instructions(root=root, files=tuple(_once(files)), notices=tuple(notices))


def _candidates(cwd: Path, root: Path, home: Path, *, personal: bool) -> Iterator[tuple[str, Head | Skipped]]:
    for group in PERSONAL if personal else ():
        for relative in group:
            if (found := read_personal(home / relative, MAX_BYTES + 1, home)) is not None:
                yield f"~/{relative}", found
                break
    for directory in reversed([cwd, *cwd.parents][: len(cwd.parts) - len(root.parts) + 1]):
        for group in IN_EACH_DIRECTORY:
            for name in group:
                path = directory / name
                if (found := read_inside(root, path, MAX_BYTES + 1, home)) is not None:
                    yield layers.name_of_path(str(path.relative_to(root))), found
                    break


def _decode(name: str, head: Head) -> tuple[Instruction | None, list[str]]:
    """The text of a file and what a person should know about how it was read."""
    if b"\0" in head.data:
        return None, [f"{name} was not read: it is a binary file"]
    data, remarks = head.data.removeprefix(b"\xef\xbb\xbf"), []
    cut = len(head.data) > MAX_BYTES
    if cut:
        data = _whole_lines(data[:MAX_BYTES])
        remarks.append(f"{name} is longer than {MAX_BYTES} bytes; the model is given its first {len(data)}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        remarks.append(f"{name} is not UTF-8; what could not be read was replaced")
    text = text.replace("\r\n", "\n").strip("\n")
    if not text.strip():
        return None, remarks
    if cut:
        text += f"\n[cut here: {len(data)} of {head.size} bytes]"
    return Instruction(name=name, text=text, size=head.size), remarks


def _whole_lines(data: bytes) -> bytes:
    """`data` up to its last line end; a single long line is cut between two characters."""
    if end := data.rfind(b"\n") + 1:
        return data[:end]
    return next((data[:size] for size in range(len(data), len(data) - 4, -1) if _is_text(data[:size])), data)


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _once(files: list[Instruction]) -> list[Instruction]:
    """Each content once, at its nearest place: a CLAUDE.md is often a link to the AGENTS.md beside it."""
    last = {file.text: index for index, file in enumerate(files)}
    return [file for index, file in enumerate(files) if last[file.text] == index]
