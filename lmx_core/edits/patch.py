"""The patch format of `apply_patch`, read: which files it adds, deletes, changes and moves, hunk by hunk (AP-1).

Models write it almost right, so the reading forgives what can mean one thing only: a missing envelope, a heredoc around it,
CR LF, blank context lines without their space, the hunk headers of a unified diff. What could mean two things is refused: a
patch that begins and does not end was cut off, and half of it is no patch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NoReturn

import msgspec

from lmx_core.edits.text import lf

BEGIN, END = "*** Begin Patch", "*** End Patch"
END_OF_FILE = "*** End of File"
MOVE, UPDATE = "*** Move to:", "*** Update File:"
HEADERS = {"*** Add File:": "add", "*** Delete File:": "delete", UPDATE: "update"}

_HEREDOC = re.compile(r"(?:apply_?patch\s+)?<<-?\s*(['\"]?)(\w+)\1")
_UNIFIED = re.compile(r"@@+ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@+")
_FORM = "a section begins with '*** Add File: PATH', '*** Delete File: PATH' or '*** Update File: PATH'"


class PatchError(ValueError):
    """What is wrong with a patch, or why it does not fit, as a sentence for the model, without its full stop."""


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """Lines without their ends, each after its sign: ` ` stays, `-` goes, `+` comes.

    `number` counts from 1 in its section, `line` is where it begins in the patch. `anchors` are lines that come before it in
    the file, in order; `hint` is the free text of a unified header, which may be one. `final_newline` is None unless the hunk
    says expressly whether the file ends in one.
    """

    number: int
    line: int
    lines: tuple[tuple[str, str], ...]
    anchors: tuple[str, ...] = ()
    hint: str = ""
    at_end: bool = False
    final_newline: bool | None = None

    @property
    def old(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "+"]

    @property
    def new(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "-"]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one file. `content` is that of an added one; `move_to` and `hunks` belong to an update."""

    kind: Literal["add", "delete", "update"]
    path: str
    line: int
    content: str = ""
    move_to: str | None = None
    hunks: tuple[Hunk, ...] = ()


def argument(arguments: Mapping[str, Any]) -> str:
    """The patch in a call's arguments: `input`, or `patch` as some models name it. Raises PatchError for none or two."""
    given = [text for name in ("input", "patch") if isinstance(text := arguments.get(name), str) and text.strip()]
    if len(given) == 2 and given[0] != given[1]:
        raise PatchError("Input and patch are both given, and differ: send the patch once, as input")
    if not given:
        raise PatchError(f"There is no patch: send it as input, from {BEGIN} to {END}")
    return given[0]


def paths(arguments: Mapping[str, Any]) -> list[str]:
    """Every path a call would touch, also those files are moved to. None for a patch that does not parse: it is not run."""
    try:
        sections = parse(argument(arguments))
    except PatchError:
        return []
    named = [path for section in sections for path in (section.path, section.move_to) if path is not None]
    return list(dict.fromkeys(named))


def parse(text: str) -> list[Section]:
    """The sections of a patch, in their order. Raises PatchError, which names the line of the patch."""
    return _Parser(_without_envelope(lf(text).split("\n"))).sections()


def _without_envelope(lines: list[str]) -> list[tuple[int, str]]:
    """The lines between the marks, with their numbers in the patch as it was sent."""
    numbered = _stripped(list(enumerate(lines, 1)))
    if numbered and (opened := _HEREDOC.fullmatch(numbered[0][1].strip())):
        if len(numbered) < 2 or numbered[-1][1].strip() != opened.group(2):
            raise PatchError(f"The heredoc is not closed by {opened.group(2)}: was the patch cut off?")
        numbered = _stripped(numbered[1:-1])
    begins = bool(numbered) and numbered[0][1].strip() == BEGIN
    ends = next((n for n, (_, line) in enumerate(numbered) if line.rstrip() == END), None)
    if ends is None and numbered and numbered[-1][1].strip() == END:
        ends = len(numbered) - 1  # further up, a blank before it would make it a line of context
    if begins and ends is None:
        raise PatchError(f"The patch has no {END}: was it cut off?")
    if ends is not None and ends < len(numbered) - 1:
        raise PatchError(f"Line {numbered[ends + 1][0]} of the patch comes after {END}: send one patch a call")
    return numbered[1 if begins else 0 : ends]


def _stripped(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Without blank lines at either end."""
    while lines and not lines[0][1].strip():
        lines = lines[1:]
    while lines and not lines[-1][1].strip():
        lines = lines[:-1]
    return lines


class _Parser:
    """Reads the lines from the first to the last; `at` is the next one."""

    def __init__(self, lines: list[tuple[int, str]]):
        self._lines, self._at = lines, 0

    def sections(self) -> list[Section]:
        if not self._lines:
            raise PatchError(f"The patch is empty; {_FORM}")
        found: list[Section] = []
        while self._at < len(self._lines):
            number, line = self._lines[self._at]
            header = _header(line.strip())
            if header is None:
                self._fail(f"{_FORM}, and this reads {_quoted(line)}")
            self._at += 1
            kind, path = header
            if not path:
                raise PatchError(f"Line {number} of the patch names no path")
            found.append(self._section(kind, path, number))
        return found

    def _section(self, kind: str, path: str, number: int) -> Section:
        if kind == "add":
            return Section(kind="add", path=path, line=number, content=self._content())
        if kind == "delete":
            while self._at < len(self._lines) and not self._lines[self._at][1].strip():
                self._at += 1
            return Section(kind="delete", path=path, line=number)
        move_to = self._move()
        hunks = self._hunks()
        if not hunks and move_to is None:
            raise PatchError(f"Line {number} of the patch updates {path} and says no change")
        return Section(kind="update", path=path, line=number, move_to=move_to, hunks=tuple(hunks))

    def _content(self) -> str:
        lines: list[str] = []
        unended = False
        while (line := self._body()) is not None:
            if line.startswith("\\") and lines:
                unended = True
            elif line.startswith("+") and not unended:
                lines.append(line[1:])
            elif line.strip():
                self._fail(f"every line of an added file begins with '+', and this reads {_quoted(line)}")
            elif not self._only_blank_left():
                self._fail("every line of an added file begins with '+', a blank one too")
            self._at += 1
        return "\n".join(lines) + ("\n" if lines and not unended else "")

    def _move(self) -> str | None:
        line = self._body()
        if line is None or not line.strip().startswith(MOVE):
            return None
        target = line.strip()[len(MOVE) :].strip()
        if not target:
            self._fail("this names no path to move to")
        self._at += 1
        return target

    def _hunks(self) -> list[Hunk]:
        found: list[Hunk] = []
        while (line := self._body()) is not None:
            if not line.strip() and self._only_blank_left():
                self._at += 1
                continue
            found.append(self._hunk(len(found) + 1))
        return found

    def _hunk(self, count: int) -> Hunk:
        """One hunk: its `@@` lines, of which there may be several or, for the first, none, and its body."""
        start = self._lines[self._at][0]
        anchors, hint = self._anchors()
        lines: list[tuple[str, str]] = []
        at_end, final_newline = False, None
        while (line := self._body()) is not None and not line.startswith("@@"):
            if at_end:
                self._fail(f"a hunk ends with {END_OF_FILE}; the next begins with @@")
            if line.rstrip() == END_OF_FILE:
                at_end = True
            elif line.startswith("\\"):
                final_newline = bool(lines) and lines[-1][0] == "-"
            elif line == "":
                if self._only_blank_left():
                    break
                lines.append((" ", ""))
            elif line[0] in " +-":
                lines.append((line[0], line[1:]))
            else:
                self._fail(f"a line of a hunk begins with ' ', '-' or '+', and this reads {_quoted(line)}")
            self._at += 1
        if not lines:
            raise PatchError(f"The hunk in line {start} of the patch has no lines")
        return Hunk(
            number=count,
            line=start,
            lines=tuple(lines),
            anchors=tuple(anchors),
            hint=hint,
            at_end=at_end or final_newline is not None,
            final_newline=final_newline,
        )

    def _anchors(self) -> tuple[list[str], str]:
        anchors: list[str] = []
        hint = ""
        while (line := self._body()) is not None and line.startswith("@@"):
            unified = _UNIFIED.match(line)
            said = line[unified.end() :] if unified else line[2:]
            said = said.removeprefix(" ").rstrip()
            if unified:
                hint = said
            elif said.strip():
                anchors.append(said)
            self._at += 1
        return anchors, hint

    def _body(self) -> str | None:
        """The next line, unless another section begins there or nothing is left."""
        if self._at >= len(self._lines):
            return None
        line = self._lines[self._at][1]
        return None if line.startswith("***") and _header(line.rstrip()) is not None else line

    def _only_blank_left(self) -> bool:
        """Whether nothing but blank lines comes before the next section: they are the layout of the patch."""
        for _, line in self._lines[self._at :]:
            if line.strip():
                return line.startswith("***") and _header(line.rstrip()) is not None
        return True

    def _fail(self, why: str) -> NoReturn:
        raise PatchError(f"Line {self._lines[self._at][0]} of the patch: {why}")


def _header(line: str) -> tuple[str, str] | None:
    """What a section's first line says: the kind and the path."""
    for header, kind in HEADERS.items():
        if line.startswith(header):
            return kind, line[len(header) :].strip()
    return None


def _quoted(line: str, limit: int = 120) -> str:
    return repr(line if len(line) <= limit else f"{line[: limit - 3]}...")
