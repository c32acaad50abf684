"""What a person typed, as the words to look for. Pure.

Every word must be there; a phrase in quotes as it stands; a word that ends in `*`, or the last one while it is being typed,
as a beginning. There is no other syntax, so nothing that is typed is an error or means something to the database: FTS5's own
language would make `can't` a syntax error and `NEAR` an operator.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

_PIECE = re.compile(r'"([^"]*)"?(\*?)|(\S+)')
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
"""Letters of scripts that put no spaces between words: each is a word of its own, a run of them a phrase."""

MOST_WORDS = 32


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """Words that follow each other; `beginning`: the last one may go on."""

    words: tuple[str, ...]
    beginning: bool = False


def terms(text: str, *, typing: bool = False) -> tuple[Term, ...]:
    """What to look for, each once. `typing`: the last word may not be finished yet. Signs alone are nothing."""
    found: dict[Term, None] = {}
    for piece in _PIECE.finditer(text):
        quoted, star, plain = piece[1], piece[2], piece[3]
        said = plain if quoted is None else quoted
        words = tuple(split(said))[:MOST_WORDS]
        if words:
            ends = typing and piece.end() == len(text)
            beginning = bool(star) or (quoted is None and said.endswith("*")) or (ends and quoted is None)
            found[Term(words=words, beginning=beginning)] = None
    return tuple(found)[:MOST_WORDS]


def split(text: str) -> list[str]:
    """The words of a text as the index has them: without signs, accents and capitals."""
    return _WORD.findall(plain(text))


def plain(text: str) -> str:
    """Lower case without accents, with letters that stand for words apart."""
    if text.isascii():
        return text.lower()
    bare = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", _UNSPACED.sub(r" \1 ", bare)).lower()


def match(wanted: tuple[Term, ...]) -> str:
    """The same for FTS5: only quoted strings of letters and digits, and the stars that were asked for."""
    return " AND ".join(f'"{" ".join(term.words)}"{"*" if term.beginning else ""}' for term in wanted)


def fits(term: Term, words: list[str]) -> bool:
    """Whether these words hold the term, for a search without an index."""
    length = len(term.words)
    for place in range(len(words) - length + 1):
        if words[place] == term.words[0] or (length == 1 and term.beginning):
            here = words[place : place + length]
            last = here[-1].startswith(term.words[-1]) if term.beginning else here[-1] == term.words[-1]
            if last and tuple(here[:-1]) == term.words[:-1]:
                return True
    return False


def excerpt(text: str, wanted: tuple[Term, ...], width: int) -> str:
    """The words around the first place where something that was looked for stands, on one line of about `width` characters."""
    flat = " ".join(text.split())
    if len(flat) <= width:
        return flat
    place = _first(flat, wanted)
    start = max(0, min(place - width // 3, len(flat) - width))
    if start:
        space = flat.find(" ", start, start + 20)
        start = space + 1 if space >= 0 else start
    end = start + width
    return ("…" if start else "") + flat[start:end].strip() + ("…" if end < len(flat) else "")


def _first(flat: str, wanted: tuple[Term, ...]) -> int:
    """Where the first of them stands. Accents may have moved what stands behind them by a little, which does no harm here."""
    lowered = flat.lower() if flat.isascii() else plain(flat)
    best = len(lowered)
    for term in wanted:
        boundary = "" if term.beginning else r"(?![^\W_])"
        pattern = r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, term.words)) + boundary
        found = re.search(pattern, lowered)
        best = min(best, found.start()) if found else best
    return 0 if best == len(lowered) else best
