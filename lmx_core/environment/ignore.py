"""`.gitignore` as git reads it, byte for byte, for where git cannot be asked: pure, and held against `git check-ignore` (SR-1).

Git's rules are not those of a shell. A pattern without a slash is compared with names, one with a slash with paths; `?` is one
byte and not one letter; `**` means folders only between slashes; a space at the end counts if it is escaped. The obvious way,
`fnmatch` with some exceptions, hides a file that git shows, and then a model says that it does not exist.

A pattern comes from a repository, so it may be made to take for ever: a star takes the shortest piece that fits and is not
tried again (what a later star could not have done as well, no other piece does better). The time is the length of a path
times the length of the rules.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator

_SPECIAL = frozenset(b"*?[\\")
_BLANK, _LETTERS, _DIGITS = (
    frozenset(b" \t"),
    frozenset(range(0x41, 0x5B)) | frozenset(range(0x61, 0x7B)),
    b"0123456789",
)
_PRINTED = frozenset(range(0x21, 0x7F))
_CLASSES = {
    b"alnum": _LETTERS | set(_DIGITS),
    b"alpha": _LETTERS,
    b"blank": _BLANK,
    b"cntrl": frozenset(range(0x20)) | {0x7F},
    b"digit": frozenset(_DIGITS),
    b"graph": _PRINTED,
    b"lower": frozenset(range(0x61, 0x7B)),
    b"print": _PRINTED | {0x20},
    b"punct": _PRINTED - _LETTERS - set(_DIGITS),
    b"space": frozenset(b" \t\n\v\f\r"),
    b"upper": frozenset(range(0x41, 0x5B)),
    b"xdigit": frozenset(b"0123456789abcdefABCDEF"),
}


class IgnoreFile:
    """The rules of one file that lies in `folder`, relative to the root of the tree, `b""` for the root itself."""

    def __init__(self, folder: bytes, content: bytes):
        self._below = folder + b"/" if folder else b""
        rules = list(_rules(content))[::-1]  # the last one that fits decides
        self._any = _either([rule for rule, _, only_folders in rules if not only_folders])
        self._keeps_any = [keeps for _, keeps, only_folders in rules if not only_folders]
        self._folder = _either([rule for rule, _, _ in rules])
        self._keeps_folder = [keeps for _, keeps, _ in rules]

    def __bool__(self) -> bool:
        return self._folder is not None

    def judge(self, path: bytes, *, folder: bool) -> bool | None:
        """Whether a path, relative to the root of the tree, is ignored; None where no rule speaks of it."""
        rules, keeps = (self._folder, self._keeps_folder) if folder else (self._any, self._keeps_any)
        if rules is None or not path.startswith(self._below):
            return None
        found = rules.match(path, len(self._below))
        return None if found is None or found.lastindex is None else not keeps[found.lastindex - 1]


def judge(files: Iterable[IgnoreFile], path: bytes, *, folder: bool) -> bool:
    """Whether a path is ignored by the rules of `files`, innermost first. What is above it is for the caller to ask."""
    return next((said for file in files if (said := file.judge(path, folder=folder)) is not None), False)


class Ignored:
    """What the ignore files of a tree ignore; `files` are pairs of folder and content, in any order."""

    def __init__(self, files: Iterable[tuple[str, bytes]]):
        self._files = {folder: IgnoreFile(os.fsencode(folder), content) for folder, content in files}
        self._folders: dict[str, bool] = {"": False}
        self._above: dict[str, list[IgnoreFile]] = {"": [self._files[""]] if "" in self._files else []}

    def __call__(self, path: str) -> bool:
        """Whether the file is ignored, by itself or with a folder above it; nothing brings back a file of an ignored folder."""
        return self.folder(path.rpartition("/")[0]) or self._judge(path, folder=False)

    def folder(self, path: str) -> bool:
        for step in down_to(path, self._folders):
            self._folders[step] = self._folders[step.rpartition("/")[0]] or self._judge(step, folder=True)
        return self._folders[path]

    def _judge(self, path: str, *, folder: bool) -> bool:
        return judge(self._in_force(path.rpartition("/")[0]), os.fsencode(path), folder=folder)

    def _in_force(self, folder: str) -> list[IgnoreFile]:
        """The files whose rules hold in a folder, innermost first."""
        for step in down_to(folder, self._above):
            above, own = self._above[step.rpartition("/")[0]], self._files.get(step)
            self._above[step] = above if own is None else [own, *above]
        return self._above[folder]


def down_to(path: str, known: Container[str]) -> list[str]:
    """The folders that lead to `path`, itself among them, as far as they are not known yet; the outermost first.

    Not by recursion: a tree may be deeper than Python's stack.
    """
    steps = []
    while path not in known:
        steps.append(path)
        path = path.rpartition("/")[0]
    return steps[::-1]


# --- lines ----------------------------------------------------------------------------------------------------------------


def _rules(content: bytes) -> Iterator[tuple[bytes, bool, bool]]:
    """Of each line that is a rule: its expression, whether it keeps what it names, and whether it names folders only."""
    for line in (content.removeprefix(b"\xef\xbb\xbf") + b"\n").split(b"\n")[:-1]:
        pattern = _without_spaces(line.removesuffix(b"\r").partition(b"\0")[0])
        if not pattern or line.startswith(b"#"):
            continue
        keeps = pattern.startswith(b"!")
        pattern = pattern[keeps:]
        only_folders = pattern.endswith(b"/")
        expression = _expression(pattern[: len(pattern) - only_folders])
        if expression is not None:
            yield expression, keeps, only_folders


def _without_spaces(line: bytes) -> bytes:
    """Without spaces at the end that are not escaped."""
    at = end = 0
    while at < len(line):
        escape = line[at] == 0x5C
        at += 1 + escape
        if escape or line[at - 1] != 0x20:
            end = at
    return line[:end]


def _either(rules: list[bytes]) -> re.Pattern[bytes] | None:
    return re.compile(b"|".join(b"(" + rule + b")" for rule in rules), re.DOTALL) if rules else None


# --- patterns -------------------------------------------------------------------------------------------------------------

_STAR, _SLASH, _FOLDERS, _REST = "star", "slash", "folders", "rest"
Token = bytes | str
"""One byte as an expression, or a name: any piece of a name, a slash, any number of folders, all that is left."""


def _expression(pattern: bytes) -> bytes | None:
    """What a whole path below the file's folder has to be; None for a pattern that fits nothing."""
    if b"/" not in pattern:
        tokens = _tokens(pattern, names_only=True)
        return None if not tokens else b"(?:.*/)?+" + _segment(tokens) + rb"\Z"
    pattern = pattern[pattern.startswith(b"/") :]
    plain = next((at for at, char in enumerate(pattern) if char in _SPECIAL), len(pattern))
    # Git compares what stands before the first special character by itself, so `a**/b` begins with a `**` at its start.
    tokens = _tokens(pattern[plain:], names_only=False)
    return None if tokens is None or not pattern else _path([*_literally(pattern[:plain]), *tokens]) + rb"\Z"


def _literally(text: bytes) -> list[Token]:
    return [_SLASH if char == 0x2F else re.escape(bytes([char])) for char in text]


def _tokens(pattern: bytes, *, names_only: bool) -> list[Token] | None:
    """The pattern cut up as git's `wildmatch` reads it, None where that gives up: a set or an escape that does not end."""
    made: list[Token] = []
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        at += 1
        if char == b"*":
            begun = at - 1
            while pattern[at : at + 1] == b"*":
                at += 1
            at += _starred(made, pattern, begun, at, names_only=names_only)
        elif char == b"?":
            made.append(b"[^/]")
        elif char == b"[":
            found = _set(pattern, at)
            if found is None:
                return None
            chars, at = found
            made.append(_one_of(chars))
        elif char == b"\\":
            if at == len(pattern):
                return None
            made += _literally(pattern[at : at + 1])
            at += 1
        else:
            made += _literally(char)
    return made


def _starred(made: list[Token], pattern: bytes, begun: int, end: int, *, names_only: bool) -> int:
    """Adds what stars are, and returns how many bytes behind them they took along."""
    follows = pattern[end : end + 2]
    alone = begun == 0 or pattern[begun - 1 : begun] == b"/"
    if names_only or end - begun == 1 or not alone or not (follows[:1] in (b"", b"/") or follows == b"\\/"):
        if made[-1:] != [_STAR]:
            made.append(_STAR)
        return 0
    if not follows:
        made.append(_REST)
        return 0
    if follows[:1] == b"/":
        made.append(_FOLDERS)
        return 1
    made += [_STAR, _SLASH, _FOLDERS]  # before an escaped slash there has to be a folder
    return 2


def _path(tokens: list[Token]) -> bytes:
    """Parts between `**`: each but the last is taken where it first fits."""
    if tokens[-1:] == [_REST]:
        return _path(tokens[:-1]) + b".*" if tokens[:-1] else b".*"
    first, *others = _split(tokens, _FOLDERS)
    made = _folders(first)
    for part in others[:-1]:
        made += b"(?>(?:[^/]*+/)*?" + _folders(part) + b")"
    return made + (b"(?:[^/]*+/)*?" + _folders(others[-1]) if others else b"")


def _folders(tokens: list[Token]) -> bytes:
    return b"/".join(_segment(part) for part in _split(tokens, _SLASH))


def _segment(tokens: list[Token]) -> bytes:
    """A name, or a piece of one: each piece between two stars is taken where it first fits, the last one at the end."""
    first, *others = [b"".join(piece for piece in part if isinstance(piece, bytes)) for part in _split(tokens, _STAR)]
    if not others:
        return first
    middle = b"".join(b"(?>[^/]*?" + piece + b")" for piece in others[:-1] if piece)
    return b"(?>" + first + middle + b"[^/]*" + others[-1] + rb"(?=/|\Z))"


def _split(tokens: list[Token], mark: str) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _one_of(chars: frozenset[int]) -> bytes:
    """A set of bytes as an expression; a slash is never in one."""
    listed = b"".join(b"\\x%02x" % char for char in sorted(chars - {0x2F}))
    return b"[" + listed + b"]" if listed else b"(?!)"


def _set(pattern: bytes, at: int) -> tuple[frozenset[int], int] | None:
    """The bytes of a set that begins behind its bracket, and where it ends. None for one that does not end."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    chars: set[int] = set()
    before, first = 0, True
    while first or pattern[at : at + 1] != b"]":
        first = False
        if at >= len(pattern):
            return None
        char = pattern[at]
        if char == 0x5C:
            at += 1
            if at >= len(pattern):
                return None
            char = pattern[at]
            chars.add(char)
        elif char == 0x2D and before and pattern[at + 1 : at + 2] not in (b"", b"]"):
            at += 2 if pattern[at + 1 : at + 2] == b"\\" else 1
            if at >= len(pattern):
                return None
            chars.update(range(before, pattern[at] + 1))
            char = 0
        elif pattern[at : at + 2] == b"[:" and (named := _named(pattern, at)) is not None:
            if named[0] is None:
                return None
            chars.update(named[0])
            char, at = 0, named[1]
        else:
            chars.add(char)
        before = char
        at += 1
    return (frozenset(range(256)) - chars if negated else frozenset(chars)), at + 1


def _named(pattern: bytes, at: int) -> tuple[frozenset[int] | None, int] | None:
    """`[:alpha:]`: its bytes, None for no such name, and where its last bracket is. None where it is only a bracket."""
    end = pattern.find(b"]", at + 2)
    if end < 0:
        return None, at
    inside = pattern[at + 2 : end]
    if not inside.endswith(b":"):
        return None
    return _CLASSES.get(inside[:-1]), end
