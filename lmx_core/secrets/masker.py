"""Replaces what is secret by its placeholder, in whole texts and in streams, and puts it back.

A masker belongs to one session: what its detectors find is known from the next text on, also where only a part of it is shown.
A text is read once, from left to right; a stream gives the same text in whatever pieces it comes, and holds back only what may
be the beginning of a secret. Replaced piece by piece, the obvious way, what is cut in two by a buffer's end gets through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from lmx_core.errors import ToolError
from lmx_core.secrets import detect, placeholder

_HEAD = 3
"""Characters by which the texts that may begin at a place are looked up."""

Each = Callable[[str, str], str]
"""What is put in the place of a placeholder: called with it and with what it stands for."""


class Forgotten(ToolError):
    """A placeholder is ours, and this session does not know any more what it stands for."""

    def __init__(self, name: str):
        super().__init__(
            f"{name} stands for a credential that this session does not know any more, so nothing was done. Read the file, or "
            "run the command, that shows it once more, and use what stands there"
        )


class Masker:
    """`known` are pairs of a label and a text to mask; the first label of a text counts. With `shapes` detectors look, too.

    `lasting` says that the key is that of every process which goes on with the session.
    """

    def __init__(self, known: Iterable[tuple[str, str]], key: bytes, *, shapes: bool = False, lasting: bool = True):
        self._key, self.shapes, self._lasting = key, shapes, lasting
        self._strangers: set[str] = set()  # placeholders that an earlier process made with a key of its own
        self.explained = False  # the model has been told what a placeholder is
        self._names: dict[str, str] = {}  # placeholders, by text
        self._texts: dict[str, str] = {}  # and the other way round
        self._order: list[str] = []
        self._heads: dict[str, list[tuple[int, str]]] = {}
        self._starts: set[str] = set()
        self._longest = 0
        for label, text in known:
            self.learn(label, text)

    def __repr__(self) -> str:
        return f"Masker({len(self._order)} texts)"

    @property
    def active(self) -> bool:
        """Whether there is anything to look for."""
        return self.shapes or bool(self._order)

    def learn(self, label: str, text: str) -> str:
        """The placeholder of a text, which is masked from the next text on."""
        name = self._names.get(text)
        if name is None:
            name = self._names[text] = placeholder.made(self._key, label, text)
            self._texts[name] = text
            self._heads.setdefault(text[:_HEAD], []).append((len(self._order), text))
            self._order.append(text)
            self._starts.update(text[:size] for size in range(1, _HEAD))
            self._longest = max(self._longest, len(text))
        return name

    # -- masking

    def mask(self, text: str, *, cut: bool = False) -> str:
        """`text` without what is secret; the same object where nothing is. `cut`: its end was cut off, perhaps inside one."""
        if not text or not self.active or (not cut and not self._may_hold(text)):
            return text
        stream = Stream(self)
        masked = stream.feed(text) + stream.end(cut=cut)
        return text if masked == text else masked

    def shaped(self, value: Any) -> Any:
        """A JSON value whose texts, keys included, are masked; the same object where nothing is secret."""
        if not self.active:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            media = "media_type" in value  # the bytes of an image or a document are not looked into
            pairs = [
                (self.shaped(key), item if media and key == "data" else self.shaped(item))
                for key, item in value.items()
            ]
            same = all(a is key and b is item for (a, b), (key, item) in zip(pairs, value.items(), strict=True))
            return value if same else dict(pairs)
        if isinstance(value, (list, tuple)):
            items = [self.shaped(item) for item in value]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        return value

    def stream(self) -> Stream:
        return Stream(self)

    def remember(self, said: Iterable[str]) -> None:
        """Takes note of placeholders in what an earlier process has `said` in this session, where its key was another one."""
        if self.active and not self._lasting:
            self._strangers.update(one[0] for text in said for one in placeholder.PATTERN.finditer(text))

    # -- putting back

    def restore(self, text: str, each: Each | None = None) -> str:
        """`text` with every placeholder of ours replaced by what it stands for, or by what `each` makes of it.

        Raises Forgotten for one whose text is not known any more. What only looks like one stays as it is.
        """
        if placeholder.PREFIX not in text:
            return text

        def restored(found: re.Match[str]) -> str:
            name = found[0]
            if (stands_for := self._texts.get(name)) is not None:
                return stands_for if each is None else each(name, stands_for)
            if self._is_ours(found):
                raise Forgotten(name)
            return name

        return placeholder.PATTERN.sub(restored, text)

    def named(self, text: str) -> list[str]:
        """The placeholders of ours in a text, each once."""
        if placeholder.PREFIX not in text:
            return []
        found = placeholder.PATTERN.finditer(text)
        return list(dict.fromkeys(one[0] for one in found if one[0] in self._texts or self._is_ours(one)))

    def _is_ours(self, found: re.Match[str]) -> bool:
        return self.active and (found[0] in self._strangers or placeholder.is_ours(self._key, found))

    def _may_hold(self, text: str) -> bool:
        return (self.shapes and detect.BEGINNINGS.search(text) is not None) or any(k in text for k in self._order)

    # -- what a stream asks; `version` is how many texts were known when it began

    def _pattern(self, text: str, version: int) -> re.Pattern[str] | None:
        """An expression for the known texts that are in `text`; None where none is. The longest of two at one place counts."""
        here = sorted((known for known in self._order[:version] if known in text), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, here))) if here else None

    def _open_from(self, text: str, start: int, version: int) -> int:
        """The first place from `start` on at which a secret may have begun that only more text would complete."""
        found = self._begun(text, start, version)
        if self.shapes:
            token = detect.TOKEN_END.search(text, max(start, len(text) - detect.LONGEST))
            opening = detect.KEY_OPENING.search(text, max(start, len(text) - detect.KEY_OPENING_CHARS))
            found = min([found, *(match.start() for match in (token, opening) if match is not None)])
        return max(start, found)

    def _begun(self, text: str, start: int, version: int, least: int = 1) -> int:
        """The first place at which the rest of `text`, of at least `least` characters, is the beginning of a known text."""
        size = len(text)
        for at in range(max(start, size - self._longest + 1), size - least + 1):
            head = text[at : at + _HEAD]
            if len(head) < _HEAD:
                if head in self._starts:
                    return at
            elif self._rest_of(text, at, version) is not None:
                return at
        return size

    def _rest_of(self, text: str, at: int, version: int) -> str | None:
        """The known text that the whole rest of `text` is only the beginning of."""
        length = len(text) - at
        candidates = self._heads.get(text[at : at + _HEAD], ())
        return next((k for n, k in candidates if n < version and len(k) > length and k.startswith(text[at:])), None)

    def _label(self, known: str) -> str:
        found = placeholder.PATTERN.fullmatch(self._names[known])
        assert found is not None  # it was made here
        return found[1]


class Stream:
    """One text in pieces. What `feed` and `end` return makes up the masked text."""

    def __init__(self, masker: Masker):
        self._masker, self._version = masker, len(masker._order)
        self._text, self._at = "", 0  # all before the place is said; one character of it stays, for what looks back

    def feed(self, piece: str) -> str:
        self._text += piece
        said = self._decided(final=False)
        keep = max(0, self._at - 1)
        self._text, self._at = self._text[keep:], self._at - keep
        return said

    def end(self, *, cut: bool = False) -> str:
        """The rest. `cut`: the text was cut off there, and a beginning of a secret is masked as well."""
        said = self._decided(final=True, cut=cut)
        self._text, self._at = "", 0
        return said

    @property
    def held(self) -> str:
        """What was fed and not yet given, as it would be if the text were cut off here."""
        other = Stream(self._masker)
        other._version, other._text, other._at = self._version, self._text, self._at
        return other._decided(final=True, cut=True)

    def _decided(self, *, final: bool, cut: bool = False) -> str:
        """The text masked as far as it is certain, which is all of it where it is `final`."""
        masker, text, out = self._masker, self._text, list[str]()
        limit = len(text) if final else masker._open_from(text, self._at, self._version)
        known = masker._pattern(text, self._version)
        while (found := self._next(known)) is not None and found.start() < limit:
            kind = found.lastgroup or ""
            if kind == detect.PRIVATE_KEY:
                end = _key_end(text, found.end(), final=final)
                if end is None:
                    limit = found.start()
                    break
                out += [text[self._at : found.end()], self._key(text[found.end() : end])]
            else:
                end = found.end()
                out += [text[self._at : found.start()], masker.learn(kind, found[0])]
            self._at = end
        if final and cut:
            out.append(self._cut_off())
        if self._at < limit:
            out.append(text[self._at : limit])
            self._at = limit
        return "".join(out)

    def _next(self, known: re.Pattern[str] | None) -> re.Match[str] | None:
        """The next secret: a known text, which has no group, or a shape, whose group says which."""
        text, at = self._text, self._at
        found = None if known is None else known.search(text, at)
        if self._masker.shapes:
            end = len(text) if found is None else found.start()
            for begins in detect.BEGINNINGS.finditer(text, at, end + detect.BEGINNING_CHARS):
                ours = text.find(placeholder.PREFIX, begins.start())  # what was masked before is no part of anything
                shape = detect.shapes().match(text, begins.start(), len(text) if ours < 0 else ours)
                if shape is not None and begins.start() < end:
                    return shape
        return found

    def _key(self, body: str) -> str:
        """The lines of a private key, each masked; what stands between them stays."""
        masker = self._masker
        known = masker._pattern(body, self._version)
        pieces = [placeholder.PATTERN.pattern, detect.KEY_RUN.pattern, *([known.pattern] if known is not None else [])]

        def masked(found: re.Match[str]) -> str:
            stays = (
                found[1] is not None or len(set(found[0])) < detect.LEAST_DIFFERENT
            )  # a placeholder, or a line drawn with one sign
            return found[0] if stays else masker.learn(detect.PRIVATE_KEY, found[0])

        return re.sub("|".join(pieces), masked, body)

    def _cut_off(self) -> str:
        """What is left, where it ends with the beginning of a known text."""
        masker, text = self._masker, self._text
        at = masker._begun(text, self._at, self._version, detect.SHORTEST)
        known = masker._rest_of(text, at, self._version) if at < len(text) else None
        if known is None:
            return ""
        said = text[self._at : at] + masker.learn(f"{masker._label(known).removesuffix('_cut')}_cut", text[at:])
        self._at = len(text)
        return said


def _key_end(text: str, start: int, *, final: bool) -> int | None:
    """Where the private key that begins before `start` ends; None where only more text can tell."""
    most = start + detect.KEY_CHARS
    found = text.find(detect.KEY_END, start, most + len(detect.KEY_END))
    if found >= 0:
        return found
    if len(text) < most + len(detect.KEY_END):
        return min(most, len(text)) if final else None
    return most


NOTHING = Masker((), b"")
"""Masks nothing."""
