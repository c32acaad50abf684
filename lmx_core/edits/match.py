"""Where an edit goes: a ladder of ever looser comparisons, each valid only if it finds one single place (ED-1).

Models quote text almost right: with the line numbers a tool showed, without trailing blanks, indented otherwise. Each rung
forgives one of these. A rung that finds several places ends the search instead of choosing: an edit in the wrong place costs
more than a refused one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

import msgspec

from lmx_core.edits.text import aligned, line_number, lines_of

SIMILAR = 0.6
FULL_SCAN = 50_000
ANCHORS = 25
ANCHOR_WORDS = 12
COMMON = 2_000
"""A word is looked for so many times; one that is more common tells nothing of a place."""

SHOWN_LINES = 24

_NUMBER = re.compile(r"[ ]*\d+\t")

EXACT = "exact"
NUMBERED = "without its line numbers"
TRAILING = "ignoring whitespace at line ends"
INDENTED = "ignoring indentation"
SPACED = "ignoring runs of whitespace"


class Place(msgspec.Struct, frozen=True):
    """`text[start:end]` is to become `new`."""

    start: int
    end: int
    new: str


class Found(msgspec.Struct, frozen=True):
    places: tuple[Place, ...]
    rule: str


class Ambiguous(msgspec.Struct, frozen=True):
    """Several places fit: how many, and on which lines the first of them are."""

    count: int
    lines: tuple[int, ...]
    rule: str


class NotFound(msgspec.Struct, frozen=True):
    """`closest` are lines of the text that resemble what was sought, from line `line`; empty when nothing does."""

    closest: tuple[str, ...] = ()
    line: int = 0


def find(text: str, old: str, new: str, *, replace_all: bool = False) -> Found | Ambiguous | NotFound:
    """Where `old` is in `text` and what it becomes. All three have LF line ends; `old` is not empty.

    With `replace_all` every place counts, and only the first two rules are tried.
    """
    rules = (_exact, _numbered) if replace_all else (_exact, _numbered, _trailing, _indented, _spaced)
    for rule in rules:
        found = list(rule(text, old, new))
        if not found:
            continue
        if replace_all:
            return Found(tuple(_apart(found)), _NAMES[rule])
        if len(found) > 1:
            lines = tuple(line_number(text, place.start) for place in found[:8])
            return Ambiguous(len(found), lines, _NAMES[rule])
        return Found(tuple(found), _NAMES[rule])
    return closest(text, old)


def _apart(places: Sequence[Place]) -> Iterator[Place]:
    """From the left, those that do not overlap the one before."""
    end = 0
    for place in places:
        if place.start >= end:
            end = place.end
            yield place


# --- the rungs -------------------------------------------------------------------------------------------------------


def _exact(text: str, old: str, new: str) -> Iterator[Place]:
    at = text.find(old)
    while at >= 0:
        yield Place(at, at + len(old), new)
        at = text.find(old, at + 1)


def _numbered(text: str, old: str, new: str) -> Iterator[Place]:
    """`N<TAB>` before every line, as `read` shows them."""
    bare = _without_numbers(old)
    if bare is not None and bare.strip():
        yield from _exact(text, bare, _without_numbers(new) or new)


def _without_numbers(text: str) -> str | None:
    """`text` without the number before each of its lines; None if a line has none."""
    lines = lines_of(text)
    found = [_NUMBER.match(line) for line in lines]
    if not lines or not all(found):
        return None
    return "".join(line[match.end() :] for line, match in zip(lines, found, strict=True) if match)


def _trailing(text: str, old: str, new: str) -> Iterator[Place]:
    wanted = lines_of(old)
    for start, end, lines in _windows(text, old, str.rstrip):
        put = _carried_over(new, wanted, lines, str.rstrip)
        yield Place(start, end, _ended_alike(text[start:end], old, put))


def _indented(text: str, old: str, new: str) -> Iterator[Place]:
    wanted = lines_of(old)
    for start, end, lines in _windows(text, old, str.strip):
        put = _carried_over(new, wanted, lines, str.strip, reindented)
        yield Place(start, end, _ended_alike(text[start:end], old, put))


def _windows(text: str, old: str, key: Callable[[str], str]) -> Iterator[tuple[int, int, list[str]]]:
    """Every run of whole lines equal to those of `old` by `key`: its offsets and its lines.

    The rarest line of `old` is looked up first, so that a file full of blank lines or braces costs no more than another.
    """
    lines = lines_of(text)
    keys, wanted = [key(line) for line in lines], [key(line) for line in lines_of(old)]
    if not any(wanted):
        return
    count = Counter(keys)
    anchor = min((n for n, line in enumerate(wanted) if line), key=lambda n: count[wanted[n]])
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for at, line_key in enumerate(keys):
        first = at - anchor
        last = first + len(wanted)
        if line_key != wanted[anchor] or first < 0 or last > len(keys):
            continue
        if all(keys[first + n] == line for n, line in enumerate(wanted)):
            end = starts[last] - (0 if old.endswith("\n") or not lines[last - 1].endswith("\n") else 1)
            yield starts[first], end, lines[first:last]


def _ended_alike(replaced: str, old: str, new: str) -> str:
    """`new`, without a final newline where `old` had one and the place has none: the end of the file stays as it is."""
    if old.endswith("\n") and new.endswith("\n") and not replaced.endswith("\n"):
        return new[:-1]
    return new


def _carried_over(
    new: str,
    wanted: Sequence[str],
    found: Sequence[str],
    key: Callable[[str], str],
    rewrite: Callable[[str, dict[str, str]], str] = lambda line, indents: line,
) -> str:
    """`new`, where a line it repeats from the quoted text is as the file has it, and any other went through `rewrite`.

    `rewrite` is given the line and which quoted indentation is which of the file's, as seen first in the lines it replaces.
    """
    lines = lines_of(new)
    everywhere = indentation(wanted, found)
    put: list[str] = []
    for same, old_from, old_to, new_from, new_to in aligned(
        [key(line) for line in wanted], [key(line) for line in lines]
    ):
        if same:
            put += (_like(own, line) for own, line in zip(found[old_from:old_to], lines[new_from:new_to], strict=True))
        else:
            indents = everywhere | indentation(wanted[old_from:old_to], found[old_from:old_to])
            put += (rewrite(line, indents) for line in lines[new_from:new_to])
    return "".join(put)


def _like(own: str, line: str) -> str:
    """The file's own line, ended as `line` is."""
    return own.removesuffix("\n") + ("\n" if line.endswith("\n") else "")


def indentation(wanted: Sequence[str], found: Sequence[str]) -> dict[str, str]:
    """Which indentation of the quoted lines is which of the file's."""
    indents: dict[str, str] = {}
    for quoted, own in zip(wanted, found, strict=True):
        if quoted.strip():
            indents.setdefault(_indent(quoted), _indent(own))
    return indents


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def reindented(line: str, indents: dict[str, str]) -> str:
    return _translated(_indent(line), indents) + line.lstrip() if line.strip() else line.lstrip(" \t")


def _translated(indent: str, indents: dict[str, str]) -> str:
    """A known indentation as the file has it; a deeper one keeps what it has more, a shallower one loses as much."""
    known = [quoted for quoted in indents if indent.startswith(quoted)]
    if known:
        quoted = max(known, key=len)
        return indents[quoted] + indent[len(quoted) :]
    quoted = min(indents, key=len)
    own = indents[quoted]
    return own[: max(0, len(own) - max(0, len(quoted) - len(indent)))]


def _spaced(text: str, old: str, new: str) -> Iterator[Place]:
    """Any run of whitespace like any other. What stands around the place keeps its own."""
    wanted = " ".join(old.split())
    if not wanted:
        return
    words = list(re.finditer(r"\S+", text))
    joined = " ".join(word.group() for word in words)
    starts: list[int] = []
    at = 0
    for word in words:
        starts.append(at)
        at += len(word.group()) + 1

    def offset(place: int) -> int:
        n = bisect_right(starts, place) - 1
        return words[n].start() + place - starts[n]

    put = new.lstrip() if old[:1].isspace() else new
    put = put.rstrip() if old[-1:].isspace() else put
    at = joined.find(wanted)
    while at >= 0:
        yield Place(offset(at), offset(at + len(wanted) - 1) + 1, put)
        at = joined.find(wanted, at + 1)


_NAMES = {_exact: EXACT, _numbered: NUMBERED, _trailing: TRAILING, _indented: INDENTED, _spaced: SPACED}


# --- what comes closest ----------------------------------------------------------------------------------------------


def closest(text: str, old: str) -> NotFound:
    """The lines most like `old`, if any are like it at all. Looks everywhere in a small file, else at the best anchors."""
    lines, wanted = lines_of(text), lines_of(old)[:SHOWN_LINES]
    sought = "".join(wanted)
    if not sought.strip() or not lines:
        return NotFound()
    starts: Sequence[int] = range(max(1, len(lines) - len(wanted) + 1))
    if len(lines) * len(sought) > FULL_SCAN:
        starts = _anchored(text, lines, wanted)
        sought = sought[:2_000]
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(sought)
    best, where = SIMILAR, -1
    for start in starts:
        matcher.set_seq1("".join(lines[start : start + len(wanted)])[: 2 * len(sought)])
        if matcher.real_quick_ratio() >= best and matcher.quick_ratio() >= best and (ratio := matcher.ratio()) >= best:
            if where < 0 or ratio > best:
                where = start
            best = ratio
    if where < 0:
        return NotFound()
    return NotFound(tuple(line.rstrip("\n") for line in lines[where : where + len(wanted)]), where + 1)


def _anchored(text: str, lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Starts of windows whose lines share the longest words with the longest quoted line."""
    longest = max(range(len(wanted)), key=lambda n: len(wanted[n].strip()))
    words = sorted(set(re.findall(r"\w+", wanted[longest])), key=len, reverse=True)[:ANCHOR_WORDS]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    score: Counter[int] = Counter()
    for word in words:
        for place in islice(re.finditer(re.escape(word), text), COMMON):
            score[bisect_right(starts, place.start()) - 1] += len(word)
    best = sorted(score, key=lambda line: (-score[line], line))[:ANCHORS]
    return sorted({max(0, line - longest) for line in best})
