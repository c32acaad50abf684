"""The `@` picker: which reference is being typed, which paths fit, and what taking one writes (CMP-27). Pure.

What is written is what the engine reads back: a name that is no plain reference gets quotes. Matching goes over an index made
when the paths arrived, for with twenty thousand of them anything done anew for each key is felt (CMP-30).
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator

import msgspec

from lmx.conversation.draft import Draft

MOST_FILES = 20_000
MOST_ROWS = 50
STALE_MS = 60_000
"""An index older than this is asked for again; until the new one has come the old one serves."""

_OPENING = "([{<\"'`"
_PLAIN = re.compile(r"[A-Za-z0-9._/~+*-]*\Z")


class Typed(msgspec.Struct, frozen=True):
    """The reference at the caret: `text[start:end]` of the draft; `query` is its path so far."""

    start: int
    end: int
    query: str


class Lines(msgspec.Struct, frozen=True):
    """Lines in one text, which begins and ends with a newline; `starts[n]` is where line `n` begins."""

    text: str
    starts: tuple[int, ...]

    def at(self, place: int) -> int:
        return bisect.bisect_right(self.starts, place) - 1

    def holding(self, wanted: str) -> Iterator[int]:
        """The lines that hold this, each once, in order."""
        place = self.text.find(wanted)
        while place >= 0:
            line = self.at(place + wanted.startswith("\n"))
            yield line
            place = self.text.find(wanted, self.starts[line + 1] - 1)


class Index(msgspec.Struct, frozen=True):
    """Paths, shortest first; a folder's ends in `/`. `names` and `lowered` are their names and themselves in lower case.

    These are lines of one text, because searching one long text is what Python does fast. `children` lists each folder, `""`
    the uppermost.
    """

    paths: tuple[str, ...] = ()
    names: Lines = Lines("", ())
    lowered: Lines = Lines("", ())
    children: dict[str, tuple[str, ...]] = {}


def index(files: Iterable[str]) -> Index:
    """The index of these files and the folders they lie in. Names that no reference can hold are left out."""
    found: dict[str, None] = {}
    for path in itertools.islice(files, MOST_FILES):
        if '"' not in path and "\n" not in path:
            found.update(dict.fromkeys(_folders(path)))
            found[path] = None
    children: dict[str, list[str]] = {}
    for path in sorted(found):
        folder, slash, _ = path.rstrip("/").rpartition("/")
        children.setdefault(folder + slash, []).append(path)
    paths = tuple(sorted(found, key=lambda path: (len(path), path)))
    lowered = [path.lower() for path in paths]
    return Index(
        paths=paths,
        names=_lines([path.rstrip("/").rpartition("/")[2] for path in lowered]),
        lowered=_lines(lowered),
        children={folder: tuple(below) for folder, below in children.items()},
    )


def _lines(items: list[str]) -> Lines:
    starts = tuple(itertools.accumulate((len(item) + 1 for item in items), initial=1))
    return Lines("\n".join(["", *items, ""]), starts)


def _folders(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[: at + 1]
        at = path.find("/", at + 1)


def typed(draft: Draft) -> Typed | None:
    """The reference that the caret stands in or behind, None where there is none."""
    before = draft.text[: draft.caret]
    start = before.rfind("@")
    if start < 0 or not (start == 0 or before[start - 1].isspace() or before[start - 1] in _OPENING):
        return None
    query = before[start + 1 :]
    if query.startswith('"'):
        if '"' in query[1:] or "\n" in query:
            return None
        closing = re.match(r'[^"\n]*"', draft.text[draft.caret :])
        return Typed(start, draft.caret + (closing.end() if closing else 0), query[1:])
    if not _PLAIN.match(query):
        return None
    rest = re.match(r"[A-Za-z0-9._/~+*-]*", draft.text[draft.caret :])
    return Typed(start, draft.caret + (rest.end() if rest else 0), query)


def found(query: str, among: Index) -> list[str]:
    """At most `MOST_ROWS` paths for what was typed, best first; of a folder's name or nothing, what lies in that folder."""
    prefix = "./" if query.startswith("./") else ""
    wanted = query.removeprefix("./")
    if not wanted or wanted.endswith("/"):
        rows: Iterable[str] = among.children.get(wanted, ())
    else:
        rows = (among.paths[n] for n in _ranked(wanted.lower(), among))
    return [prefix + path for path in itertools.islice(rows, MOST_ROWS)]


def _ranked(wanted: str, among: Index) -> Iterator[int]:
    """In the name first: its beginning, a word's, anywhere. Then anywhere in the path, then its letters in order.

    Shorter paths come first in each, and nothing is looked for that nobody takes.
    """
    seen: set[int] = set()
    for sieve in (
        among.names.holding("\n" + wanted),
        _at_word_starts(wanted, among.names),
        among.names.holding(wanted),
        among.lowered.holding(wanted),
        _in_order(wanted, among.lowered),
    ):
        for n in sieve:
            if n not in seen:
                seen.add(n)
                yield n


def _at_word_starts(wanted: str, lines: Lines) -> Iterator[int]:
    return (lines.at(found.start()) for found in re.finditer(r"[._ +-]" + re.escape(wanted), lines.text))


def _in_order(wanted: str, lines: Lines) -> Iterator[int]:
    between = "".join(f"[^{re.escape(letter)}\\n]*+{re.escape(letter)}" for letter in wanted)
    return (lines.at(found.end() - 1) for found in re.finditer(f"\n{between}", lines.text))


def take(draft: Draft, at: Typed, path: str) -> Draft:
    """The draft with the reference to `path` in place of what was typed. A folder stays open for its next part."""
    shown = _written(path)
    if path.endswith("/"):
        shown = shown.removesuffix('"')
    elif draft.text[at.end : at.end + 1] not in (" ", "\n"):
        shown += " "
    text = draft.text[: at.start] + shown + draft.text[at.end :]
    return msgspec.structs.replace(draft, text=text, caret=at.start + len(shown))


def is_whole(draft: Draft, at: Typed, path: str) -> bool:
    """Does this reference stand in the draft already, as taking it would write it?"""
    return draft.text[at.start : at.end] == _written(path)


def _written(path: str) -> str:
    plain = re.fullmatch(r"[A-Za-z0-9._/~+-]+", path) and not path.endswith(".")
    return f"@{path}" if plain else f'@"{path}"'
