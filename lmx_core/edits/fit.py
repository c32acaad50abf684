"""Where the hunks of a patch go in a file, and the file's bytes after them (AP-2).

A hunk is looked for below the one before it, by ever looser comparisons, and must fit one place only: the first of several is
too often in the wrong method (case C04). Lines of context are found, never written: where the patch has them a little
differently the file's own stay, so a loose comparison changes no byte that was not to change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from lmx_core.edits import match
from lmx_core.edits.patch import Hunk, PatchError
from lmx_core.edits.text import Edit, Text, lines_of

EXPECTED_LINES = 8
CANDIDATES = 8

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_SINGLE, _DOUBLE = "\u2018\u2019\u201a\u201b", "\u201c\u201d\u201e\u201f"
_SPACES = "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_FOLDED = str.maketrans(
    _DASHES + _SINGLE + _DOUBLE + _SPACES, "-" * len(_DASHES) + "'" * 4 + '"' * 4 + " " * len(_SPACES)
)


def _folded(line: str) -> str:
    return line.translate(_FOLDED).strip()


def _same(line: str) -> str:
    return line


_RULES: tuple[tuple[Callable[[str], str], str], ...] = (
    (_same, ""),
    (str.rstrip, "ignoring whitespace at line ends"),
    (str.strip, "ignoring indentation"),
    (_folded, "taking typographic characters for plain ones"),
)


class Fitted(msgspec.Struct, frozen=True):
    """The file's bytes after the hunks, and what is to be said of hunks that did not fit exactly."""

    data: bytes
    notes: tuple[str, ...] = ()


class _Place(msgspec.Struct, frozen=True):
    """Lines `first` to `last` (from 0, the last one excluded) are the hunk's old ones, by the rule of this name."""

    first: int
    last: int
    rule: str


class _Splice(msgspec.Struct):
    """Lines `first` to `last` become `new`, which are without their ends."""

    first: int
    last: int
    new: list[str]


def fit(path: str, data: bytes, hunks: Sequence[Hunk]) -> Fitted:
    """The file after `hunks`, each in its place. Raises PatchError, or EncodingConflict for letters it cannot take."""
    file = Text(data)
    search = _Search(path, [line.removesuffix("\n") for line in lines_of(file.shown)])
    splices: list[_Splice] = []
    notes: list[str] = []
    final_newline: bool | None = None
    for hunk in hunks:
        place, hunk = search.place(hunk)
        if place.rule:
            notes.append(f"Hunk {hunk.number} of {path} was found at line {place.first + 1} {place.rule}.")
        splices += _splices(hunk, place, search.lines)
        final_newline = hunk.final_newline if hunk.final_newline is not None else final_newline
    return Fitted(file.apply(_edits(file.text, splices, final_newline)), tuple(notes))


class _Search:
    """Finds hunk after hunk in the lines of one file; `below` is where the next is looked for."""

    def __init__(self, path: str, lines: list[str]):
        self._path, self.lines, self._below = path, lines, 0
        self._keys: dict[str, list[str]] = {"": lines}

    def place(self, hunk: Hunk) -> tuple[_Place, Hunk]:
        """Where the hunk goes, and the hunk as it is found: a blank line at its end may be the patch's and not the file's."""
        starts, anchored = self._starts(hunk)
        shorter = msgspec.structs.replace(hunk, lines=hunk.lines[:-1])
        forms = [hunk, shorter] if hunk.lines[-1] == (" ", "") and shorter.lines else [hunk]
        found: list[_Place] = []
        for at_end in (True, False) if hunk.at_end else (False,):
            for form in forms:
                if not found and (found := self._found(form, starts, first_only=anchored, at_end=at_end)):
                    hunk = form
        if not found:
            raise PatchError(self._missing(hunk))
        if len(found) > 1:
            raise PatchError(self._ambiguous(hunk, found))
        (place,) = found
        self._check_not_there(hunk, place)
        if hunk.old or place.first < len(self.lines):  # lines added at the end leave the place of the next hunk open
            self._below = place.last
        return place, hunk

    def _starts(self, hunk: Hunk) -> tuple[list[int], bool]:
        """From which lines on the hunk is looked for: below its anchors, each place of the first one being a choice.

        The second value says whether an anchor chose. One that is only above, by the hunk before this, has done so already.
        """
        if not hunk.anchors:
            hinted = [n + 1 for n in self._all([hunk.hint], self._below)[0]] if hunk.hint.strip() else []
            return (hinted[:1], True) if len(hinted) == 1 else ([self._below], False)
        first, *others = hunk.anchors
        starts = [n + 1 for n in self._all([first], self._below)[0]]
        anchored = bool(starts)
        if not anchored:
            if not self._all([first], 0)[0]:
                raise PatchError(self._no_anchor(hunk, first))
            starts = [self._below]
        for anchor in others:
            starts = [found[0] + 1 for start in starts if (found := self._all([anchor], start)[0])]
            if not starts:
                raise PatchError(self._no_anchor(hunk, anchor))
            anchored = True
        return list(dict.fromkeys(starts)), anchored

    def _found(self, hunk: Hunk, starts: list[int], *, first_only: bool, at_end: bool) -> list[_Place]:
        """The places that fit, by the strictest rule that finds any: below an anchor the first one, otherwise all.

        `at_end` looks at the end of the file only. A hunk that says how the file ends is nowhere else.
        """
        old = hunk.old
        if not old:
            at = starts if first_only and not hunk.at_end else [len(self.lines)]
            return [_Place(n, n, "") for n in at]
        if at_end:
            last = len(self.lines) - len(old)
            found, rule = self._all(old, last) if last >= min(starts) else ([], "")
            return [_Place(last, last + len(old), rule)] if found else []
        if hunk.final_newline is not None:
            return []
        best: dict[int, str] = {}
        for start in starts:
            found, rule = self._all(old, start)
            best |= dict.fromkeys(found[:1] if first_only else found, rule)
        strictest = min((_rank(rule) for rule in best.values()), default=0)
        return [_Place(n, n + len(old), rule) for n, rule in sorted(best.items()) if _rank(rule) == strictest]

    def _all(self, wanted: Sequence[str], start: int) -> tuple[list[int], str]:
        """Every line at or after `start` where `wanted` stands, by the strictest rule that finds any."""
        for key, rule in _RULES:
            if found := list(_runs(self._keyed(key, rule), [key(line) for line in wanted], start)):
                return found, rule
        return [], ""

    def _keyed(self, key: Callable[[str], str], rule: str) -> list[str]:
        if rule not in self._keys:
            self._keys[rule] = [key(line) for line in self.lines]
        return self._keys[rule]

    def _check_not_there(self, hunk: Hunk, place: _Place) -> None:
        """A patch that is sent twice must not add its lines twice (case C04 e)."""
        old, new = hunk.old, hunk.new
        more = len(new) - len(old)
        if more <= 0:
            return
        for start in {place.first, place.last - len(new)}:
            if start >= 0 and self.lines[start : start + len(new)] == new:
                raise PatchError(
                    f"Hunk {hunk.number} of {self._path} seems to be applied already: lines {start + 1} to {start + len(new)} "
                    f"read as they would after it. To add its lines once more, quote the lines on both sides of the place"
                )

    # --- what is said when it does not fit -------------------------------------------------------------------------

    def _named(self, hunk: Hunk) -> str:
        return f"Hunk {hunk.number} of {self._path} (line {hunk.line} of the patch)"

    def _ambiguous(self, hunk: Hunk, found: Sequence[_Place]) -> str:
        lines = ", ".join(str(place.first + 1) for place in found[:CANDIDATES]) + (
            ", ..." if found[CANDIDATES:] else ""
        )
        how = f", {found[0].rule}," if found[0].rule else ""
        return (
            f"{self._named(hunk)} fits{how} in {len(found)} places, at the lines {lines}. Quote more lines around the "
            f"change, or name a line that comes before it, such as the class or function, after @@"
        )

    def _no_anchor(self, hunk: Hunk, anchor: str) -> str:
        said = f"{self._named(hunk)} names the line {anchor!r} after @@, which is not in the file"
        if self._all([anchor], 0)[0]:
            said += " where it is looked for: hunks and their @@ lines come in the order of the file"
        return said + self._closest([anchor])

    def _missing(self, hunk: Hunk) -> str:
        old, new = hunk.old, hunk.new
        if new and len(hunk.lines) > 1 and new != old and (there := self._all(new, 0)[0]):
            return (
                f"{self._named(hunk)} seems to be applied already: its old lines are not in the file, and lines {there[0] + 1} "
                f"to {there[0] + len(new)} read as they would after it"
            )
        said = f"{self._named(hunk)} does not fit: its lines are not in the file"
        if above := self._all(old, 0)[0]:
            after = "the hunk before it" if above[0] < self._below else "the line it names after @@"
            return f"{said} below {after}, but at line {above[0] + 1}; hunks come in the order of the file"
        expected = "\n".join(old[:EXPECTED_LINES]) + (
            f"\n[... {len(old) - EXPECTED_LINES} more]" if old[EXPECTED_LINES:] else ""
        )
        return f"{said}. It expects:\n{expected}{self._closest(old)}"

    def _closest(self, wanted: list[str]) -> str:
        """The part of the file most like these lines, and the first line in which they differ."""
        text = "".join(line + "\n" for line in self.lines)
        found = match.closest(text, "".join(line + "\n" for line in wanted))
        if not found.closest:
            one = next((line for line in wanted if line.strip()), "")
            found = match.closest(text, one)
            if not found.closest:
                return "\nNothing in the file is like it"
            return f"\nThe closest line is {found.line}:\n{self.lines[found.line - 1]}"
        start = found.line - 1
        own = self.lines[start : start + len(wanted)]
        differs = next((n for n, (a, b) in enumerate(zip(wanted, own, strict=False)) if a != b), len(own))
        if differs >= len(own):
            return f"\nThe closest lines are {found.line} to {found.line + len(own) - 1}, where the file ends"
        return (
            f"\nThe closest lines are {found.line} to {found.line + len(own) - 1}; the first that differs is "
            f"{start + differs + 1}. The patch has\n{wanted[differs]}\nand the file\n{own[differs]}"
        )


def _rank(rule: str) -> int:
    return next(n for n, (_, name) in enumerate(_RULES) if name == rule)


def _runs(lines: Sequence[str], wanted: Sequence[str], start: int) -> Iterator[int]:
    """Where `wanted` stands in `lines`, from `start` on."""
    last = len(lines) - len(wanted)
    at = start
    while at <= last:
        try:
            at = lines.index(wanted[0], at, last + 1)
        except ValueError:
            return
        if list(lines[at : at + len(wanted)]) == wanted:
            yield at
        at += 1


def _splices(hunk: Hunk, place: _Place, lines: Sequence[str]) -> Iterator[_Splice]:
    """The runs of changed lines of a hunk. What it adds is indented as the place is, where the hunk was indented otherwise."""
    own = lines[place.first : place.last]
    indents = match.indentation(hunk.old, own) if _rank(place.rule) >= 2 else {}
    at = place.first
    splice: _Splice | None = None
    for sign, text in hunk.lines:
        if sign == " ":
            if splice is not None:
                yield splice
            splice = None
            at += 1
            continue
        splice = splice or _Splice(at, at, [])
        if sign == "-":
            at += 1
            splice.last = at
        else:
            splice.new.append(match.reindented(text, indents) if indents else text)
    if splice is not None:
        yield splice


def _edits(text: str, splices: Sequence[_Splice], final_newline: bool | None) -> list[Edit]:
    """The splices as edits of `text`. How the file ends stays as it is, unless `final_newline` says otherwise (case C03).

    A last line without its newline is the matter: lines added behind it need one before them and none after, and where it
    goes, the line before it becomes the one without.
    """
    starts = [0]
    for line in lines_of(text):
        starts.append(starts[-1] + len(line))
    count, ended = len(starts) - 1, not text or text.endswith("\n")
    wanted = ended if final_newline is None else final_newline
    edits: list[Edit] = []
    at_end = False
    for splice in _joined(splices):
        is_last = splice.last == count
        at_end = at_end or is_last
        paired, splice = _paired(splice, starts, whole=not is_last or (ended and wanted))
        edits += paired
        new, start, end = "".join(line + "\n" for line in splice.new), starts[splice.first], starts[splice.last]
        if is_last and splice.new:
            new = new if wanted else new[:-1]
            new = "\n" + new if splice.first == count and not ended else new
        elif is_last and splice.first and not wanted:
            start -= 1
        edits.append(Edit(start, end, new))
    if not at_end and wanted != ended and text:
        edits.append(Edit(len(text), len(text), "\n") if wanted else Edit(len(text) - 1, len(text), ""))
    return edits


def _paired(splice: _Splice, starts: Sequence[int], *, whole: bool) -> tuple[list[Edit], _Splice]:
    """The lines that come in the place of others, each ended as that one was; and what is left of the splice.

    With `whole`, more lines than before go into the place of the last one, and take the end of it along; else the last is left.
    """
    first, removed, new = splice.first, splice.last - splice.first, splice.new
    paired = min(removed, len(new))
    singly = paired if whole and removed > len(new) else max(0, paired - 1)
    edits = [Edit(starts[first + n], starts[first + n + 1] - 1, new[n]) for n in range(singly)]
    if whole and 0 < removed <= len(new):
        edits.append(Edit(starts[splice.last - 1], starts[splice.last] - 1, "\n".join(new[singly:])))
        return edits, _Splice(splice.last, splice.last, [])
    return edits, _Splice(first + singly, splice.last, new[singly:])


def _joined(splices: Sequence[_Splice]) -> list[_Splice]:
    """In the order of the file, with those that touch made one."""
    joined: list[_Splice] = []
    for splice in sorted(splices, key=lambda splice: (splice.first, splice.last)):
        if joined and joined[-1].last == splice.first:
            joined[-1] = _Splice(joined[-1].first, splice.last, joined[-1].new + splice.new)
        else:
            joined.append(splice)
    return joined
